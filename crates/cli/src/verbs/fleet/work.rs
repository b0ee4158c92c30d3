//! What a job does: it claims its task, resumes the run that this host began or begins one, and publishes the result.

use super::progress::Recorded;
use crate::build_progress::reopen;
use crate::context::Context;
use crate::kit::KIT;
use crate::verbs::run::begin_in;
use crate::{EXIT_FAILED, EXIT_INTERRUPTED, chain, exit_code, out};
use anyhow::Context as _;
use rqps_builds::sha256_hex;
use rqps_executor::{Execution, Finish, Resume};
use rqps_fleet::{Claim, Claimed, FAILURES_MAX, Fleet, Home, Task, this_host};
use rqps_plan::estimate::duration_text;
use rqps_plan::{Plan, PlanContext};
use rqps_store::{RunFolder, Status};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a job waits for another that works on its task. If Slurm started this one because it lost sight of the
/// other, it ends that one when it sees it again.
const PATIENCE: Duration = Duration::from_secs(300);

/// Pauses between attempts to send a result, until the job is asked to stop.
const RETRY: Duration = Duration::from_secs(15);

/// `home` is where the fleet is if `fleet` is its mirror on this host.
pub fn work(context: &Context, fleet: &Fleet, task: &Task, home: Option<&Home>) -> anyhow::Result<ExitCode> {
    context.catch_signals();
    let waits = || {
        out::message(&format!(
            "another process works on task {}: waiting at most {} for it",
            task.id,
            duration_text(PATIENCE.as_secs_f64())
        ));
    };
    let claimed = Claim::take(fleet, task, PATIENCE, &context.stop, home, waits)?;
    context.release_signals();
    let claim = match claimed {
        Claimed::Mine(claim) => claim,
        Claimed::Done => {
            out::message(&format!("task {} is done", task.id));
            return Ok(ExitCode::SUCCESS);
        }
        Claimed::Taken => {
            out::message(&format!("another process works on task {}", task.id));
            return Ok(ExitCode::from(EXIT_FAILED));
        }
        Claimed::Stopped => return Ok(ExitCode::from(EXIT_INTERRUPTED)),
    };
    let done = match complete_run(&claim) {
        Some((run, host)) => publish(context, &claim, &run, &host),
        None => {
            execution(context, fleet, task, &claim).and_then(|execution| measured(context, &claim, execution))
        }
    };
    let Err(error) = done else { return Ok(ExitCode::SUCCESS) };
    let code = exit_code(&error);
    let is_in_use = error
        .downcast_ref()
        .is_some_and(|error| matches!(error, rqps_executor::Error::Store(rqps_store::Error::InUse { .. })));
    let is_unreached = matches!(error.downcast_ref(), Some(rqps_fleet::Error::Unreached { .. }));
    // First, since a full disk may keep it from being recorded.
    let why = chain(&error);
    out::message(&format!("rqps: {why}"));
    if code != EXIT_INTERRUPTED && !is_in_use && !is_unreached {
        claim.fail(&why)?;
    }
    Ok(ExitCode::from(code))
}

/// A run that was finished and whose host died before it was published.
fn complete_run(claim: &Claim<'_>) -> Option<(PathBuf, String)> {
    let begun = claim.begun()?;
    let path = claim.runs().join(begun.run);
    let run = RunFolder::open(&path).ok()?;
    (run.status.status == Status::Complete).then_some((path, begun.host))
}

/// The run that this host began, if it can be resumed; otherwise a new one.
fn execution(context: &Context, fleet: &Fleet, task: &Task, claim: &Claim<'_>) -> anyhow::Result<Execution> {
    let begun = claim.begun().filter(|begun| begun.host == this_host());
    if let Some(path) = begun.map(|begun| claim.runs().join(begun.run)).filter(|path| path.exists()) {
        match reopen(context, &path, Resume::default()) {
            Ok(execution) => return Ok(execution),
            Err(error @ (rqps_executor::Error::Interrupted | rqps_executor::Error::Store(_))) => {
                return Err(error.into());
            }
            Err(error) => {
                out::message(&format!("the run of this host cannot be resumed, another one begins: {error}"));
                rqps_executor::clean(&path, &context.dirs)?;
            }
        }
    }
    check_files(fleet)?;
    let path = fleet.piece_path(task);
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    // Checked when the fleet was planned.
    let plan = Plan::parse(&text, &path.to_string_lossy(), &PlanContext::trusting(KIT.benchmarks))?.plan;
    claim.fetch_builds(&plan.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>())?;
    let execution = begin_in(context, plan, &claim.runs())?;
    for arm in RunFolder::open(&execution.folder())?.arms {
        if fleet.spec.builds.get(&arm.name).is_some_and(|hash| *hash != arm.build_hash) {
            anyhow::bail!(
                "arm {} has another build here ({}): directories that a plan names must have the same files on all hosts",
                arm.name,
                arm.build_hash
            );
        }
    }
    claim.begin(&execution.folder())?;
    Ok(execution)
}

/// Compares the copies of files that the plan names with their hashes.
fn check_files(fleet: &Fleet) -> anyhow::Result<()> {
    for (path, expected) in &fleet.spec.files {
        let path = fleet.folder.join(path);
        let content = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        if sha256_hex(&content) != *expected {
            anyhow::bail!("{} was changed since the fleet was planned: plan another fleet", path.display());
        }
    }
    Ok(())
}

fn measured(context: &Context, claim: &Claim<'_>, mut execution: Execution) -> anyhow::Result<()> {
    let folder = execution.folder();
    context.catch_signals();
    out::message(&format!("run folder {}", folder.display()));
    let mut progress = Recorded::new(&execution, claim, &context.stop);
    let finish = execution.run(&mut progress, &context.stop);
    progress.finish();
    drop(execution);
    context.release_signals();
    match finish? {
        Finish::Complete | Finish::Ended(_) => {}
        Finish::Partly(errors) => {
            let why: Vec<String> = errors.iter().map(ToString::to_string).collect();
            // An arm that no host can measure is not a reason to lose the others.
            if claim.failures() + 1 < FAILURES_MAX {
                anyhow::bail!(why.join("; "));
            }
            claim.fail(&why.join("; "))?;
        }
    }
    publish(context, claim, &folder, &this_host())
}

fn publish(context: &Context, claim: &Claim<'_>, run: &Path, host: &str) -> anyhow::Result<()> {
    context.catch_signals();
    let published = loop {
        match claim.publish(run, host) {
            Err(error @ rqps_fleet::Error::Unreached { .. }) if !context.stop.load(Ordering::Relaxed) => {
                out::message(&format!("rqps: {error}; trying again every {} s", RETRY.as_secs()));
                std::thread::sleep(RETRY);
            }
            published => break published,
        }
    };
    context.release_signals();
    if published? {
        out::message(&format!("result {}", run.display()));
    } else {
        out::message("this task has a result of another process, which counts");
    }
    Ok(())
}
