//! The time that a run of blocks still takes: one estimate, told when a block begins, while it is measured and at its
//! end.

use crate::progress::TimeLeft;
use rqps_store::Until;

/// An estimate when a block begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    /// Seconds of this block, of the blocks after it, and of the loads that these need.
    pub block_s: f64,
    /// Of this block, those of windows beyond the plan's, which take time that is left.
    pub longer_s: f64,
    pub later_s: f64,
    pub loads_s: f64,
    /// Blocks that were measured, whose mean these seconds are; 0: they are the plan's estimate.
    pub measured: usize,
    /// The end of the run, or the first verdicts.
    pub until: Until,
    /// What is left of the budget, if that ends the run.
    pub budget_s: Option<f64>,
    /// Seconds in which the first verdicts must come, or the run ends after this block.
    pub verdicts_within_s: Option<f64>,
}

impl Ahead {
    /// All that is needed.
    pub fn whole(&self) -> TimeLeft {
        let all_s = self.block_s - self.longer_s + self.later_s + self.loads_s;
        TimeLeft { seconds: all_s.min(self.budget_s.unwrap_or(f64::INFINITY)), until: self.until }
    }

    /// With blocks that take so many times as long as the plan's estimate, as others use the CPUs; those that were
    /// measured have it in them.
    pub fn beside_others(self, longer: f64) -> Self {
        let longer = if self.measured > 0 { 1.0 } else { longer };
        Self { block_s: self.block_s * longer, later_s: self.later_s * longer, ..self }
    }

    /// After a part of the block, which took so long. If this is another pace than expected, the rest of the block goes
    /// on at it, and so do later ones, as much as it changes the mean of blocks: the end of a block changes nothing.
    pub fn after(&self, part: f64, elapsed_s: f64) -> TimeLeft {
        let late_s = (elapsed_s - part * self.block_s) / (self.measured + 1) as f64;
        let pace = 1.0 + late_s / self.block_s.max(1.0);
        let block_s = (1.0 - part) * self.block_s * pace;
        let all_s = block_s + self.later_s * pace + self.loads_s;
        if self.verdicts_within_s.is_some_and(|within_s| elapsed_s + all_s > within_s) {
            return TimeLeft { seconds: block_s.max(0.0), until: Until::EndWithoutVerdicts };
        }
        let budget_s = self.budget_s.map_or(f64::INFINITY, |budget| budget - elapsed_s);
        TimeLeft { seconds: all_s.min(budget_s).max(0.0), until: self.until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Ahead = Ahead {
        block_s: 20.0,
        longer_s: 0.0,
        later_s: 40.0,
        loads_s: 10.0,
        measured: 0,
        until: Until::FirstVerdicts,
        budget_s: None,
        verdicts_within_s: None,
    };

    #[test]
    fn a_slow_block_tells_of_later_ones_what_its_end_will_tell() {
        let left = |ahead: Ahead, part, elapsed_s| ahead.after(part, elapsed_s).seconds.round();
        assert_eq!(
            [left(AHEAD, 0.0, 0.0), left(AHEAD, 0.5, 10.0), left(AHEAD, 1.0, 20.0)],
            [70.0, 60.0, 50.0]
        );
        // Two blocks as slow as this one, and loads.
        assert_eq!(left(AHEAD, 1.0, 30.0), 2.0 * 30.0 + 10.0);
        // The mean of 20, 20 and 50 s.
        assert_eq!(left(Ahead { measured: 2, ..AHEAD }, 1.0, 50.0), 2.0 * 30.0 + 10.0);
        assert_eq!(left(Ahead { budget_s: Some(30.0), ..AHEAD }, 0.5, 10.0), 20.0);
    }

    #[test]
    fn others_prolong_what_is_estimated_and_not_what_was_measured() {
        let left = |seconds| TimeLeft { seconds, until: Until::FirstVerdicts };
        assert_eq!(AHEAD.beside_others(2.0).after(0.0, 0.0), left(130.0));
        assert_eq!(Ahead { measured: 1, ..AHEAD }.beside_others(2.0).after(0.0, 0.0), left(70.0));
    }

    #[test]
    fn a_block_too_slow_for_verdicts_in_time_is_the_last() {
        let ahead = Ahead { verdicts_within_s: Some(75.0), ..AHEAD };
        let last = |seconds| TimeLeft { seconds, until: Until::EndWithoutVerdicts };
        assert_eq!(ahead.after(0.0, 0.0), TimeLeft { seconds: 70.0, until: Until::FirstVerdicts });
        assert_eq!(ahead.beside_others(2.0).after(0.0, 0.0), last(40.0));
        assert_eq!(ahead.after(0.5, 20.0), last(15.0), "three of 30 s, and loads");
    }
}
