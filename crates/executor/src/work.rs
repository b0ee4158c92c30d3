//! What is done on a running server beside tests: load, vacuum, settle.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Loaded};
use crate::error::{Error, Result};
use crate::spec::memory_bytes_max;
use crate::system::Debt;
use rqps_plan::Plan;
use rqps_store::{Measured, Observation};
use std::time::{Duration, Instant};

/// Pause between two looks at whether the user wants to stop, while a settle goes on though its debts are paid.
const REST_POLL: Duration = Duration::from_millis(200);

/// Memory of a server that is set aside for each row that it may sample: about ten times what the row takes.
const SAMPLED_ROW_BYTES: u64 = 4096;

pub(crate) struct Done {
    pub observation: Option<Observation>,
    pub invalid: Option<String>,
    pub note: Option<String>,
    pub summary: String,
}

impl Done {
    /// Without anything to keep but that it is done.
    pub fn plain(summary: impl Into<String>) -> Self {
        Self { observation: None, invalid: None, note: None, summary: summary.into() }
    }
}

/// On what an action works.
pub(crate) struct Task<'a> {
    pub plan: &'a Plan,
    pub driver: &'a dyn Driver,
    pub arm: &'a ActiveArm,
}

/// Makes the tables, and runs what the plan wants done on this arm alone.
pub(crate) fn load(task: &Task<'_>, control: &mut RunControl<'_>) -> Result<Done> {
    let loaded = load_tables(task, control)?;
    after_load(task, control)?;
    Ok(loaded)
}

/// Makes the tables.
pub(crate) fn load_tables(task: &Task<'_>, control: &mut RunControl<'_>) -> Result<Done> {
    let Loaded { load, summary } = task.driver.load(task.plan, task.arm, control)?;
    Ok(Done { observation: Some(Observation::new(Measured::Load(load))), ..Done::plain(summary) })
}

/// What the plan wants done on this arm alone.
pub(crate) fn after_load(task: &Task<'_>, control: &mut RunControl<'_>) -> Result<()> {
    let statements = &task.plan.arms[task.arm.index].after_load;
    if statements.is_empty() {
        return Ok(());
    }
    let mut admin = task.arm.admin("running what follows the load")?;
    for sql in statements {
        control.progress.action_progress("after the load", 0.0, None);
        admin.query(sql).map_err(Error::session(&task.arm.name, &format!("after_load: {sql}")))?;
        if control.stopped() {
            return Err(Error::Interrupted);
        }
    }
    Ok(())
}

/// The look through every table that follows a load.
pub(crate) fn vacuum(task: &Task<'_>, control: &mut RunControl<'_>) -> Result<Done> {
    let start = Instant::now();
    let finished = task.arm.instance.vacuum(&task.plan.work.table_names(), &mut || {
        let elapsed_s = start.elapsed().as_secs_f64();
        control.progress.action_progress("vacuum", elapsed_s, None);
        !control.stopped()
    });
    if !finished.map_err(Error::session(&task.arm.name, "vacuum"))? {
        return Err(Error::Interrupted);
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    Ok(Done::plain(format!("{elapsed_s:.1} s")))
}

/// Waits until the server has come to rest, at most `seconds_max`, and in any case until `seconds_min` are over.
pub(crate) fn settle(
    task: &Task<'_>,
    (seconds_min, seconds_max): (u32, u32),
    control: &mut RunControl<'_>,
) -> Result<Done> {
    let start = Instant::now();
    let arm = task.arm;
    let debt = Debt {
        arm: &arm.name,
        tables: &task.plan.work.table_names(),
        rows_total: task.plan.work.rows_total(),
        sample_rows_max: memory_bytes_max(task.plan).map_or(u64::MAX, |bytes| bytes / SAMPLED_ROW_BYTES),
        cap: Duration::from_secs(u64::from(seconds_max)),
    };
    let settled = arm.instance.settle(&debt, &mut |what, elapsed_s| {
        control.progress.action_progress(what, elapsed_s, None);
        !control.stopped()
    })?;
    let Some(mut settled) = settled else {
        return Err(Error::Interrupted);
    };
    let least = Duration::from_secs(u64::from(seconds_min));
    if start.elapsed() < least {
        while let Some(left) = least.checked_sub(start.elapsed()) {
            if control.stopped() {
                return Err(Error::Interrupted);
            }
            control.progress.action_progress("rest", start.elapsed().as_secs_f64(), None);
            std::thread::sleep(left.min(REST_POLL));
        }
        settled.actions.push("rest".to_owned());
        settled.elapsed_us = start.elapsed().as_micros() as u64;
    }
    let seconds = settled.elapsed_us as f64 / 1e6;
    let open: Vec<_> = settled
        .conditions
        .iter()
        .filter(|c| c.after > c.target)
        .map(|c| format!("{} {} above {}", c.name, c.after, c.target))
        .collect();
    let (summary, note) = if settled.reached {
        (format!("at rest after {seconds:.1} s"), None)
    } else {
        let open = open.join(", ");
        let summary = format!("cap of {seconds_max} s reached: {open}");
        (summary, Some(open))
    };
    Ok(Done { observation: Some(Observation::new(Measured::Settle(settled))), note, ..Done::plain(summary) })
}
