//! `man`: writes the manual pages.

use crate::args::Cli;
use crate::out;
use anyhow::Context as _;
use clap::Command;
use std::path::Path;
use std::process::ExitCode;

pub fn run(directory: &Path) -> anyhow::Result<ExitCode> {
    let failed = || format!("cannot write manual pages to {}", directory.display());
    std::fs::create_dir_all(directory).with_context(failed)?;
    clap_mangen::generate_to(with_synopsis(built()), directory).with_context(failed)?;
    out::message(&format!("manual pages: man -l {}", directory.join("rqps.1").display()));
    Ok(ExitCode::SUCCESS)
}

fn built() -> Command {
    let mut command = Cli::whole_command().disable_help_subcommand(true);
    command.build();
    command
}

/// The synopsis as in the help, with the names of values; of a command's own it would have names of options only.
fn with_synopsis(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    command.override_usage(usage).mut_subcommands(with_synopsis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_synopsis_is_the_usage() {
        let command = with_synopsis(built());
        let page = |command: &Command| {
            let mut page = Vec::new();
            clap_mangen::Man::new(command.clone()).render(&mut page).unwrap();
            String::from_utf8(page).unwrap().replace('\\', "")
        };
        assert!(page(&command).contains("fBrqpsfR [OPTIONS] <COMMAND>"), "{}", page(&command));
        let run = command.find_subcommand("run").unwrap();
        assert!(page(run).contains("fBrqps runfR [OPTIONS] <PLAN>"), "{}", page(run));
    }
}
