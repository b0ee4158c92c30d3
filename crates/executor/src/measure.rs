//! Runs a measured step: fingerprint, query plans, the window with its probes, and the observation to store.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Job, Window};
use crate::error::{Error, Result};
use crate::observe::{StepFindings, observation, window};
use crate::step_observer::StepObserver;
use crate::system::Admin;
use rqps_driver::{Member, Observer, StepError, run_in_turns};
use rqps_model::{FixedWork, QueryPlan, Role};
use rqps_store::{Measured, Observation};
use std::cell::RefCell;

pub(crate) struct StepOutput {
    pub observation: Observation,
    pub work: FixedWork,
    pub invalid: Option<String>,
    /// The rate, for the progress display.
    pub summary: String,
}

/// Runs a window on an arm's instance. With `keeps_state`, query plans and the instance's fingerprint are
/// stored with it.
pub(crate) fn measure(
    arm: &mut ActiveArm,
    driver: &dyn Driver,
    job: Job<'_>,
    keeps_state: bool,
    control: &mut RunControl<'_>,
) -> Result<StepOutput> {
    let control = RefCell::new(control);
    let Prepared { admin, mut window, state } = prepare(arm, driver, &job, keeps_state, &control)?;
    let mut observer = StepObserver::new(admin, arm, &control, window.watch_options(), &job)?;
    let outcome = window.run(&mut observer);
    let findings = observer.into_findings(&job.step.name, outcome)?;
    finish(arm, &job, window, &findings, state)
}

/// Runs a window on several arms' instances at the same time: arms take turns. Outputs are in the order of
/// `arms`; an arm that fails does not hold back the others.
pub(crate) fn measure_in_turns(
    arms: &mut [&mut ActiveArm],
    driver: &dyn Driver,
    job: &Job<'_>,
    keeps_state: bool,
    control: &mut RunControl<'_>,
) -> Vec<Result<StepOutput>> {
    let control = RefCell::new(control);
    // Of each arm its window or its error.
    let mut prepared = Vec::new();
    for arm in arms.iter_mut() {
        let is_first = prepared.iter().all(Result::is_err);
        // The first arm that takes part decides when the window ends.
        let removed_rows_max = job.removed_rows_max.filter(|_| is_first);
        let job = Job { removed_rows_max, ..job.clone() };
        prepared.push(prepare(arm, driver, &job, keeps_state, &control).and_then(
            |Prepared { admin, window, state }| {
                let observer = StepObserver::new(admin, arm, &control, window.watch_options(), &job)?;
                Ok((window, state, observer))
            },
        ));
    }
    let (mut members, mut observers) = (Vec::<Member<'_>>::new(), Vec::<&mut dyn Observer>::new());
    for (window, _, observer) in prepared.iter_mut().flatten() {
        members.extend(window.member());
        observers.push(observer);
    }
    let mut results = run_in_turns(&members, &mut observers).into_iter();
    drop(members);
    let ended = prepared.into_iter().map(|one| {
        let (window, state, observer) = one?;
        let result = results.next().unwrap_or(Err(StepError::Cancelled));
        Ok((window, state, observer.into_findings(&job.step.name, result)?))
    });
    let ended: Vec<Result<_>> = ended.collect();
    let outputs = arms.iter().zip(ended).map(|(arm, one)| {
        let (window, state, findings) = one?;
        finish(arm, job, window, &findings, state)
    });
    outputs.collect()
}

/// A window that is ready to run.
struct Prepared<'a> {
    admin: Box<dyn Admin>,
    window: Box<dyn Window + 'a>,
    state: StateBefore,
}

/// The instance's fingerprint, and the query plans of the window's statements.
type StateBefore = (Vec<(String, String)>, Vec<QueryPlan>);

fn prepare<'a>(
    arm: &ActiveArm,
    driver: &dyn Driver,
    job: &Job<'a>,
    keeps_state: bool,
    control: &RefCell<&mut RunControl<'_>>,
) -> Result<Prepared<'a>> {
    let mut admin = arm.admin("preparing a step")?;
    admin.begin_step().map_err(Error::session(&arm.name, "preparing a step"))?;
    if job.repeats {
        control.borrow_mut().progress.action_progress("undoing partial work", 0.0, None);
    }
    let window = driver.prepare(job.clone(), arm, &mut *admin)?;
    let state = match keeps_state {
        true => (admin.fingerprint()?, plans(&mut *admin, &*window)?),
        false => StateBefore::default(),
    };
    Ok(Prepared { admin, window, state })
}

/// Computes the output of a window that has ended.
fn finish(
    arm: &ActiveArm,
    job: &Job<'_>,
    ended: Box<dyn Window + '_>,
    findings: &StepFindings,
    (fingerprint, plans): StateBefore,
) -> Result<StepOutput> {
    let finished = ended.finish(arm, findings)?;
    let window = window(job.step, job.plan.seed, &findings.result, findings.started_at_ms, &finished);
    let role = match job.step.role {
        Role::Test => "",
        Role::Warm => " (warm-up)",
        Role::Pre => " (early pass)",
    };
    let rate = window.rate().unwrap_or(0.0);
    let summary = format!("{rate:.0} {}/s{role}{}", window.unit.key, finished.remark);
    let mut observation = observation(Measured::Window(window), findings, arm.system.debt_name());
    observation.metrics.extend(finished.metrics);
    observation.fingerprint = fingerprint;
    observation.plans = plans;
    let invalid = finished.invalid.or_else(|| findings.result.invalid.clone());
    Ok(StepOutput { summary, observation, work: findings.result.work.clone(), invalid })
}

fn plans(admin: &mut dyn Admin, window: &dyn Window) -> Result<Vec<QueryPlan>> {
    let plans = window.examples().into_iter().map(|example| admin.explain(&example));
    plans.filter_map(Result::transpose).collect()
}
