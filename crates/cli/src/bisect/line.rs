//! A line of versions or commits that a search walks from coarse to fine.

use rqps_model::BuildSpec;
use rqps_stats::bisect::{Answer, Course, Measured, Rules};
use std::collections::{BTreeMap, BTreeSet};

/// What lies between the good and the bad end.
pub trait Line {
    fn good(&self) -> &str;

    fn bad(&self) -> &str;

    /// The row that a search begins with.
    fn coarse(&self) -> Row;

    /// The row with more versions at these places; the same row if there are none.
    fn refined(&self, row: &Row, places: &BTreeSet<usize>) -> Row;

    /// What to measure.
    fn build(&self, version: &str) -> BuildSpec;

    /// A version as users read it.
    fn title(&self, version: &str) -> String;

    /// The first part of the announcement: what is searched, and how.
    fn announcement(&self) -> String;
}

/// The versions of a search, the good one first, and the weight of each place between two of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub versions: Vec<String>,
    pub weights: Vec<f64>,
}

/// An answer, and the row that its places are in.
#[derive(Debug, Clone)]
pub struct Found {
    pub row: Row,
    pub answer: Answer,
}

/// Logarithms of a figure of one version over that of the good one, by version and block.
pub type Blocks = BTreeMap<String, Vec<f64>>;

/// The answer that blocks give: on the coarse row, and where that is settled on finer ones.
pub fn search(line: &dyn Line, blocks: &Blocks, skipped: &BTreeSet<String>, rules: &Rules) -> Found {
    let mut row = line.coarse();
    loop {
        let answer = row.answer(blocks, skipped, rules);
        let is_open = !answer.is_settled && answer.next.is_some();
        let places = answer.steps.iter().flat_map(|step| step.places.iter().copied()).collect();
        let refined = line.refined(&row, &places);
        if is_open || refined == row {
            return Found { row, answer };
        }
        row = refined;
    }
}

impl Row {
    pub fn places(&self) -> usize {
        self.weights.len()
    }

    fn answer(&self, blocks: &Blocks, skipped: &BTreeSet<String>, rules: &Rules) -> Answer {
        let versions = || self.versions.iter().enumerate().skip(1);
        let measured: Vec<Measured> = versions()
            .filter_map(|(at, name)| Some(Measured { version: at, blocks: blocks.get(name)?.clone() }))
            .collect();
        let skipped = versions().filter(|(_, name)| skipped.contains(*name)).map(|(at, _)| at).collect();
        Course { weights: &self.weights, measured: &measured, skipped: &skipped }.answer(rules)
    }
}
