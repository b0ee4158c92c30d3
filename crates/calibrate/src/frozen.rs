//! Verdicts as they were before anybody knew the doses.

use crate::DETECTORS;
use crate::error::{Error, Result};
use crate::seal::digest;
use rqps_stats::{Class, Detector, Judgement, Verdict};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    Regression,
    Improvement,
    Same,
    /// Not decided.
    Inconclusive,
}

impl Call {
    /// All of them, in the order of columns.
    pub const ALL: [Call; 4] = [Call::Regression, Call::Improvement, Call::Same, Call::Inconclusive];

    pub fn word(self) -> &'static str {
        match self {
            Call::Regression => "regression",
            Call::Improvement => "improvement",
            Call::Same => "same",
            Call::Inconclusive => "inconclusive",
        }
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
    /// Key of what it is on.
    pub detector: String,
    /// Key of the metric that it rests on.
    pub metric: String,
    pub call: Call,
    /// Whether it is significant among all verdicts of the run.
    pub significant: bool,
    /// Arm over base; none where it is infinite or unknown.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: usize,
    /// Standard deviation of one block's logarithm of the ratio.
    pub block_sd: Option<f64>,
    /// Smallest change, as a share, that it would have shown with 80 % probability.
    pub mde80: Option<f64>,
}

impl FrozenVerdict {
    /// What it is on; none where this version judges nothing of the name.
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
    /// A judgement on arms of these names.
    pub fn of(judgement: &Judgement, arms: &[String]) -> Self {
        let wanted = judgement.verdicts.iter().filter(|verdict| DETECTORS.contains(&verdict.detector));
        Self { verdicts: wanted.map(|verdict| frozen(verdict, arms)).collect() }
    }

    /// Writes them and returns the file's digest.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<String> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| Error::Format { path: path.to_owned(), source })?;
        fs::write(path, &text).map_err(Error::file("write", path))?;
        Ok(digest(text.as_bytes()))
    }

    /// Reads them; the file must have this digest.
    ///
    /// # Errors
    /// When it cannot be read, or its digest is another.
    pub fn read(path: &Path, committed: &str) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
        let found = digest(text.as_bytes());
        if found != committed {
            let committed = committed.to_owned();
            return Err(Error::VerdictsChanged { path: path.to_owned(), found, committed });
        }
        serde_json::from_str(&text).map_err(|source| Error::Format { path: path.to_owned(), source })
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
        significant: verdict.significant,
        ratio: finite(verdict.ratio),
        low: finite(verdict.low),
        high: finite(verdict.high),
        blocks: verdict.blocks,
        block_sd: finite(verdict.block_sd),
        mde80: finite(verdict.mde80),
    }
}
