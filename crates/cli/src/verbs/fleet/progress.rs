//! Progress of a job: shown like that of any run, and recorded for `fleet status` on other hosts.

use crate::out;
use crate::progress::Progress;
use rqps_executor::{Execution, Progress as Receiver};
use rqps_fleet::{Claim, Heard, Reached};
use rqps_store::{RunProgress, Until, now_ms};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a job asks the fleet's home at most: each time costs a connection.
const PAUSE_OVER_SSH: Duration = Duration::from_secs(15);

pub struct Recorded<'c> {
    shown: Progress,
    claim: &'c Claim<'c>,
    /// Set if there is nothing left to record results in.
    stop: &'c AtomicBool,
    reached: Reached,
    /// When it was last recorded.
    recorded_at: Option<Instant>,
}

impl<'c> Recorded<'c> {
    pub fn new(execution: &Execution, claim: &'c Claim<'c>, stop: &'c AtomicBool) -> Self {
        let (done, most) = (execution.done().len() as u32, execution.schedule().actions.len() as u32);
        let reached =
            Reached { began_at_ms: now_ms(), done, most, are_blocks: most == 0, seconds_left: None };
        let shown = Progress::new(execution);
        let mut recorded = Self { shown, claim, stop, reached, recorded_at: None };
        recorded.record();
        recorded
    }

    pub fn finish(&mut self) {
        self.shown.finish();
    }

    fn record(&mut self) {
        if self.claim.is_remote() && self.recorded_at.is_some_and(|at| at.elapsed() < PAUSE_OVER_SSH) {
            return;
        }
        self.recorded_at = Some(Instant::now());
        let why = match self.claim.reached(&self.reached) {
            Ok(Heard::Noted) => return,
            // A controller that lost the job can't end it: the fleet's own record of a cancel does.
            Ok(Heard::Cancelled) => "the fleet was cancelled: stopping",
            Ok(Heard::Gone) => "the fleet's folder is gone, and nowhere is left for results: stopping",
            // Progress is not worth a run.
            Err(error) => return out::message(&format!("note: {error}")),
        };
        if !self.stop.swap(true, Ordering::Relaxed) {
            out::message(&format!("rqps: {why}"));
        }
    }
}

impl Receiver for Recorded<'_> {
    fn action_started(&mut self, seqs: &[u32], arm: &str, action: &str) {
        self.shown.action_started(seqs, arm, action);
    }

    fn action_progress(&mut self, doing: &str, elapsed_s: f64, rate: Option<(f64, &str)>) {
        self.shown.action_progress(doing, elapsed_s, rate);
    }

    fn action_finished(&mut self, seq: u32, arm: &str, action: &str, result: &str) {
        self.shown.action_finished(seq, arm, action, result);
        if !self.reached.are_blocks {
            self.reached.done += 1;
            self.record();
        }
    }

    fn stage(&mut self, text: &str) {
        self.shown.stage(text);
    }

    fn overall(&mut self, progress: RunProgress) {
        self.shown.overall(progress);
        // Nobody knows what follows the first verdicts.
        let is_known = progress.until != Until::FirstVerdicts;
        let left_ms = progress.ends_at_ms.filter(|_| is_known).map(|end| end - progress.at_ms);
        self.reached.seconds_left = left_ms.map(|ms| ms as f64 / 1e3);
        self.record();
    }

    fn blocks(&mut self, done: u32, most: u32) {
        self.shown.blocks(done, most);
        (self.reached.done, self.reached.most) = (done, most);
        self.record();
    }

    fn note(&mut self, text: &str) {
        self.shown.note(text);
    }
}
