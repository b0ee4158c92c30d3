//! `run`: a plan from start to report.

use super::plan::read_plan;
use crate::args::{RunArgs, SectionArgs};
use crate::context::Context;
use crate::progress::{Progress, doing};
use crate::{EXIT_FAILED, out};
use rqps_executor::{Execution, Finish};
use rqps_plan::Plan;
use rqps_store::RunFolder;
use std::path::Path;
use std::process::ExitCode;

/// Name of the report in a run folder.
pub const REPORT_FILE: &str = "report.md";

/// Runs the verb.
pub fn run(context: &Context, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let plan = read_plan(&args.plan)?;
    let mut execution = begin(context, plan)?;
    if args.keep_data {
        execution.keep_data();
    }
    carry_out(context, execution)
}

/// Obtains what a plan needs and makes its run folder.
pub fn begin(context: &Context, plan: Plan) -> anyhow::Result<Execution> {
    let ingredients = doing(
        &format!("obtaining the builds of {} arms", plan.arms.len()),
        || rqps_executor::resolve(&plan, &context.dirs, |_| {}),
    )?;
    for (arm, made_of) in plan.arms.iter().zip(&ingredients) {
        let build = &made_of.build;
        let (version, hash, config) = (build.label(), build.short_hash(), &made_of.config.name);
        eprintln!("arm {}: {version} ({hash}), config {config}", arm.name);
        for note in &build.notes {
            eprintln!("  note: {note}");
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    Ok(rqps_executor::begin(
        plan,
        ingredients,
        &context.dirs,
        &context.results,
        version,
    )?)
}

/// Runs what is left of an execution, writes the report and prints the tables.
pub fn carry_out(context: &Context, mut execution: Execution) -> anyhow::Result<ExitCode> {
    context.catch_signals()?;
    let folder = execution.folder();
    eprintln!("run folder {}", folder.display());
    let mut progress = Progress::new(&execution);
    let finish = execution.run(&mut progress, &context.stop);
    progress.finish();
    drop(execution);
    if finish.is_err() {
        eprintln!(
            "what is done so far: rqps show {0}\nto go on:             rqps resume {0}",
            folder.display()
        );
    }
    let finish = finish?;
    conclude(context, &folder)?;
    match finish {
        Finish::Complete => Ok(ExitCode::SUCCESS),
        Finish::Partly(arms) => {
            eprintln!(
                "given up: {}; `rqps resume {}` tries again",
                arms.join(", "),
                folder.display()
            );
            Ok(ExitCode::from(EXIT_FAILED))
        }
    }
}

fn conclude(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    let report = folder.join(REPORT_FILE);
    std::fs::write(&report, rqps_report::markdown_report(&run)?)?;
    let options = super::show::options(context, &SectionArgs::default());
    out::print_line(&rqps_report::show(&run, &options)?)?;
    eprintln!("\nreport      {}", report.display());
    eprintln!("everything  rqps show {}", folder.display());
    Ok(())
}
