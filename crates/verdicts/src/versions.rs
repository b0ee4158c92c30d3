//! Changes across versions of one DBMS: the version in which each arrived, and the tests that show it.

use std::collections::{BTreeMap, BTreeSet};

use rqps_stats::series::{Arrival, SeriesData, SeriesRules, Step, TestSteps, arrivals, steps};
use rqps_stats::{Direction, Metric, MetricData, TestData};
use rqps_store::{Arm, Run};

use crate::judged::{ONE_RATIO_SD_MAX, RunVerdicts};

/// Fewest versions of a row.
const VERSIONS_MIN: usize = 3;

/// Arms that differ only in their version, oldest first, and the changes found along them.
#[derive(Debug, Clone)]
pub struct VersionRow {
    /// Indices in [`Run::arms`].
    pub arms: Vec<usize>,
    /// Changes of several tests that arrived in the same version with the same counters.
    pub arrivals: Vec<Arrival>,
    /// All steps that are large enough to matter, by test.
    pub steps: Vec<TestSteps>,
    /// Places in `arms`, by test, whose versions have too few results to tell whether a change arrived there.
    pub gaps: BTreeMap<String, BTreeSet<usize>>,
    /// The rules by which steps were found.
    pub rules: SeriesRules,
}

/// The smallest and largest ratio of an arrival over its tests, level after to level before, by metric.
pub fn arrival_sizes(steps: &[TestSteps], arrival: &Arrival) -> BTreeMap<Metric, (f64, f64)> {
    let mut sizes: BTreeMap<Metric, (f64, f64)> = BTreeMap::new();
    for test in steps.iter().filter(|test| arrival.tests.contains(&test.test)) {
        for (metric, found) in &test.metrics {
            let is_signed = |direction: Direction| arrival.signature.contains(&(*metric, direction));
            let in_arrival = found.steps.iter().filter(|step| {
                is_signed(step.direction()) && step.arrivals.iter().any(|at| arrival.versions.contains(at))
            });
            for step in in_arrival {
                let (low, high) = sizes.entry(*metric).or_insert((step.ratio, step.ratio));
                (*low, *high) = (low.min(step.ratio), high.max(step.ratio));
            }
        }
    }
    sizes
}

impl VersionRow {
    /// The version, of those before and in which a change may have arrived, that says where: `10.1`, `10.1 or 10.2`, or
    /// `between 9.8 and 10.2` if a version that may have brought it has no results in these tests.
    pub fn arrived(&self, run: &Run, arrival: &Arrival) -> String {
        let version = |place: usize| run.arms[self.arms[place]].build_version.as_str();
        let is_gap = |place: &usize| {
            arrival.tests.iter().all(|test| self.gaps.get(test).is_some_and(|gaps| gaps.contains(place)))
        };
        match (arrival.versions.first(), arrival.versions.last()) {
            (Some(first), Some(last)) if *first > 0 && arrival.versions.iter().any(is_gap) => {
                let is_known = |place: &usize| !is_gap(place);
                let before = (0..*first).rev().find(is_known).unwrap_or(0);
                format!("between {} and {}", version(before), version(*last))
            }
            _ => {
                let each: Vec<&str> = arrival.versions.iter().map(|place| version(*place)).collect();
                each.join(" or ")
            }
        }
    }
}

/// The rows of a run: arms with equal DBMS, config and environment, and at least three versions.
pub fn version_rows(run: &Run, verdicts: &RunVerdicts) -> Vec<VersionRow> {
    // Of imported arms only the names of configs are known.
    let config = |arm: &Arm| match arm.config_hash.is_empty() {
        true => arm.config_name.clone(),
        false => arm.config_hash.clone(),
    };
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for (index, arm) in run.arms.iter().enumerate().filter(|(_, arm)| !arm.control) {
        let fits = |row: &&mut Vec<usize>| {
            let first = &run.arms[row[0]];
            let is_new_version = row.iter().all(|other| run.arms[*other].build_version != arm.build_version);
            (&first.dbms, config(first), &first.env) == (&arm.dbms, config(arm), &arm.env) && is_new_version
        };
        match rows.iter_mut().find(fits) {
            Some(row) => row.push(index),
            None => rows.push(vec![index]),
        }
    }
    rows.retain(|row| row.len() >= VERSIONS_MIN);
    rows.into_iter()
        .map(|mut arms| {
            arms.sort_by_key(|arm| version_key(&run.arms[*arm].build_version));
            row(run, arms, verdicts)
        })
        .collect()
}

fn row(run: &Run, arms: Vec<usize>, verdicts: &RunVerdicts) -> VersionRow {
    let series_rules = SeriesRules::default();
    // Fewer blocks than a verdict takes, or copies of one repeat, show no noise.
    let blocks_min = verdicts.rules.looks.first().map_or(0, |look| look.blocks);
    let has_noise = |blocks: &[Vec<Option<f64>>]| {
        blocks.len() >= blocks_min && !(run.meta.is_imported() && are_copies(blocks))
    };
    // Finding steps assumes normal noise, which stall factors don't have.
    let of_test = |test: &TestData| -> Vec<(Metric, Along)> {
        let metrics = test.metrics.iter().filter(|data| data.metric != Metric::StallFactor);
        let along = metrics.map(|data| (data.metric, Along::of(data, &arms, blocks_min)));
        along.filter(|(_, along)| varies(&along.blocks) && has_noise(&along.blocks)).collect()
    };
    let along: Vec<(String, Vec<(Metric, Along)>)> =
        verdicts.experiment.tests.iter().map(|test| (test.name.clone(), of_test(test))).collect();
    let data = along.iter().map(|(test, metrics)| SeriesData {
        test: test.clone(),
        metrics: metrics.iter().map(|(metric, along)| (*metric, along.blocks.clone())).collect(),
    });
    let mut tests = steps(&data.collect::<Vec<_>>(), &series_rules);
    for (test, (_, along)) in tests.iter_mut().zip(&along) {
        for ((metric, found), (_, along)) in test.metrics.iter_mut().zip(along) {
            let mei = verdicts.rules.mei(&test.test, *metric);
            found.steps.retain(|step| (step.ratio - 1.0).abs() >= mei);
            found.steps.iter_mut().for_each(|step| along.place(step));
        }
        test.metrics.retain(|(_, found)| !found.steps.is_empty());
    }
    tests.retain(|test| !test.metrics.is_empty());
    let gaps = along.iter().map(|(test, metrics)| {
        let known: BTreeSet<usize> = metrics.iter().flat_map(|(_, along)| along.places.clone()).collect();
        (test.clone(), (0..arms.len()).filter(|place| !known.contains(place)).collect())
    });
    let gaps = gaps.collect();
    VersionRow { arms, arrivals: arrivals(&tests), steps: tests, gaps, rules: series_rules }
}

/// A metric of a test over those versions that have results of it.
struct Along {
    /// Their places in the row, ascending.
    places: Vec<usize>,
    /// Their logarithms, by block.
    blocks: Vec<Vec<Option<f64>>>,
}

impl Along {
    /// Leaves out versions with results in fewer blocks than a verdict takes: a block counts only if it has all others.
    fn of(data: &MetricData, arms: &[usize], blocks_min: usize) -> Self {
        let has_results = |place: &usize| {
            let results = data.blocks.iter().filter(|block| block.ln[arms[*place]].is_some()).count();
            results >= blocks_min.max(1)
        };
        let places: Vec<usize> = (0..arms.len()).filter(has_results).collect();
        let of_block = |ln: &[Option<f64>]| places.iter().map(|place| ln[arms[*place]]).collect();
        let blocks = data.blocks.iter().map(|block| of_block(&block.ln)).collect();
        Self { places, blocks }
    }

    /// Gives a step the places of the row. It may have arrived in any version left out just before one of its arrivals.
    fn place(&self, step: &mut Step) {
        let since = |at: usize| at.checked_sub(1).map_or(0, |before| self.places[before] + 1);
        step.arrivals = step.arrivals.iter().flat_map(|at| since(*at)..=self.places[*at]).collect();
        step.arrival = self.places[step.arrival];
    }
}

/// Whether a metric varies at all. One that is constant has no steps, and must not use up a share of the
/// error rate.
fn varies(blocks: &[Vec<Option<f64>>]) -> bool {
    blocks.iter().any(|block| block.windows(2).any(|pair| pair[0] != pair[1]))
}

/// Whether all blocks have the same ratios of versions, which independent measurements never have.
fn are_copies(blocks: &[Vec<Option<f64>>]) -> bool {
    let ratios = |block: &[Option<f64>]| -> Vec<Option<f64>> {
        block.windows(2).map(|pair| Some(pair[1]? - pair[0]?)).collect()
    };
    let is_one = |(one, other): (&Option<f64>, &Option<f64>)| match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() < ONE_RATIO_SD_MAX,
        (one, other) => one == other,
    };
    let all: Vec<_> = blocks.iter().map(|block| ratios(block)).collect();
    all.windows(2).all(|pair| pair[0].iter().zip(&pair[1]).all(is_one))
}

/// Stages before a release, in their order.
const STAGES: [&str; 4] = ["dev", "alpha", "beta", "rc"];

/// Sort key that compares numbers as numbers: 9.6 is before 10, and 18devel, 18beta2, 18beta10 and 18rc1 before 18.0.
pub fn version_key(version: &str) -> Vec<(u64, String)> {
    let mut key: Vec<(u64, String)> = Vec::new();
    for part in version.split(['.', '-', '_']) {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let rest = stage_key(rest).unwrap_or_else(|| rest.to_owned());
        // "~" sorts after letters: a pre-release comes before its release.
        match key.last_mut() {
            // 9.1.0-rc1 is before 9.1.0.
            Some((_, before)) if number.is_empty() && rest.starts_with(BEFORE_RELEASE) && before == "~" => {
                *before = rest;
            }
            _ if rest.is_empty() => key.push((number.parse().unwrap_or(0), "~".to_owned())),
            _ => key.push((number.parse().unwrap_or(0), rest)),
        }
    }
    key
}

/// Sorts before all letters.
const BEFORE_RELEASE: char = '!';

/// `!2` and ten digits of `beta10`; `None` if it is no stage.
fn stage_key(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let stage = STAGES.iter().position(|stage| lower.starts_with(stage))?;
    let digits = lower.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some(format!("{BEFORE_RELEASE}{stage}{:0>10}{lower}", &digits[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_their_releases() {
        let released = [
            "9.0.0-dev",
            "9.0.0-rc1",
            "9.0.0",
            "9.6",
            "10.11.6-MariaDB",
            "18devel",
            "18devel.20250301",
            "18alpha1",
            "18beta2",
            "18beta10",
            "18rc1",
            "18.0",
            "18.1",
            "18.10",
            "19devel",
        ];
        assert!(released.map(version_key).is_sorted(), "{:?}", released.map(version_key));
    }
}
