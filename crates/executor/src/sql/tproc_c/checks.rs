//! What must hold after a load and after every step: the consistency conditions.

use crate::arm::ActiveArm;
use crate::error::{Error, Result};
use crate::system::{Admin, SessionResult};
use rqps_model::Metrics;
use rqps_workloads::tproc_c::Cell;
use rqps_workloads::tproc_c::consistency::{CHECKS, unread_warehouses};

/// Who may have made a load wrong.
pub(super) const BY_SERVER: &str = "the server may have lost or changed rows";
pub(super) const BY_AFTER_LOAD: &str = "it was right before the arm's after_load statements";

/// Checks all conditions on an arm's tables.
pub(super) fn check(arm: &ActiveArm, cell: Cell, culprit: &'static str) -> Result<()> {
    let checking = "checking the load";
    let mut admin = arm.admin(checking)?;
    let checked = check_tables(&mut *admin, cell, true).map_err(Error::session(&arm.name, checking))?;
    match checked.violated {
        Some(why) => Err(Error::WrongLoad { arm: arm.name.clone(), why, culprit }),
        None => Ok(()),
    }
}

/// What a check found.
pub(super) struct Checked {
    conditions: usize,
    held: usize,
    /// Warehouses of which not all conditions were checked.
    unread: u32,
    /// The violated conditions, as a sentence; `None` if all hold.
    pub violated: Option<String>,
}

impl Checked {
    /// How many conditions were checked, and how many of them held.
    pub fn metrics(&self) -> Metrics {
        let counts = [
            ("conditions_checked", self.conditions),
            ("conditions_held", self.held),
            ("warehouses_not_read", self.unread as usize),
        ];
        counts.into_iter().map(|(name, count)| (name.to_owned(), count as f64)).collect()
    }
}

/// Without `all`, leaves out conditions for which whole tables are read.
pub(super) fn check_tables(admin: &mut dyn Admin, cell: Cell, all: bool) -> SessionResult<Checked> {
    let mut conditions = 0;
    let mut found = Vec::new();
    for check in CHECKS.iter().filter(|check| all || check.is_cheap) {
        let table = admin.query(&check.sql(cell.warehouses))?;
        let row = table.rows.first().map(Vec::as_slice).unwrap_or_default();
        conditions += check.conditions.len();
        for (at, condition) in check.conditions.iter().enumerate() {
            // MySQL sums are decimals.
            let count = row.get(at).cloned().flatten().unwrap_or_else(|| "no".to_owned());
            if count.parse::<f64>() != Ok(0.0) {
                found.push(format!("condition {}: {}: {count}", condition.number, condition.violation));
            }
        }
    }
    let violated = (!found.is_empty()).then(|| found.join("; "));
    let unread = if all { unread_warehouses(cell.warehouses) } else { cell.warehouses };
    Ok(Checked { conditions, held: conditions - found.len(), unread, violated })
}
