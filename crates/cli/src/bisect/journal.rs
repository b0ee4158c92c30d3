//! What a bisection has measured, in its folder: another call with the same arguments continues from it.

use super::line::Blocks;
use crate::search;
use rqps_model::Metric;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    /// The measurement that has begun.
    pub running: Option<Running>,
    /// What each test is decided by; without an entry, it did not change between the good and the bad version.
    pub metrics: BTreeMap<String, String>,
    /// The verdicts on cost and rate of tests without a change between the good and the bad version.
    #[serde(default)]
    pub verdicts: BTreeMap<String, Vec<Unchanged>>,
    /// In their order.
    pub measured: Vec<Step>,
    /// Versions that can't be measured, and why.
    pub skipped: BTreeMap<String, String>,
    /// Those that an earlier call skipped and this one would try again: they may be fine by now.
    #[serde(skip)]
    untried: BTreeSet<String>,
    #[serde(skip)]
    folder: PathBuf,
}

/// A verdict that is no change.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unchanged {
    pub metric: String,
    /// Whether it is `same`, and not open.
    pub is_same: bool,
    /// The bad version over the good one, with the verdict's interval; `None` if that is unbounded or unknown.
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Running {
    pub version: String,
    /// Name of the run's folder.
    pub run: String,
}

/// One version, measured beside the good one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    pub version: String,
    pub run: String,
    /// By test and metric: the logarithm of its figure over that of the good version, one for each block.
    pub figures: Figures,
}

pub type Figures = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

impl Journal {
    /// The journal in a folder; an empty one if there is none.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let mut journal: Journal = search::read(folder, search::OF_BISECT)?;
        journal.folder = folder.to_owned();
        journal.untried = journal.skipped.keys().cloned().collect();
        Ok(journal)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn write(&self) -> anyhow::Result<()> {
        search::write(&self.folder, search::OF_BISECT, self)
    }

    /// Versions that are not to be tried.
    pub fn skipped(&self) -> BTreeSet<String> {
        self.skipped.keys().filter(|version| !self.untried.contains(*version)).cloned().collect()
    }

    /// Takes the versions that an earlier call skipped for impossible, as long as `keeps` agrees.
    pub fn keep_skipped_if(&mut self, keeps: impl FnOnce(&Self) -> bool) {
        let untried = std::mem::take(&mut self.untried);
        if !keeps(self) {
            self.untried = untried;
        }
    }

    pub fn skip(&mut self, version: &str, why: &str) -> anyhow::Result<()> {
        self.skipped.insert(version.to_owned(), why.to_owned());
        self.untried.remove(version);
        self.write()
    }

    pub fn add(&mut self, step: Step) -> anyhow::Result<()> {
        self.skipped.remove(&step.version);
        self.untried.remove(&step.version);
        self.measured.push(step);
        self.write()
    }

    /// The metric of a test; `None` if it did not change.
    pub fn metric(&self, test: &str) -> Option<Metric> {
        self.metrics.get(test)?.parse().ok()
    }

    /// The verdicts on a test that did not change; none on one that did.
    pub fn verdicts(&self, test: &str) -> &[Unchanged] {
        self.verdicts.get(test).map(Vec::as_slice).unwrap_or_default()
    }

    /// All blocks of a test's metric by version.
    pub fn blocks(&self, test: &str, metric: Metric) -> Blocks {
        let mut blocks = Blocks::new();
        for step in &self.measured {
            let found = step.figures.get(test).and_then(|metrics| metrics.get(metric.key()));
            if let Some(found) = found.filter(|found| !found.is_empty()) {
                blocks.entry(step.version.clone()).or_default().extend(found);
            }
        }
        blocks
    }
}
