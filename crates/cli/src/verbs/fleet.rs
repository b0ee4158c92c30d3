//! `fleet`: a plan on many hosts.

mod collect;
mod plan;
mod work;

use crate::args::{FleetArg, FleetArgs, FleetVerb};
use crate::context::Context;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::{EXIT_FAILED, EXIT_INTERRUPTED, out};
use rqps_fleet::{Fleet, Pass, Place, State, Task};
use rqps_plan::estimate::duration_text;
use rqps_report::Format;
use rqps_store::counted;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often Slurm is asked.
const PAUSE: Duration = Duration::from_secs(15);
const STOP_CHECK: Duration = Duration::from_millis(200);
/// Tasks that `status` lists as text.
const LISTED_MAX: usize = 40;

pub fn run(context: &Context, args: &FleetArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        FleetVerb::Run(args) => plan::run(context, args),
        FleetVerb::Status(arg) => status(context, &open(context, arg)?),
        FleetVerb::Watch(arg) => watch(context, &open(context, arg)?),
        FleetVerb::Cancel(arg) => {
            let fleet = open(context, arg)?;
            let jobs = fleet.cancel()?;
            out::message(&format!("cancelled {}; `rqps fleet resume` goes on", counted(jobs, "job")));
            Ok(ExitCode::SUCCESS)
        }
        FleetVerb::Resume(arg) => submit(context, &open(context, arg)?),
        FleetVerb::Collect(args) => collect::run(context, &open(context, &args.fleet)?, args.html.as_ref()),
        FleetVerb::Work { folder, id, task } => {
            let fleet = Fleet::open(folder)?.expect_id(id)?;
            work::work(context, &fleet, fleet.task(task)?)
        }
    }
}

fn open(context: &Context, arg: &FleetArg) -> anyhow::Result<Fleet> {
    let named = context.results.join(&arg.fleet);
    if !arg.fleet.exists() && named.exists() {
        return Ok(Fleet::open(&named)?);
    }
    Ok(Fleet::open(&arg.fleet)?)
}

/// Submits what is due, or runs it here.
fn submit(context: &Context, fleet: &Fleet) -> anyhow::Result<ExitCode> {
    if fleet.spec.place == Place::Local {
        return run_here(context, fleet);
    }
    let pass = fleet.pass(true)?;
    out::message(&format!("submitted {}; {}", counted(pass.submitted, "task"), summary(&pass)));
    if let Some(why) = &pass.refused {
        out::message(&format!("rqps: {why}\n`rqps fleet resume` submits the rest"));
        return Ok(ExitCode::from(EXIT_FAILED));
    }
    let place = shown(&fleet.folder);
    out::message(&format!(
        "progress    rqps fleet watch {place}   (also submits again what gets lost)\n\
         results     rqps fleet collect {place}"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Runs all open tasks here, one after the other.
fn run_here(context: &Context, fleet: &Fleet) -> anyhow::Result<ExitCode> {
    fleet.forgive()?;
    let mut failed = 0;
    for task in fleet.spec.tasks.iter().filter(|task| !fleet.is_done(task)) {
        out::message(&format!("\ntask {}", task.id));
        let code = work::work(context, fleet, task)?;
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
    loop {
        match fleet.pass(false) {
            Ok(pass) => {
                let refused = pass.refused.iter().map(|why| format!("\nrqps: {why}"));
                say(summary(&pass) + &refused.collect::<String>());
                if pass.is_over() {
                    let failed = pass.count(|state| *state == State::Failed);
                    let place = shown(&fleet.folder);
                    if failed > 0 {
                        out::message(&format!("why         rqps fleet status {place}"));
                        return Ok(ExitCode::from(EXIT_FAILED));
                    }
                    if !pass.is_cancelled {
                        out::message(&format!("results     rqps fleet collect {place}"));
                    }
                    return Ok(ExitCode::SUCCESS);
                }
            }
            // A controller that restarts, a folder that is full: jobs go on meanwhile.
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

fn status(context: &Context, fleet: &Fleet) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "status is not a table")?;
    let pass = fleet.look()?;
    if context.format == Format::Json {
        let tasks: Vec<Value> = fleet.spec.tasks.iter().map(|task| as_json(fleet, task, &pass)).collect();
        let value = json!({
            "fleet": fleet.folder, "plan": fleet.spec.plan, "hosts": fleet.spec.groups,
            "cancelled": pass.is_cancelled, "refused": pass.refused, "tasks": tasks,
        });
        out::print_line(&serde_json::to_string_pretty(&value)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    out::print_line(&format!("{}: {}", shown(&fleet.folder), summary(&pass)))?;
    if let Some(why) = &pass.refused {
        out::print_line(why)?;
    }
    let mut listing = Listing::new(vec![
        Column::text("task"),
        Column::text("state"),
        Column::text("job"),
        Column::text("host"),
        Column::text("estimate"),
        Column::elastic("note"),
    ]);
    let open = |task: &&Task| pass.states.get(&task.id).is_some_and(|state| *state != State::Done);
    let tasks: Vec<&Task> = fleet.spec.tasks.iter().filter(open).collect();
    for task in tasks.iter().take(LISTED_MAX) {
        let Some(state) = pass.states.get(&task.id) else { continue };
        let (job, host) = match state {
            State::Queued(job) => (job.id.clone(), job.nodes.clone()),
            _ => (String::new(), String::new()),
        };
        let tint = match state {
            State::Failed => Some(Tint::Red),
            State::Queued(job) if job.is_running() => Some(Tint::Green),
            _ => None,
        };
        listing.row(vec![
            task.id.as_str().into(),
            Cell::from(word(state)).tinted(tint),
            job.into(),
            host.into(),
            duration_text(task.seconds as f64).into(),
            note(fleet, task, state).into(),
        ]);
    }
    if !tasks.is_empty() {
        out::print_line(&listing.text(context.width, context.color))?;
    }
    if tasks.len() > LISTED_MAX {
        out::print_line(&format!("and {} more; --json has all", tasks.len() - LISTED_MAX))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn word(state: &State) -> String {
    match state {
        State::Done => "done".to_owned(),
        State::Queued(job) => job.state.to_lowercase(),
        State::Failed => "failed".to_owned(),
        State::Cancelled => "cancelled".to_owned(),
        State::Waiting | State::Due(_) => "not submitted".to_owned(),
    }
}

fn note(fleet: &Fleet, task: &Task, state: &State) -> String {
    match state {
        State::Queued(job) if job.is_running() => String::new(),
        State::Queued(job) => job.reason.clone(),
        State::Failed | State::Waiting | State::Due(2..) => why_not_done(fleet, task),
        State::Done | State::Cancelled | State::Due(_) => String::new(),
    }
}

/// The last failure; of jobs that ended without a word, what is known of them.
fn why_not_done(fleet: &Fleet, task: &Task) -> String {
    if let Some(failure) = fleet.failures(task).pop() {
        return failure;
    }
    match fleet.last_words(task) {
        Some(words) => format!("its last job ended without a result, and printed last: {words}"),
        None => format!(
            "its last job left neither result nor output: either `rqps fleet` was killed before Slurm had it, or its host does not \
             see {} under this path, as a shared folder (the log of slurmd there says more)",
            fleet.folder.display()
        ),
    }
}

fn as_json(fleet: &Fleet, task: &Task, pass: &Pass) -> Value {
    let state = pass.states.get(&task.id);
    let job = state.and_then(|state| match state {
        State::Queued(job) => {
            Some(json!({ "id": job.id, "name": job.name, "host": job.nodes, "reason": job.reason }))
        }
        _ => None,
    });
    let result = fleet.is_done(task).then(|| fleet.result(task).ok()).flatten();
    json!({
        "id": task.id, "state": state.map(word), "job": job, "seconds_estimated": task.seconds,
        "host": result.as_ref().map(|result| result.host.clone()),
        "run": result.map(|result| fleet.task_folder(task).join(result.run)),
        "failures": fleet.failures(task), "note": state.map(|state| note(fleet, task, state)),
    })
}

/// `12 tasks: 5 done, 4 running, 3 pending`.
fn summary(pass: &Pass) -> String {
    let running = |state: &State| matches!(state, State::Queued(job) if job.is_running());
    let pending = |state: &State| matches!(state, State::Queued(job) if !job.is_running());
    let parts = [
        (pass.count(|state| *state == State::Done), "done"),
        (pass.count(running), "running"),
        (pass.count(pending), "pending"),
        (pass.count(|state| matches!(state, State::Waiting | State::Due(_))), "not submitted"),
        (pass.count(|state| *state == State::Cancelled), "cancelled"),
        (pass.count(|state| *state == State::Failed), "failed"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let cancelled =
        if pass.is_cancelled { "; the fleet is cancelled, `rqps fleet resume` goes on" } else { "" };
    format!("{}: {}{cancelled}", counted(pass.states.len(), "task"), parts.collect::<Vec<_>>().join(", "))
}

/// The folder as a user would type it.
fn shown(folder: &Path) -> String {
    let current = std::env::current_dir().ok().filter(|current| current.parent().is_some());
    let relative = current.and_then(|current| folder.strip_prefix(current).ok().map(Path::to_owned));
    relative.as_deref().unwrap_or(folder).display().to_string()
}
