//! `calibrate`: how often verdicts are wrong on this host.

use crate::args::CalibrateArgs;
use crate::context::Context;
use crate::noise::Running;
use crate::{Usage, out};
use anyhow::Context as _;
use rqps_builds::list_builds;
use rqps_calibrate::campaign::{Options, Place, TESTS_DEFAULT};
use rqps_calibrate::conclude::{Known, conclude, keep, learn};
use rqps_calibrate::truth::Truth;
use rqps_executor::Execution;
use rqps_model::BuildSpec;
use rqps_plan::parse_budget;
use rqps_report::Format;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The build if none is given or cached.
const BUILD: &str = "postgres-18";
/// Minimum time for the second run, even if the first has used up the budget.
const BUDGET_MIN: Duration = Duration::from_secs(60);

pub fn run(context: &Context, args: &CalibrateArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Markdown], "the report is Markdown")?;
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
    out::message(&format!("\nreport {}", folder.join("calibration/report.md").display()));
    Ok(ExitCode::SUCCESS)
}

/// Both runs; returns the folder of the second.
fn measure(context: &Context, args: &CalibrateArgs) -> anyhow::Result<PathBuf> {
    let began = Instant::now();
    let mut options = options(context, args)?;
    context.catch_signals();
    context.dirs.create_work()?;
    let place = Place::create(&context.dirs.work)?;
    let _noise = Running::start(args.noise, &context.dirs.work)?;
    out::message("first run: measuring what a dose costs");
    let truth = first_run(context, &place, &options);
    if truth.is_err() {
        // Without the first run's result it is useless. Only the first error is reported.
        let _removed = place.remove();
    }
    let truth = truth?;
    out::message("second run: measuring blind, with secret doses");
    options.budget = options.budget.saturating_sub(began.elapsed()).max(BUDGET_MIN);
    let mut blind = super::run::begin(context, place.blind(&options, &truth)?)?;
    // Its blocks are more than any time allows.
    blind.give_time(options.budget);
    let folder = blind.folder();
    keep(&folder, &Known { command: command(args, &options), truth })?;
    let shown = folder.display().to_string();
    execute(context, blind).with_context(|| {
        format!(
            "continue with `rqps resume {shown}`, then write the report with `rqps calibrate --from {shown}`"
        )
    })
}

fn first_run(context: &Context, place: &Place, options: &Options) -> anyhow::Result<Truth> {
    let ladder = super::run::begin(context, place.ladder(options)?)?;
    let folder = ladder.folder();
    let finished = execute(context, ladder);
    if finished.is_err() {
        // As above.
        let _removed = rqps_executor::clean(&folder, &context.dirs);
    }
    Ok(learn(&finished?)?)
}

fn execute(context: &Context, mut execution: Execution) -> anyhow::Result<PathBuf> {
    super::run::measure(context, &mut execution)?;
    Ok(execution.folder())
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

/// The newest cached build.
fn newest_build(context: &Context) -> anyhow::Result<String> {
    let number = |version: &str| -> Vec<u32> { version.split('.').flat_map(str::parse).collect() };
    let builds = list_builds(&context.dirs)?;
    let newest = builds.iter().max_by_key(|build| number(&build.version));
    Ok(newest.map_or_else(|| BUILD.to_owned(), |build| format!("postgres-{}", build.version)))
}

/// The command line with all defaults filled in.
fn command(args: &CalibrateArgs, options: &Options) -> String {
    let mut command = format!(
        "rqps calibrate --build {} --config {} --budget {} --arms {} --rows {} --window-seconds {}",
        options.build, options.config, args.budget, options.arms, options.rows, options.window_seconds
    );
    command.push_str(&format!(" --tests {}", options.tests.join(",")));
    if args.noise > 0 {
        command.push_str(&format!(" --noise {}", args.noise));
    }
    if let Some(path) = args.out.as_deref().map(Path::display) {
        command.push_str(&format!(" --out {path}"));
    }
    command
}
