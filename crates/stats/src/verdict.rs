//! The result of judgement: one verdict per test, arm and detector, with its figures.

use rqps_model::{Detector, Metric};

/// The confidence of intervals that are computed with, one for all verdicts: those of [`Verdict::confidence`] depend on
/// what was decided, so that their lengths do not compare.
pub const COMMON_CONFIDENCE: f64 = 0.95;

#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// One per test, arm other than base (including the control) and detector with data; in that order.
    pub verdicts: Vec<Verdict>,
}

/// The conclusion about an arm in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Worse than base. If not proven, the size is uncertain.
    Regression {
        /// Whether the whole interval is beyond the minimum effect of interest.
        proven: bool,
    },
    Improvement {
        /// Whether the whole interval is beyond the minimum effect of interest.
        proven: bool,
    },
    /// The difference is smaller than the minimum effect of interest.
    Same,
    /// None of these is shown. Not the same as `Same`.
    Inconclusive,
}

impl Class {
    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Class::Regression { .. } => "regression",
            Class::Improvement { .. } => "improvement",
            Class::Same => "same",
            Class::Inconclusive => "inconclusive",
        }
    }
    /// Whether it is a regression or an improvement.
    pub fn is_change(self) -> bool {
        matches!(self, Class::Regression { .. } | Class::Improvement { .. })
    }

    /// Whether it is a regression, proven or not.
    pub fn is_regression(self) -> bool {
        matches!(self, Class::Regression { .. })
    }

    /// Whether further blocks are unnecessary.
    pub fn is_decided(self) -> bool {
        self != Class::Inconclusive
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// A difference is shown, but it is smaller than the minimum effect of interest.
    TinyShift,
    /// The blocks form two clusters: restarts end up in one of two states.
    Bimodal,
    /// One block is an outlier. It is kept; the Huber ratio limits its effect.
    OutlierBlock,
    /// The counter does not vary between base and control, so blocks are compared exactly.
    Exact,
    /// Some values are 0, so the ratio is one of means instead of a mean of logarithms.
    Zeros,
    /// Base is 0 in every block and the arm is not: the ratio is infinite.
    FromZero,
    /// A decision of an earlier look is kept, but the blocks since then do not support it.
    LaterBlocksDisagree,
    /// The cost or a resource changed while another one changed in the other direction.
    Mixed,
    /// Undecided, but a change is likely: it is one at `alpha` and not significant among all verdicts of the report, or
    /// would be significant at ten times `q`, or is of [`Tag::FewBlocks`].
    Likely,
    /// A change at `alpha`, but not significant among all verdicts of the report at `q`.
    NotSignificant,
    /// A count that differs in every block by more than what matters, far beyond its noise: undecided only because so
    /// few blocks can prove no change of a count.
    FewBlocks,
    /// The looks of the rules will probably not decide it.
    BeyondLooks,
    /// Measured too briefly for stalls that matter to occur.
    TooShort,
}

/// The conclusion about one arm in one test by one detector, with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub test: String,
    pub group: String,
    pub arm: usize,
    /// Whether the arm is the control, on which every change is a false alarm.
    pub is_control: bool,
    pub detector: Detector,
    /// The metric that it is based on.
    pub metric: Metric,
    pub class: Class,
    /// Metrics that changed in the other direction, if it is mixed.
    pub opposed_by: Vec<Metric>,
    /// Arm over base: rQPS for the rate, cost over cost otherwise. May be infinite; NaN without a common block.
    pub ratio: f64,
    /// Lower end of the ratio's interval; NaN if unknown, as after a single block.
    pub low: f64,
    pub high: f64,
    /// Confidence of the interval over all looks; for significant changes adjusted for their number (false
    /// coverage rate, Benjamini-Yekutieli 2005).
    pub confidence: f64,
    /// The interval of [`COMMON_CONFIDENCE`], over all looks; of what is compared exactly the same as the other.
    pub common: (f64, f64),
    /// The ratio with the effect of outliers limited (Huber 1964, k = 1.5).
    pub huber_ratio: f64,
    /// Blocks that the figures use: those of the last look reached, or all below the first look.
    pub blocks: usize,
    /// Blocks in which both arms were measured.
    pub blocks_measured: usize,
    pub looks_reached: usize,
    /// Probability, over all looks, of a ratio at least as far from 1 if nothing has changed.
    pub p_seq: f64,
    /// `p_seq` adjusted for the number of verdicts of this detector (Benjamini-Hochberg 1995).
    pub q_value: f64,
    /// Sample standard deviation of a block's log ratio; NaN for a single block.
    pub block_sd: f64,
    /// The same, moderated by the variation of other tests.
    pub moderated_sd: f64,
    /// Degrees of freedom of `moderated_sd`.
    pub df: f64,
    /// Smallest change for the worse, as a share, that this many blocks would show with 80 % probability;
    /// infinite if unknown, as for stalls.
    pub mde80: f64,
    /// The minimum effect of interest, as a share.
    pub mei: f64,
    /// Whether that is the smallest amount per operation that matters, which is a larger share than the rules ask for.
    pub mei_is_per_op: bool,
    /// Further blocks after which it will be decided with 80 % probability if the ratio is as estimated. None
    /// if it is decided or nothing can be predicted. For stalls, the blocks to the next look if windows
    /// suggest a change.
    pub blocks_to_resolve: Option<usize>,
    /// Remarks, sorted.
    pub tags: Vec<Tag>,
}

impl Verdict {
    /// Whether a change is likely but not established.
    pub fn is_likely(&self) -> bool {
        self.tags.contains(&Tag::Likely)
    }

    /// Blocks of which so many will probably decide it; `None` as of [`Self::blocks_to_resolve`].
    pub fn blocks_enough(&self) -> Option<usize> {
        self.blocks_to_resolve.map(|more| self.blocks_measured + more)
    }

    /// Whether something else changed in the other direction.
    pub fn is_mixed(&self) -> bool {
        !self.opposed_by.is_empty()
    }
}
