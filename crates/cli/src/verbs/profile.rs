//! `profile`: CPU profiles of a run's servers, taken in a separate pass.

use super::run::write_report;
use crate::Usage;
use crate::args::ProfileArgs;
use crate::build_progress::with_build_progress;
use crate::context::Context;
use crate::kit::KIT;
use crate::out;
use crate::progress::Progress;
use rqps_executor::{ProfileRequest, ProfiledTests};
use rqps_plan::limits;
use rqps_report::Format;
use std::ops::RangeInclusive;
use std::process::ExitCode;

pub fn run(context: &Context, args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text], "profiles are written to files")?;
    let path = context.run_path(&args.run)?;
    context.require_own(&path)?;
    let seconds = within(args.seconds, "--seconds", &limits::PROFILE_SECONDS)?;
    let frequency_hz = within(args.frequency, "--frequency", &limits::PROFILE_FREQUENCY_HZ)?;
    let mut execution = with_build_progress(context, "getting the builds", None, |watch| {
        rqps_executor::reopen(&KIT, &path, &context.dirs, args.force, watch)
    })?;
    let planned = execution.plan().profile;
    if seconds.is_some() && !execution.plan().work.has_independent_tests() {
        let text = "--seconds does not apply here: the steps of this run build on each other, so each is profiled for as \
                    long as it lasts";
        return Err(Usage(text.to_owned()).into());
    }
    let request = ProfileRequest {
        tests: match args.tests.as_slice() {
            _ if args.all => ProfiledTests::All,
            [] => ProfiledTests::Changed,
            names => ProfiledTests::Named(names.to_vec()),
        },
        arms: args.arms.clone(),
        seconds: seconds.unwrap_or(planned.seconds),
        frequency_hz: frequency_hz.unwrap_or(planned.frequency_hz),
    };
    context.catch_signals();
    let mut progress = Progress::new(&execution);
    let taken = execution.profile(&request, &mut progress, &context.stop);
    progress.finish();
    if taken? == 0 {
        out::message("no test is shown to be slower or faster; select some with --test, or use --all");
        return Ok(ExitCode::SUCCESS);
    }
    drop(execution);
    let report = write_report(&path)?;
    out::message(&format!("stacks  {}", path.join("profiles").display()));
    out::message(&format!("report  {}", report.display()));
    let tests: String = args.tests.iter().map(|test| format!(" {test}")).collect();
    out::commands(&format!("why     rqps explain {}{tests}", path.display()));
    Ok(ExitCode::SUCCESS)
}

fn within(given: Option<f64>, name: &str, range: &RangeInclusive<f64>) -> anyhow::Result<Option<f64>> {
    match given {
        Some(value) if !range.contains(&value) => {
            let (least, most) = (range.start(), range.end());
            Err(Usage(format!("{name} {value} is out of range ({least} to {most})")).into())
        }
        given => Ok(given),
    }
}
