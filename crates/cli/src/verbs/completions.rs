//! `completions`: prints the completion script of a shell.

use crate::{Usage, complete, out};
use std::process::ExitCode;

pub fn run(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let shell = shell.to_string();
    let script = complete::script(&shell)?.ok_or_else(|| Usage(format!("no completion for {shell}")))?;
    out::print_as_is(&script)?;
    Ok(ExitCode::SUCCESS)
}
