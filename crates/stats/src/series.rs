//! Versions one after the other: tests whose change came in the same version with the same figures are one arrival.

use crate::direction::Direction;
use rqps_model::Metric;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The changes of a test along the versions.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSteps {
    pub test: String,
    /// By metric, in order of versions.
    pub metrics: Vec<(Metric, Vec<Step>)>,
}

/// A change between two versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The versions that may be the first to have it, counted from 0; ascending, at least one.
    pub arrivals: Vec<usize>,
    /// The last of them over the one before the first.
    pub ratio: f64,
    /// Its interval; NaN if there is none.
    pub interval: (f64, f64),
}

impl Step {
    /// Whether the level rose or fell.
    pub fn direction(&self) -> Direction {
        Direction::of(self.ratio.ln())
    }
}

/// A change that came in at one version.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// The versions that may be the first to have it: of a change between neighbours the newer one; ascending.
    pub versions: Vec<usize>,
    /// Which metrics changed, and in which direction.
    pub signature: BTreeSet<(Metric, Direction)>,
    /// The tests that show it, in input order.
    pub tests: Vec<String>,
}

/// Merges the steps of all tests that are between the same two versions: those of a test are one change, and tests
/// with the same signature one arrival. What shows only between versions further apart stays apart from what neighbours
/// show. Ordered by first possible arrival, neighbours before longer spans, then by descending number of tests.
pub fn arrivals(tests: &[TestSteps]) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = Vec::new();
    for test in tests {
        let mut changes: BTreeMap<&[usize], BTreeSet<(Metric, Direction)>> = BTreeMap::new();
        for (metric, step) in
            test.metrics.iter().flat_map(|(metric, steps)| steps.iter().map(move |step| (*metric, step)))
        {
            changes.entry(&step.arrivals).or_default().insert((metric, step.direction()));
        }
        for (versions, signature) in changes {
            let fits = |known: &&mut Arrival| known.versions == versions && known.signature == signature;
            match arrivals.iter_mut().find(fits) {
                Some(known) => known.tests.push(test.test.clone()),
                None => {
                    let (versions, tests) = (versions.to_vec(), vec![test.test.clone()]);
                    arrivals.push(Arrival { versions, signature, tests });
                }
            }
        }
    }
    let order = |one: &Arrival| (one.versions.first().copied(), one.versions.len(), Reverse(one.tests.len()));
    arrivals.sort_by_key(order);
    arrivals
}
