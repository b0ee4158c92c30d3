//! The state before and after a step: sizes, debt, and the cost of planning its DELETE.

use super::InsertStep;
use crate::arm::ActiveArm;
use crate::error::{Error, Result};
use crate::system::Admin;
use rqps_model::Metrics;
use rqps_probe::queue::{Planning, Sizes};
use rqps_workloads::insert_benchmark::{max_sql, min_sql, write_delete};

/// The state at one end of a step.
pub(super) struct State {
    sizes: Sizes,
    debt: f64,
    planning: Option<Planning>,
}

impl State {
    /// Reads the state. Planning comes first: reading the rest could clean up after deletes.
    pub fn read(arm: &ActiveArm, admin: &mut dyn Admin, work: &InsertStep<'_>) -> Result<Self> {
        let planning = if work.deletes() { planning(arm, work)? } else { None };
        Ok(Self { debt: admin.debt()?, sizes: admin.sizes()?, planning })
    }

    /// The state as metrics; `end` is `before` or `after`.
    pub fn metrics(&self, debt_name: &str, end: &str) -> Metrics {
        let mut metrics = Metrics::from([
            (format!("table_bytes_{end}"), self.sizes.table_bytes as f64),
            (format!("index_bytes_{end}"), self.sizes.index_bytes as f64),
            (format!("{debt_name}_{end}"), self.debt),
        ]);
        if let Some(Planning { buffers, elapsed_us }) = self.planning {
            metrics.insert(format!("planning_us_{end}"), elapsed_us);
            metrics.extend(buffers.map(|buffers| (format!("planning_buffers_{end}"), buffers as f64)));
        }
        metrics
    }
}

/// The cost of planning the step's DELETE on the first table, in a new session. The second time is measured:
/// the first fills the session's caches.
fn planning(arm: &ActiveArm, work: &InsertStep<'_>) -> Result<Option<Planning>> {
    let mut session = arm.admin("looking at planning")?;
    let (key, _) = keys(&mut *session, &arm.name)?;
    let mut sql = String::new();
    let rows = work.queue.rows_per_statement;
    write_delete(&mut sql, work.options.delete_form, work.dialect, 1, key, rows);
    session.planning(&sql)?;
    session.planning(&sql)
}

/// The smallest and the largest key of the first table; 0 without rows.
pub(super) fn keys(admin: &mut dyn Admin, arm: &str) -> Result<(i64, i64)> {
    let mut key = |sql: String| -> Result<i64> {
        let table = admin.query(&sql).map_err(Error::session(arm, "looking up a key"))?;
        Ok(table.value().and_then(|text| text.parse().ok()).unwrap_or(0))
    };
    Ok((key(min_sql(1))?, key(max_sql(1))?))
}
