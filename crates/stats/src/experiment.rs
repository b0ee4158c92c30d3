//! The data to judge, and a check of its shape.

use rqps_model::Metric;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Everything measured in one run of blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Number of arms; every block's vectors have one entry per arm.
    pub arms: usize,
    /// The arm that ratios are relative to.
    pub base: usize,
    /// The arm that measures base again (A/A), if any.
    pub control: Option<usize>,
    pub tests: Vec<TestData>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestData {
    /// Its name, unique in the experiment.
    pub name: String,
    /// Its section of the tables. Tests of a group share what is known about noise if there are enough of
    /// them.
    pub group: String,
    /// A label of the server starts in which its blocks were measured. Tests with the same label shared the
    /// starts of every block, so the effects of a start are in the figures of all of them.
    pub starts: String,
    /// One entry per metric that was measured.
    pub metrics: Vec<MetricData>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricData {
    pub metric: Metric,
    /// The blocks, in any order; ordered by their numbers.
    pub blocks: Vec<BlockData>,
    /// The windows of these blocks, for the stall factor only; empty otherwise. They are not a sample: they
    /// can only withhold a verdict.
    pub windows: Vec<WindowData>,
}

/// One window of a block, common to all arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowData {
    /// The number of its block.
    pub block: u32,
    /// Per arm; `None` if the arm was not measured in this window.
    pub arms: Vec<Option<WindowFigure>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowFigure {
    pub value: f64,
    /// Length of the window.
    pub seconds: f64,
}

/// One block: the figure of each arm, averaged over its mirrored windows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockData {
    /// Its number; blocks are ordered in time by it.
    pub block: u32,
    /// Per arm, the mean over windows of the rate (per second) or of the cost per operation; 0 or more. None
    /// if the arm was not measured in this block.
    pub values: Vec<Option<f64>>,
    /// Per arm, the mean over windows of the logarithm of the same. None if not measured, or if a window's
    /// value was 0.
    pub ln: Vec<Option<f64>>,
    /// Per arm, the standard error of `ln` within the block, as the difference from base's has it (so base's own is 0):
    /// what its windows themselves show of their noise. Empty if no arm's is known.
    pub errors: Vec<Option<f64>>,
}

impl BlockData {
    /// The variance within the block of the difference of two arms' `ln`, if known.
    pub(crate) fn variance_within(&self, arm: usize, other: usize) -> Option<f64> {
        let square = |arm: usize| self.errors.get(arm).copied().flatten().map(|error| error * error);
        Some(square(arm)? + square(other)?)
    }
}

/// Why data cannot be judged, with the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidData {
    /// An arm's index is out of range.
    #[error("{role} is arm {arm}, but there are {arms} arms: number arms from 0")]
    Arm {
        /// "base" or "control".
        role: &'static str,
        arm: usize,
        arms: usize,
    },
    #[error("control and base are both arm {0}: the control must be a separate arm")]
    ControlIsBase(usize),
    /// Two tests with the same name, entries with the same metric, or blocks with the same number.
    #[error("{0}: given twice")]
    Twice(String),
    /// A vector does not have one entry per arm.
    #[error("{place}: {found} entries for {arms} arms: give None for an arm that was not measured")]
    Entries {
        /// Test, metric, block.
        place: String,
        found: usize,
        arms: usize,
    },
    /// A value is negative or not finite.
    #[error("{place}: the value {value} is negative or not finite: omit the window")]
    Value {
        /// Test, metric, block.
        place: String,
        value: f64,
    },
    /// The rules are inconsistent.
    #[error("rules: {0}")]
    Rules(String),
}

impl Experiment {
    /// The arms other than base, in order, including the control.
    pub fn compared(&self) -> impl Iterator<Item = usize> {
        let base = self.base;
        (0..self.arms).filter(move |arm| *arm != base)
    }

    /// Returns an error for inconsistent data.
    pub(crate) fn check(&self) -> Result<(), InvalidData> {
        for (role, arm) in [("base", Some(self.base)), ("control", self.control)] {
            if let Some(arm) = arm.filter(|arm| *arm >= self.arms) {
                return Err(InvalidData::Arm { role, arm, arms: self.arms });
            }
        }
        if self.control == Some(self.base) {
            return Err(InvalidData::ControlIsBase(self.base));
        }
        let mut names = BTreeSet::new();
        for test in &self.tests {
            if !names.insert(&test.name) {
                return Err(InvalidData::Twice(format!("test {}", test.name)));
            }
            let mut metrics = BTreeSet::new();
            for data in &test.metrics {
                let place = format!("test {}, metric {}", test.name, data.metric);
                if !metrics.insert(data.metric) {
                    return Err(InvalidData::Twice(place));
                }
                data.check(&place, self.arms)?;
            }
        }
        Ok(())
    }
}

impl MetricData {
    fn check(&self, place: &str, arms: usize) -> Result<(), InvalidData> {
        let mut numbers = BTreeSet::new();
        for block in &self.blocks {
            let place = || format!("{place}, block {}", block.block);
            if !numbers.insert(block.block) {
                return Err(InvalidData::Twice(place()));
            }
            let errors = Some(block.errors.len()).filter(|count| *count > 0);
            for found in [block.values.len(), block.ln.len()].into_iter().chain(errors) {
                if found != arms {
                    return Err(InvalidData::Entries { place: place(), found, arms });
                }
            }
            let invalid = block.values.iter().flatten().find(|value| !(value.is_finite() && **value >= 0.0));
            let not_finite = block.ln.iter().flatten().find(|ln| !ln.is_finite());
            if let Some(value) = invalid.or(not_finite) {
                return Err(InvalidData::Value { place: place(), value: *value });
            }
        }
        if let Some(window) = self.windows.iter().find(|window| window.arms.len() != arms) {
            let place = format!("{place}, a window of block {}", window.block);
            return Err(InvalidData::Entries { place, found: window.arms.len(), arms });
        }
        Ok(())
    }
}
