//! The rows of one observation. Called inside the transaction that finishes its action.

use rusqlite::{Transaction, params};

use crate::block::{Count, Placement};
use crate::observation::{Histogram, Load, Measured, Observation, Window};
use crate::profile::insert_profile;
use crate::put::Put;
use crate::slices;
use rqps_model::{Counter, Pacer, QueryPlan, Series, Settle};

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
        insert_placement(transaction, seq, placement)?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO metrics (seq, name, value) VALUES (?1, ?2, ?3)")?;
    for (name, value) in observation.metrics.iter().filter(|(_, value)| value.is_finite()) {
        insert.execute(params![seq, name, value])?;
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO connections (seq, position, role, client, cpu_us) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (position, one) in observation.connections.iter().enumerate() {
        insert.execute(params![seq, position as i64, one.role, one.client, one.cpu_us])?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO fingerprints (seq, key, value) VALUES (?1, ?2, ?3)")?;
    for (key, value) in &observation.fingerprint {
        insert.execute(params![seq, key, value])?;
    }
    let mut insert = transaction
        .prepare_cached("INSERT INTO waits (seq, kind, event, found, looks) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for wait in &observation.waits {
        insert.execute(params![seq, wait.kind, wait.event, wait.found as i64, wait.looks as i64])?;
    }
    insert_counters(transaction, seq, &observation.counters)?;
    insert_series(transaction, seq, &observation.series)?;
    if !observation.slices.is_empty() {
        let points = slices::points(&observation.slices);
        transaction.put("INSERT INTO slices (seq, points) VALUES (?1, ?2)", params![seq, points])?;
    }
    insert_histograms(transaction, seq, &observation.histograms)?;
    insert_plans(transaction, seq, &observation.plans)
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
    transaction.put(
        "INSERT INTO windows (seq, test, test_group, role, position, clients, seed, started_at_ms, warmup_us, \
         elapsed_us, ended_by, unit, operations, target_events_per_s, pacer, events, queries, statements, \
         statements_working, noop_statements, rows, errors) VALUES \
         (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
        params![
            seq,
            window.test,
            window.group,
            window.role.key(),
            window.position,
            window.clients,
            window.seed.to_string(),
            window.started_at_ms,
            window.warmup_us as i64,
            window.elapsed_us as i64,
            window.ended_by.key(),
            unit.key,
            window.operations,
            window.target_events_per_s,
            window.pacer.map(Pacer::key),
            window.events as i64,
            window.queries as i64,
            window.statements as i64,
            window.statements_working as i64,
            window.noop_statements as i64,
            window.rows as i64,
            window.errors as i64
        ],
    )?;
    for (sqlstate, count) in &window.retries {
        transaction.put(
            "INSERT INTO retries (seq, sqlstate, count) VALUES (?1, ?2, ?3)",
            params![seq, sqlstate, *count as i64],
        )?;
    }
    Ok(())
}

fn insert_load(transaction: &Transaction<'_>, seq: u32, load: &Load) -> rusqlite::Result<()> {
    transaction.put(
        "INSERT INTO loads (seq, tables, rows, load_us, index_us) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![seq, load.tables, load.rows as i64, load.load_us as i64, load.index_us as i64,],
    )?;
    Ok(())
}

fn insert_settle(transaction: &Transaction<'_>, seq: u32, settle: &Settle) -> rusqlite::Result<()> {
    transaction.put(
        "INSERT INTO settles (seq, actions, elapsed_us, cap_us, reached) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![seq, json(&settle.actions)?, settle.elapsed_us as i64, settle.cap_us as i64, settle.reached],
    )?;
    for (position, condition) in settle.conditions.iter().enumerate() {
        transaction.put(
            "INSERT INTO settle_conditions (seq, position, name, value_before, value_after, target) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
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

fn insert_series(transaction: &Transaction<'_>, seq: u32, series: &[Series]) -> rusqlite::Result<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO series (seq, name, unit, points) VALUES (?1, ?2, ?3, ?4)")?;
    for one in series {
        let points = json(&one.values)?;
        insert.execute(params![seq, one.name, one.unit, points])?;
    }
    Ok(())
}

fn insert_histograms(
    transaction: &Transaction<'_>,
    seq: u32,
    histograms: &[Histogram],
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO histograms (seq, statement, measured_from, count, p50_us, p95_us, p99_us, max_us, mean_us, v2) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for one in histograms {
        insert.execute(params![
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
        ])?;
    }
    Ok(())
}

fn insert_plans(transaction: &Transaction<'_>, seq: u32, plans: &[QueryPlan]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO query_plans (seq, statement, sql, text, json) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for plan in plans {
        insert.execute(params![seq, plan.statement, plan.sql, plan.text, plan.json])?;
    }
    Ok(())
}

fn insert_placement(transaction: &Transaction<'_>, seq: u32, placement: Placement) -> rusqlite::Result<()> {
    transaction.put(
        "INSERT INTO placements (seq, block, window_number, slot) VALUES (?1, ?2, ?3, ?4)",
        params![seq, placement.block, placement.window, placement.slot],
    )?;
    Ok(())
}

fn insert_count(transaction: &Transaction<'_>, seq: u32, count: &Count) -> rusqlite::Result<()> {
    transaction.put(
        "INSERT INTO counts (seq, test, test_group, events, operations, instructions, counted_by) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            seq,
            count.test,
            count.group,
            count.events as i64,
            count.operations,
            count.instructions,
            count.counted_by
        ],
    )?;
    Ok(())
}
