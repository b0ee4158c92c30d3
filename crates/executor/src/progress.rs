//! The interface by which a run reports its progress.

use rqps_plan::estimate::duration_text;
use rqps_store::{RunProgress, Until, now_ms};

/// The estimated time that a run of blocks still takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeLeft {
    pub seconds: f64,
    pub until: Until,
}

impl TimeLeft {
    /// `first verdicts in 3 min 10 s`, `3 min left`, `3 min left, no verdicts`
    pub fn text(self) -> String {
        let time = duration_text(self.seconds);
        match self.until {
            Until::FirstVerdicts => format!("first verdicts in {time}"),
            Until::End => format!("{time} left"),
            Until::EndWithoutVerdicts => format!("{time} left, no verdicts"),
        }
    }
}

/// The progress of now: a share of the work, the time left, and the share that will be done then.
pub(crate) fn progress_of(share: f64, (left, share_then): (Option<TimeLeft>, f64)) -> RunProgress {
    let at_ms = now_ms();
    RunProgress {
        share,
        at_ms,
        ends_at_ms: left.map(|left| at_ms + (left.seconds * 1e3) as i64),
        until: left.map_or(Until::End, |left| left.until),
        share_then,
    }
}

/// Receives a run's progress, on the thread that executes the schedule.
pub trait Progress {
    /// Actions start, of several arms if they take turns: their numbers in the schedule, the names of arms, the action.
    fn action_started(&mut self, seqs: &[u32], arms: &str, action: &str);
    /// What the action is doing, for how long, and its rate so far with the unit, if it has one.
    fn action_progress(&mut self, doing: &str, elapsed_s: f64, rate: Option<(f64, &str)>);
    /// An action has finished, with a short result.
    fn action_finished(&mut self, seq: u32, arm: &str, action: &str, result: &str);
    /// A run without a fixed number of actions enters a stage.
    fn stage(&mut self, text: &str);
    /// The share of such a run that is done, and the estimated time left.
    fn overall(&mut self, progress: RunProgress);
    /// Blocks that count so far, and the most that the run may measure.
    fn blocks(&mut self, done: u32, most: u32);
    /// Something the user should know.
    fn note(&mut self, text: &str);
}
