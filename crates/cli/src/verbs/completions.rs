//! `completions`: prints the completion script of a shell.

use crate::args::Cli;
use crate::out;
use std::process::ExitCode;

pub fn run(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::whole_command(), "rqps", &mut script);
    out::print_as_is(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
