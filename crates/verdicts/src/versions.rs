//! Changes across versions of one DBMS: the version in which each arrived, and the tests that show it.

use std::collections::BTreeMap;

use rqps_stats::series::{Arrival, SeriesData, SeriesRules, TestSteps, arrivals, steps};
use rqps_stats::{Direction, Metric, MetricData, TestData};
use rqps_store::Run;

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

/// The rows of a run: arms with equal DBMS, config and environment, and at least three versions.
pub fn version_rows(run: &Run, verdicts: &RunVerdicts) -> Vec<VersionRow> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for (index, arm) in run.arms.iter().enumerate().filter(|(_, arm)| !arm.control) {
        let fits = |row: &&mut Vec<usize>| {
            let first = &run.arms[row[0]];
            let is_new_version = row.iter().all(|other| run.arms[*other].build_version != arm.build_version);
            (&first.dbms, &first.config_hash, &first.env) == (&arm.dbms, &arm.config_hash, &arm.env)
                && is_new_version
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
    let of_test = |test: &TestData| SeriesData {
        test: test.name.clone(),
        metrics: test
            .metrics
            .iter()
            .filter(|data| data.metric != Metric::StallFactor)
            .map(|data| (data.metric, along(data, &arms)))
            .filter(|data| varies(data) && has_noise(&data.1))
            .collect(),
    };
    let data: Vec<SeriesData> = verdicts.experiment.tests.iter().map(of_test).collect();
    let mut tests = steps(&data, &series_rules);
    for test in &mut tests {
        for (metric, found) in &mut test.metrics {
            let mei = verdicts.rules.mei(&test.test, *metric);
            found.steps.retain(|step| (step.ratio - 1.0).abs() >= mei);
        }
        test.metrics.retain(|(_, found)| !found.steps.is_empty());
    }
    tests.retain(|test| !test.metrics.is_empty());
    VersionRow { arms, arrivals: arrivals(&tests), steps: tests, rules: series_rules }
}

/// The logarithms of these arms, in their order, by block.
fn along(data: &MetricData, arms: &[usize]) -> Vec<Vec<Option<f64>>> {
    data.blocks.iter().map(|block| arms.iter().map(|arm| block.ln[*arm]).collect()).collect()
}

/// Whether a metric varies at all. One that is constant has no steps, and must not use up a share of the
/// error rate.
fn varies((_, blocks): &(Metric, Vec<Vec<Option<f64>>>)) -> bool {
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
