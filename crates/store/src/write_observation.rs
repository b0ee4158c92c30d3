//! Inserts the rows of one observation, inside the transaction that finishes its action.

use rusqlite::{Transaction, params};

use crate::block::{Count, Placement};
use crate::observation::{Histogram, Load, Measured, Observation, Window};
use crate::profile::insert_profile;
use crate::put::Put;
use crate::slices;
use rqps_model::{Counter, Pacer, Settle};

/// Inserts an observation and all its details under the action `seq`.
pub(crate) fn insert_observation(
    transaction: &Transaction<'_>,
    seq: u32,
    observation: &Observation,
) -> rusqlite::Result<()> {
    match &observation.measured {
        Measured::Window(window) => insert_window(transaction, seq, window)?,
        Measured::Load(load) => insert_load(transaction, seq, load)?,
        Measured::Settle(settle) => insert_settle(transaction, seq, settle)?,
        Measured::Count(count) => insert_count(transaction, seq, count)?,
        Measured::Profile(profile) => insert_profile(transaction, seq, profile)?,
    }
    if let Some(placement) = observation.placement {
        let Placement { block, window, slot } = placement;
        let values = params![seq, block, window, slot];
        transaction.insert("placements", "seq, block, window_number, slot", values)?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO metrics (seq, name, value) VALUES (?1, ?2, ?3)")?;
    for (name, value) in observation.metrics.iter().filter(|(_, value)| value.is_finite()) {
        insert.execute(params![seq, name, value])?;
    }
    for (position, one) in observation.connections.iter().enumerate() {
        let columns = "seq, position, role, client, cpu_us";
        let values = params![seq, position as i64, one.role, one.client, one.cpu_us];
        transaction.insert("connections", columns, values)?;
    }
    for (key, value) in &observation.fingerprint {
        transaction.insert("fingerprints", "seq, key, value", params![seq, key, value])?;
    }
    for wait in &observation.waits {
        let values = params![seq, wait.kind, wait.event, wait.found as i64, wait.looks as i64];
        transaction.insert("waits", "seq, kind, event, found, looks", values)?;
    }
    insert_counters(transaction, seq, &observation.counters)?;
    for one in &observation.series {
        let values = params![seq, one.name, one.unit, json(&one.values)?];
        transaction.insert("series", "seq, name, unit, points", values)?;
    }
    if !observation.slices.is_empty() {
        let points = slices::points(&observation.slices);
        transaction.insert("slices", "seq, points", params![seq, points])?;
    }
    insert_histograms(transaction, seq, &observation.histograms)?;
    for plan in &observation.plans {
        let values = params![seq, plan.statement, plan.sql, plan.text, plan.json];
        transaction.insert("query_plans", "seq, statement, sql, text, json", values)?;
    }
    Ok(())
}

pub(crate) fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn insert_window(transaction: &Transaction<'_>, seq: u32, window: &Window) -> rusqlite::Result<()> {
    let unit = &window.unit;
    transaction.put(
        "INSERT INTO units (key, one, per, many) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        params![unit.key, unit.one, unit.per, unit.many],
    )?;
    transaction.insert(
        "windows",
        "seq, test, test_group, role, position, clients, seed, started_at_ms, warmup_us, elapsed_us, \
             ended_by, unit, operations, target_events_per_s, pacer, events, queries, statements, \
             statements_working, noop_statements, rows, errors",
        params![
            seq,
            window.test,
            window.group,
            window.role.key(),
            window.position,
            window.clients,
            window.seed.map(|seed| seed.to_string()),
            window.started_at_ms,
            window.warmup_us.map(|us| us as i64),
            window.elapsed_us as i64,
            window.ended_by.key(),
            unit.key,
            window.operations,
            window.target_events_per_s,
            window.pacer.map(Pacer::key),
            window.events.map(|count| count as i64),
            window.queries.map(|count| count as i64),
            window.statements.map(|count| count as i64),
            window.statements_working.map(|count| count as i64),
            window.noop_statements.map(|count| count as i64),
            window.rows.map(|count| count as i64),
            window.errors.map(|count| count as i64)
        ],
    )?;
    for (sqlstate, count) in &window.retries {
        transaction.insert("retries", "seq, sqlstate, count", params![seq, sqlstate, *count as i64])?;
    }
    Ok(())
}

fn insert_load(transaction: &Transaction<'_>, seq: u32, load: &Load) -> rusqlite::Result<()> {
    transaction.insert(
        "loads",
        "seq, tables, rows, load_us, index_us",
        params![seq, load.tables, load.rows as i64, load.load_us as i64, load.index_us as i64],
    )
}

fn insert_settle(transaction: &Transaction<'_>, seq: u32, settle: &Settle) -> rusqlite::Result<()> {
    transaction.insert(
        "settles",
        "seq, actions, elapsed_us, cap_us, reached",
        params![seq, json(&settle.actions)?, settle.elapsed_us as i64, settle.cap_us as i64, settle.reached],
    )?;
    for (position, condition) in settle.conditions.iter().enumerate() {
        transaction.insert(
            "settle_conditions",
            "seq, position, name, value_before, value_after, target",
            params![
                seq,
                position as i64,
                condition.name,
                condition.before,
                condition.after,
                condition.target
            ],
        )?;
    }
    Ok(())
}

fn insert_counters(transaction: &Transaction<'_>, seq: u32, counters: &[Counter]) -> rusqlite::Result<()> {
    let mut name = transaction.prepare_cached(
        "INSERT OR IGNORE INTO counter_names (view, object, column_name) VALUES (?1, ?2, ?3)",
    )?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO counters (seq, name_id, value_before, value_after) \
         SELECT ?1, id, ?5, ?6 FROM counter_names WHERE view = ?2 AND object = ?3 AND column_name = ?4",
    )?;
    for counter in counters {
        name.execute(params![counter.view, counter.object, counter.column])?;
        insert.execute(params![
            seq,
            counter.view,
            counter.object,
            counter.column,
            counter.before,
            counter.after
        ])?;
    }
    Ok(())
}

fn insert_histograms(
    transaction: &Transaction<'_>,
    seq: u32,
    histograms: &[Histogram],
) -> rusqlite::Result<()> {
    for one in histograms {
        transaction.insert(
            "histograms",
            "seq, statement, measured_from, count, p50_us, p95_us, p99_us, max_us, mean_us, v2",
            params![
                seq,
                one.statement,
                one.from,
                one.count as i64,
                one.p50_us,
                one.p95_us,
                one.p99_us,
                one.max_us,
                one.mean_us,
                one.v2
            ],
        )?;
    }
    Ok(())
}

fn insert_count(transaction: &Transaction<'_>, seq: u32, count: &Count) -> rusqlite::Result<()> {
    transaction.insert(
        "counts",
        "seq, test, test_group, events, operations, instructions, counted_by",
        params![
            seq,
            count.test,
            count.group,
            count.events as i64,
            count.operations,
            count.instructions,
            count.counted_by
        ],
    )
}
