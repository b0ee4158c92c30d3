//! Tells while loads and the first block are made that the first verdicts will come later than estimated.

use super::Blocks;
use super::data::Data;
use super::loads::snapshots_to_make;
use crate::control::RunControl;
use crate::error::Result;
use crate::progress::TimeLeft;
use crate::setup::Setup;
use rqps_model::sample::mean;
use rqps_plan::Plan;
use rqps_plan::estimate::{duration_text, load_seconds};
use rqps_plan::isolated::{LOADS, block_seconds};
use rqps_store::{BlockStatus, Run};
use rqps_verdicts::about;
use std::time::{Duration, Instant};

/// Blocks until the first verdicts: as many as loads.
pub(crate) const FIRST_LOOK: f64 = LOADS as f64;
/// An estimate is worth a word if it exceeds the one that was last told by this factor, and by this much.
const LONGER: f64 = 1.25;
const LONGER_SECONDS: f64 = 20.0;
/// Share of a block that must be done to tell how long all of it takes: it begins with servers to start.
const PART_MIN: f64 = 0.25;

/// What was last told of the time until the first verdicts.
pub(crate) struct Forecast {
    began: Instant,
    budget: Option<Duration>,
    told_s: f64,
}

impl Forecast {
    /// Before anything is measured; `told_s` is what the user was told, if anything.
    pub fn of(setup: &Setup, budget: Option<Duration>, told_s: Option<f64>) -> Self {
        let snapshots = || snapshots_to_make(&setup.plan, &setup.ingredients);
        Self::new(told_s.unwrap_or_else(|| first_verdicts_s(&setup.plan, snapshots())), budget)
    }

    /// What was told, less the time that has passed.
    pub fn left(&self) -> TimeLeft {
        let seconds = (self.told_s - self.began.elapsed().as_secs_f64()).max(0.0);
        TimeLeft { seconds, until_verdicts: true }
    }

    fn new(told_s: f64, budget: Option<Duration>) -> Self {
        Self { began: Instant::now(), budget, told_s }
    }

    /// What to say if the first verdicts are still `left_s` seconds away.
    fn revise(&mut self, what: &str, left_s: f64) -> Option<String> {
        let all_s = self.began.elapsed().as_secs_f64() + left_s;
        if all_s < self.told_s * LONGER || all_s < self.told_s + LONGER_SECONDS {
            return None;
        }
        self.told_s = all_s;
        let budget = match self.budget.filter(|budget| budget.as_secs_f64() < all_s) {
            Some(budget) => format!(" (budget {})", duration_text(budget.as_secs_f64())),
            None => String::new(),
        };
        Some(format!(
            "{what} takes longer than estimated: now about {} until the first verdicts{budget}",
            about(all_s)
        ))
    }
}

impl Blocks<'_> {
    /// Says if loads take longer than estimated, once one is made.
    pub(super) fn foresee_after_load(&mut self, data: &Data, control: &mut RunControl<'_>) -> Result<()> {
        let run = self.writer.run()?;
        let left_s = loads_to_make_s(&run, data.missing(self)) + blocks_s(&self.setup.plan);
        self.foresee(&run, "loading", left_s, control)
    }

    /// Says if the first block takes longer than estimated, of which this part is done.
    pub(super) fn foresee_in_block(
        &mut self,
        (part, left): (f64, Option<TimeLeft>),
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        match left.filter(|left| part >= PART_MIN && left.until_verdicts) {
            Some(left) => {
                let run = self.writer.run()?;
                self.foresee(&run, "a block", left.seconds, control)
            }
            None => Ok(()),
        }
    }

    /// Once a block is done, what is next is told by the time that it took.
    fn foresee(&mut self, run: &Run, what: &str, left_s: f64, control: &mut RunControl<'_>) -> Result<()> {
        if run.blocks.iter().any(|block| block.status == BlockStatus::Done) {
            return Ok(());
        }
        if let Some(text) = self.forecast.revise(what, left_s) {
            control.progress.stage(&text);
            self.record_progress(0.0, Some(self.forecast.left()), control)?;
        }
        Ok(())
    }
}

/// Estimated seconds until the first verdicts, with so many snapshots to make.
pub(crate) fn first_verdicts_s(plan: &Plan, snapshots: u64) -> f64 {
    snapshots as f64 * load_seconds(plan) + blocks_s(plan)
}

/// Estimated seconds of the blocks until the first verdicts.
fn blocks_s(plan: &Plan) -> f64 {
    FIRST_LOOK * block_seconds(plan, plan.workload.steps.len())
}

/// Seconds of so many further snapshots, by those that the run has made.
fn loads_to_make_s(run: &Run, missing: usize) -> f64 {
    let loads = run.loads.iter().map(|load| &load.action);
    let made = loads.chain(run.settles.iter().map(|settle| &settle.action));
    let seconds = made.map(|action| (action.finished_at_ms - action.started_at_ms).max(0) as f64 / 1e3);
    mean(&seconds.collect::<Vec<_>>()) * missing as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_time_is_told_once_with_the_budget_that_it_exceeds() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let mut forecast = Forecast::new(180.0, Some(minutes(4)));
        assert_eq!(forecast.revise("loading", 200.0), None, "little more");
        let text = forecast.revise("loading", 530.0).unwrap();
        assert_eq!(
            text,
            "loading takes longer than estimated: now about 9 min until the first verdicts (budget 4 min)"
        );
        assert_eq!(forecast.revise("loading", 560.0), None, "told");
        assert!(forecast.revise("a block", 900.0).unwrap().starts_with("a block takes longer"));
        let mut forecast = Forecast::new(180.0, Some(minutes(20)));
        assert!(forecast.revise("loading", 530.0).unwrap().ends_with("until the first verdicts"));
        assert_eq!(Forecast::new(5.0, None).revise("loading", 20.0), None, "some seconds");
    }
}
