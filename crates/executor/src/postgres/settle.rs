//! Settling: vacuum and checkpoint, then wait until the figures say that the debt is paid.

use super::reach;
use crate::adapter::{Debt, Look, SettleTick};
use crate::arm::ADMIN_NAME;
use crate::error::{Error, Result};
use crate::tables::on_each_table;
use crate::write_back::write_back;
use rqps_probe::postgres::settle::{SettleFacts, facts};
use rqps_store::{Settle, SettleCondition};
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Session};
use std::time::{Duration, Instant};

/// Dead rows that may be left, as a share of all rows.
const DEAD_ROWS_SHARE: f64 = 0.001;
/// Dirty shared buffers that may be left: 1 MB.
const DIRTY_BUFFERS: f64 = 128.0;
/// Pause between two looks at the figures.
const POLL: Duration = Duration::from_millis(250);

/// VACUUM (ANALYZE) of every table, several at the same time. Index cleanup is asked for where the server would
/// otherwise skip it when there is little to clean (12 and later). False when `look` asked for the end.
pub(super) fn vacuum(
    endpoint: &Endpoint,
    tables: &[String],
    look: &mut Look<'_>,
) -> std::result::Result<bool, rqps_wire::Error> {
    let work = |connection: &mut Connection, table: &str| {
        // Servers before 11 take the options in parentheses too, as long as they know them.
        let cleans = connection.server_version_num() >= 120_000;
        let options = if cleans { "ANALYZE, INDEX_CLEANUP ON" } else { "ANALYZE" };
        let sql = format!("VACUUM ({options}) {}", table);
        connection.simple(&sql).map(|_| ())
    };
    reach(endpoint, |reach| on_each_table(reach, (tables, "vacuum"), work, look))
}

/// Vacuums, checkpoints, and waits until every exit condition holds or the cap is reached. `None` when `tick` asked
/// for the end.
pub(super) fn settle(debt: &Debt<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>> {
    let start = Instant::now();
    let mut look = |what| tick(what, start.elapsed().as_secs_f64());
    let mut admin =
        Connection::connect(debt.endpoint, ADMIN_NAME).map_err(Error::session(debt.arm, "settling"))?;
    let before = facts(&mut admin)?;
    let vacuumed = vacuum(debt.endpoint, debt.tables, &mut || look("vacuum"));
    if !vacuumed.map_err(Error::session(debt.arm, "vacuum"))? {
        return Ok(None);
    }
    let checkpointed = checkpoint(debt.endpoint, &mut || look("checkpoint"));
    if !checkpointed.map_err(Error::session(debt.arm, "checkpoint"))? {
        return Ok(None);
    }
    if !write_back(debt.data_dir, &mut || look("write back"))? {
        return Ok(None);
    }
    loop {
        let after = facts(&mut admin)?;
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
        if !look("wait") {
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

/// One CHECKPOINT. False when `look` asked for the end.
fn checkpoint(endpoint: &Endpoint, look: &mut Look<'_>) -> std::result::Result<bool, rqps_wire::Error> {
    let work = |connection: &mut Connection, _: &str| connection.simple("CHECKPOINT").map(|_| ());
    // Once for all tables: there is one of it.
    reach(endpoint, |reach| on_each_table(reach, (&[String::new()], "checkpoint"), work, look))
}

fn conditions(before: &SettleFacts, after: &SettleFacts, debt: &Debt<'_>) -> Vec<SettleCondition> {
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
