//! Settles Postgres: vacuum, statistics and checkpoint, then waits until the server reports that the debt is
//! paid.

use super::admin::flush_commits;
use super::with_access;
use crate::error::{Error, Result};
use crate::sql::adapter::Settling;
use crate::sql::tables::for_each_named;
use crate::sql::write_back::write_back;
use crate::system::{ADMIN_NAME, Look, SettleTick};
use rqps_model::{Settle, SettleCondition};
use rqps_probe::postgres::settle::{self as probe, SettleFacts, facts};
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Session};
use std::time::{Duration, Instant};

/// Dead rows that may be left, as a share of all rows.
const DEAD_ROWS_SHARE_MAX: f64 = 0.001;
/// Dirty shared buffers that may be left: 1 MB.
const DIRTY_BUFFERS_MAX: f64 = 128.0;
/// Rows that ANALYZE samples per unit of the highest statistics target among a table's columns
/// (`std_typanalyze` in `analyze.c`).
const ROWS_PER_TARGET: u64 = 300;
/// Largest and default statistics target of a column.
const TARGET_MAX: u64 = 10_000;
const TARGET_DEFAULT: u64 = 100;
/// Tables analyzed in parallel: each holds its sample in memory, about 1 GB for 3 million rows.
const PARALLEL_ANALYZE_MAX: usize = 4;
/// Pause between two checks of the conditions.
const POLL: Duration = Duration::from_millis(250);

/// Runs VACUUM (ANALYZE) on all tables, several in parallel. Flushes commits first: a page can't be marked
/// all-visible before the commits of its rows are on disk. Returns false if `look` ended it early.
pub(super) fn vacuum(
    endpoint: &Endpoint,
    tables: &[String],
    look: &mut Look<'_>,
) -> std::result::Result<bool, rqps_wire::Error> {
    flush_commits(&mut Connection::connect(endpoint, ADMIN_NAME)?)?;
    vacuum_with(endpoint, (tables, "ANALYZE"), look)
}

/// Runs VACUUM with this option. An empty table name stands for the whole database, including catalogs.
/// Requests index cleanup from servers that would skip it when there is little to clean (12 and later).
fn vacuum_with(
    endpoint: &Endpoint,
    (tables, option): (&[String], &str),
    look: &mut Look<'_>,
) -> std::result::Result<bool, rqps_wire::Error> {
    let work = |connection: &mut Connection, table: &str| {
        // Servers before 11 also accept options that they know in parentheses.
        let cleans = connection.server_version_num() >= 120_000;
        let cleanup = if cleans { ", INDEX_CLEANUP ON" } else { "" };
        connection.simple(&format!("VACUUM ({option}{cleanup}) {table}")).map(|_| ())
    };
    with_access(endpoint, |access| for_each_named(access, (tables, "vacuum"), work, look))
}

/// Brings tables to a state that depends on their rows alone: every page frozen and all-visible, statistics
/// from all rows (or as many as the server samples), catalogs vacuumed, and a checkpoint at the beginning of
/// a WAL file with nothing after it. Then waits until every exit condition holds or the cap is reached.
/// `None` if `tick` ended it early.
pub(super) fn settle(server: &Settling<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>> {
    let start = Instant::now();
    let mut look = |what| tick(what, start.elapsed().as_secs_f64());
    let doing = |what| Error::session(server.debt.arm, what);
    let mut admin = Connection::connect(server.endpoint, ADMIN_NAME).map_err(doing("settling"))?;
    let before = facts(&mut admin)?;
    flush_commits(&mut admin).map_err(doing("flushing commits"))?;
    let frozen = vacuum_with(server.endpoint, (server.debt.tables, "FREEZE"), &mut || look("vacuum"));
    if !frozen.map_err(doing("vacuum"))?
        || !analyze(server, &mut || look("analyze")).map_err(doing("analyze"))?
        || !freeze_and_checkpoint(server, &mut admin, &mut look)?
    {
        return Ok(None);
    }
    let mut new_pages = None;
    loop {
        let mut after = facts(&mut admin)?;
        if after.unseen_pages > 0 {
            let new = match new_pages {
                Some(known) => known,
                None => *new_pages.insert(probe::new_pages(&mut admin)?),
            };
            after.unseen_pages = after.unseen_pages.saturating_sub(new);
        }
        let conditions = conditions(&before, &after, server);
        let reached = conditions.iter().all(|c| c.after <= c.target);
        if reached || start.elapsed() >= server.debt.cap {
            return Ok(Some(Settle {
                actions: ["vacuum freeze", "analyze", "checkpoint", "write back", "wait"]
                    .map(str::to_owned)
                    .to_vec(),
                conditions,
                elapsed_us: start.elapsed().as_micros() as u64,
                cap_us: server.debt.cap.as_micros() as u64,
                reached,
            }));
        }
        if !look("wait") {
            return Ok(None);
        }
        std::thread::sleep(POLL);
        // Another snapshot, for example autovacuum's, kept pages from being marked all-visible.
        if after.unseen_pages > 0 && !freeze_and_checkpoint(server, &mut admin, &mut look)? {
            return Ok(None);
        }
    }
}

/// Freezes the rest, including catalogs, and checkpoints at the beginning of a WAL file. Returns false if
/// `look` ended it early.
fn freeze_and_checkpoint(
    server: &Settling<'_>,
    admin: &mut Connection,
    look: &mut dyn FnMut(&'static str) -> bool,
) -> Result<bool> {
    let doing = |what| Error::session(server.debt.arm, what);
    let database = [String::new()];
    flush_commits(admin).map_err(doing("flushing commits"))?;
    let frozen = vacuum_with(server.endpoint, (&database, "FREEZE"), &mut || look("vacuum"));
    if !frozen.map_err(doing("vacuum"))? {
        return Ok(false);
    }
    let switch = if admin.server_version_num() >= 100_000 { "pg_switch_wal" } else { "pg_switch_xlog" };
    admin.simple(&format!("SELECT {switch}()")).map_err(doing("switching to a new WAL file"))?;
    let checkpointed = checkpoint(server.endpoint, &mut || look("checkpoint"));
    Ok(checkpointed.map_err(doing("checkpoint"))? && write_back(server.data_dir, &mut || look("write back"))?)
}

/// Runs ANALYZE on all tables, each with a sample of all its rows if the server and its memory allow. Returns
/// false if `look` ended it early.
fn analyze(server: &Settling<'_>, look: &mut Look<'_>) -> std::result::Result<bool, rqps_wire::Error> {
    let rows_max = server.debt.sample_rows_max;
    let work = |connection: &mut Connection, table: &str| analyze_table(connection, table, rows_max);
    for chunk in server.debt.tables.chunks(PARALLEL_ANALYZE_MAX) {
        if !with_access(server.endpoint, |access| for_each_named(access, (chunk, "analyze"), work, look))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Analyzes a table with a large sample but the usual level of detail. The column with the highest statistics
/// target determines the sample, which serves all columns, so the last column gets a high target meanwhile.
fn analyze_table(
    connection: &mut Connection,
    table: &str,
    rows_max: u64,
) -> std::result::Result<(), rqps_wire::Error> {
    let found = connection.query(&format!(
        "SELECT quote_ident(attname), coalesce(attstattarget, -1), reltuples::bigint FROM pg_attribute \
         JOIN pg_class ON pg_class.oid = attrelid \
         WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum DESC LIMIT 1"
    ))?;
    let column = found.rows.first().and_then(|row| {
        let rows: u64 = row.get(2)?.clone()?.parse().ok()?;
        let target = rows.min(rows_max).div_ceil(ROWS_PER_TARGET).min(TARGET_MAX);
        (target > TARGET_DEFAULT).then_some((row.first()?.clone()?, row.get(1)?.clone()?, target))
    });
    let Some((column, before, target)) = column else {
        return connection.simple(&format!("ANALYZE {table}")).map(|_| ());
    };
    let alter = |target: &str| format!("ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS {target}");
    connection.simple(&alter(&target.to_string()))?;
    let analyzed = connection.simple(&format!("ANALYZE {table}"));
    connection.simple(&alter(&before))?;
    analyzed.map(|_| ())
}

/// Runs CHECKPOINT. Returns false if `look` ended it early.
fn checkpoint(endpoint: &Endpoint, look: &mut Look<'_>) -> std::result::Result<bool, rqps_wire::Error> {
    let work = |connection: &mut Connection, _: &str| connection.simple("CHECKPOINT").map(|_| ());
    // One placeholder instead of a table: a checkpoint covers all.
    with_access(endpoint, |access| for_each_named(access, (&[String::new()], "checkpoint"), work, look))
}

fn conditions(before: &SettleFacts, after: &SettleFacts, server: &Settling<'_>) -> Vec<SettleCondition> {
    let condition = |name: &str, before: u64, after: u64, target: f64| SettleCondition {
        name: name.to_owned(),
        before: before as f64,
        after: after as f64,
        target,
    };
    let dead_target = (server.debt.rows_total as f64 * DEAD_ROWS_SHARE_MAX).floor();
    let checkpoint_open = u64::from(after.checkpoint_lsn == before.checkpoint_lsn);
    let mut conditions = vec![
        condition("dead_rows", before.dead_rows, after.dead_rows, dead_target),
        condition("pages_not_all_visible", before.unseen_pages, after.unseen_pages, 0.0),
        condition("checkpoints_awaited", 1, checkpoint_open, 0.0),
        condition("autovacuum_workers", before.autovacuum_workers, after.autovacuum_workers, 0.0),
    ];
    if let (Ok(dirty_before), Ok(dirty)) = (&before.dirty_buffers, &after.dirty_buffers) {
        conditions.push(condition("dirty_buffers", *dirty_before, *dirty, DIRTY_BUFFERS_MAX));
    }
    conditions
}
