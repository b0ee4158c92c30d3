//! `fleet`: a plan on many hosts.

mod collect;
mod plan;
mod progress;
mod status;
mod waiting;
mod work;

use crate::args::{FleetArg, FleetArgs, FleetVerb};
use crate::context::Context;
use crate::{EXIT_FAILED, EXIT_INTERRUPTED, Usage, out};
use rqps_fleet::{Fleet, Home, Pass, Place, State, serve};
use rqps_model::{counted, did_you_mean};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What names of fleets' folders begin with.
const PREFIX: &str = "fleet-";
/// How often Slurm is asked.
const PAUSE: Duration = Duration::from_secs(15);
const STOP_CHECK: Duration = Duration::from_millis(200);
/// How long a resume waits for jobs that were cancelled right before.
const ENDING_MAX: Duration = Duration::from_secs(120);

pub fn run(context: &Context, args: &FleetArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        FleetVerb::Run(args) => plan::run(context, args),
        FleetVerb::Status(arg) => status::run(context, &open(context, arg)?),
        FleetVerb::Watch(arg) => watch(context, &open(context, arg)?),
        FleetVerb::Cancel(arg) => {
            let fleet = open(context, arg)?;
            if fleet.spec.place != Place::Local && is_done(&fleet) {
                out::message("all tasks are done: there is nothing to cancel");
                return Ok(ExitCode::SUCCESS);
            }
            let jobs = fleet.cancel().map_err(|error| unanswered(error, "nothing was cancelled"))?;
            out::message(&format!("cancelled {}; `rqps fleet resume` goes on", counted(jobs, "job")));
            Ok(ExitCode::SUCCESS)
        }
        FleetVerb::Resume(arg) => submit(context, &open(context, arg)?),
        FleetVerb::Collect(args) => collect::run(context, &open(context, &args.fleet)?, args.html.as_ref()),
        FleetVerb::Work { folder, id, task, over_ssh: None } => {
            let fleet = Fleet::open(folder)?.expect_id(id)?;
            work::work(context, &fleet, fleet.task(task)?, None)
        }
        FleetVerb::Work { folder, id, task, over_ssh: Some(host) } => {
            let [host, id, task] = [host, id, task].map(String::to_owned);
            let home = Home { host, folder: folder.clone(), id, task };
            context.dirs.create_work()?;
            let fleet = Fleet::open(&home.mirror(&context.dirs.work)?)?;
            work::work(context, &fleet, fleet.task(&home.task)?, Some(&home))
        }
        FleetVerb::Home { folder, id, task } => {
            let fleet = Fleet::open(folder)?.expect_id(id)?;
            serve(&fleet, fleet.task(task)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn open(context: &Context, arg: &FleetArg) -> anyhow::Result<Fleet> {
    let named = context.results.join(&arg.fleet);
    if !arg.fleet.exists() && named.exists() {
        return Ok(Fleet::open(&named)?);
    }
    let names = || std::fs::read_dir(&context.results).into_iter().flatten().flatten();
    let names: Vec<String> = names().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with(PREFIX)).collect();
    let asked = arg.fleet.to_string_lossy();
    let meant = did_you_mean(&asked, names.iter().copied())
        .or_else(|| did_you_mean(&format!("{PREFIX}{asked}"), names.iter().copied()));
    match (Fleet::open(&arg.fleet), meant) {
        (Err(error @ rqps_fleet::Error::NoFolder { .. }), Some(meant)) => {
            Err(Usage(format!("{error}. {meant}")).into())
        }
        (opened, _) => Ok(opened?),
    }
}

fn is_done(fleet: &Fleet) -> bool {
    fleet.spec.tasks.iter().all(|task| fleet.is_done(task))
}

/// Says what an error of Slurm's programs left undone.
fn unanswered(error: rqps_fleet::Error, undone: &str) -> anyhow::Error {
    let is_of_slurm = matches!(error, rqps_fleet::Error::Slurm { .. });
    let error = anyhow::Error::from(error);
    match is_of_slurm {
        true => {
            error.context(format!("Slurm does not answer, so {undone}: call it again when `squeue` does"))
        }
        false => error,
    }
}

/// Waits for jobs that were cancelled and whose processes are not gone: until then their tasks are not submitted again.
fn wait_for_ending(context: &Context, fleet: &Fleet) -> anyhow::Result<()> {
    context.catch_signals();
    let until = Instant::now() + ENDING_MAX;
    let mut is_said = false;
    while Instant::now() < until && !context.stop.load(Ordering::Relaxed) {
        let pass = fleet.look().map_err(|error| unanswered(error, "nothing was submitted"))?;
        let ending = pass.count(is_ending);
        if ending == 0 {
            break;
        }
        if !is_said {
            out::message(&format!("waiting for {} to end", counted(ending, "cancelled job")));
            is_said = true;
        }
        sleep(STOP_CHECK * 10);
    }
    context.release_signals();
    Ok(())
}

fn is_ending(state: &State) -> bool {
    matches!(state, State::Queued(job) if job.is_ending())
}

/// Submits what is due, or runs it here.
fn submit(context: &Context, fleet: &Fleet) -> anyhow::Result<ExitCode> {
    if fleet.spec.place == Place::Local {
        return run_here(context, fleet);
    }
    wait_for_ending(context, fleet)?;
    let pass = fleet.pass(true).map_err(|error| unanswered(error, "nothing was submitted"))?;
    out::message(&format!("submitted {}; {}", counted(pass.submitted, "task"), summary(fleet, &pass)));
    if let Some(why) = &pass.refused {
        let rest = pass.count(|state| matches!(state, State::Waiting | State::Due(_)));
        let how = if rest > 0 { "\n`rqps fleet resume` submits the rest" } else { "" };
        out::message(&format!("rqps: {why}{how}"));
        return Ok(ExitCode::from(EXIT_FAILED));
    }
    let place = shown(&fleet.folder);
    if is_done(fleet) {
        out::message(&format!("results     rqps fleet collect {place}"));
        return Ok(ExitCode::SUCCESS);
    }
    let ending = pass.count(is_ending);
    if ending > 0 {
        out::message(&format!(
            "{} of the cancelled fleet still {}: `rqps fleet watch` submits the tasks when they have ended",
            counted(ending, "job"),
            if ending == 1 { "ends" } else { "end" }
        ));
    }
    out::message(&format!(
        "progress    rqps fleet watch {place}   (also submits again what gets lost)\n\
         results     rqps fleet collect {place}"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Runs all open tasks here, one after the other.
fn run_here(context: &Context, fleet: &Fleet) -> anyhow::Result<ExitCode> {
    fleet.prepare_here()?;
    let mut failed = 0;
    for task in fleet.spec.tasks.iter().filter(|task| !fleet.is_done(task)) {
        out::message(&format!("\ntask {}", task.id));
        let code = work::work(context, fleet, task, None)?;
        if context.stop.load(Ordering::Relaxed) {
            out::message(&format!("to continue: rqps fleet resume {}", shown(&fleet.folder)));
            return Ok(ExitCode::from(EXIT_INTERRUPTED));
        }
        failed += usize::from(code != ExitCode::SUCCESS);
    }
    if failed > 0 {
        out::message(&format!(
            "{} failed: `rqps fleet status {}`",
            counted(failed, "task"),
            shown(&fleet.folder)
        ));
        return Ok(ExitCode::from(EXIT_FAILED));
    }
    collect::run(context, fleet, None)
}

fn watch(context: &Context, fleet: &Fleet) -> anyhow::Result<ExitCode> {
    context.catch_signals();
    if fleet.spec.place == Place::Local {
        out::message(&format!(
            "its tasks run in the `rqps fleet run` or `resume` that began them; if that has ended: rqps fleet resume {}",
            shown(&fleet.folder)
        ));
    }
    let mut said = String::new();
    let mut say = |text: String| {
        if text != said {
            out::message(&text);
            said = text;
        }
    };
    let mut running = status::Running::default();
    loop {
        match fleet.pass(false) {
            Ok(pass) => {
                let refused = refused(&pass).map(|why| format!("\nrqps: {why}")).unwrap_or_default();
                say(summary(fleet, &pass) + &obstacles(&pass) + &refused);
                running.tell(fleet, &pass);
                if pass.is_over() {
                    let failed = pass.count(|state| *state == State::Failed);
                    let place = shown(&fleet.folder);
                    if failed > 0 {
                        out::commands(&format!("why         rqps fleet status {place}"));
                        return Ok(ExitCode::from(EXIT_FAILED));
                    }
                    if !pass.is_cancelled {
                        out::message(&format!("results     rqps fleet collect {place}"));
                    }
                    return Ok(ExitCode::SUCCESS);
                }
            }
            // A controller that restarts, a folder that is full: jobs go on meanwhile.
            Err(error) if error.is_usage() => return Err(error.into()),
            Err(error) => say(format!("rqps: {error}; asking again every {} s", PAUSE.as_secs())),
        }
        let until = Instant::now() + PAUSE;
        while Instant::now() < until {
            if context.stop.load(Ordering::Relaxed) {
                return Ok(ExitCode::from(EXIT_INTERRUPTED));
            }
            sleep(STOP_CHECK);
        }
    }
}

/// Why not all that is due is submitted, and what follows.
fn refused(pass: &Pass) -> Option<String> {
    let why = pass.refused.as_ref()?;
    Some(match pass.refusals.values().any(|refusal| refusal == why) {
        true => format!("{why}. `rqps fleet watch` tries again until it works, `rqps fleet resume` at once"),
        false => why.clone(),
    })
}

/// Why jobs wait, a line for each reason that does not end by itself.
fn obstacles(pass: &Pass) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for state in pass.states.values() {
        if let State::Queued(job) = state
            && let Some(why) = waiting::obstacle(job)
        {
            *counts.entry(why).or_default() += 1;
        }
    }
    counts.iter().map(|(why, count)| format!("\n{count} pending: {why}")).collect()
}

/// `12 tasks: 5 done, 4 running, 3 pending`.
fn summary(fleet: &Fleet, pass: &Pass) -> String {
    let running = |state: &State| matches!(state, State::Queued(job) if job.is_running() && !job.is_ending());
    let pending = |state: &State| matches!(state, State::Queued(job) if !job.is_running());
    let parts = [
        (pass.count(|state| *state == State::Done), "done"),
        (pass.count(running), "running"),
        (pass.count(is_ending), "ending"),
        (pass.count(pending), "pending"),
        (pass.count(|state| matches!(state, State::Waiting | State::Due(_))), status::waiting(fleet)),
        (pass.count(|state| *state == State::Cancelled), "cancelled"),
        (pass.count(|state| *state == State::Failed), "failed"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let cancelled =
        if pass.is_cancelled { "; the fleet is cancelled, `rqps fleet resume` goes on" } else { "" };
    let rests = fleet.spec.place == Place::Local && !pass.is_over() && pass.count(running) == 0;
    let rests = match rests {
        true => format!("; nothing runs, `rqps fleet resume {}` goes on", shown(&fleet.folder)),
        false => String::new(),
    };
    format!(
        "{}: {}{cancelled}{rests}",
        counted(pass.states.len(), "task"),
        parts.collect::<Vec<_>>().join(", ")
    )
}

/// The folder as a user would type it.
fn shown(folder: &Path) -> String {
    let current = std::env::current_dir().ok().filter(|current| current.parent().is_some());
    let relative = current.and_then(|current| folder.strip_prefix(current).ok().map(Path::to_owned));
    match relative.as_deref() {
        Some(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
        relative => relative.unwrap_or(folder).display().to_string(),
    }
}
