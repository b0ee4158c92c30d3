//! Settling: vacuum, statistics and checkpoint, then wait until the figures say that the debt is paid.

use super::admin::flush_commits;
use super::reach;
use crate::error::{Error, Result};
use crate::sql::adapter::Settling;
use crate::sql::tables::on_each_table;
use crate::sql::write_back::write_back;
use crate::system::{ADMIN_NAME, Look, SettleTick};
use rqps_model::{Settle, SettleCondition};
use rqps_probe::postgres::settle::{SettleFacts, facts};
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Session};
use std::time::{Duration, Instant};

/// Dead rows that may be left, as a share of all rows.
const DEAD_ROWS_SHARE: f64 = 0.001;
/// Dirty shared buffers that may be left: 1 MB.
const DIRTY_BUFFERS: f64 = 128.0;
/// Rows that ANALYZE samples for each unit of the highest statistics target among a table's columns
/// (`std_typanalyze` in `analyze.c`), the largest target there is, and the one that columns have unless told otherwise.
const ROWS_PER_TARGET: u64 = 300;
const TARGET_MAX: u64 = 10_000;
const TARGET_DEFAULT: u64 = 100;
/// Tables that are analyzed at the same time: each keeps its sample in memory, about 1 GB for 3 million rows.
const ANALYZED_AT_ONCE: usize = 4;
/// Pause between two looks at the figures.
const POLL: Duration = Duration::from_millis(250);

/// VACUUM (ANALYZE) of every table, several at the same time. Commits that wait for the disk are flushed before: a page
/// whose rows' commit is not on disk yet can't be marked all-visible. Index cleanup is asked for where the server would
/// otherwise skip it when there is little to clean (12 and later). False when `look` asked for the end.
pub(super) fn vacuum(
    endpoint: &Endpoint,
    tables: &[String],
    look: &mut Look<'_>,
) -> std::result::Result<bool, rqps_wire::Error> {
    flush_commits(&mut Connection::connect(endpoint, ADMIN_NAME)?)?;
    vacuum_with(endpoint, (tables, "ANALYZE"), look)
}

/// VACUUM with this option. An empty name stands for the whole database, catalogs included.
fn vacuum_with(
    endpoint: &Endpoint,
    (tables, option): (&[String], &str),
    look: &mut Look<'_>,
) -> std::result::Result<bool, rqps_wire::Error> {
    let work = |connection: &mut Connection, table: &str| {
        // Servers before 11 take the options in parentheses too, as long as they know them.
        let cleans = connection.server_version_num() >= 120_000;
        let cleanup = if cleans { ", INDEX_CLEANUP ON" } else { "" };
        connection.simple(&format!("VACUUM ({option}{cleanup}) {table}")).map(|_| ())
    };
    reach(endpoint, |reach| on_each_table(reach, (tables, "vacuum"), work, look))
}

/// Brings tables to a state that depends on their rows alone: every page frozen and all-visible, statistics of all rows
/// (or as many as the server samples), catalogs vacuumed, and nothing in the WAL since a checkpoint at the head of a
/// file. Then waits until every exit condition holds or the cap is reached. `None` when `tick` asked for the end.
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
    loop {
        let after = facts(&mut admin)?;
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
        // Somebody's snapshot, autovacuum's for one, kept pages from being marked.
        if after.unseen_pages > 0 && !freeze_and_checkpoint(server, &mut admin, &mut look)? {
            return Ok(None);
        }
    }
}

/// Vacuums what is not frozen yet, catalogs included, and checkpoints at the head of a WAL file. False when `look`
/// asked for the end.
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

/// ANALYZE of every table from a sample of all its rows, if the server and its memory allow. False when `look` asked
/// for the end.
fn analyze(server: &Settling<'_>, look: &mut Look<'_>) -> std::result::Result<bool, rqps_wire::Error> {
    let rows =
        (server.debt.rows_total / server.debt.tables.len().max(1) as u64).min(server.debt.sample_rows_max);
    let work = |connection: &mut Connection, table: &str| analyze_table(connection, table, rows);
    for some in server.debt.tables.chunks(ANALYZED_AT_ONCE) {
        if !reach(server.endpoint, |reach| on_each_table(reach, (some, "analyze"), work, look))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The sample is as large as the column with the highest target wants it, and serves all columns; so the last column
/// gets a high one for as long as this takes, and the others are described as finely as always.
fn analyze_table(
    connection: &mut Connection,
    table: &str,
    rows: u64,
) -> std::result::Result<(), rqps_wire::Error> {
    let found = connection.query(&format!(
        "SELECT quote_ident(attname), coalesce(attstattarget, -1) FROM pg_attribute \
         WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum DESC LIMIT 1"
    ))?;
    let target = rows.div_ceil(ROWS_PER_TARGET).min(TARGET_MAX);
    let column = found.rows.first().and_then(|row| Some((row.first()?.clone()?, row.get(1)?.clone()?)));
    let Some((column, before)) = column.filter(|_| target > TARGET_DEFAULT) else {
        return connection.simple(&format!("ANALYZE {table}")).map(|_| ());
    };
    let alter = |target: &str| format!("ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS {target}");
    connection.simple(&alter(&target.to_string()))?;
    let analyzed = connection.simple(&format!("ANALYZE {table}"));
    connection.simple(&alter(&before))?;
    analyzed.map(|_| ())
}

/// One CHECKPOINT. False when `look` asked for the end.
fn checkpoint(endpoint: &Endpoint, look: &mut Look<'_>) -> std::result::Result<bool, rqps_wire::Error> {
    let work = |connection: &mut Connection, _: &str| connection.simple("CHECKPOINT").map(|_| ());
    // Once for all tables: there is one of it.
    reach(endpoint, |reach| on_each_table(reach, (&[String::new()], "checkpoint"), work, look))
}

fn conditions(before: &SettleFacts, after: &SettleFacts, server: &Settling<'_>) -> Vec<SettleCondition> {
    let condition = |name: &str, before: u64, after: u64, target: f64| SettleCondition {
        name: name.to_owned(),
        before: before as f64,
        after: after as f64,
        target,
    };
    let dead_target = (server.debt.rows_total as f64 * DEAD_ROWS_SHARE).floor();
    let checkpoint_open = u64::from(after.checkpoint_lsn == before.checkpoint_lsn);
    let mut conditions = vec![
        condition("dead_rows", before.dead_rows, after.dead_rows, dead_target),
        condition("pages_not_all_visible", before.unseen_pages, after.unseen_pages, 0.0),
        condition("checkpoints_awaited", 1, checkpoint_open, 0.0),
        condition("autovacuum_workers", before.autovacuum_workers, after.autovacuum_workers, 0.0),
    ];
    if let (Ok(dirty_before), Ok(dirty)) = (&before.dirty_buffers, &after.dirty_buffers) {
        conditions.push(condition("dirty_buffers", *dirty_before, *dirty, DIRTY_BUFFERS));
    }
    conditions
}
