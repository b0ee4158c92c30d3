//! Progress reports of a build from source, which takes minutes, and the flag that stops it.

use std::sync::atomic::{AtomicBool, Ordering};

/// The phase that fetches a repository; it can be interrupted at any time.
pub const FETCHING: &str = "fetching";

/// The progress of a build.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildProgress<'a> {
    /// Description of the build: `postgres 18.6, flavour o2nofp`.
    pub what: &'a str,
    /// The current phase, as a participle: `configuring`, `compiling`; empty when no build is running.
    pub phase: &'static str,
    pub elapsed_s: f64,
    /// Log lines written in this phase.
    pub lines: u64,
    /// Steps done and total steps, if the build tool counts them.
    pub steps: Option<(u32, u32)>,
}

/// Observes a build and may stop it.
pub struct Watch<'a> {
    /// Called with the progress several times a second.
    pub progress: &'a mut dyn FnMut(&BuildProgress<'_>),
    /// Set it to stop the build.
    pub stop: &'a AtomicBool,
    /// Parallel compiler processes; None for one per CPU.
    pub jobs: Option<usize>,
    /// Whether builds take the objects of others whose source is the same, through ccache where it is installed. Their
    /// debug information then names another build's directory, so it is for builds that are not kept to be published.
    pub shares_objects: bool,
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Watch<'_> {
    /// Runs `work` without an observer.
    pub fn nobody<T>(work: impl FnOnce(&mut Watch<'_>) -> T) -> T {
        work(&mut Watch { progress: &mut |_| {}, stop: &NEVER, jobs: None, shares_objects: false })
    }

    /// Reports the start of a phase that writes no log.
    pub(crate) fn report_phase(&mut self, what: &str, phase: &'static str) {
        (self.progress)(&BuildProgress { what, phase, elapsed_s: 0.0, lines: 0, steps: None });
    }

    /// Reports that no build is running, so there is nothing to stop.
    pub(crate) fn report_idle(&mut self) {
        self.report_phase("", "");
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn job_count(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        self.jobs.unwrap_or(cpus).max(1)
    }
}
