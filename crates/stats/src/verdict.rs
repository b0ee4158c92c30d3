//! What judgement gives: one verdict per test, arm and detector, with the figures that it rests on.

use rqps_model::{Detector, Metric};

#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// One per test, arm other than base (control included) and detector with data; in that order.
    pub verdicts: Vec<Verdict>,
    /// What was learnt about noise, per metric, group and look.
    pub priors: Vec<Prior>,
}

/// What is said about an arm in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Worse than base. Proven: by more than the minimum effect of interest; else its size is uncertain.
    Regression {
        /// Whether the whole interval lies beyond the minimum effect of interest.
        proven: bool,
    },
    Improvement {
        /// Whether the whole interval lies beyond the minimum effect of interest.
        proven: bool,
    },
    /// The difference is smaller than the minimum effect of interest.
    Same,
    /// Nothing of this is shown. Not the same as `Same`.
    Inconclusive,
}

impl Class {
    /// As files call it.
    pub fn key(self) -> &'static str {
        match self {
            Class::Regression { .. } => "regression",
            Class::Improvement { .. } => "improvement",
            Class::Same => "same",
            Class::Inconclusive => "inconclusive",
        }
    }
}

impl Class {
    /// Whether it says that something has changed.
    pub fn is_change(self) -> bool {
        matches!(self, Class::Regression { .. } | Class::Improvement { .. })
    }

    /// Whether it is a regression, proven or not.
    pub fn is_regression(self) -> bool {
        matches!(self, Class::Regression { .. })
    }

    /// Whether further blocks are of no use to it.
    pub fn is_decided(self) -> bool {
        self != Class::Inconclusive
    }
}

/// A remark on a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// A difference is shown, and that it is smaller than the minimum effect of interest.
    TinyShift,
    /// The blocks lie in two clusters: restarts end up in one of two states.
    Bimodal,
    /// One block is far from the others. It is kept; the Huber ratio shows what it does.
    OutlierBlock,
    /// The counter does not vary between base and control, so that blocks are compared as they are.
    Exact,
    /// Some values are 0, so that the ratio is one of means and not a mean of logarithms.
    Zeros,
    /// Base's value is 0 in every block, the arm's is not: the ratio is infinite.
    FromZero,
    /// A decision of an earlier look stands, but the blocks since then do not bear it out.
    LaterBlocksDisagree,
    /// It says that something an operation takes has risen, and another verdict that something else has fallen; or the
    /// other way round.
    Mixed,
    /// Called at `alpha`, but not significant among all verdicts of the report at `q`.
    NotSignificant,
    /// Not called, but among all verdicts of the report it would be at ten times `q`.
    Suspect,
    /// The looks that the rules allow will probably not decide it.
    BeyondLooks,
    /// Measured for so short a time that stalls which matter need not have come up.
    TooShort,
}

/// What is said about one arm of one test by one detector, and the figures it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub test: String,
    pub group: String,
    pub arm: usize,
    /// Whether the arm is the control: every change called on it is a false one.
    pub is_control: bool,
    pub detector: Detector,
    /// The metric that it rests on.
    pub metric: Metric,
    pub class: Class,
    /// What has moved the other way, where that makes it mixed.
    pub opposed_by: Vec<Metric>,
    /// Arm over base: rQPS for the rate, cost over cost otherwise. May be infinite; NaN without a common block.
    pub ratio: f64,
    /// Lower end of the interval of the ratio; NaN where one block gives none.
    pub low: f64,
    pub high: f64,
    /// Confidence of the interval, over all looks; for significant changes with regard to how many are (false coverage
    /// rate, Benjamini-Yekutieli 2005).
    pub confidence: f64,
    /// The ratio with far blocks held in (Huber 1964, k = 1.5).
    pub huber_ratio: f64,
    /// Blocks the figures rest on: those of the last look reached, or all below the first look.
    pub blocks: usize,
    /// Blocks in which both arms were measured.
    pub blocks_measured: usize,
    /// How many looks were reached.
    pub looks_reached: usize,
    /// Probability, over all looks, of something as far from 1 where nothing has changed.
    pub p_seq: f64,
    /// `p_seq` adjusted for the number of verdicts of this detector (Benjamini-Hochberg 1995).
    pub q_value: f64,
    /// Whether it is a change and `q_value` is within `q` of the rules. From the same blocks: it repeats nothing.
    pub significant: bool,
    /// Sample standard deviation of one block's logarithm of the ratio; NaN for one block.
    pub block_sd: f64,
    /// The same, moderated by what other tests vary.
    pub moderated_sd: f64,
    /// Degrees of freedom of `moderated_sd`.
    pub df: f64,
    /// Smallest change for the worse, as a share, that this many blocks show with 80 % probability; infinite where that
    /// cannot be told, as of stalls.
    pub mde80: f64,
    /// The minimum effect of interest it was held against, as a share.
    pub mei: f64,
    /// Further blocks after which it will be decided with 80 % probability if the ratio is what it seems. None when
    /// it is decided, or when nothing can be said yet. Of stalls the blocks to the next look, where windows give reason
    /// to look further.
    pub blocks_to_resolve: Option<usize>,
    /// Remarks, sorted.
    pub tags: Vec<Tag>,
}

impl Verdict {
    /// Whether something that an operation takes has moved the other way.
    pub fn is_mixed(&self) -> bool {
        !self.opposed_by.is_empty()
    }
}

/// How the block variance is spread over tests: scaled inverse chi-square (Smyth 2004).
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    pub metric: Metric,
    /// Of which group; None: over all groups.
    pub group: Option<String>,
    /// For the figures of which look, counted from 1; 0 below the first.
    pub look: usize,
    /// What it was learnt from: number of tests.
    pub tests: usize,
    /// Typical variance of one block's logarithm of the ratio.
    pub variance: f64,
    /// How many degrees of freedom it is worth; 0: nothing is known, infinite: the same in every test.
    pub df: f64,
}
