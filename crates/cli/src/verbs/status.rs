//! `status`: how far a run is, and what happened in it.

use super::ls::state;
use crate::args::{OutputFormat, RunName};
use crate::context::Context;
use crate::out;
use rqps_store::{Outcome, RunFolder};
use serde_json::json;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context, args: &RunName) -> anyhow::Result<ExitCode> {
    let path = context.run_path(&args.run)?;
    let folder = RunFolder::at(&path)?;
    let run = RunFolder::open(&path)?;
    let summary = rqps_store::RunSummary::of(&folder);
    let state = state(&summary);
    let invalid: Vec<_> = run.actions.iter().filter(|a| a.outcome == Outcome::Invalid).collect();
    if context.format == OutputFormat::Json {
        let value = json!({
            "name": folder.name(), "path": path, "state": state, "reason": run.status.reason,
            "actions_done": run.actions.len(), "actions_total": run.meta.actions_total,
            "blocks_done": summary.blocks_done,
            "invalid": invalid, "notes": run.notes,
        });
        out::print_line(&serde_json::to_string_pretty(&value)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let done = match summary.actions_total {
        0 => format!("{} blocks done", summary.blocks_done),
        total => format!("{} of {total} actions done", summary.actions_done),
    };
    out::print_line(&format!("{}: {state}, {done}", path.display()))?;
    if let Some(reason) = &run.status.reason {
        out::print_line(&format!("reason: {reason}"))?;
    }
    if let Some(pid) = folder.in_use_by() {
        out::print_line(&format!("rqps {pid} is at work on it"))?;
    }
    for arm in &run.arms {
        let done = run.actions.iter().filter(|action| action.arm == arm.name).count();
        let last = run.actions.iter().rfind(|action| action.arm == arm.name);
        let last = last
            .map_or("nothing yet", |action| if action.step.is_empty() { &action.kind } else { &action.step });
        out::print_line(&format!("{}  {}  {done} actions done, last {last}", arm.name, arm.variant()))?;
    }
    for action in invalid {
        let note = action.note.as_deref().unwrap_or("no reason given");
        out::print_line(&format!("invalid: {} {}: {note}", action.arm, action.step))?;
    }
    for note in &run.notes {
        let arm = note.arm.as_deref().map(|arm| format!("{arm}: ")).unwrap_or_default();
        out::print_line(&format!("note: {arm}{}", note.text))?;
    }
    Ok(ExitCode::SUCCESS)
}
