//! Progress of downloading and compiling builds. Ctrl-C stops a compilation with cleanup, a download immediately.

use crate::context::Context;
use crate::kit::KIT;
use crate::out;
use crate::progress::spinner;
use indicatif::ProgressBar;
use rqps_builds::{Build, BuildProgress, FETCHING, Watch};
use rqps_executor::{Execution, Resume};
use rqps_model::BuildSpec;
use std::path::Path;

/// Interval of lines about the same phase, without a terminal.
pub const REPORT_INTERVAL_S: f64 = 15.0;

/// Runs `work`, announced as `what`, and shows the progress of builds from source.
pub fn with_build_progress<T>(
    context: &Context,
    what: &str,
    jobs: Option<usize>,
    work: impl FnOnce(&mut Watch<'_>) -> T,
) -> T {
    let spinner = spinner(what);
    let caught = context.catches_signals();
    let mut reported = LastReport::default();
    let mut progress = |progress: &BuildProgress<'_>| {
        match progress.phase {
            // A download needs no cleanup: the next one replaces its leftovers.
            "" | FETCHING => context.release_signals(),
            _ => context.catch_signals(),
        }
        reported.report(&spinner, progress);
    };
    let done = work(&mut Watch { progress: &mut progress, stop: &context.stop, jobs, shares_objects: false });
    spinner.finish_and_clear();
    if caught {
        context.catch_signals();
    } else {
        context.release_signals();
    }
    done
}

/// Gets the build that a plan or an argument names.
pub fn get_build(context: &Context, spec: &BuildSpec) -> rqps_builds::Result<Build> {
    with_build_progress(context, &format!("getting {spec}"), None, |watch| {
        rqps_builds::resolve_watched(&context.dirs, spec, watch)
    })
}

/// Opens a run that is continued, with the progress of its builds.
pub fn reopen(context: &Context, path: &Path, how: Resume) -> rqps_executor::Result<Execution> {
    with_build_progress(context, "reading the run", None, |watch| {
        rqps_executor::resume(&KIT, path, &context.dirs, how, watch)
    })
}

/// The last reported phase, and when.
#[derive(Default)]
struct LastReport {
    phase: String,
    at_s: f64,
}

impl LastReport {
    fn report(&mut self, spinner: &ProgressBar, progress: &BuildProgress<'_>) {
        if progress.phase.is_empty() {
            return;
        }
        let text = progress_text(progress);
        if !spinner.is_hidden() {
            return spinner.set_message(text);
        }
        let phase = format!("{} {}", progress.what, progress.phase);
        if phase != self.phase || progress.elapsed_s >= self.at_s + REPORT_INTERVAL_S {
            out::message(&text);
            self.phase = phase;
            self.at_s = progress.elapsed_s;
        }
    }
}

/// `postgres 18.6, flavour o2nofp: compiling, 83 s, 1,204 lines`.
fn progress_text(progress: &BuildProgress<'_>) -> String {
    let BuildProgress { what, phase, elapsed_s, lines, steps } = progress;
    let progress = match steps {
        Some((done, all)) => format!(", {done} of {all}"),
        None if *lines > 0 => format!(", {lines} lines"),
        None => String::new(),
    };
    format!("{what}: {phase}, {elapsed_s:.0} s{progress}")
}
