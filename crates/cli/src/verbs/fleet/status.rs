//! `fleet status`: where each task is, and how far; `watch` says what running tasks reach.

use super::{refused, shown, summary, waiting as waits};
use crate::context::Context;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::out;
use rqps_fleet::{Fleet, Job, Pass, Place, Reached, State, Task};
use rqps_model::counted;
use rqps_plan::estimate::duration_text;
use rqps_report::Format;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Of a job whose host does not reach this one.
const CUT_OFF: &str =
    "not heard of for a minute or more: its host goes on, and sends the result when it reaches this one";
/// Tasks that are listed as text.
const LISTED_MAX: usize = 40;

pub fn run(context: &Context, fleet: &Fleet) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "status is not a table")?;
    let pass = match fleet.look() {
        // Its controller may restart.
        Err(error) if !error.is_usage() => {
            let done = fleet.spec.tasks.iter().filter(|task| fleet.is_done(task)).count();
            let all = counted(fleet.spec.tasks.len(), "task");
            return Err(anyhow::Error::from(error).context(format!(
                "{done} of {all} done; jobs that run go on without Slurm's controller, which does not tell which do"
            )));
        }
        other => other?,
    };
    if context.format == Format::Json {
        let tasks: Vec<Value> = fleet.spec.tasks.iter().map(|task| as_json(fleet, task, &pass)).collect();
        let value = json!({
            "fleet": fleet.folder, "plan": fleet.spec.plan, "hosts": fleet.spec.groups,
            "cancelled": pass.is_cancelled, "refused": pass.refused, "tasks": tasks,
        });
        out::print_line(&serde_json::to_string_pretty(&value)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    out::print_line(&format!("{}: {}", shown(&fleet.folder), summary(fleet, &pass)))?;
    if let Some(why) = refused(&pass) {
        out::print_line(&rqps_report::wrapped(&why, context.width))?;
    }
    let mut listing = Listing::new(vec![
        Column::text("task"),
        Column::text("state"),
        Column::text("job").optional(1),
        Column::text("host"),
        Column::number("runs for"),
        Column::number("estimate").optional(2),
        Column::text("progress"),
        Column::elastic("note"),
    ]);
    let open = |task: &&Task| pass.states.get(&task.id).is_some_and(|state| *state != State::Done);
    let tasks: Vec<&Task> = fleet.spec.tasks.iter().filter(open).collect();
    for task in tasks.iter().take(LISTED_MAX) {
        let Some(state) = pass.states.get(&task.id) else { continue };
        let (job, host, elapsed) = match state {
            State::Queued(job) => (job.id.clone(), job.nodes.clone(), elapsed(job)),
            _ => (String::new(), failed_on(fleet, task).unwrap_or_default(), String::new()),
        };
        let tint = match state {
            State::Failed => Some(Tint::Red),
            State::Queued(job) if job.is_running() => Some(Tint::Green),
            _ => None,
        };
        listing.row(vec![
            task.id.as_str().into(),
            Cell::from(word(fleet, state)).tinted(tint),
            job.into(),
            host.into(),
            elapsed.into(),
            duration_text(task.seconds as f64).into(),
            reached_of(fleet, task, state).map(|reached| progress(&reached)).unwrap_or_default().into(),
            note(fleet, task, &pass).into(),
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

/// What a task is that no job has and that is to be done.
pub fn waiting(fleet: &Fleet) -> &'static str {
    if fleet.spec.place == Place::Local { "to do" } else { "not submitted" }
}

fn word(fleet: &Fleet, state: &State) -> String {
    match state {
        State::Done => "done".to_owned(),
        State::Queued(job) => job.state.to_lowercase(),
        State::Failed => "failed".to_owned(),
        State::Cancelled => "cancelled".to_owned(),
        State::Waiting | State::Due(_) => waiting(fleet).to_owned(),
    }
}

fn note(fleet: &Fleet, task: &Task, pass: &Pass) -> String {
    let Some(state) = pass.states.get(&task.id) else { return String::new() };
    match state {
        State::Queued(job) if job.is_running() && fleet.is_cut_off(task) => CUT_OFF.to_owned(),
        State::Queued(job) if job.is_running() => String::new(),
        State::Queued(job) => waits::why(job),
        // What was submitted before has had its say.
        State::Failed | State::Waiting | State::Due(_) if pass.refusals.contains_key(&task.id) => {
            pass.refusals[&task.id].clone()
        }
        State::Failed | State::Waiting | State::Due(2..) => why_not_done(fleet, task, state),
        // Without Slurm nothing is submitted.
        State::Due(_) => fleet.failures(task).pop().unwrap_or_default(),
        State::Done | State::Cancelled => String::new(),
    }
}

/// The host on which a task failed last.
fn failed_on(fleet: &Fleet, task: &Task) -> Option<String> {
    let failure = fleet.failures(task).pop()?;
    failure.split_once(": ").map(|(host, _)| host.to_owned())
}

/// What running tasks reached when they were last told of.
#[derive(Default)]
pub struct Running(BTreeMap<String, String>);

impl Running {
    /// Tells of the running tasks that came further.
    pub fn tell(&mut self, fleet: &Fleet, pass: &Pass) {
        let running = fleet.spec.tasks.iter().filter_map(|task| match pass.states.get(&task.id)? {
            State::Queued(job) if job.is_running() => Some((task, job, fleet.reached(task)?)),
            _ => None,
        });
        for (task, job, reached) in running.take(LISTED_MAX) {
            let text = match progress(&reached) {
                text if text.is_empty() => "before its first block".to_owned(),
                text => text,
            };
            let text = if fleet.is_cut_off(task) { CUT_OFF.to_owned() } else { text };
            if self.0.get(&task.id) != Some(&text) {
                out::message(&format!("{} on {}, {}: {text}", task.id, job.nodes, elapsed(job)));
                self.0.insert(task.id.clone(), text);
            }
        }
    }
}

fn elapsed(job: &Job) -> String {
    if job.is_running() { duration_text(job.seconds as f64) } else { String::new() }
}

/// How far a task is that has begun and is not done.
fn reached_of(fleet: &Fleet, task: &Task, state: &State) -> Option<Reached> {
    (*state != State::Done).then(|| fleet.reached(task)).flatten()
}

/// `3 of up to 18 blocks`, `5 of 40 steps`.
fn progress(reached: &Reached) -> String {
    match reached.are_blocks {
        true if reached.most == 0 => String::new(),
        true => format!("{} of up to {}", reached.done, counted(reached.most as usize, "block")),
        false => format!("{} of {}", reached.done, counted(reached.most as usize, "step")),
    }
}

/// The last failure; of jobs that ended without a word, what is known of them.
fn why_not_done(fleet: &Fleet, task: &Task, state: &State) -> String {
    if let Some(failure) = fleet.failures(task).pop() {
        return failure;
    }
    match fleet.last_words(task) {
        // Of a job that was cut off these are from the middle of its work.
        Some((_, path)) if *state != State::Failed => {
            format!("its last job ended without a result; its output: {}", shown(&path))
        }
        Some((words, path)) => {
            format!("its jobs ended without a result, the last one with: {words} ({})", shown(&path))
        }
        None if let Some(over_ssh) = &fleet.spec.over_ssh => format!(
            "its last job left no sign here: its host did not reach {} by ssh, or {} was full: {} on that host says which \
             (`scontrol show job` has its host for some minutes). Or `rqps fleet` was killed before Slurm had it",
            over_ssh.host,
            fleet.folder.display(),
            fleet.spec.output(&fleet.folder, task)
        ),
        None => format!(
            "its last job left neither result nor output: `rqps fleet` was killed before Slurm had it, or {} was full, or its \
             host does not see it under this path, as a shared folder (the log of slurmd there says more)",
            fleet.folder.display()
        ),
    }
}

fn as_json(fleet: &Fleet, task: &Task, pass: &Pass) -> Value {
    let state = pass.states.get(&task.id);
    let job = state.and_then(|state| match state {
        State::Queued(job) => Some(json!({
            "id": job.id, "name": job.name, "host": job.nodes, "seconds": job.seconds, "reason": job.reason,
        })),
        _ => None,
    });
    let reached = state.and_then(|state| reached_of(fleet, task, state)).map(|reached| {
        json!({
            "done": reached.done, "most": reached.most, "unit": if reached.are_blocks { "blocks" } else { "steps" },
            "seconds_left": reached.seconds_left,
        })
    });
    let result = fleet.is_done(task).then(|| fleet.result(task).ok()).flatten();
    json!({
        "id": task.id, "state": state.map(|state| word(fleet, state)), "job": job, "progress": reached, "seconds_estimated": task.seconds,
        "host": result.as_ref().map(|result| result.host.clone()).or_else(|| failed_on(fleet, task)),
        "run": result.map(|result| fleet.task_folder(task).join(result.run)),
        "failures": fleet.failures(task), "note": note(fleet, task, pass),
    })
}
