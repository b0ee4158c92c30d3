//! `configs`: the shipped configs, or one of them as used on this host.

use crate::args::ConfigsArgs;
use crate::context::Context;
use crate::out;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(_context: &Context, args: &ConfigsArgs) -> anyhow::Result<ExitCode> {
    match &args.name {
        Some(name) => out::print_line(&rqps_servers::load_config(name)?.text)?,
        None => {
            for config in rqps_servers::shipped_configs() {
                out::print_line(&format!("{:20} {}", config.name, config.summary))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
