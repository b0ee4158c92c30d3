//! Verdicts as written before the doses were known.

use crate::DETECTORS;
use crate::error::{Error, Result};
use crate::seal::read;
use rqps_stats::{Class, Detector, Judgement, Verdict};
use serde::{Deserialize, Serialize};
use std::path::Path;

rqps_model::words! {
    /// The class of a verdict, in the order of columns.
    Call {
        Regression = "regression",
        Improvement = "improvement",
        Same = "same",
        Inconclusive = "inconclusive",
    }
}

impl From<Class> for Call {
    fn from(class: Class) -> Self {
        match class {
            Class::Regression { .. } => Call::Regression,
            Class::Improvement { .. } => Call::Improvement,
            Class::Same => Call::Same,
            Class::Inconclusive => Call::Inconclusive,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrozenVerdict {
    pub test: String,
    pub group: String,
    pub arm: String,
    /// Key of the detector.
    pub detector: String,
    /// Key of the metric that it is based on.
    pub metric: String,
    pub call: Call,
    /// Whether it is significant among all verdicts of the run.
    pub significant: bool,
    /// Arm over base; `None` if infinite or unknown.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: usize,
    /// Standard deviation of a block's log ratio.
    pub block_sd: Option<f64>,
    /// Smallest change, as a share, that it would have shown with 80 % probability.
    pub mde80: Option<f64>,
}

impl FrozenVerdict {
    /// The detector; `None` if this version does not have it.
    pub fn detector(&self) -> Option<Detector> {
        Detector::ALL.into_iter().find(|detector| detector.key() == self.detector)
    }
}

/// All verdicts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// In the order of judgement.
    pub verdicts: Vec<FrozenVerdict>,
}

impl Frozen {
    /// The verdicts on arms with these names.
    pub fn new(judgement: &Judgement, arms: &[String]) -> Self {
        let wanted = judgement.verdicts.iter().filter(|verdict| DETECTORS.contains(&verdict.detector));
        Self { verdicts: wanted.map(|verdict| frozen(verdict, arms)).collect() }
    }

    /// Reads the file, which must have the digest `committed`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or its digest differs.
    pub fn read(path: &Path, committed: &str) -> Result<Self> {
        read(path, committed, |path, found, committed| Error::VerdictsChanged { path, found, committed })
    }
}

fn frozen(verdict: &Verdict, arms: &[String]) -> FrozenVerdict {
    let finite = |value: f64| value.is_finite().then_some(value);
    FrozenVerdict {
        test: verdict.test.clone(),
        group: verdict.group.clone(),
        arm: arms.get(verdict.arm).cloned().unwrap_or_default(),
        detector: verdict.detector.key().to_owned(),
        metric: verdict.metric.key().to_owned(),
        call: verdict.class.into(),
        significant: verdict.class.is_change(),
        ratio: finite(verdict.ratio),
        low: finite(verdict.low),
        high: finite(verdict.high),
        blocks: verdict.blocks,
        block_sd: finite(verdict.block_sd),
        mde80: finite(verdict.mde80),
    }
}
