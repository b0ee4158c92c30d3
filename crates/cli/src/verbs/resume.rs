//! `resume`: go on where a run was cut off.

use crate::args::ResumeArgs;
use crate::context::Context;
use crate::out;
use crate::progress::doing;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context, args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    let path = context.run_path(&args.run)?;
    let mut execution =
        doing("looking at what is done", || rqps_executor::resume(&path, &context.dirs, args.force, |_| {}))?;
    if args.keep_data {
        execution.keep_data();
    }
    let (done, all) = (execution.done().len(), execution.schedule().actions.len());
    out::tell(&format!("{done} of {all} actions are done"));
    super::run::carry_out(context, execution)
}
