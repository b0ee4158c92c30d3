//! Figures of real Postgres servers of old and new versions, and their exactness for known work.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod conditions;
mod servers;

use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

use conditions::until;
use rqps_probe::counters::CounterSet;
use rqps_probe::postgres::counters::{self, OWN_COMMITS};
use rqps_probe::postgres::work::work;
use rqps_probe::postgres::{about, explain, fingerprint, flush, settle, waits};
use rqps_probe::waits::RUNNING;
use rqps_probe::{PerfCounters, ServerTarget, WindowProbe, WorkIn};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::Session;
use rqps_wire::postgres::Connection;
use rustix::process::Signal;
use servers::{ROWS, assert_always_found, change, run_known_statements, sample_states};

/// States of the sessions of `check_waits`.
const STATES: [&str; 3] = ["Client", "Lock", RUNNING];
/// Rounds of the WAL writer per second, each with at most one flush.
const WAL_WRITER_PER_S: f64 = 5.0;

fn connect(server: &Scratch) -> Connection {
    let endpoint = by_socket(server);
    Connection::connect(&endpoint, "rqps-probe-test").unwrap()
}

/// A server with one table of [`ROWS`] rows and no autovacuum, and a connection to it.
fn server_with_table(version: &str) -> (Scratch, Connection) {
    let server = Scratch::start(version).unwrap();
    let mut monitor = connect(&server);
    let autovacuum_off = ["ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()"];
    let has_alter_system = monitor.server_version_num() >= 90_400;
    let table = [
        "CREATE TABLE t (id int PRIMARY KEY, v int) WITH (fillfactor = 50, autovacuum_enabled = off)",
        "INSERT INTO t SELECT n, n FROM generate_series(1, 1000) n",
    ];
    for sql in autovacuum_off.into_iter().filter(|_| has_alter_system).chain(table) {
        monitor.query(sql).unwrap();
    }
    // Rows reported after the VACUUM would count as new.
    flush(&mut [], &mut monitor);
    monitor.query("VACUUM ANALYZE t").unwrap();
    (server, monitor)
}

/// The procedure of [`rqps_probe::postgres::flush`].
fn flush(clients: &mut [Connection], monitor: &mut Connection) {
    let procedure = flush::procedure(monitor.server_version_num());
    sleep(Duration::from_millis(procedure.idle_ms));
    for client in clients.iter_mut() {
        client.query(procedure.session_sql).unwrap();
    }
    monitor.query(procedure.session_sql).unwrap();
    sleep(Duration::from_millis(procedure.settle_ms));
}

fn exact_snapshot(clients: &mut [Connection], monitor: &mut Connection) -> CounterSet {
    flush(clients, monitor);
    counters::snapshot(monitor).unwrap()
}

/// Rows, blocks, WAL and flushes match the work done.
fn check_work(version: &str, has_fsyncs: bool) {
    let (server, mut monitor) = server_with_table(version);
    let mut clients = [connect(&server), connect(&server)];
    for client in &mut clients {
        client.query("SET synchronous_commit = on").unwrap();
    }
    run_known_statements(&mut clients);
    let before = exact_snapshot(&mut clients, &mut monitor);
    let began = Instant::now();
    run_known_statements(&mut clients);
    let after = exact_snapshot(&mut clients, &mut monitor);
    let deltas = CounterSet::difference(&before, &after);
    let done = work(&deltas);
    let what = format!("PostgreSQL {version}: {done:?}");
    // Each statement reads its row through the index; 400 update it.
    assert_eq!(done.rows_touched, Some(1_400.0), "{what}");
    // At least the table's block and the index's root or leaf.
    assert!((2_000.0..6_000.0).contains(&done.blocks_touched.unwrap()), "{what}");
    assert!((20_000.0..400_000.0).contains(&done.wal_bytes.unwrap()), "{what}");
    assert_eq!(done.fsyncs.is_some(), has_fsyncs, "{what}");
    // One per update; the WAL writer may do some of them, in proportion to the elapsed time, and report them later.
    let tolerance = 10.0 + WAL_WRITER_PER_S * began.elapsed().as_secs_f64();
    let expected = 400.0 - tolerance..400.0 + tolerance;
    assert!(done.fsyncs.is_none_or(|fsyncs| expected.contains(&fsyncs)), "{what}, not {expected:?}");
    let idle = exact_snapshot(&mut clients, &mut monitor);
    let idle = work(&CounterSet::difference(&after, &idle));
    assert_eq!((idle.rows_touched, idle.blocks_touched), (Some(0.0), Some(0.0)), "{idle:?}");
    assert_eq!(done.metrics().len(), 3 + usize::from(has_fsyncs));
}

#[test]
fn known_statements_do_known_work_on_all_versions() {
    for (version, has_fsyncs) in [("9.6", false), ("14", true), ("17", true), ("18", true)] {
        check_work(version, has_fsyncs);
    }
}

fn check_exact(version: &str) {
    let (server, mut monitor) = server_with_table(version);
    let mut clients = [connect(&server), connect(&server)];
    run_known_statements(&mut clients);
    let mut before = exact_snapshot(&mut clients, &mut monitor);
    for round in 0..3 {
        run_known_statements(&mut clients);
        let after = exact_snapshot(&mut clients, &mut monitor);
        let deltas = CounterSet::difference(&before, &after);
        let found = |view, object, column| change(&deltas, view, object, column);
        let what = format!("PostgreSQL {version}, round {round}");
        // Two clients and the monitor ran one flush statement each.
        let commits = ROWS + OWN_COMMITS + 3;
        assert_eq!(found("pg_stat_database", "bench", "xact_commit"), commits, "{what}");
        assert_eq!(found("pg_stat_database", "bench", "tup_fetched"), ROWS, "{what}");
        assert_eq!(found("pg_stat_database", "bench", "tup_updated"), 400, "{what}");
        assert_eq!(found("pg_stat_all_tables", "t", "n_tup_upd"), 400, "{what}");
        assert_eq!(found("pg_stat_all_tables", "all", "idx_scan"), ROWS, "{what}");
        assert_eq!(found("pg_stat_all_indexes", "t.t_pkey", "idx_scan"), ROWS, "{what}");
        before = after;
    }
}

#[test]
fn counters_of_known_statements_are_exact_with_the_stats_collector() {
    check_exact("14");
}

#[test]
fn counters_of_known_statements_are_exact_with_shared_statistics() {
    check_exact("18");
}

/// A session that was closed reports its last commits when its process gets to run, here after half a second.
fn check_ended(version: &str) {
    let (server, mut monitor) = server_with_table(version);
    let mut closed = Connection::connect(&by_socket(&server), "rqps test").unwrap();
    for sql in ["SELECT v FROM t WHERE id = 1", "SET synchronous_commit = on", "SELECT v FROM t WHERE id = 2"]
    {
        closed.query(sql).unwrap();
    }
    let process = rustix::process::Pid::from_raw(closed.backend_id().cast_signed()).unwrap();
    rustix::process::kill_process(process, Signal::STOP).unwrap();
    drop(closed);
    let before = std::thread::scope(|scope| {
        scope.spawn(|| {
            sleep(Duration::from_millis(500));
            rustix::process::kill_process(process, Signal::CONT).unwrap();
        });
        flush::wait_for_ended(&mut monitor, "rqps test").unwrap();
        exact_snapshot(&mut [], &mut monitor)
    });
    let gone = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {}", process.as_raw_nonzero());
    until("the session to end", || (monitor.number(&gone).unwrap() == Some(0)).then_some(()));
    let asked = exact_snapshot(&mut [], &mut monitor);
    let commits =
        change(&CounterSet::difference(&before, &asked), "pg_stat_database", "bench", "xact_commit");
    // The snapshot, one look at the session, and a flush.
    assert_eq!(commits, OWN_COMMITS + 2, "PostgreSQL {version}");
}

#[test]
fn sessions_that_end_report_before_a_window() {
    check_ended("14");
    check_ended("18");
}

#[test]
fn old_servers_have_all_figures() {
    check_facts("9.6", &["pg_stat_bgwriter"], &["pg_stat_wal", "pg_stat_io", "pg_stat_checkpointer"]);
}

/// It does not tell how it was built, nor where its last checkpoint was.
#[test]
fn the_oldest_server_has_the_other_figures() {
    check_facts("9.3", &["pg_stat_bgwriter"], &["pg_stat_wal", "pg_stat_io", "pg_stat_checkpointer"]);
}

#[test]
fn new_servers_have_all_figures() {
    check_facts("17", &["pg_stat_wal", "pg_stat_io", "pg_stat_checkpointer"], &[]);
}

fn check_facts(version: &str, present: &[&str], absent: &[&str]) {
    let (server, mut monitor) = server_with_table(version);
    let set = counters::snapshot(&mut monitor).unwrap();
    let views = set.views();
    assert!(present.iter().all(|view| views.contains(view)), "{views:?}");
    assert!(absent.iter().all(|view| !views.contains(view)), "{views:?}");
    check_about(&mut monitor);
    check_plan(&mut monitor);
    check_debt(&mut monitor);
    check_partitions(&mut monitor);
    check_window(&server);
    check_waits(&server);
    // Older servers fill them in.
    if monitor.server_version_num() >= 120_000 {
        check_new_pages(&mut monitor);
    }
}

/// Pages that a load added and did not fill are no debt, and no state of the data.
fn check_new_pages(monitor: &mut Connection) {
    monitor
        .query("CREATE TABLE n WITH (fillfactor = 10) AS SELECT n FROM generate_series(1, 2000) n")
        .unwrap();
    let vacuum = |monitor: &mut Connection| {
        monitor.query("VACUUM FREEZE").unwrap();
        monitor.query("CHECKPOINT").unwrap();
        settle::facts(monitor).unwrap().unseen_pages
    };
    let before = (vacuum(monitor), fingerprint::fingerprint(monitor).unwrap());
    let path = "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('n')";
    let path = monitor.query(path).unwrap().value().unwrap().to_owned();
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    file.write_all(&[0; 3 * 8192]).unwrap();
    // Where VACUUM has read no page before them, it takes all for empty and cuts them off.
    monitor.query("INSERT INTO n VALUES (0)").unwrap();
    assert_eq!(vacuum(monitor), before.0 + 3, "VACUUM leaves them");
    assert_eq!(settle::new_pages(monitor).unwrap(), 3);
    let after = fingerprint::fingerprint(monitor).unwrap();
    for figure in ["table.n.pages", "table.n.heap_bytes"] {
        assert_eq!(after.number(figure), before.1.number(figure), "{figure}");
    }
}

/// A session that waits for a row lock is found waiting, a working one running, and the holder of the lock waits for
/// its client.
fn check_waits(server: &Scratch) {
    let mut holder = connect(server);
    holder.query("BEGIN; UPDATE t SET id = id WHERE id = 7").unwrap();
    let mut worker = connect(server);
    let mut waiter = connect(server);
    let pids = [holder.backend_id(), worker.backend_id(), waiter.backend_id()];
    let query = waits::state_query(connect(server), &pids);
    let waits = std::thread::scope(|scope| {
        let waiting = scope.spawn(move || waiter.query("DELETE FROM t WHERE id = 7").unwrap());
        let endless = "DO $$ BEGIN LOOP END LOOP; END $$";
        let working = scope.spawn(move || worker.query(endless).unwrap_err());
        let waits = sample_states(&STATES, query);
        holder.query(&format!("SELECT pg_terminate_backend({})", pids[1])).unwrap();
        holder.query("ROLLBACK").unwrap();
        waiting.join().unwrap();
        assert!(working.join().unwrap().is_closed());
        waits
    });
    assert_always_found(&STATES, &waits);
}

/// Build facts are present, and settings agree with SHOW.
fn check_about(monitor: &mut Connection) {
    let facts = about::build_facts(monitor).unwrap();
    let fact = |name: &str| facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let tells = shows_control_file(monitor);
    assert!(fact("cflags").map_or(!tells, |flags| flags.contains("-O")), "{facts:?}");
    assert!(fact("configure").map_or(!tells, |options| options.contains("--prefix")), "{facts:?}");
    let settings = about::settings(monitor).unwrap();
    let setting = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap();
    for name in ["shared_buffers", "checkpoint_timeout", "random_page_cost"] {
        let shown = monitor.query(&format!("SHOW {name}")).unwrap();
        assert_eq!(Some(setting(name).value.as_str()), shown.value(), "{name}");
    }
    assert!(setting("seq_page_cost").default);
    assert!(!setting("unix_socket_directories").default, "{:?}", setting("unix_socket_directories"));
}

fn check_plan(monitor: &mut Connection) {
    let plan = explain::explain(monitor, ("kind", "DELETE FROM t WHERE id = 7 AND 'a;b' <> '';"), None)
        .unwrap()
        .unwrap();
    assert!(plan.text.contains("Index Scan") && plan.text.contains("cost="), "{}", plan.text);
    serde_json::from_str::<serde_json::Value>(&plan.json).unwrap();
    for sql in ["SELECT 1; DELETE FROM t", "ANALYZE DELETE FROM t", "CALL p()"] {
        assert_eq!(explain::explain(monitor, ("kind", sql), None).unwrap(), None, "{sql}");
    }
    // One plan for all values from the sixth execution on, since it costs no more.
    let literal = ("kind", "DELETE FROM t WHERE id = 7");
    let prepared = Some(("DELETE FROM t WHERE id = $1", &["7".to_owned()][..]));
    for _ in 0..2 {
        let plan = explain::explain(monitor, literal, prepared).unwrap().unwrap();
        assert!(plan.text.contains("(id = $1)") && plan.json.contains("$1"), "{}", plan.text);
        assert_eq!(plan.sql, literal.1);
    }
    assert_eq!(
        monitor.query("SELECT count(*) FROM t").unwrap().value(),
        Some("1000"),
        "nothing was executed"
    );
}

/// Since 9.6.
fn shows_control_file(monitor: &Connection) -> bool {
    monitor.server_version_num() >= 90_600
}

/// Updates create dead rows and dirty buffers; VACUUM and CHECKPOINT remove them, and the facts show it.
fn check_debt(monitor: &mut Connection) {
    monitor.query("CHECKPOINT").unwrap();
    let clean = settle::facts(monitor).unwrap();
    monitor.query("UPDATE t SET v = v + 1").unwrap();
    flush(&mut [], monitor);
    let dirty = settle::facts(monitor).unwrap();
    let state = fingerprint::fingerprint(monitor).unwrap();
    assert_eq!(dirty.dead_rows, ROWS, "{dirty:?}");
    assert_eq!((state.number("live_rows"), state.number("dead_rows")), (Some(ROWS), Some(ROWS)), "{state:?}");
    assert!(
        dirty.dirty_buffers.clone().unwrap() > clean.dirty_buffers.clone().unwrap(),
        "{clean:?} {dirty:?}"
    );
    let wal_bytes = state.number("wal_since_checkpoint_bytes");
    assert_eq!(wal_bytes.is_some(), shows_control_file(monitor));
    assert!(wal_bytes.is_none_or(|bytes| bytes > ROWS * 20), "{state:?}");
    for figure in ["table.t.heap_bytes", "table.t.index_bytes"] {
        assert!(state.number(figure).unwrap() >= 8192, "{figure}: {state:?}");
    }
    assert!(state.get("setting.shared_buffers").is_some(), "{state:?}");
    assert_eq!(state.number("table.t.dead_rows"), Some(ROWS), "{state:?}");

    monitor.query("VACUUM t").unwrap();
    monitor.query("CHECKPOINT").unwrap();
    flush(&mut [], monitor);
    // CHECKPOINT returns before the checkpointer reports.
    let paid = until("the report of a checkpoint", || {
        Some(settle::facts(monitor).unwrap()).filter(|paid| paid.checkpoints > clean.checkpoints)
    });
    assert_eq!(paid.dead_rows, 0, "{paid:?}");
    assert!(paid.dirty_buffers.clone().unwrap() < dirty.dirty_buffers.unwrap(), "{paid:?}");
    assert_eq!(paid.autovacuum_workers, 0);
    assert_ne!(paid.checkpoint_lsn, dirty.checkpoint_lsn);
    let after = fingerprint::fingerprint(monitor).unwrap();
    assert!(wal_bytes.is_none() || after.number("wal_since_checkpoint_bytes") < wal_bytes, "{after:?}");
}

/// A partitioned table has no pages (-1 in pg_class); its rows are those of its partitions.
fn check_partitions(monitor: &mut Connection) {
    if monitor.server_version_num() < 100_000 {
        return;
    }
    for sql in [
        "CREATE TABLE parted (id int) PARTITION BY RANGE (id)",
        "CREATE TABLE part PARTITION OF parted FOR VALUES FROM (1) TO (1001)",
        "INSERT INTO parted SELECT generate_series(1, 1000)",
    ] {
        monitor.query(sql).unwrap();
    }
    // Rows reported after ANALYZE would be counted twice.
    flush(&mut [], monitor);
    monitor.query("ANALYZE parted").unwrap();
    flush(&mut [], monitor);
    let state = fingerprint::fingerprint(monitor).unwrap();
    assert_eq!(state.number("live_rows"), Some(2 * ROWS), "{state:?}");
    settle::facts(monitor).unwrap();
    monitor.query("DROP TABLE parted").unwrap();
}

/// CPU is attributed to its session, and the roles of the other processes are known.
fn check_window(server: &Scratch) {
    const WORK: &str = "SELECT count(*) FROM generate_series(1, 2000000)";
    let mut client = connect(server);
    let perf = PerfCounters::attach(server.pid());
    let target = ServerTarget { pid: server.pid(), work_in: WorkIn::Processes };
    let probe = WindowProbe::new(target, vec![client.backend_id()], Some(perf));
    let begin = probe.begin().unwrap();
    client.query(WORK).unwrap();
    let mut short = connect(server);
    short.query(WORK).unwrap();
    let process = format!("/proc/{}", short.backend_id());
    drop(short);
    until("the end of a process", || (!std::path::Path::new(&process).exists()).then_some(()));
    let cost = probe.end(&begin).unwrap();

    let server_us = cost.server.cpu.cpu_us as f64;
    let session_us = cost.server.backends[0].cpu_us.unwrap() as f64;
    let by_role = |role: &str| cost.server.background.iter().find(|found| found.role == role);
    assert!(cost.server.backends[0].queued_us.is_some(), "{cost:?}");
    let ended_us = by_role("ended within the window").map_or(0.0, |role| role.cpu_us as f64);
    assert!((0.25..0.75).contains(&(session_us / server_us)), "{cost:?}");
    assert!((0.25..0.75).contains(&(ended_us / server_us)), "{cost:?}");
    for role in ["postmaster", "checkpointer", "background writer", "wal writer", "other session"] {
        assert_eq!(
            by_role(role).map(|role| role.processes),
            Some(1),
            "{role} in {:?}",
            cost.server.background
        );
    }
    assert!(cost.server.memory.shared_kb_max > 0 && cost.server.io.is_some(), "{:?}", cost.server);
    if let Some(clock_us) = cost.perf.task_clock_us {
        // They are read one after the other, with a delay on a busy machine.
        let apart_us = (clock_us as f64 - server_us).abs();
        assert!(apart_us < 100_000.0 + 0.05 * server_us, "{clock_us} us by perf, {server_us} us by /proc");
    }
    let metrics = cost.metrics();
    assert!(metrics.iter().any(|(name, value)| name == "server_cpu_us" && *value == server_us));
}
