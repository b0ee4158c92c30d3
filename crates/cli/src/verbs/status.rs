//! `status`: how far a run is, and what happened in it.

use super::ls::{state, tint_of_state};
use crate::args::{OutputFormat, StatusArgs};
use crate::context::Context;
use crate::kit::KIT;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::{Usage, human, out};
use rqps_plan::estimate::{duration_text, estimate};
use rqps_plan::{Plan, PlanContext, Protocol, schedule};
use rqps_store::{ActionRecord, Block, BlockStatus, Outcome, Run, RunFolder, RunSummary, now_ms};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const BAR_WIDTH: usize = 24;
/// Actions of which pace is judged are taken to have lasted so long as estimated, beside what they lasted: a few
/// short ones say little.
const PACE_SECONDS: f64 = 10.0;

/// Between two looks at a run that is watched.
const WATCH_PAUSE: Duration = Duration::from_secs(2);
/// Moves to the terminal's first line and empties what follows.
const CLEAR: &str = "\x1b[H\x1b[2J";

pub fn run(context: &Context, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    context.only(&[OutputFormat::Text, OutputFormat::Json], "status is no table")?;
    let path = context.run_path(&args.run)?;
    if args.watch && (context.width.is_none() || context.format == OutputFormat::Json) {
        return Err(
            Usage("--watch is for text on a terminal; elsewhere call `rqps status` again".into()).into()
        );
    }
    loop {
        let (state, text) = told(context, &path)?;
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

/// The run's state, and all that is said.
fn told(context: &Context, path: &Path) -> anyhow::Result<(String, String)> {
    let folder = RunFolder::at(path)?;
    let run = RunFolder::open(path)?;
    let summary = RunSummary::of(&folder);
    let state = state(&summary);
    let standing = Standing::of(&run, &state);
    if context.format == OutputFormat::Json {
        let json = serde_json::to_string_pretty(&as_json(&run, &summary, &state, &standing))?;
        return Ok((state, json));
    }
    let mut lines = head(context, &run, &summary, &state, &standing);
    lines.extend([String::new(), arms(&run).text(context.width, context.color)]);
    if !run.blocks.is_empty() {
        lines.extend([String::new(), blocks(&run).text(context.width, context.color)]);
    }
    let happened = happened(&run);
    if !happened.is_empty() {
        lines.push(String::new());
        lines.extend(happened.iter().map(|line| human::wrapped(line, context.width)));
    }
    Ok((state, lines.join("\n")))
}

/// How much is behind, and what is left.
#[derive(Default)]
struct Standing {
    /// Share of the time that is behind; none where that cannot be told.
    share: Option<f64>,
    seconds_left: Option<f64>,
    /// What is being done; none when nobody is at work.
    doing: Option<String>,
}

impl Standing {
    fn of(run: &Run, state: &str) -> Self {
        if state == "complete" {
            return Self { share: Some(1.0), ..Self::default() };
        }
        let Some(plan) = plan_of(run) else {
            return Self::default();
        };
        match (plan.protocol, state == "running") {
            (Protocol::Sequence, true) => Self::in_schedule(run, &plan),
            // Nobody is at work on it, so nothing is being done, and no time will do it.
            (Protocol::Sequence, false) => {
                Self { share: Self::in_schedule(run, &plan).share, ..Self::default() }
            }
            (Protocol::Isolated, true) => Self::in_blocks(run),
            (Protocol::Isolated, false) => Self::default(),
        }
    }

    fn in_schedule(run: &Run, plan: &Plan) -> Self {
        let schedule = schedule(plan);
        let estimates = estimate(&schedule, plan);
        let done: BTreeSet<u32> = run.scheduled().map(|action| action.seq).collect();
        let (mut behind, mut ahead) = (0.0, 0.0);
        for (action, seconds) in schedule.actions.iter().zip(&estimates) {
            *if done.contains(&action.seq) { &mut behind } else { &mut ahead } += seconds;
        }
        let pace = (run.scheduled().map(seconds_of).sum::<f64>() + PACE_SECONDS) / (behind + PACE_SECONDS);
        let next = schedule.actions.iter().find(|action| !done.contains(&action.seq));
        let total = behind + ahead;
        Self {
            share: (total > 0.0).then_some(behind / total),
            seconds_left: Some(ahead * pace),
            doing: next.map(|action| format!("{} {}", plan.arms[action.arm].name, action.kind.name())),
        }
    }

    /// How many blocks there will be is known to the process that measures them alone.
    fn in_blocks(run: &Run) -> Self {
        let standing = run.folder.standing();
        let doing = run.blocks.iter().rfind(|block| block.status == BlockStatus::Running).map(|block| {
            let last =
                run.scheduled().next_back().map(|last| format!(", {} {} is done", last.arm, what(last)));
            format!("block {}{}", block.number, last.unwrap_or_default())
        });
        Self {
            share: standing.map(|standing| standing.share),
            seconds_left: standing
                .and_then(|standing| standing.ends_at_ms)
                .map(|at| ((at - now_ms()) as f64 / 1e3).max(0.0)),
            doing,
        }
    }
}

fn plan_of(run: &Run) -> Option<Plan> {
    let path = run.folder.plan_path();
    let text = std::fs::read_to_string(&path).ok()?;
    Some(Plan::parse(&text, &path.to_string_lossy(), &PlanContext::trusting(KIT.benchmarks)).ok()?.plan)
}

fn seconds_of(action: &ActionRecord) -> f64 {
    (action.finished_at_ms - action.started_at_ms) as f64 / 1e3
}

fn what(action: &ActionRecord) -> &str {
    if action.step.is_empty() { &action.kind } else { &action.step }
}

fn head(context: &Context, run: &Run, summary: &RunSummary, state: &str, standing: &Standing) -> Vec<String> {
    let painted = match tint_of_state(state).filter(|_| context.color) {
        Some(tint) => tint.paint(state),
        None => state.to_owned(),
    };
    let done = match summary.actions_total {
        0 => format!("{} done", summary.progress()),
        total => format!("{} of {total} actions done", summary.actions_done),
    };
    let mut lines = vec![format!("{}: {painted}, {done}", run.folder.path().display())];
    let mut bar = Vec::new();
    if let Some(share) = standing.share.filter(|share| *share < 1.0) {
        let filled = (share * BAR_WIDTH as f64).round() as usize;
        bar.push(format!("{}{} {:.0} %", "━".repeat(filled), "─".repeat(BAR_WIDTH - filled), share * 100.0));
    }
    bar.extend(standing.doing.clone());
    bar.extend(standing.seconds_left.map(|left| format!("about {} left", duration_text(left))));
    if !bar.is_empty() {
        lines.push(bar.join("  "));
    }
    let begun = format!("begun {} UTC", human::utc(run.meta.created_at_ms));
    lines.push(match run.scheduled().next_back() {
        Some(last) => {
            let lasted = human::between(run.meta.created_at_ms, last.finished_at_ms);
            format!("{begun}, last action done {lasted} later")
        }
        None => begun,
    });
    lines.extend(run.status.reason.as_ref().map(|reason| format!("reason: {reason}")));
    lines.extend(run.folder.in_use_by().map(|pid| format!("running, PID {pid}")));
    lines
}

fn arms(run: &Run) -> Listing {
    let mut listing = Listing::new(vec![
        Column::words("arm"),
        Column::words("variant"),
        Column::words("role"),
        Column::numbers("actions"),
        Column::elastic("last"),
    ]);
    for arm in &run.arms {
        let role = if arm.control { "base again" } else { arm.role.key() };
        let of_arm = || run.scheduled().filter(|action| action.arm == arm.name);
        listing.row(vec![
            (&*arm.name).into(),
            arm.variant().into(),
            role.into(),
            of_arm().count().to_string().into(),
            of_arm().next_back().map_or("nothing yet", what).into(),
        ]);
    }
    listing
}

fn blocks(run: &Run) -> Listing {
    let mut listing = Listing::new(vec![
        Column::numbers("block"),
        Column::words("state"),
        Column::numbers("tests"),
        Column::words("took"),
        Column::elastic("note"),
    ]);
    for block in &run.blocks {
        let tint = match block.status {
            BlockStatus::Done => None,
            BlockStatus::Running => Some(Tint::Green),
            BlockStatus::Void => Some(Tint::Yellow),
        };
        listing.row(vec![
            block.number.to_string().into(),
            Cell::from(block.status.key()).tinted(tint),
            block.tests.len().to_string().into(),
            took(block).into(),
            block.note.clone().unwrap_or_default().into(),
        ]);
    }
    listing
}

fn took(block: &Block) -> String {
    block.finished_at_ms.map(|end| human::between(block.started_at_ms, end)).unwrap_or_default()
}

fn happened(run: &Run) -> Vec<String> {
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

fn as_json(run: &Run, summary: &RunSummary, state: &str, standing: &Standing) -> Value {
    let invalid: Vec<_> = run.actions.iter().filter(|action| action.outcome == Outcome::Invalid).collect();
    let of_arm = |arm: &str| run.scheduled().filter(|action| action.arm == arm).count();
    let arms: Vec<Value> = run
        .arms
        .iter()
        .map(|arm| json!({ "name": arm.name, "variant": arm.variant(), "actions_done": of_arm(&arm.name) }))
        .collect();
    json!({
        "name": run.folder.name(),
        "path": run.folder.path(),
        "state": state,
        "reason": run.status.reason,
        "created_at_ms": run.meta.created_at_ms,
        "actions_done": summary.actions_done,
        "actions_total": summary.actions_total,
        "blocks_done": summary.blocks_done,
        "share": standing.share,
        "seconds_left": standing.seconds_left,
        "doing": standing.doing,
        "arms": arms,
        "blocks": run.blocks,
        "invalid": invalid,
        "notes": run.notes,
    })
}
