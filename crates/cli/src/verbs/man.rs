//! `man`: writes the manual pages.

use crate::args::Cli;
use crate::out;
use anyhow::Context as _;
use std::path::Path;
use std::process::ExitCode;

pub fn run(directory: &Path) -> anyhow::Result<ExitCode> {
    let failed = || format!("cannot write manual pages to {}", directory.display());
    std::fs::create_dir_all(directory).with_context(failed)?;
    clap_mangen::generate_to(Cli::whole_command(), directory).with_context(failed)?;
    out::message(&format!("manual pages: man -l {}", directory.join("rqps.1").display()));
    Ok(ExitCode::SUCCESS)
}
