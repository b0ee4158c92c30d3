//! Progress of downloading and compiling builds. Ctrl-C stops a compilation with cleanup, a download at once.

use crate::context::Context;
use crate::kit::KIT;
use crate::out;
use crate::progress::Spinner;
use rqps_builds::{Build, BuildProgress, FETCHING, Watch};
use rqps_executor::{Execution, Resume};
use rqps_model::BuildSpec;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `work`, announced as `what`, and shows the progress of builds from source.
pub fn with_build_progress<T>(
    context: &Context,
    what: &str,
    jobs: Option<usize>,
    work: impl FnOnce(&mut Watch<'_>) -> T,
) -> T {
    let spinner = Spinner::start(what);
    let mut last = String::new();
    // A download needs no cleanup: the next one replaces its leftovers.
    let at_once = AtomicBool::new(true);
    let mut progress = |progress: &BuildProgress<'_>| {
        at_once.store(matches!(progress.phase, "" | FETCHING), Ordering::Relaxed);
        report(&spinner, &mut last, progress);
    };
    let mut watch = Watch { progress: &mut progress, stop: &context.stop, jobs, shares_objects: false };
    context.ending_at_once(&at_once, &how_to_go_on(what), || work(&mut watch))
}

/// Said of a signal while something is done for builds.
pub fn how_to_go_on(what: &str) -> String {
    format!("while {what}: builds that are complete are kept; run the same command again")
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

/// Shows a phase, which `last` becomes; without a terminal, each as a line.
fn report(spinner: &Spinner, last: &mut String, progress: &BuildProgress<'_>) {
    if progress.phase.is_empty() {
        return;
    }
    let (text, phase) = (progress_text(progress), format!("{} {}", progress.what, progress.phase));
    if spinner.is_hidden() && phase != *last {
        out::message(&text);
        *last = phase;
    }
    spinner.set_message(text);
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
