//! Progress of a job: shown like that of any run, and recorded for `fleet status` on other hosts.

use crate::out;
use crate::progress::Progress;
use rqps_executor::{Execution, Progress as RunProgress};
use rqps_fleet::{Claim, Reached};
use rqps_store::now_ms;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Recorded<'c> {
    shown: Progress,
    claim: &'c Claim<'c>,
    /// Set if there is nothing left to record results in.
    stop: &'c AtomicBool,
    reached: Reached,
}

impl<'c> Recorded<'c> {
    pub fn new(execution: &Execution, claim: &'c Claim<'c>, stop: &'c AtomicBool) -> Self {
        let (done, most) = (execution.done().len() as u32, execution.schedule().actions.len() as u32);
        let reached =
            Reached { began_at_ms: now_ms(), done, most, are_blocks: most == 0, seconds_left: None };
        let recorded = Self { shown: Progress::new(execution), claim, stop, reached };
        recorded.record();
        recorded
    }

    pub fn finish(&self) {
        self.shown.finish();
    }

    /// A controller that lost the job can't end it: the fleet's own record of a cancel does.
    fn stop_if_cancelled(&self) {
        if self.claim.is_cancelled() && !self.stop.swap(true, Ordering::Relaxed) {
            out::message("rqps: the fleet was cancelled: stopping");
        }
    }

    fn record(&self) {
        self.stop_if_cancelled();
        match self.claim.reached(&self.reached) {
            Ok(true) => {}
            Ok(false) => {
                out::message("rqps: the fleet's folder is gone, and nowhere is left for results: stopping");
                self.stop.store(true, Ordering::Relaxed);
            }
            // Progress is not worth a run.
            Err(error) => out::message(&format!("note: {error}")),
        }
    }
}

impl RunProgress for Recorded<'_> {
    fn action_started(&mut self, seq: u32, arm: &str, action: &str) {
        self.shown.action_started(seq, arm, action);
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

    fn overall(&mut self, share: f64, seconds_left: Option<f64>) {
        self.shown.overall(share, seconds_left);
        self.reached.seconds_left = seconds_left;
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
