//! All steps in order: rows, content, sessions and figures.

use crate::lab::{Client, Lab, SEED, Watch, planned, spec};
use rqps_driver::StepResult;
use rqps_driver::queue::{QueueResult, QueueSpec, Role};
use rqps_model::{Dbms, EndedBy};
use rqps_wire::{mysql, postgres};
use rqps_workloads::Dialect;
use rqps_workloads::insert_benchmark::{
    DeleteForm, Sizes, Stretch, checksum_sql, count_sql, existing_indexes_sql, newest_number_of_lane_sql,
    newest_number_sql, oldest_number_sql, statement_stream, stretches, test_by_name, write_insert,
};

const CLIENTS: u32 = 2;
const ROWS: u64 = 1050;
const STEPS: [&str; 6] = ["l.i0", "l.x", "l.i1", "l.i2", "qr1000", "qp1000"];

#[test]
fn postgres_tables_are_as_planned_after_every_step() {
    every_step(&mut Lab::<postgres::Connection>::start(Dbms::Postgres, "18"));
}

#[test]
fn mysql_tables_are_as_planned_after_every_step() {
    every_step(&mut Lab::<mysql::Connection>::start(Dbms::Mysql, "8.0.31"));
}

#[test]
fn mariadb_tables_are_as_planned_after_every_step() {
    every_step(&mut Lab::<mysql::Connection>::start(Dbms::Mariadb, "10.11.5"));
}

fn every_step<C: Client>(lab: &mut Lab<C>) {
    lab.create(1..=CLIENTS);
    let planned = planned(STEPS, ROWS, CLIENTS);
    let mut draws = Vec::new();
    for stretch in &planned {
        let name = stretch.test.name;
        let mut watch = Watch::default();
        let result = lab.run(&spec::<C>(stretch, CLIENTS as usize), &mut watch);
        let (result, queue) = result.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(result.invalid, None, "{name}");
        assert_eq!(watch.calls, ["opens", "closes", "complete"], "{name}");
        lab.no_session_is_left();
        sums_are_right((&result, &queue), stretch);
        sessions_are_right(&queue, &watch, stretch);
        for table in 1..=CLIENTS {
            assert_eq!(
                lab.number(&count_sql(table)) as u64,
                stretch.to.inserted - stretch.to.deleted,
                "{name}"
            );
            let newest = lab.number(&newest_number_sql(C::DIALECT, table));
            assert_eq!(newest as u64, stretch.to.statements - 1, "{name}");
            let indexes = lab.admin.table(&existing_indexes_sql(C::DIALECT, table)).rows.len();
            assert_eq!(indexes, if name == "l.i0" { 0 } else { 3 }, "{name}");
        }
        draws.push(result.rows);
    }
    content_is_as_drawn(lab, &planned);
    assert!(draws[4] > 0 && draws[5] > 0);
    // 2,503 rows are deleted: those of four steps with 11 + 1 + 9 + 20 statements, and 17 statements of the
    // fifth.
    assert_eq!(lab.number(&oldest_number_sql(C::DIALECT, 1)), 58);
}

/// Both tables contain the rows that the generator gives for the inserted and not deleted statements.
fn content_is_as_drawn<C: Client>(lab: &mut Lab<C>, planned: &[Stretch]) {
    lab.create(8..=9);
    for client in 0..CLIENTS {
        let table = 8 + client;
        for stretch in planned {
            let batch = stretch.test.queue.unwrap().rows_per_statement;
            let mut left = stretch.to.inserted - stretch.from.inserted;
            for number in stretch.from.statements..stretch.to.statements {
                let rows = left.min(u64::from(batch)) as u32;
                left -= u64::from(rows);
                let mut sql = String::new();
                let mut stream = statement_stream(SEED, client, number);
                write_insert(&mut sql, table, &mut stream, number, rows);
                lab.admin.simple(&sql).unwrap();
            }
        }
        let deleted = planned.last().unwrap().to.deleted;
        let name = format!("pi{table}");
        let key = format!("SELECT transactionid FROM {name} ORDER BY transactionid LIMIT 1 OFFSET {deleted}");
        let key = lab.number(&key);
        lab.admin.simple(&format!("DELETE FROM {name} WHERE transactionid < {key}")).unwrap();
        let expected = lab.text(&checksum_sql(C::DIALECT, table));
        assert_eq!(lab.text(&checksum_sql(C::DIALECT, client + 1)), expected);
    }
    let (one, other) = (lab.text(&checksum_sql(C::DIALECT, 1)), lab.text(&checksum_sql(C::DIALECT, 2)));
    assert_ne!(one, other, "clients draw rows of their own");
}

fn sums_are_right((result, queue): (&StepResult, &QueueResult), stretch: &Stretch) {
    let name = stretch.test.name;
    let clients = u64::from(CLIENTS);
    let has_queries = stretch.test.queue.unwrap().queries.is_some();
    let inserted = clients * (stretch.to.inserted - stretch.from.inserted);
    let deleted = clients * (stretch.to.deleted - stretch.from.deleted);
    let stream = |role| queue.streams.iter().find(|stream| stream.role == role);
    let inserts = stream(Role::Insert).unwrap();
    assert_eq!(inserts.rows, inserted, "{name}");
    assert_eq!(inserts.statements, clients * (stretch.to.statements - stretch.from.statements), "{name}");
    assert_eq!(stream(Role::Delete).map_or(0, |stream| stream.rows), deleted, "{name}");
    assert_eq!((result.changed_rows, result.removed_rows), (inserted + deleted, deleted), "{name}");
    assert_eq!(queue.short_deletes, 0, "{name}");
    // No rows follow the last cash register: a query in a thousand draws it, some more where few are done.
    let noops_max = if has_queries { 5 + result.events / 100 } else { 0 };
    assert!(result.noop_statements <= noops_max, "{name}: {} of {}", result.noop_statements, result.events);
    let foreground = if has_queries { stream(Role::Query).unwrap() } else { inserts };
    assert_eq!((result.events, result.queries), (foreground.statements, foreground.statements), "{name}");
    let (series, counted) = if has_queries { ("queries", result.events) } else { ("inserts", inserted) };
    let series = result.series.iter().find(|found| found.name == series);
    assert_eq!(series.unwrap().values.iter().sum::<f64>(), counted as f64, "{name}");
    assert_eq!(result.event_ns.len(), result.events, "{name}");
    let all: u64 = queue.streams.iter().map(|stream| stream.statements).sum();
    assert_eq!(result.statements, all, "{name}");
    assert_eq!(result.kinds.iter().map(|kind| kind.sent_ns.len()).sum::<u64>(), all, "{name}");
    for stream in &queue.streams {
        let counted: u64 = stream.each_second.iter().sum();
        assert_eq!(
            counted,
            if stream.role == Role::Query { stream.statements } else { stream.rows },
            "{name}"
        );
        assert_eq!(stream.each_second.len(), stream.max_us_each_second.len(), "{name}");
        let kinds = result.kinds.iter().filter(|kind| match stream.role {
            Role::Query => !["insert", "delete"].contains(&kind.kind),
            role => kind.kind == role.key(),
        });
        let max_ns = kinds.map(|kind| kind.sent_ns.max()).max().unwrap();
        let max_us = *stream.max_us_each_second.iter().max().unwrap();
        assert!(max_us.abs_diff(max_ns / 1000) <= max_us / 500 + 1, "{name}: {max_us} us, {max_ns} ns");
    }
    if has_queries {
        let rows_per_query = queue.rows_per_query.unwrap();
        // Every INSERT session leaves a gap in Postgres' keys, and queries draw missing keys too.
        let least = if name == "qr1000" { 9.0 } else { 2.0 };
        assert!((least..=10.0).contains(&rows_per_query), "{name}: {rows_per_query}");
        let background = queue.background.unwrap();
        assert_eq!(background.target_rows_per_s, 1000.0 * f64::from(CLIENTS));
        let elapsed = inserted as f64 / background.achieved_rows_per_s;
        assert!(elapsed > 0.95, "{name}: faster than asked for, {elapsed} s");
        assert_eq!(background.kept, background.achieved_rows_per_s >= 0.95 * background.target_rows_per_s);
    } else {
        assert!(queue.background.is_none() && queue.rows_per_query.is_none(), "{name}");
    }
    assert_eq!(result.ended_by, EndedBy::Work);
}

fn sessions_are_right(queue: &QueueResult, watch: &Watch<'_>, stretch: &Stretch) {
    let name = stretch.test.name;
    let roles: &[Role] = match name {
        "l.i0" | "l.x" => &[Role::Insert],
        "l.i1" | "l.i2" => &[Role::Insert, Role::Delete, Role::Maker],
        _ => &[Role::Insert, Role::Delete, Role::Maker, Role::Query],
    };
    let expected: Vec<_> =
        (0..CLIENTS).flat_map(|client| roles.iter().map(move |role| (*role, client))).collect();
    assert_eq!(queue.sessions, expected, "{name}");
    let mut ids = watch.sessions.clone();
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() == expected.len() && ids[0] > 0, "{name}: {:?}", watch.sessions);
    let looked_up = if roles.contains(&Role::Maker) { u64::from(CLIENTS) } else { 0 };
    assert_eq!((queue.min_lookups, queue.min_lookup.is_zero()), (looked_up, looked_up == 0), "{name}");
    assert_eq!(queue.max_lookups >= u64::from(CLIENTS), name == "qp1000", "{name}");
    assert_eq!(queue.index_build.is_some(), name == "l.x");
    let worked: Vec<Role> = queue.cpu.iter().map(|(role, _)| *role).collect();
    let mut with_makers = roles.to_vec();
    with_makers.push(Role::Maker);
    with_makers.sort_unstable();
    with_makers.dedup();
    assert_eq!(worked, with_makers, "{name}");
    assert!(queue.cpu.iter().all(|(_, cpu)| !cpu.is_zero()), "{name}: {:?}", queue.cpu);
}

#[test]
fn clients_that_share_a_table_only_add_to_it_and_index_it_once() {
    let mut lab = Lab::<postgres::Connection>::start(Dbms::Postgres, "18");
    lab.create(1..=1);
    let sizes = Sizes { load_rows: 250, write_rows: 10, query_seconds: 1, clients: 3, shared_table: true };
    let planned = stretches(["l.i0", "l.x", "l.i1", "qp50"].map(|name| test_by_name(name).unwrap()), &sizes);
    for stretch in &planned {
        let spec = QueueSpec { shared_table: true, ..spec::<postgres::Connection>(stretch, 3) };
        let (result, queue) = lab.run(&spec, &mut Watch::default()).unwrap();
        assert_eq!(result.invalid, None, "{}", stretch.test.name);
        let roles: Vec<Role> = queue.streams.iter().map(|stream| stream.role).collect();
        assert!(!roles.contains(&Role::Delete));
        assert_eq!(lab.number(&count_sql(1)) as u64, 3 * stretch.to.inserted, "{}", stretch.test.name);
    }
    assert_eq!(lab.admin.table(&existing_indexes_sql(Dialect::Postgres, 1)).rows.len(), 3);
    let statements = planned.last().unwrap().to.statements as i64;
    for client in 0..3 {
        let newest = lab.number(&newest_number_of_lane_sql(Dialect::Postgres, 1, client, 3));
        assert_eq!(newest, (statements - 1) * 3 + i64::from(client));
    }
}

#[test]
fn the_older_form_of_delete_counts_statements_that_hit_a_gap_in_the_keys() {
    let mut lab = crate::lab::postgres().filled(1000);
    lab.admin.query("DELETE FROM pi1 WHERE transactionid BETWEEN 31 AND 60").unwrap();
    let stretch = planned(["l.i0", "l.x", "l.i1"], 1000, 1)[2];
    let spec = QueueSpec { delete_form: DeleteForm::Range, ..spec::<postgres::Connection>(&stretch, 1) };
    let (result, queue) = lab.run(&spec, &mut Watch::default()).unwrap();
    assert_eq!(result.invalid, None);
    assert_eq!(queue.short_deletes, 2);
    assert_eq!(result.removed_rows, 403 - 30);
}
