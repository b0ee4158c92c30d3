//! The data that is judged, and the check that it has the shape it says.

use rqps_model::Metric;
use std::collections::BTreeSet;

/// Everything measured in one run of blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// How many arms every block's vectors have.
    pub arms: usize,
    /// The arm that ratios are relative to.
    pub base: usize,
    /// The arm that is base measured again (A/A), if there is one.
    pub control: Option<usize>,
    /// The tests; each has the blocks it was given.
    pub tests: Vec<TestData>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TestData {
    /// Its name, unique in the experiment.
    pub name: String,
    /// Its section of the tables. Tests of a group share what is known about noise where there are enough of them.
    pub group: String,
    /// Which starts of the servers its blocks were measured in: tests of the same name here shared them in every block,
    /// so that what a start happens to be like is in the figures of all of them.
    pub starts: String,
    /// One entry per metric that was measured.
    pub metrics: Vec<MetricData>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricData {
    pub metric: Metric,
    /// The blocks, in any order; their numbers order them.
    pub blocks: Vec<BlockData>,
    /// The windows of these blocks, for the stall factor alone; empty for the rest. They are no sample: all that they
    /// can do is to withhold a verdict.
    pub windows: Vec<WindowData>,
}

/// One window of a block, the same on every arm.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowData {
    /// The number of its block.
    pub block: u32,
    /// Per arm. None: the arm was not measured in this window.
    pub arms: Vec<Option<WindowFigure>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowFigure {
    pub value: f64,
    /// How long the window was.
    pub seconds: f64,
}

/// One block: every arm's figure, averaged over the arm's mirrored windows.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockData {
    /// Its number; numbers order blocks in time.
    pub block: u32,
    /// Per arm: the mean over windows of the rate (per second) or of the cost per operation, 0 or more. None: the arm
    /// was not measured in this block.
    pub values: Vec<Option<f64>>,
    /// Per arm: the mean over windows of the logarithm of the same. None: not measured, or a window's value was 0.
    pub ln: Vec<Option<f64>>,
}

/// Data that cannot be judged, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Misshapen {
    /// An arm's number is out of range.
    #[error("{role} is arm {arm}, but there are {arms} arms: number arms from 0")]
    Arm {
        /// "base" or "control".
        role: &'static str,
        arm: usize,
        arms: usize,
    },
    #[error("control and base are both arm {0}: the control is base measured again, as an arm of its own")]
    ControlIsBase(usize),
    /// Two tests of one name, two entries of one metric, or two blocks of one number.
    #[error("{0} is there twice: give each once")]
    Twice(String),
    /// A vector has not one entry per arm.
    #[error("{place}: {found} entries for {arms} arms: give None for an arm that was not measured")]
    Entries {
        /// Test, metric, block.
        place: String,
        found: usize,
        arms: usize,
    },
    /// A value below 0, or not finite.
    #[error("{place}: the value {value} is not a finite number of 0 or more: leave the window out")]
    Value {
        /// Test, metric, block.
        place: String,
        value: f64,
    },
    /// Rules that cannot be followed.
    #[error("rules: {0}")]
    Rules(String),
}

impl Experiment {
    /// The arms other than base, in order, with the control among them.
    pub fn compared(&self) -> impl Iterator<Item = usize> {
        let base = self.base;
        (0..self.arms).filter(move |arm| *arm != base)
    }

    /// Refuses data whose shape contradicts itself.
    pub(crate) fn check(&self) -> Result<(), Misshapen> {
        for (role, arm) in [("base", Some(self.base)), ("control", self.control)] {
            if let Some(arm) = arm.filter(|arm| *arm >= self.arms) {
                return Err(Misshapen::Arm { role, arm, arms: self.arms });
            }
        }
        if self.control == Some(self.base) {
            return Err(Misshapen::ControlIsBase(self.base));
        }
        let mut names = BTreeSet::new();
        for test in &self.tests {
            if !names.insert(&test.name) {
                return Err(Misshapen::Twice(format!("test {}", test.name)));
            }
            let mut metrics = BTreeSet::new();
            for data in &test.metrics {
                let place = format!("test {}, metric {}", test.name, data.metric);
                if !metrics.insert(data.metric) {
                    return Err(Misshapen::Twice(place));
                }
                data.check(&place, self.arms)?;
            }
        }
        Ok(())
    }
}

impl MetricData {
    fn check(&self, place: &str, arms: usize) -> Result<(), Misshapen> {
        let mut numbers = BTreeSet::new();
        for block in &self.blocks {
            let place = || format!("{place}, block {}", block.block);
            if !numbers.insert(block.block) {
                return Err(Misshapen::Twice(place()));
            }
            for found in [block.values.len(), block.ln.len()] {
                if found != arms {
                    return Err(Misshapen::Entries { place: place(), found, arms });
                }
            }
            let below = block.values.iter().flatten().find(|value| !(value.is_finite() && **value >= 0.0));
            let endless = block.ln.iter().flatten().find(|ln| !ln.is_finite());
            if let Some(value) = below.or(endless) {
                return Err(Misshapen::Value { place: place(), value: *value });
            }
        }
        if let Some(window) = self.windows.iter().find(|window| window.arms.len() != arms) {
            let place = format!("{place}, a window of block {}", window.block);
            return Err(Misshapen::Entries { place, found: window.arms.len(), arms });
        }
        Ok(())
    }
}
