//! Tells while loads and the first block are made that the first verdicts will come later than estimated.

use super::Blocks;
use super::data::Data;
use super::loads::snapshots_to_make;
use super::next::{Limits, OVERRUN_FOR_VERDICTS};
use crate::control::RunControl;
use crate::error::Result;
use crate::progress::TimeLeft;
use crate::setup::Setup;
use rqps_model::LOADS;
use rqps_model::sample::mean;
use rqps_plan::Plan;
use rqps_plan::estimate::{duration_text, load_seconds};
use rqps_plan::isolated::{block_seconds, seconds_beside_others, windows_seconds};
use rqps_store::{Run, Until};
use rqps_verdicts::about;
use std::time::{Duration, Instant};

/// Blocks until the first verdicts: as many as loads.
pub(crate) const FIRST_LOOK: f64 = LOADS as f64;
/// The share of a run's work that the first verdicts take at least, if more may follow: how much is not known before.
pub(super) const OF_FIRST_VERDICTS: f64 = 0.5;
/// An estimate is worth a word if it exceeds the one that was last told by this factor, and by this much.
const LONGER: f64 = 1.25;
const LONGER_SECONDS: f64 = 20.0;
/// Share of a block that must be done to tell how long all of it takes: it begins with servers to start.
const PART_MIN: f64 = 0.25;

/// What was last told of the time until the first verdicts, or of all the time that is left if these are reached.
pub(crate) struct Forecast {
    began: Instant,
    /// What earlier processes spent.
    spent: Duration,
    budget: Option<Duration>,
    told: TimeLeft,
    /// Whether the user was told that before.
    pub is_told: bool,
    /// The end of the budget for verdicts, if it ends a run that has none by then.
    verdicts_within_s: Option<f64>,
    /// Blocks until the first verdicts.
    blocks: f64,
    /// Whether the run ends with them.
    ends_with_verdicts: bool,
    /// How many times as long a block takes as the plan's estimate, as others use the CPUs.
    pub block_longer: f64,
}

impl Forecast {
    /// Before this process measures anything; `told` is what the user was told, if anything, `longer` is how many times
    /// as long work takes as on a quiet host, and `done` is the number of blocks that earlier processes measured in the
    /// time `spent`.
    pub fn of(
        setup: &Setup,
        (limits, told, longer): (Limits, Option<TimeLeft>, f64),
        (spent, done): (Duration, usize),
    ) -> Self {
        let snapshots = || snapshots_to_make(&setup.plan, &setup.ingredients);
        let planned =
            || TimeLeft { seconds: first_verdicts_s(&setup.plan, snapshots()), until: Until::FirstVerdicts };
        let may_end = setup.plan.blocks().blocks_min == 0;
        let budget = limits.budget.map(|budget| budget.whole);
        Self {
            spent,
            is_told: told.is_some(),
            verdicts_within_s: budget.filter(|_| may_end).map(verdicts_within_s),
            blocks: (FIRST_LOOK - done as f64).max(1.0),
            ends_with_verdicts: limits.blocks_max <= LOADS as usize,
            block_longer: block_longer(&setup.plan, longer),
            ..Self::new(told.unwrap_or_else(planned), budget)
        }
    }

    fn new(told: TimeLeft, budget: Option<Duration>) -> Self {
        let (began, spent, blocks) = (Instant::now(), Duration::ZERO, FIRST_LOOK);
        let (is_told, verdicts_within_s, ends_with_verdicts) = (false, None, false);
        let block_longer = 1.0;
        Self {
            began,
            spent,
            budget,
            told,
            is_told,
            verdicts_within_s,
            blocks,
            ends_with_verdicts,
            block_longer,
        }
    }

    /// What was told, less the time that has passed. A run whose verdicts would come too late ends after a block.
    pub fn left(&self) -> TimeLeft {
        let TimeLeft { seconds: told_s, until } = self.told;
        let (all_s, until) = match self.verdicts_within_s {
            Some(within_s) if until == Until::FirstVerdicts && told_s > within_s => {
                (told_s / self.blocks, Until::EndWithoutVerdicts)
            }
            _ => (told_s, until),
        };
        TimeLeft { seconds: (all_s - self.began.elapsed().as_secs_f64()).max(0.0), until }
    }

    /// The share of the run's work that is done if so much time is left, and the share that will be done then. A run
    /// ends with its budget at the latest; when its last verdicts come, time does not tell.
    pub fn shares(&self, left: TimeLeft) -> (f64, f64) {
        let passed_s = (self.spent + self.began.elapsed()).as_secs_f64();
        let whole_s = self.budget.map(|budget| (self.spent + budget).as_secs_f64().max(1.0));
        let of_budget = |seconds: f64| whole_s.map_or(0.0, |whole_s| (seconds / whole_s).min(1.0));
        let then = match left.until {
            Until::End => return (of_budget(passed_s), of_budget(passed_s)),
            Until::FirstVerdicts if !self.ends_with_verdicts => {
                of_budget(passed_s + left.seconds).max(OF_FIRST_VERDICTS)
            }
            Until::FirstVerdicts | Until::EndWithoutVerdicts => 1.0,
        };
        (then * passed_s / (passed_s + left.seconds).max(1.0), then)
    }

    /// What to say if the first verdicts are still `left_s` seconds away. Good news is taken without a word.
    fn revise(&mut self, what: &str, left_s: f64) -> Option<String> {
        let all_s = self.began.elapsed().as_secs_f64() + left_s;
        let told_s = self.told.seconds;
        if all_s < told_s * LONGER || all_s < told_s + LONGER_SECONDS {
            self.told.seconds = told_s.min(all_s);
            return None;
        }
        self.told.seconds = all_s;
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
        let blocks_s = blocks_s(&self.setup.plan) * self.forecast.block_longer;
        let left_s = loads_to_make_s(&run, data.missing(self)) + blocks_s;
        self.foresee(&run, "loading", left_s, control)
    }

    /// Says if the first block takes longer than estimated, of which this part is done.
    pub(super) fn foresee_in_block(
        &mut self,
        (part, left): (f64, Option<TimeLeft>),
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        match left.filter(|left| part >= PART_MIN && left.until == Until::FirstVerdicts) {
            Some(left) => {
                let run = self.writer.run()?;
                self.foresee(&run, "a block", left.seconds, control)
            }
            None => Ok(()),
        }
    }

    /// Once a block is done, what is next is told by the time that it took.
    fn foresee(&mut self, run: &Run, what: &str, left_s: f64, control: &mut RunControl<'_>) -> Result<()> {
        if run.blocks_done() > 0 {
            return Ok(());
        }
        if let Some(text) = self.forecast.revise(what, left_s) {
            control.progress.stage(&text);
            self.record_progress(0.0, Some(self.forecast.left()), control)?;
        }
        Ok(())
    }
}

/// Seconds in which the first verdicts must come with this budget, or a run ends after its first block.
pub fn verdicts_within_s(budget: Duration) -> f64 {
    budget.as_secs_f64() * (1.0 + OVERRUN_FOR_VERDICTS)
}

/// Estimated seconds until the first verdicts, with so many snapshots to make.
pub(crate) fn first_verdicts_s(plan: &Plan, snapshots: u64) -> f64 {
    snapshots as f64 * load_seconds(plan) + blocks_s(plan)
}

/// How many times as long a block takes if work takes `longer`.
fn block_longer(plan: &Plan, longer: f64) -> f64 {
    let tests = plan.workload.steps.len();
    let (all_s, windows_s) = (block_seconds(plan, tests), windows_seconds(plan, tests));
    seconds_beside_others(all_s, windows_s, longer) / all_s
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
        let of = |seconds, budget| Forecast::new(TimeLeft { seconds, until: Until::FirstVerdicts }, budget);
        let mut forecast = of(180.0, Some(minutes(4)));
        assert_eq!(forecast.revise("loading", 200.0), None, "little more");
        let text = forecast.revise("loading", 530.0).unwrap();
        assert_eq!(
            text,
            "loading takes longer than estimated: now about 9 min until the first verdicts (budget 4 min)"
        );
        assert_eq!(forecast.revise("loading", 560.0), None, "told");
        assert_eq!(forecast.revise("loading", 300.0), None, "less");
        assert_eq!(forecast.left().seconds.round(), 300.0);
        assert!(forecast.revise("a block", 900.0).unwrap().starts_with("a block takes longer"));
        let mut forecast = of(180.0, Some(minutes(20)));
        assert!(forecast.revise("loading", 530.0).unwrap().ends_with("until the first verdicts"));
        assert_eq!(of(5.0, None).revise("loading", 20.0), None, "some seconds");
    }

    #[test]
    fn a_budget_too_short_for_verdicts_ends_after_a_block() {
        let told = TimeLeft { seconds: 300.0, until: Until::FirstVerdicts };
        let left = |budget_s| {
            let budget = Duration::from_secs(budget_s);
            let verdicts_within_s = Some(verdicts_within_s(budget));
            let left = Forecast { verdicts_within_s, ..Forecast::new(told, Some(budget)) }.left();
            (left.seconds.round(), left.until)
        };
        assert_eq!(left(200), (100.0, Until::EndWithoutVerdicts));
        assert_eq!(left(250), (300.0, Until::FirstVerdicts), "over by less than a quarter");
    }

    #[test]
    fn the_end_of_what_the_budget_allows_is_the_end_of_the_bar() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let left = |seconds, until| TimeLeft { seconds, until };
        let after = |passed, budget, ends_with_verdicts, left| {
            let forecast = Forecast { spent: passed, ends_with_verdicts, ..Forecast::new(left, budget) };
            let (now, then) = forecast.shares(left);
            ((now * 100.0).round(), (then * 100.0).round())
        };
        let first = |seconds| left(seconds, Until::FirstVerdicts);
        // `budget` is that of this process: so much is left of it.
        assert_eq!(after(minutes(2), None, false, first(120.0)), (25.0, 50.0), "nobody knows what follows");
        assert_eq!(after(minutes(2), Some(minutes(18)), false, first(120.0)), (25.0, 50.0));
        assert_eq!(after(minutes(4), Some(minutes(1)), false, first(30.0)), (80.0, 90.0));
        assert_eq!(after(minutes(4), Some(minutes(1)), false, first(70.0)), (77.0, 100.0), "over the budget");
        assert_eq!(after(minutes(3), None, true, first(1.0)), (99.0, 100.0), "the plan's last block");
        let late = left(10.0, Until::EndWithoutVerdicts);
        assert_eq!(after(minutes(1), Some(minutes(1)), false, late), (86.0, 100.0));
        let end = left(600.0, Until::End);
        assert_eq!(after(minutes(15), Some(minutes(5)), false, end), (75.0, 75.0));
        assert_eq!(after(minutes(15), None, false, end), (0.0, 0.0), "the verdicts tell");
    }
}
