//! Actions on a running server other than tests: load, vacuum, settle.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Loaded};
use crate::error::{Error, Result};
use crate::system::Debt;
use rqps_plan::Plan;
use rqps_store::{Measured, Observation};
use std::time::{Duration, Instant};

/// How often the stop flag is checked while a settle step waits for its minimum time.
const REST_POLL: Duration = Duration::from_millis(200);

/// Server memory reckoned for each row of a statistics sample: about ten times what the row takes.
const SAMPLED_ROW_BYTES: u64 = 4096;

/// Result of an action.
pub(crate) struct Done {
    pub observation: Option<Observation>,
    pub invalid: Option<String>,
    pub note: Option<String>,
    pub summary: String,
}

impl Done {
    /// A result with nothing to keep but its summary.
    pub fn plain(summary: impl Into<String>) -> Self {
        Self { observation: None, invalid: None, note: None, summary: summary.into() }
    }
}

pub(crate) struct Task<'a> {
    pub plan: &'a Plan,
    pub driver: &'a dyn Driver,
    pub arm: &'a ActiveArm,
}

/// Loads the tables for a test and runs the arm's `after_load` statements.
pub(crate) fn load(task: &Task<'_>, test: &str, control: &mut RunControl<'_>) -> Result<Done> {
    let loaded = only_tables(task, test, control)?;
    let mut refused = Vec::new();
    take_refused(task.driver.check_statements(task.plan, task.arm, control), &mut refused)?;
    take_refused(after_load(task, test, control), &mut refused)?;
    none_refused(task.arm, refused)?;
    Ok(loaded)
}

/// Loads the tables for a test.
pub(crate) fn load_tables(task: &Task<'_>, test: &str, control: &mut RunControl<'_>) -> Result<Done> {
    let loaded = only_tables(task, test, control)?;
    task.driver.check_statements(task.plan, task.arm, control)?;
    Ok(loaded)
}

fn only_tables(task: &Task<'_>, test: &str, control: &mut RunControl<'_>) -> Result<Done> {
    let Loaded { load, summary } = task.driver.load(task.plan, test, task.arm, control)?;
    Ok(Done { observation: Some(Observation::new(Measured::Load(load))), ..Done::plain(summary) })
}

/// Keeps what the server refused, to be told with more.
fn take_refused(result: Result<()>, refused: &mut Vec<String>) -> Result<()> {
    match result {
        Err(Error::Refused { statements, .. }) => {
            refused.extend(statements);
            Ok(())
        }
        other => other,
    }
}

/// # Errors
/// With all that the server refused.
pub(crate) fn none_refused(arm: &ActiveArm, statements: Vec<String>) -> Result<()> {
    match statements.is_empty() {
        true => Ok(()),
        false => Err(Error::Refused { arm: arm.name.clone(), statements }),
    }
}

/// Runs the arm's `after_load` statements, and checks what they made of the tables.
pub(crate) fn after_load(task: &Task<'_>, test: &str, control: &mut RunControl<'_>) -> Result<()> {
    let statements = &task.plan.arms[task.arm.index].after_load;
    if statements.is_empty() {
        return Ok(());
    }
    let mut admin = task.arm.admin("running after_load")?;
    let mut refused = Vec::new();
    for sql in statements {
        control.progress.action_progress("after the load", 0.0, None);
        let ran = admin.query(sql).map(drop).map_err(Error::of_statement(&task.arm.name, "after_load"));
        take_refused(ran, &mut refused)?;
        control.check()?;
    }
    drop(admin);
    none_refused(task.arm, refused)?;
    task.driver.check_load(task.plan, test, task.arm)
}

/// Runs the system's [`crate::Instance::vacuum`], which follows a load.
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

/// Settles the server for at most `seconds_max`, then waits until `seconds_min` have passed.
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
        sample_rows_max: task
            .plan
            .work
            .server_memory_bytes_max()
            .map_or(u64::MAX, |bytes| bytes / SAMPLED_ROW_BYTES),
        cap: Duration::from_secs(u64::from(seconds_max)),
    };
    let settled = arm.instance.settle(&debt, &mut |what, elapsed_s| {
        control.progress.action_progress(what, elapsed_s, None);
        !control.stopped()
    })?;
    let Some(mut settled) = settled else {
        return Err(Error::Interrupted);
    };
    let time_min = Duration::from_secs(u64::from(seconds_min));
    if start.elapsed() < time_min {
        while let Some(left) = time_min.checked_sub(start.elapsed()) {
            control.check()?;
            control.progress.action_progress("rest", start.elapsed().as_secs_f64(), None);
            std::thread::sleep(left.min(REST_POLL));
        }
        settled.actions.push("rest".to_owned());
        settled.elapsed_us = start.elapsed().as_micros() as u64;
    }
    let seconds = settled.elapsed_us as f64 / 1e6;
    let unmet: Vec<_> = settled
        .conditions
        .iter()
        .filter(|c| c.after > c.target)
        .map(|c| format!("{} {} above {}", c.name, c.after, c.target))
        .collect();
    let (summary, note) = if settled.reached {
        (format!("settled after {seconds:.1} s"), None)
    } else {
        let unmet = unmet.join(", ");
        let summary = format!("cap of {seconds_max} s reached: {unmet}");
        (summary, Some(unmet))
    };
    Ok(Done { observation: Some(Observation::new(Measured::Settle(settled))), note, ..Done::plain(summary) })
}
