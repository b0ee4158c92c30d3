//! `host`: the facts that a run records.

use crate::args::OutputFormat;
use crate::context::Context;
use crate::out;
use rqps_probe::HostFacts;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context) -> anyhow::Result<ExitCode> {
    context.dirs.create_work()?;
    let facts = HostFacts::collect(&context.dirs.work)?;
    if context.format == OutputFormat::Json {
        out::print_line(&serde_json::to_string_pretty(&facts)?)?;
    } else {
        for (name, value) in facts.key_values() {
            out::print_line(&format!("{name:16} {value}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
