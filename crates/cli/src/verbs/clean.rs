//! `clean`: remove the data directories that unfinished runs have left.

use crate::args::{CleanArgs, OutputFormat};
use crate::context::Context;
use crate::out;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context, args: &CleanArgs) -> anyhow::Result<ExitCode> {
    context.only(&[OutputFormat::Text, OutputFormat::Json], "what is removed is no table")?;
    let removed: Vec<PathBuf> = match &args.run {
        Some(name) => rqps_executor::clean(&context.run_path(name)?, &context.dirs)?.into_iter().collect(),
        None => rqps_executor::clean_orphans(&context.dirs)?,
    };
    if removed.is_empty() {
        out::tell("nothing to remove");
    }
    if context.format == OutputFormat::Json {
        out::print_line(&serde_json::to_string_pretty(&removed)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for place in removed {
        out::print_line(&format!("removed {}", place.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
