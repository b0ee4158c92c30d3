//! `compare`: arms of one or more runs side by side.

use super::show::options;
use crate::args::CompareArgs;
use crate::context::Context;
use crate::out;
use rqps_report::{CompareOptions, Options};
use rqps_store::RunFolder;
use std::process::ExitCode;

pub fn run(context: &Context, args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let mut runs = Vec::new();
    for name in &args.runs {
        runs.push(RunFolder::open(&context.results_path(name)?)?);
    }
    let show = Options { tests: args.tests.clone(), ..options(context, &args.sections) };
    let options = CompareOptions { show, force: args.force };
    out::print_line(&rqps_report::compare(&runs, &options)?)?;
    Ok(ExitCode::SUCCESS)
}
