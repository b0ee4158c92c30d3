//! Obtaining builds with progress: seconds for published ones, minutes for source code, which Ctrl-C ends in good
//! order; what is only fetched it ends at once.

use crate::context::Context;
use crate::out;
use indicatif::{ProgressBar, ProgressDrawTarget};
use rqps_builds::{BuildProgress, FETCHING, Watch};
use std::io::IsTerminal;
use std::time::Duration;

/// Seconds between two lines about the same phase, where there is no terminal.
const TELL_EVERY_S: f64 = 30.0;

/// Does `work`, which obtains what `what` says, and shows how far builds from source are.
pub fn obtaining<T>(
    context: &Context,
    what: &str,
    jobs: Option<usize>,
    work: impl FnOnce(&mut Watch<'_>) -> T,
) -> T {
    let on_terminal = std::io::stderr().is_terminal();
    let spinner = ProgressBar::new_spinner();
    if on_terminal {
        spinner.enable_steady_tick(Duration::from_millis(100));
        spinner.set_message(what.to_owned());
    } else {
        spinner.set_draw_target(ProgressDrawTarget::hidden());
        out::tell(what);
    }
    let caught = context.catches_signals();
    let mut announced = Announced::default();
    let mut progress = |progress: &BuildProgress<'_>| {
        match progress.phase {
            // A download is simply broken off: it leaves nothing that the next one would not replace.
            "" | FETCHING => context.release_signals(),
            _ => context.catch_signals(),
        }
        announced.tell(&spinner, on_terminal, progress);
    };
    let done = work(&mut Watch { progress: &mut progress, stop: &context.stop, jobs });
    spinner.finish_and_clear();
    if caught {
        context.catch_signals();
    } else {
        context.release_signals();
    }
    done
}

/// The phase that was announced last, and when.
#[derive(Default)]
struct Announced {
    phase: String,
    at_s: f64,
}

impl Announced {
    fn tell(&mut self, spinner: &ProgressBar, on_terminal: bool, progress: &BuildProgress<'_>) {
        if progress.phase.is_empty() {
            return;
        }
        let text = line(progress);
        if on_terminal {
            return spinner.set_message(text);
        }
        let phase = format!("{} {}", progress.what, progress.phase);
        if phase != self.phase || progress.elapsed_s >= self.at_s + TELL_EVERY_S {
            out::tell(&text);
            self.phase = phase;
            self.at_s = progress.elapsed_s;
        }
    }
}

/// `postgres 18.6, flavour o2nofp: compiling, 83 s, 1,204 lines`.
fn line(progress: &BuildProgress<'_>) -> String {
    let BuildProgress { what, phase, elapsed_s, lines, steps } = progress;
    let far = match steps {
        Some((done, all)) => format!(", {done} of {all}"),
        None if *lines > 0 => format!(", {lines} lines"),
        None => String::new(),
    };
    format!("{what}: {phase}, {elapsed_s:.0} s{far}")
}
