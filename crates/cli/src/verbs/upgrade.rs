//! `upgrade`: what changes between two versions with one's own config, or in an existing run.

use crate::args::UpgradeArgs;
use crate::context::Context;
use crate::two_builds::{BuildArg, TwoBuilds};
use crate::{Usage, out};
use rqps_report::Format;
use rqps_store::RunFolder;
use std::path::Path;
use std::process::ExitCode;

/// The default plan.
const PLAN: &str = "verdicts";
/// File name of the report in a run folder.
const FILE: &str = "upgrade.md";

pub fn run(context: &Context, args: &UpgradeArgs) -> anyhow::Result<ExitCode> {
    let Some(new) = &args.new else {
        let folder = context.run_path(&args.old).map_err(|error| {
            Usage(format!("{error}; to measure an upgrade, name two builds: rqps upgrade OLD NEW"))
        })?;
        print(context, &folder)?;
        return Ok(ExitCode::SUCCESS);
    };
    if args.old == *new {
        return Err(Usage(format!("OLD and NEW are both {new}: name two versions")).into());
    }
    let arm = |argument, arm, build| BuildArg { argument, arm, build };
    let two = TwoBuilds {
        name: "upgrade",
        plan: args.plan.as_deref().unwrap_or(PLAN),
        arms: [arm("OLD", "old", &args.old), arm("NEW", "new", new)],
        config: args.config.as_deref(),
        tests: &args.tests,
        budget: args.budget.as_deref(),
    };
    let execution = super::run::begin(context, two.plan()?)?;
    super::run::execute_then(context, execution, |folder| {
        let page = super::run::write_report(folder)?;
        let report = folder.join(FILE);
        out::write_file(&report, rqps_report::upgrade(&RunFolder::open(folder)?, Format::Markdown, false)?)?;
        print(context, folder)?;
        out::message(&format!("\nreport      {}", report.display()));
        out::message(&format!("page        {}", page.display()));
        out::message(&format!("why         rqps explain {}", folder.display()));
        Ok(ExitCode::SUCCESS)
    })
}

fn print(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    out::print_line(&rqps_report::upgrade(&run, context.format, context.color)?)?;
    Ok(())
}
