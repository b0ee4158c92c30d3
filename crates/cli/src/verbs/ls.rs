//! `ls`: the runs.

use crate::args::OutputFormat;
use crate::context::Context;
use crate::out;
use rqps_store::{RunFolder, RunSummary};
use serde_json::json;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let runs = RunFolder::list(&context.results)?;
    if context.format == OutputFormat::Json {
        let lines: Vec<_> = runs.iter().map(as_json).collect();
        out::print_line(&serde_json::to_string_pretty(&lines)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        eprintln!("no run in {}", context.results.display());
    }
    let width = runs.iter().map(|run| run.folder.name().len()).max().unwrap_or(0);
    for run in &runs {
        let name = run.folder.name();
        let progress = run.progress();
        let state = match &run.problem {
            Some(problem) => problem.clone(),
            None => format!("{:11} {progress:>9}  {}", state(run), run.variants.join(" ")),
        };
        out::print_line(&format!("{name:width$}  {state}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The run's state in a word: a run whose rqps is gone is not running, whatever its database says.
pub fn state(run: &RunSummary) -> String {
    let Some(status) = &run.status else {
        return "unreadable".to_owned();
    };
    let word = status.status.to_string();
    if word == "running" && run.folder.in_use_by().is_none() { "cut off".to_owned() } else { word }
}

fn as_json(run: &RunSummary) -> serde_json::Value {
    json!({
        "name": run.folder.name(),
        "path": run.folder.path(),
        "state": state(run),
        "created_at_ms": run.created_at_ms,
        "variants": run.variants,
        "actions_done": run.actions_done,
        "actions_total": run.actions_total,
        "blocks_done": run.blocks_done,
        "problem": run.problem,
    })
}
