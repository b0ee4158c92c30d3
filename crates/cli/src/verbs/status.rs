//! `status`: a run's progress and events.

use super::ls::{state, tint_of_state};
use crate::args::StatusArgs;
use crate::context::Context;
use crate::cut_off::{self, action_name};
use crate::kit::KIT;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::progress::{at_pace, behind_and_ahead, share_of};
use crate::{Usage, human, out};
use rqps_executor::TimeLeft;
use rqps_plan::estimate::estimate;
use rqps_plan::{Plan, PlanContext, Protocol, schedule};
use rqps_report::Format;
use rqps_store::{Block, BlockStatus, Outcome, Run, RunFolder, RunSummary, Status, Until, now_ms};
use rqps_verdicts::{covered, judge_run, resume_command, rules_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const BAR_WIDTH: usize = 24;

/// Refresh interval of `--watch`.
const WATCH_PAUSE: Duration = Duration::from_secs(2);
/// Moves to the terminal's first line and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

pub fn run(context: &Context, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "status is not a table")?;
    let path = context.preferred_run_path(&args.run, |run| run.folder.in_use_by().is_some())?;
    if args.watch && (context.width.is_none() || context.format == Format::Json) {
        return Err(Usage(
            "--watch needs text output on a terminal; call `rqps status` repeatedly instead".into(),
        )
        .into());
    }
    loop {
        let (state, text) = render(context, &path)?;
        if args.watch {
            out::print_as_is(CLEAR)?;
        }
        out::print_line(&text)?;
        if !args.watch || state != "running" {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(WATCH_PAUSE);
    }
}

/// The run's state, and the whole output.
fn render(context: &Context, path: &Path) -> anyhow::Result<(String, String)> {
    let folder = RunFolder::at(path)?;
    let run = RunFolder::open(path)?;
    let summary = RunSummary::of(&folder);
    let state = state(&summary);
    let estimate = Estimate::new(&run, &state);
    if context.format == Format::Json {
        let json = serde_json::to_string_pretty(&as_json(&run, &summary, &state, &estimate))?;
        return Ok((state, json));
    }
    let mut lines = summary_lines(context, &run, &summary, &state, &estimate);
    lines.extend([String::new(), arms(&run).text(context.width, context.color)]);
    if !run.blocks.is_empty() {
        lines.extend([String::new(), blocks(&run, &state).text(context.width, context.color)]);
    }
    let events = events(&run);
    if !events.is_empty() {
        lines.push(String::new());
        lines.extend(events.iter().map(|line| rqps_report::wrapped(line, context.width)));
    }
    Ok((state, lines.join("\n")))
}

/// The share of a run that is done, and the time left.
#[derive(Default)]
struct Estimate {
    /// Share of the time that has passed; `None` if unknown.
    share: Option<f64>,
    left: Option<TimeLeft>,
    /// The current action; `None` if no process is executing the run.
    doing: Option<String>,
    /// Why the run is in its state.
    reason: Option<String>,
}

impl Estimate {
    fn new(run: &Run, state: &str) -> Self {
        let is_running = state == "running";
        let found = match state {
            "complete" => Self { share: Some(1.0), ..Self::default() },
            _ => match plan_of(run) {
                None => Self::default(),
                Some(plan) if plan.protocol == Protocol::Sequence => {
                    Self::in_schedule(run, &plan, is_running)
                }
                Some(_) => Self::in_blocks(run, is_running),
            },
        };
        let reason = cut_off::reason(run, found.doing.as_deref());
        match is_running {
            true => Self { reason, ..found },
            // No process is executing it, so it has no current action and no time left.
            false => Self { share: found.share, reason, ..Self::default() },
        }
    }

    fn in_schedule(run: &Run, plan: &Plan, is_running: bool) -> Self {
        let schedule = schedule(plan);
        let estimates = estimate(&schedule, plan);
        let done: BTreeSet<u32> = run.scheduled().map(|action| action.seq).collect();
        let last = run.scheduled().next_back().map(|action| action.seq);
        let is_ahead = |seq: u32| !done.contains(&seq) && last.is_none_or(|last| seq > last);
        let (behind, ahead) = behind_and_ahead(&estimates, &done);
        let next = schedule.actions.iter().find(|action| is_ahead(action.seq));
        let last_ms = run.scheduled().map(|action| action.finished_at_ms).max().unwrap_or(0);
        // A run that was resumed did nothing before it was.
        let elapsed_s = (now_ms() - last_ms.max(run.status.changed_at_ms)).max(0) as f64 / 1e3;
        let estimate_s = next.and_then(|action| estimates.get(action.seq as usize)).copied().unwrap_or(0.0);
        let under_way_s = if is_running { elapsed_s.min(estimate_s) } else { 0.0 };
        // Arms that take turns have the same time.
        let spent_s = covered(run.scheduled().map(|one| (one.started_at_ms, one.finished_at_ms)).collect());
        let left_s = at_pace(ahead - under_way_s, spent_s, behind);
        Self {
            share: share_of((behind, ahead), under_way_s),
            left: Some(TimeLeft { seconds: left_s, until: Until::End }),
            doing: next.map(|action| format!("{} {}", plan.arms[action.arm].name, action.kind.name())),
            reason: None,
        }
    }

    /// Only the measuring process knows how many blocks there will be.
    fn in_blocks(run: &Run, is_running: bool) -> Self {
        let progress = run.folder.last_progress();
        let doing = run.blocks.iter().rfind(|block| block.status == BlockStatus::Running).map(|block| {
            let last = run
                .scheduled()
                .next_back()
                .map(|last| format!(", finished {} {}", last.arm, action_name(last)));
            format!("block {}{}", block.number, last.unwrap_or_default())
        });
        Self {
            share: progress
                .map(|progress| if is_running { progress.share_at(now_ms()) } else { progress.share }),
            left: progress.and_then(|progress| {
                let now_ms = now_ms();
                let ends_at_ms = progress.ends_at_ms.filter(|_| Some(now_ms) < progress.said_until_ms())?;
                Some(TimeLeft { seconds: (ends_at_ms - now_ms) as f64 / 1e3, until: progress.until })
            }),
            doing,
            reason: None,
        }
    }
}

fn plan_of(run: &Run) -> Option<Plan> {
    let path = run.folder.plan_path();
    let text = std::fs::read_to_string(&path).ok()?;
    Some(Plan::parse(&text, &path.to_string_lossy(), &PlanContext::trusting(KIT.benchmarks)).ok()?.plan)
}

fn summary_lines(
    context: &Context,
    run: &Run,
    summary: &RunSummary,
    state: &str,
    estimate: &Estimate,
) -> Vec<String> {
    let is_ended = state == "complete" && estimate.reason.is_some();
    let painted = match tint_of_state(state).filter(|_| context.color) {
        Some(tint) => tint.paint(state),
        None => state.to_owned(),
    };
    let done = match summary.actions_total {
        0 => format!("{} done", summary.progress()),
        total => format!("{} of {total} actions done", summary.actions_done),
    };
    let first = format!("{}: {painted}, {done}", run.folder.path().display());
    let mut lines = vec![rqps_report::wrapped(&first, context.width)];
    let mut bar = Vec::new();
    if let Some(share) = estimate.share.filter(|share| *share < 1.0) {
        let filled = (share * BAR_WIDTH as f64).round() as usize;
        bar.push(format!("{}{} {:.0} %", "━".repeat(filled), "─".repeat(BAR_WIDTH - filled), share * 100.0));
    }
    bar.extend(estimate.doing.clone());
    bar.extend(estimate.left.map(TimeLeft::text));
    if !bar.is_empty() {
        lines.push(rqps_report::wrapped(&bar.join("  "), context.width));
    }
    let started = format!("started {} UTC", human::utc(run.meta.created_at_ms));
    // What a resume repeats comes after what has higher numbers.
    let started = match run.scheduled().max_by_key(|action| action.finished_at_ms) {
        Some(last) => {
            let lasted = human::elapsed(run.meta.created_at_ms, last.finished_at_ms);
            format!("{started}, last action finished {lasted} later")
        }
        None => started,
    };
    lines.push(rqps_report::wrapped(&started, context.width));
    // As reports say of a run that tells what ended it.
    let why = if is_ended { "ended" } else { "reason" };
    let reason = estimate.reason.as_ref().map(|reason| format!("{why}: {reason}"));
    lines.extend(reason.map(|line| rqps_report::wrapped(&line, context.width)));
    if state == Status::Interrupted.key() {
        lines.extend(cut_off::kept(run).map(|kept| format!("kept: {kept}")));
        lines.push(format!("to continue: rqps resume {}", run.folder.name()));
    }
    if let Some(command) = is_ended.then(|| command_of_ended(run)).flatten() {
        lines.push(format!("to continue: {command}"));
    }
    lines.extend(run.folder.in_use_by().map(|pid| format!("running, PID {pid}")));
    lines
}

/// What decides more of a run of blocks that has ended, as reports tell it; `None` if probably nothing does.
fn command_of_ended(run: &Run) -> Option<String> {
    if run.meta.protocol != Protocol::Isolated.key() {
        return None;
    }
    let verdicts = judge_run(run, &rules_of(run).ok()?).ok()?;
    Some(resume_command(&run.folder, verdicts.seconds_of_resume(run)?))
}

fn arms(run: &Run) -> Listing {
    let mut listing = Listing::new(vec![
        Column::text("arm"),
        Column::text("variant"),
        Column::text("role").optional(1),
        Column::number("actions"),
        Column::elastic("last"),
    ]);
    for arm in &run.arms {
        let role = if arm.control { "control" } else { arm.role.key() };
        let actions = || run.scheduled().filter(|action| action.arm == arm.name);
        listing.row(vec![
            (&*arm.name).into(),
            arm.variant().into(),
            role.into(),
            actions().count().to_string().into(),
            actions().next_back().map_or("none yet", action_name).into(),
        ]);
    }
    listing
}

fn blocks(run: &Run, state: &str) -> Listing {
    let mut listing = Listing::new(vec![
        Column::number("block"),
        Column::text("state"),
        Column::number("tests"),
        Column::text("took"),
        Column::elastic("note"),
    ]);
    let is_test = |step: &str| run.step(step).is_some_and(|step| step.role == Some(rqps_model::Role::Test));
    for block in &run.blocks {
        let tint = match block.status {
            BlockStatus::Done => None,
            BlockStatus::Running => tint_of_state(state),
            BlockStatus::Void => Some(Tint::Yellow),
        };
        listing.row(vec![
            block.number.to_string().into(),
            Cell::from(state_of_block(block, state)).tinted(tint),
            block.tests.iter().filter(|step| is_test(step)).count().to_string().into(),
            duration(block).into(),
            block.note.clone().unwrap_or_default().into(),
        ]);
    }
    listing
}

/// A block of a run that no process is executing does not run either: a resume goes on with it, or repeats it.
fn state_of_block<'a>(block: &Block, state: &'a str) -> &'a str {
    if block.status == BlockStatus::Running { state } else { block.status.key() }
}

fn duration(block: &Block) -> String {
    block.finished_at_ms.map(|end| human::elapsed(block.started_at_ms, end)).unwrap_or_default()
}

fn events(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for action in run.actions.iter().filter(|action| action.outcome == Outcome::Invalid) {
        let note = action.note.as_deref().unwrap_or("no reason given");
        lines.push(format!("invalid: {} {}: {note}", action.arm, action.step));
    }
    for note in &run.notes {
        let arm = note.arm.as_deref().map(|arm| format!("{arm}: ")).unwrap_or_default();
        lines.push(format!("note: {} UTC  {arm}{}", human::utc(note.at_ms), note.text));
    }
    lines
}

fn as_json(run: &Run, summary: &RunSummary, state: &str, estimate: &Estimate) -> Value {
    let invalid: Vec<_> = run.actions.iter().filter(|action| action.outcome == Outcome::Invalid).collect();
    let actions_done = |arm: &str| run.scheduled().filter(|action| action.arm == arm).count();
    let arms: Vec<Value> = run
        .arms
        .iter()
        .map(|arm| json!({ "name": arm.name, "variant": arm.variant(), "actions_done": actions_done(&arm.name) }))
        .collect();
    let as_block = |block: &Block| {
        let mut value = json!(block);
        value["status"] = json!(state_of_block(block, state));
        value
    };
    json!({
        "name": run.folder.name(),
        "path": run.folder.path(),
        "state": state,
        "reason": estimate.reason,
        "created_at_ms": run.meta.created_at_ms,
        "actions_done": summary.actions_done,
        "actions_total": summary.actions_total,
        "blocks_done": summary.blocks_done,
        "share": estimate.share,
        "seconds_left": estimate.left.map(|left| left.seconds),
        "until_first_verdicts": estimate.left.map(|left| left.until == Until::FirstVerdicts),
        "doing": estimate.doing,
        "arms": arms,
        "blocks": run.blocks.iter().map(as_block).collect::<Vec<_>>(),
        "invalid": invalid,
        "notes": run.notes,
    })
}
