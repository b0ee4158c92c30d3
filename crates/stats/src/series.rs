//! Versions one after the other: tests whose change came in the same version with the same figures are one arrival.

use crate::direction::Direction;
use rqps_model::Metric;
use std::collections::BTreeSet;

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
    /// The versions that may be the first to have it, according to all its tests; ascending.
    pub versions: Vec<usize>,
    /// Which metrics changed, and in which direction.
    pub signature: BTreeSet<(Metric, Direction)>,
    /// The tests that show it, in input order.
    pub tests: Vec<String>,
}

/// A change of one test: steps of several metrics that may have arrived with the same version.
struct Change {
    arrivals: BTreeSet<usize>,
    signature: BTreeSet<(Metric, Direction)>,
}

/// Merges the steps of all tests: first the metrics of a test whose arrival sets share a version, then tests
/// with the same signature that share a version. Ordered by first possible arrival, then by descending number
/// of tests.
pub fn arrivals(tests: &[TestSteps]) -> Vec<Arrival> {
    let mut found: Vec<(Change, Vec<String>)> = Vec::new();
    for test in tests {
        for change in changes(test) {
            let fits = |(known, _): &&mut (Change, Vec<String>)| {
                known.signature == change.signature && !known.arrivals.is_disjoint(&change.arrivals)
            };
            match found.iter_mut().find(fits) {
                Some((known, names)) => {
                    known.arrivals = &known.arrivals & &change.arrivals;
                    if !names.contains(&test.test) {
                        names.push(test.test.clone());
                    }
                }
                None => found.push((change, vec![test.test.clone()])),
            }
        }
    }
    let arrival = |(change, tests): (Change, Vec<String>)| Arrival {
        versions: change.arrivals.into_iter().collect(),
        signature: change.signature,
        tests,
    };
    let mut arrivals: Vec<Arrival> = found.into_iter().map(arrival).collect();
    arrivals
        .sort_by(|a, b| a.versions.first().cmp(&b.versions.first()).then(b.tests.len().cmp(&a.tests.len())));
    arrivals
}

fn changes(test: &TestSteps) -> Vec<Change> {
    let mut steps: Vec<_> = test
        .metrics
        .iter()
        .flat_map(|(metric, steps)| steps.iter().map(move |step| (*metric, step)))
        .collect();
    // The most certain arrivals first, so that vaguer ones join them.
    steps.sort_by_key(|(metric, step)| (step.arrivals.len(), step.arrivals.first(), *metric));
    let mut changes: Vec<Change> = Vec::new();
    for (metric, step) in steps {
        let arrivals: BTreeSet<usize> = step.arrivals.iter().copied().collect();
        let sign = (metric, step.direction());
        let fits = |change: &&mut Change| {
            let has_metric = change.signature.iter().any(|(other, _)| *other == metric);
            !has_metric && !change.arrivals.is_disjoint(&arrivals)
        };
        match changes.iter_mut().find(fits) {
            Some(change) => {
                change.arrivals = &change.arrivals & &arrivals;
                change.signature.insert(sign);
            }
            None => changes.push(Change { arrivals, signature: BTreeSet::from([sign]) }),
        }
    }
    changes
}
