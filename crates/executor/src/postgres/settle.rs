//! Settling: vacuum and checkpoint, then wait until the figures say that the debt is paid.

use super::load::for_each_table;
use crate::error::{Error, Result};
use rqps_probe::postgres::settle::{SettleFacts, facts};
use rqps_store::{Settle, SettleCondition};
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Session};
use rqps_workloads::dialect;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Dead rows that may be left, as a share of all rows.
const DEAD_ROWS_SHARE: f64 = 0.001;
/// Dirty shared buffers that may be left: 1 MB.
const DIRTY_BUFFERS: f64 = 128.0;
/// Pause between two looks at the figures.
const POLL: Duration = Duration::from_millis(250);
/// How often the user's wish is looked at while the kernel works.
const LOOK: Duration = Duration::from_millis(50);

/// What is to come to rest.
#[derive(Debug, Clone, Copy)]
pub struct Debt {
    /// Tables to vacuum.
    pub tables: u32,
    /// Rows of all tables.
    pub rows_total: u64,
    /// Give up waiting after this time, vacuum and checkpoint included.
    pub cap: Duration,
}

/// VACUUM (ANALYZE) of every table, several at the same time. Index cleanup is asked for where the server would
/// otherwise skip it when there is little to clean (12 and later). False when `look` asked for the end.
pub fn vacuum(
    endpoint: &Endpoint,
    version_num: u32,
    tables: u32,
    mut look: impl FnMut() -> bool,
) -> std::result::Result<bool, rqps_wire::Error> {
    let options = if version_num >= 120_000 { "ANALYZE, INDEX_CLEANUP ON" } else { "ANALYZE" };
    let stop = AtomicBool::new(false);
    let work = |connection: &mut Connection, table| {
        // Servers before 11 take the options in parentheses too, as long as they know them.
        let sql = format!("VACUUM ({options}) {}", dialect::table_name(table));
        connection.simple(&sql).map(|_| ())
    };
    for_each_table(endpoint, tables, "vacuum", &stop, work, || {
        if !look() {
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(!stop.into_inner())
}

/// Vacuums, checkpoints, and waits until every exit condition holds or the cap is reached. `None` when `look` asked
/// for the end.
pub fn settle(
    arm: &str,
    admin: &mut Connection,
    endpoint: &Endpoint,
    data_dir: &Path,
    debt: Debt,
    mut look: impl FnMut(&'static str, f64) -> bool,
) -> Result<Option<Settle>> {
    let start = Instant::now();
    let before = facts(admin)?;
    let version_num = admin.server_version_num();
    let vacuumed =
        vacuum(endpoint, version_num, debt.tables, || look("vacuum", start.elapsed().as_secs_f64()));
    if !vacuumed.map_err(Error::session(arm, "vacuum"))? {
        return Ok(None);
    }
    let checkpointed = checkpoint(endpoint, || look("checkpoint", start.elapsed().as_secs_f64()));
    if !checkpointed.map_err(Error::session(arm, "checkpoint"))? {
        return Ok(None);
    }
    let written_back = write_back(data_dir, || look("write back", start.elapsed().as_secs_f64()))?;
    if !written_back {
        return Ok(None);
    }
    loop {
        let after = facts(admin)?;
        let conditions = conditions(&before, &after, debt);
        let reached = conditions.iter().all(|c| c.after <= c.target);
        if reached || start.elapsed() >= debt.cap {
            return Ok(Some(Settle {
                actions: ["vacuum analyze", "checkpoint", "write back", "wait"].map(str::to_owned).to_vec(),
                conditions,
                elapsed_us: start.elapsed().as_micros() as u64,
                cap_us: debt.cap.as_micros() as u64,
                reached,
            }));
        }
        if !look("wait", start.elapsed().as_secs_f64()) {
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

/// One CHECKPOINT. False when `look` asked for the end.
fn checkpoint(
    endpoint: &Endpoint,
    mut look: impl FnMut() -> bool,
) -> std::result::Result<bool, rqps_wire::Error> {
    let stop = AtomicBool::new(false);
    let work = |connection: &mut Connection, _| connection.simple("CHECKPOINT").map(|_| ());
    for_each_table(endpoint, 1, "checkpoint", &stop, work, || {
        if !look() {
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(!stop.into_inner())
}

/// Has the kernel write what it still holds for the file system of the data, the log of earlier steps included. False
/// when `look` asked for the end; the kernel then goes on by itself.
fn write_back(data_dir: &Path, mut look: impl FnMut() -> bool) -> Result<bool> {
    let failed = |source| Error::File { action: "write back", path: data_dir.to_owned(), source };
    let dir = std::fs::File::open(data_dir).map_err(failed)?;
    let (done, outcome) = channel();
    let sync = move || {
        // Nobody listens any more when the end was asked for.
        let _told = done.send(rustix::fs::syncfs(dir));
    };
    std::thread::Builder::new().name("write-back".to_owned()).spawn(sync).map_err(failed)?;
    loop {
        match outcome.recv_timeout(LOOK) {
            Ok(synced) => return synced.map(|()| true).map_err(|e| failed(e.into())),
            Err(RecvTimeoutError::Timeout) if look() => {}
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed(std::io::Error::other("its thread ended")));
            }
        }
    }
}

fn conditions(before: &SettleFacts, after: &SettleFacts, debt: Debt) -> Vec<SettleCondition> {
    let condition = |name: &str, before: u64, after: u64, target: f64| SettleCondition {
        name: name.to_owned(),
        before: before as f64,
        after: after as f64,
        target,
    };
    let dead_target = (debt.rows_total as f64 * DEAD_ROWS_SHARE).floor();
    let checkpoint_open = u64::from(after.checkpoint_lsn == before.checkpoint_lsn);
    let mut conditions = vec![
        condition("dead_rows", before.dead_rows, after.dead_rows, dead_target),
        condition("checkpoints_awaited", 1, checkpoint_open, 0.0),
        condition("autovacuum_workers", before.autovacuum_workers, after.autovacuum_workers, 0.0),
    ];
    if let (Ok(dirty_before), Ok(dirty)) = (&before.dirty_buffers, &after.dirty_buffers) {
        conditions.push(condition("dirty_buffers", *dirty_before, *dirty, DIRTY_BUFFERS));
    }
    conditions
}
