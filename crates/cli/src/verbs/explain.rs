//! `explain`: why tests got slower or faster.

use crate::args::ExplainArgs;
use crate::context::Context;
use crate::out;
use rqps_report::ExplainOptions;
use rqps_store::RunFolder;
use std::process::ExitCode;

pub fn run(context: &Context, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let run = RunFolder::open(&context.measured_path(&args.run)?)?;
    let options = ExplainOptions {
        format: context.format,
        screen: context.screen(),
        tests: [&*args.tests, &*args.more_tests].concat(),
        arms: args.arms.clone(),
        base: args.base.clone(),
        all: args.all,
    };
    out::print_line(&rqps_report::explain_text(&run, &options)?)?;
    Ok(ExitCode::SUCCESS)
}
