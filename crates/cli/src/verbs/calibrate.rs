//! `calibrate`: how often verdicts are wrong on this host.

use crate::args::{CalibrateArgs, OutputFormat};
use crate::context::Context;
use crate::progress::Progress;
use crate::{Usage, out};
use anyhow::Context as _;
use rqps_builds::list_builds;
use rqps_calibrate::campaign::{Options, Place, TESTS_DEFAULT};
use rqps_calibrate::conclude::{Known, conclude, keep, learn};
use rqps_calibrate::truth::Truth;
use rqps_executor::Execution;
use rqps_model::BuildSpec;
use rqps_plan::parse_budget;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The build where none is here yet and none is named.
const BUILD: &str = "postgres-18";
/// The second run gets so much time, whatever the first has left.
const BUDGET_MIN: Duration = Duration::from_secs(60);

pub fn run(context: &Context, args: &CalibrateArgs) -> anyhow::Result<ExitCode> {
    context.only(&[OutputFormat::Text, OutputFormat::Markdown], "the report is Markdown")?;
    let folder = match &args.from {
        Some(name) => context.run_path(name)?,
        None => measure(context, args)?,
    };
    context.release_signals();
    let report = conclude(&folder)?;
    if let Some(path) = &args.out {
        out::write_file(path, &report)?;
    }
    out::print_line(report.trim_end())?;
    out::tell(&format!("\nreport {}", folder.join("calibration/report.md").display()));
    Ok(ExitCode::SUCCESS)
}

/// Both runs; returns the folder of the second.
fn measure(context: &Context, args: &CalibrateArgs) -> anyhow::Result<PathBuf> {
    let began = Instant::now();
    let mut options = options(context, args)?;
    context.catch_signals();
    context.dirs.create_work()?;
    let place = Place::create(&context.dirs.work)?;
    out::tell("first run: what a dose is worth");
    let truth = first_run(context, &place, &options);
    if truth.is_err() {
        // Without it there is nothing to go on with. The error is the one to tell.
        let _removed = place.remove();
    }
    let truth = truth?;
    out::tell("second run: doses that nobody knows");
    options.budget = options.budget.saturating_sub(began.elapsed()).max(BUDGET_MIN);
    let blind = super::run::begin(context, place.blind(&options, &truth)?)?;
    let folder = blind.folder();
    keep(&folder, &Known { command: command(args, &options), truth })?;
    let shown = folder.display().to_string();
    walk(context, blind).with_context(|| {
        format!("go on with `rqps resume {shown}`, then make the report with `rqps calibrate --from {shown}`")
    })
}

fn first_run(context: &Context, place: &Place, options: &Options) -> anyhow::Result<Truth> {
    let ladder = super::run::begin(context, place.ladder(options)?)?;
    let folder = ladder.folder();
    let walked = walk(context, ladder);
    if walked.is_err() {
        // As above.
        let _removed = rqps_executor::clean(&folder, &context.dirs);
    }
    Ok(learn(&walked?)?)
}

fn walk(context: &Context, mut execution: Execution) -> anyhow::Result<PathBuf> {
    let folder = execution.folder();
    out::tell(&format!("run folder {}", folder.display()));
    let mut progress = Progress::new(&execution);
    let finish = execution.run(&mut progress, &context.stop);
    progress.finish();
    finish?;
    Ok(folder)
}

fn options(context: &Context, args: &CalibrateArgs) -> anyhow::Result<Options> {
    let budget = parse_budget(&args.budget).map_err(|why| Usage(format!("--budget {why}")))?;
    let build = args.build.clone().map_or_else(|| newest_build(context), Ok)?;
    let tests = match args.tests.as_slice() {
        [] => TESTS_DEFAULT.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    Ok(Options {
        build: build.parse::<BuildSpec>().map_err(|why| Usage(format!("--build {build}: {why}")))?,
        config: args.config.clone(),
        tests,
        arms: args.arms,
        budget,
        rows: args.rows,
        window_seconds: args.window_seconds,
    })
}

/// The newest build that is here.
fn newest_build(context: &Context) -> anyhow::Result<String> {
    let number = |version: &str| -> Vec<u32> { version.split('.').flat_map(str::parse).collect() };
    let builds = list_builds(&context.dirs)?;
    let newest = builds.iter().max_by_key(|build| number(&build.version));
    Ok(newest.map_or_else(|| BUILD.to_owned(), |build| format!("postgres-{}", build.version)))
}

/// The command line with everything that was chosen for the user.
fn command(args: &CalibrateArgs, options: &Options) -> String {
    let mut command = format!(
        "rqps calibrate --build {} --config {} --budget {} --arms {} --rows {} --window-seconds {}",
        options.build, options.config, args.budget, options.arms, options.rows, options.window_seconds
    );
    command.push_str(&format!(" --tests {}", options.tests.join(",")));
    if let Some(path) = args.out.as_deref().map(Path::display) {
        command.push_str(&format!(" --out {path}"));
    }
    command
}
