//! Progress of a build from source, and the request to stop it: it takes minutes.

use std::sync::atomic::{AtomicBool, Ordering};

/// The phase in which a repository is fetched: it may be interrupted at any time.
pub const FETCHING: &str = "fetching";

/// How far a build is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildProgress<'a> {
    /// What is being built: `postgres 18.6, flavour o2nofp`.
    pub what: &'a str,
    /// The current phase, as a participle: `configuring`, `compiling`; empty when nothing is built.
    pub phase: &'static str,
    /// Seconds since the build began.
    pub elapsed_s: f64,
    /// Lines that the phase has written to the log.
    pub lines: u64,
    /// Steps done and steps in all, where the build tool counts them.
    pub steps: Option<(u32, u32)>,
}

/// Observes a build and may stop it.
pub struct Watch<'a> {
    /// Receives the progress several times a second.
    pub progress: &'a mut dyn FnMut(&BuildProgress<'_>),
    /// Set to stop the build.
    pub stop: &'a AtomicBool,
    /// Compilers in parallel; by default one per CPU.
    pub jobs: Option<usize>,
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

/// Never set.
static NEVER: AtomicBool = AtomicBool::new(false);

impl Watch<'_> {
    /// Runs `work` without an observer.
    pub fn nobody<T>(work: impl FnOnce(&mut Watch<'_>) -> T) -> T {
        work(&mut Watch { progress: &mut |_| {}, stop: &NEVER, jobs: None })
    }

    /// Reports a phase that has just begun and writes no log.
    pub(crate) fn report_phase(&mut self, what: &str, phase: &'static str) {
        (self.progress)(&BuildProgress { what, phase, elapsed_s: 0.0, lines: 0, steps: None });
    }

    /// Reports that no build is running any more, so nothing has to be stopped.
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
