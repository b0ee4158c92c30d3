//! `report`: a run's whole report.

use crate::args::ReportArgs;
use crate::context::Context;
use crate::out;
use rqps_store::RunFolder;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let run = RunFolder::open(&context.run_path(&args.run)?)?;
    let format = super::show::format(context);
    let report = rqps_report::report(&run, format, context.color && args.output.is_none())?;
    match &args.output {
        Some(path) => {
            std::fs::write(path, report)?;
            eprintln!("written to {}", path.display());
        }
        None => out::print_line(&report)?,
    }
    Ok(ExitCode::SUCCESS)
}
