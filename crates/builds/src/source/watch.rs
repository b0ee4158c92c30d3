//! What a build from source tells while it lasts, and what it asks: minutes pass, and somebody waits.

use std::sync::atomic::{AtomicBool, Ordering};

/// The phase in which a repository is fetched: it may be broken off at any moment.
pub const FETCHING: &str = "fetching";

/// How far a build is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildProgress<'a> {
    /// What is being built: `postgres 18.6, flavour o2nofp`.
    pub what: &'a str,
    /// What is being done, as a participle: `configuring`, `compiling`; empty when nothing is built.
    pub phase: &'static str,
    /// Seconds since the build began.
    pub elapsed_s: f64,
    /// Lines that the phase has written to the log.
    pub lines: u64,
    /// Steps done and steps in all, where the build tool counts them.
    pub steps: Option<(u32, u32)>,
}

/// Somebody who watches a build and may end it.
pub struct Watch<'a> {
    /// Hears how far it is, some times a second.
    pub progress: &'a mut dyn FnMut(&BuildProgress<'_>),
    /// Set when it is to end.
    pub stop: &'a AtomicBool,
    /// Compilers at the same time; as many as there are CPUs unless said.
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
    /// Lets `work` build with nobody who watches.
    pub fn nobody<T>(work: impl FnOnce(&mut Watch<'_>) -> T) -> T {
        work(&mut Watch { progress: &mut |_| {}, stop: &NEVER, jobs: None })
    }

    /// Tells of a phase that has just begun and writes no log.
    pub(crate) fn says(&mut self, what: &str, phase: &'static str) {
        (self.progress)(&BuildProgress { what, phase, elapsed_s: 0.0, lines: 0, steps: None });
    }

    /// Tells that from now on nothing is done that would have to be brought to an end.
    pub(crate) fn builds_nothing(&mut self) {
        self.says("", "");
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn job_count(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        self.jobs.unwrap_or(cpus).max(1)
    }
}
