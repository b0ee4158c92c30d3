//! `compare`: arms of one or more runs side by side.

use super::show::{options, sections};
use crate::args::CompareArgs;
use crate::context::{Context, or_value_of};
use crate::out;
use rqps_report::{CompareOptions, Options};
use rqps_store::RunFolder;
use std::process::ExitCode;

pub fn run(context: &Context, args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let mut runs = Vec::new();
    for name in &args.runs {
        let path = context.results_path(name);
        let path = path.map_err(|error| or_value_of("--section", sections(), name, error))?;
        runs.push(RunFolder::open(&path)?);
    }
    let show = Options { tests: args.tests.clone(), ..options(context, &args.sections) };
    let options = CompareOptions { show, force: args.force };
    out::print_line(&rqps_report::compare(&runs, &options)?)?;
    Ok(ExitCode::SUCCESS)
}
