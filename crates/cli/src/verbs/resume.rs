//! `resume`: resume an interrupted run.

use super::{gate, upgrade};
use crate::Usage;
use crate::args::ResumeArgs;
use crate::build_progress::reopen;
use crate::context::Context;
use crate::out;
use rqps_store::{RunSummary, Status};
use std::process::ExitCode;

fn can_be_resumed(run: &RunSummary) -> bool {
    run.folder.in_use_by().is_none() && run.status.as_ref().is_some_and(|of| of.status != Status::Complete)
}

pub fn run(context: &Context, args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    // More time can be given to any run; without it, a complete one has nothing to resume.
    let path = context.preferred_run_path(&args.run, |run| args.more.is_some() || can_be_resumed(run))?;
    context.require_own(&path)?;
    let more = args.more.as_deref().map(rqps_plan::parse_budget).transpose();
    let more = more.map_err(|why| Usage(format!("--more {why}; write for example --more 20m")))?;
    let how = rqps_executor::Resume { other_host: args.force, more };
    let mut execution = reopen(context, &path, how)?;
    if args.keep_data {
        execution.keep_data();
    }
    for text in execution.notes() {
        out::message(text);
    }
    let (done, all) = (execution.done().len(), execution.schedule().actions.len());
    if all > 0 {
        out::message(&format!("{done} of {all} actions are done"));
    }
    super::run::announce_rest(context, &mut execution)?;
    if let Some(asked) = gate::Asked::of(&path)? {
        return gate::resume(context, execution, asked);
    }
    if super::run::is_upgrade(&path) {
        return upgrade::execute(context, execution);
    }
    super::run::execute(context, execution)
}
