//! `report`: a run's full report.

use crate::Usage;
use crate::args::ReportArgs;
use crate::context::{Context, LAST};
use crate::out;
use anyhow::Context as _;
use rqps_report::Screen;
use rqps_store::{Run, RunFolder};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const PIXELS_PER_UNIT: f32 = 2.0;

pub fn run(context: &Context, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if let Some(Some(run)) = &args.html {
        refuse_run_as_file(context, run)?;
    }
    let run = RunFolder::open(&context.measured_path(&args.run)?)?;
    if let Some(file) = &args.html {
        let file = page_file(&run, file.as_deref())?;
        return write(&file, &rqps_report::html_report(&run)?);
    }
    if let Some(folder) = &args.charts {
        return charts(&run, folder, args.png);
    }
    let screen = if args.output.is_none() { context.screen() } else { Screen::default() };
    let report = rqps_report::report(&run, context.format, screen)?;
    match &args.output {
        Some(path) => write(path, &report),
        None => {
            out::print_line(&report)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Writes the charts and reports their number.
fn charts(run: &Run, folder: &Path, png: bool) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let charts = rqps_report::chart_files(run)?;
    for chart in &charts {
        let file = folder.join(&chart.name);
        out::write_file(&file.with_added_extension("svg"), &chart.svg)?;
        if png {
            let drawn = rqps_charts::png(&chart.svg, PIXELS_PER_UNIT)?;
            out::write_file(&file.with_added_extension("png"), drawn)?;
        }
    }
    let formats = if png { " as SVG and PNG" } else { "" };
    let written = rqps_model::counted(charts.len(), "chart");
    out::message(&format!("{written} written to {}{formats}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Refuses the name of a run in place of the page's file: the page would be that of the newest run.
fn refuse_run_as_file(context: &Context, given: &Path) -> anyhow::Result<()> {
    let is_of_run = given
        .to_str()
        .is_some_and(|name| name == LAST || context.run_path(name).is_ok_and(|path| path.is_dir()));
    if is_of_run {
        let given = given.display();
        let why = format!(
            "--html {given}: that is a run, not a file; write its page with `rqps report {given} --html`"
        );
        return Err(Usage(why).into());
    }
    Ok(())
}

/// The path of the page. A folder is a mistake: the run's name in place of the file's.
fn page_file(run: &Run, file: Option<&Path>) -> anyhow::Result<PathBuf> {
    match file {
        None => Ok(run.folder.path().join(super::run::PAGE_FILE)),
        Some(folder) if folder.is_dir() => Err(Usage(format!(
            "{} is a folder; write a run's page with `rqps report RUN --html [FILE]`",
            folder.display()
        ))
        .into()),
        Some(file) => Ok(file.to_owned()),
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<ExitCode> {
    out::write_file(file, text)?;
    out::message(&format!("written to {}", file.display()));
    Ok(ExitCode::SUCCESS)
}
