//! `run`: a plan from start to report.

use super::plan::read_plan;
use crate::args::{RunArgs, SectionArgs};
use crate::context::Context;
use crate::kit::KIT;
use crate::obtaining::obtaining;
use crate::progress::Progress;
use crate::{EXIT_FAILED, out};
use anyhow::Context as _;
use rqps_executor::{Execution, Finish, Ingredients};
use rqps_plan::Plan;
use rqps_store::RunFolder;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Name of the report in a run folder.
const REPORT_FILE: &str = "report.md";
/// Name of the same as a page.
pub const PAGE_FILE: &str = "report.html";

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
    let what = format!("obtaining the builds of {} arms", plan.arms.len());
    let ingredients =
        obtaining(context, &what, None, |watch| rqps_executor::resolve(&KIT, &plan, &context.dirs, watch))?;
    for (arm, made_of) in plan.arms.iter().zip(&ingredients) {
        let build = &made_of.build;
        let (version, hash, config) = (build.label(), build.short_hash(), &made_of.config.name);
        out::tell(&format!("arm {}: {version} ({hash}), config {config}", arm.name));
        for note in &build.notes {
            out::tell(&format!("  note: {note}"));
        }
    }
    warn_of_families(&plan, &ingredients);
    let version = env!("CARGO_PKG_VERSION");
    Ok(rqps_executor::begin(&KIT, plan, ingredients, &context.dirs, &context.results, version)?)
}

/// Better known before hours of measuring than after: the tables say the same.
fn warn_of_families(plan: &Plan, ingredients: &[Ingredients]) {
    let Some(base) = plan.arms.iter().position(|arm| arm.name == plan.base) else {
        return;
    };
    let family = &ingredients[base].build.family;
    for (arm, made_of) in plan.arms.iter().zip(ingredients) {
        if let Some(unlike) = family.differs(&made_of.build.family) {
            let name = &arm.name;
            out::tell(&format!(
                "warning: base and {name} were not built alike: {unlike}; part of a difference may be the build's"
            ));
        }
    }
}

/// Runs what is left of an execution, writes the report and prints the tables.
pub fn carry_out(context: &Context, execution: Execution) -> anyhow::Result<ExitCode> {
    carry_out_to(context, execution, |folder| {
        conclude(context, folder)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs what is left of an execution, then `conclude` on its folder, whose exit code holds unless arms were given up.
pub fn carry_out_to(
    context: &Context,
    mut execution: Execution,
    conclude: impl FnOnce(&Path) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    context.catch_signals();
    let folder = execution.folder();
    out::tell(&format!("run folder {}", folder.display()));
    let mut progress = Progress::new(&execution);
    let finish = execution.run(&mut progress, &context.stop);
    progress.finish();
    let data = execution.data_place().map(Path::to_owned);
    drop(execution);
    context.release_signals();
    let how_to_go_on = || {
        let place = folder.display();
        let mut text =
            format!("what is done so far: rqps show {place}\nto go on:             rqps resume {place}");
        if let Some(data) = &data {
            text.push_str(&format!(
                "\nor give it up:        rqps clean {place}   (removes {})",
                data.display()
            ));
        }
        out::tell(&text);
    };
    if finish.is_err() {
        how_to_go_on();
    }
    let finish = finish?;
    let code = conclude(&folder)?;
    let errors = match finish {
        Finish::Complete => return Ok(code),
        Finish::Ended(why) => {
            out::tell(&format!("ended       {why}"));
            return Ok(code);
        }
        Finish::Partly(errors) => errors,
    };
    out::tell("");
    how_to_go_on();
    for error in errors {
        out::tell(&format!("rqps: {error}"));
    }
    Ok(ExitCode::from(EXIT_FAILED))
}

/// Writes the report and prints these sections, or what suits the run.
pub fn conclude(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let report = write_report(folder)?;
    let run = RunFolder::open(folder)?;
    let options = super::show::options(context, &SectionArgs::default());
    out::print_line(&rqps_report::show(&run, &options)?)?;
    out::tell(&format!("\npage        {}", report.display()));
    out::tell(&format!("report      {}", folder.join(REPORT_FILE).display()));
    out::tell(&format!("why         rqps explain {}", folder.display()));
    out::tell(&format!("everything  rqps show {}", folder.display()));
    Ok(())
}

/// Writes the report of a run into its folder, as Markdown and as a page; returns where the page is.
pub fn write_report(folder: &Path) -> anyhow::Result<PathBuf> {
    let run = RunFolder::open(folder)?;
    let page = folder.join(PAGE_FILE);
    let written = out::write_file(&folder.join(REPORT_FILE), rqps_report::markdown_report(&run)?)
        .and_then(|()| out::write_file(&page, rqps_report::html_report(&run)?));
    written.with_context(|| {
        let place = folder.display();
        format!("what was measured is kept; `rqps report {place} --html` makes the page anew")
    })?;
    Ok(page)
}
