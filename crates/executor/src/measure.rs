//! Runs a measured step: fingerprint, query plans, the window with its probes, and the observation to store.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Job, Window};
use crate::error::{Error, Result};
use crate::observe::{StepFindings, observation, window};
use crate::step_observer::StepObserver;
use crate::system::Admin;
use rqps_driver::{Member, Observer, run_in_turns};
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
    let mut observer = StepObserver::new(admin, arm, &control, window.watch_options(), job.reads_counters)?;
    let outcome = window.run(&mut observer);
    let findings = observer.into_findings(&job.step.name, outcome)?;
    finish(arm, &job, window, &findings, state)
}

/// An error, and the index in `arms` of the arm that failed.
pub(crate) type Failed = Box<(usize, Error)>;

/// Runs a window on several arms' instances at the same time: arms take turns. Outputs are in the order of
/// `arms`.
pub(crate) fn measure_in_turns(
    arms: &mut [&mut ActiveArm],
    driver: &dyn Driver,
    job: &Job<'_>,
    keeps_state: bool,
    control: &mut RunControl<'_>,
) -> std::result::Result<Vec<StepOutput>, Failed> {
    let control = RefCell::new(control);
    let mut observers = Vec::new();
    let mut windows = Vec::new();
    for (at, arm) in arms.iter_mut().enumerate() {
        let failed = |error| Failed::new((at, error));
        let prepared = prepare(arm, driver, job, keeps_state, &control).map_err(failed)?;
        let Prepared { admin, window, state } = prepared;
        let options = window.watch_options();
        let observer = StepObserver::new(admin, arm, &control, options, job.reads_counters);
        observers.push(observer.map_err(failed)?);
        windows.push((window, state));
    }
    let members: Vec<Member<'_>> = windows.iter().filter_map(|(window, _)| window.member()).collect();
    let mut as_dyn: Vec<&mut dyn Observer> = Vec::new();
    as_dyn.extend(observers.iter_mut().map(|observer| observer as &mut dyn Observer));
    let outcome = run_in_turns(&members, &mut as_dyn);
    drop(members);
    let findings: Vec<_> = match outcome {
        Ok(results) => {
            let each = observers.into_iter().zip(results).enumerate();
            let findings = each.map(|(at, (observer, result))| {
                observer.into_findings(&job.step.name, Ok(result)).map_err(|error| Failed::new((at, error)))
            });
            findings.collect::<std::result::Result<_, _>>()?
        }
        Err((at, error)) => {
            let observer = observers.into_iter().nth(at);
            let error =
                observer.and_then(|observer| observer.into_findings(&job.step.name, Err(error)).err());
            return Err(Failed::new((at, error.unwrap_or(Error::Interrupted))));
        }
    };
    let mut outputs = Vec::new();
    for (at, ((window, state), findings)) in windows.into_iter().zip(&findings).enumerate() {
        let output = finish(arms[at], job, window, findings, state);
        outputs.push(output.map_err(|error| Failed::new((at, error)))?);
    }
    Ok(outputs)
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
    let plans = window.examples().into_iter().map(|(kind, sql)| admin.explain(kind, &sql));
    plans.filter_map(Result::transpose).collect()
}
