//! Versions one after the other: tests whose change came in the same version with the same figures and in like size are
//! one arrival.

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

/// Tests whose changes differ by more than this factor, none being of a size between, are arrivals of their own: what
/// halves one cost and what takes 0.7 % off another are not one change.
const SIZES_APART: f64 = 3.0;

/// What changed in a test between two versions.
struct Change<'t> {
    /// The test's place in the input.
    place: usize,
    versions: &'t [usize],
    steps: BTreeMap<Metric, &'t Step>,
}

impl Change<'_> {
    fn signature(&self) -> BTreeSet<(Metric, Direction)> {
        self.steps.iter().map(|(metric, step)| (*metric, step.direction())).collect()
    }

    /// Whether it may be the change of another test, too.
    fn is_like(&self, other: &Change<'_>) -> bool {
        let is_of_like_size = |(one, other): (&&Step, &&Step)| {
            let factor = one.ratio.ln() / other.ratio.ln();
            factor.max(1.0 / factor) <= SIZES_APART
        };
        self.versions == other.versions
            && self.signature() == other.signature()
            && self.steps.values().zip(other.steps.values()).all(is_of_like_size)
    }
}

/// Merges the steps of all tests that are between the same two versions: those of a test are one change, and tests
/// with the same signature and changes of like size one arrival. What shows only between versions further apart stays
/// apart from what neighbours show. Ordered by first possible arrival, neighbours before longer spans, then by
/// descending number of tests.
pub fn arrivals(tests: &[TestSteps]) -> Vec<Arrival> {
    let mut groups: Vec<Vec<Change<'_>>> = Vec::new();
    for (place, test) in tests.iter().enumerate() {
        let mut changes: BTreeMap<&[usize], BTreeMap<Metric, &Step>> = BTreeMap::new();
        for (metric, step) in
            test.metrics.iter().flat_map(|(metric, steps)| steps.iter().map(move |step| (*metric, step)))
        {
            changes.entry(&step.arrivals).or_default().insert(metric, step);
        }
        for (versions, steps) in changes {
            let change = Change { place, versions, steps };
            let is_near = |group: &Vec<Change<'_>>| group.iter().any(|one| one.is_like(&change));
            let (near, far): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_near);
            groups = far;
            groups.push(near.into_iter().flatten().chain([change]).collect());
        }
    }
    groups.iter_mut().for_each(|group| group.sort_by_key(|change| change.place));
    groups.sort_by_key(|group| {
        let Change { place, versions, .. } = &group[0];
        (versions.first().copied(), versions.len(), Reverse(group.len()), *place)
    });
    let arrival = |group: &Vec<Change<'_>>| Arrival {
        versions: group[0].versions.to_vec(),
        signature: group[0].signature(),
        tests: group.iter().map(|change| tests[change.place].test.clone()).collect(),
    };
    groups.iter().map(arrival).collect()
}
