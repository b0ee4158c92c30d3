//! Changes across versions of one DBMS: the two versions between which each arrived, and the tests that show it.

use std::collections::BTreeMap;

use rqps_stats::series::{Arrival, Step, TestSteps, arrivals};
use rqps_stats::{Class, Direction, Judgement, Metric, MetricData, TestData, Verdict};
use rqps_store::{Arm, Run};

use crate::error::Result;
use crate::judged::RunVerdicts;

/// Fewest versions of a row.
const VERSIONS_MIN: usize = 3;
/// What is the same as base may differ from it by this share of a change, at most, for the change to have come later.
const SAME_OF_CHANGE_MAX: f64 = 0.25;

/// Arms that differ only in their version, oldest first, and the changes found along them.
#[derive(Debug, Clone)]
pub struct VersionRow {
    /// Indices in [`Run::arms`].
    pub arms: Vec<usize>,
    /// Changes of several tests between the same two versions, with the same counters.
    pub arrivals: Vec<Arrival>,
    /// All changes, by test.
    pub steps: Vec<TestSteps>,
}

/// The steps of an arrival with the smallest and the largest ratio over its tests, by metric.
pub fn arrival_sizes<'s>(
    steps: &'s [TestSteps],
    arrival: &Arrival,
) -> BTreeMap<Metric, (&'s Step, &'s Step)> {
    let mut sizes: BTreeMap<Metric, (&Step, &Step)> = BTreeMap::new();
    for test in steps.iter().filter(|test| arrival.tests.contains(&test.test)) {
        for (metric, steps) in &test.metrics {
            let is_signed = |direction: Direction| arrival.signature.contains(&(*metric, direction));
            let in_arrival =
                steps.iter().filter(|step| is_signed(step.direction()) && step.arrivals == arrival.versions);
            for step in in_arrival {
                let (low, high) = sizes.entry(*metric).or_insert((step, step));
                if step.ratio < low.ratio {
                    *low = step;
                }
                if step.ratio > high.ratio {
                    *high = step;
                }
            }
        }
    }
    sizes
}

impl VersionRow {
    /// The two versions that differ: `9.8 to 10.2`. One between them does not show the change, or has no results.
    pub fn span(&self, run: &Run, arrival: &Arrival) -> String {
        let version = |place: usize| run.arms[self.arms[place]].build_version.as_str();
        match (arrival.versions.first(), arrival.versions.last()) {
            (Some(first), Some(last)) => {
                format!("{} to {}", version(first.saturating_sub(1)), version(*last))
            }
            _ => String::new(),
        }
    }
}

/// The rows of a run: arms with equal DBMS, config and environment, and at least three versions.
///
/// Changes are significant verdicts by the run's rules, on each version relative to the one before it. A verdict
/// relative to base that none of these accounts for is a change of its own: since the last version that is the same as
/// base, or else between versions further apart.
/// Of two arms that are not `comparable` in a test there is no verdict.
///
/// # Errors
/// If figures and rules are inconsistent.
pub fn version_rows(
    run: &Run,
    verdicts: &RunVerdicts,
    comparable: &dyn Fn(&str, (usize, usize)) -> bool,
) -> Result<Vec<VersionRow>> {
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
            row(run, arms, verdicts, comparable)
        })
        .collect()
}

fn row(
    run: &Run,
    arms: Vec<usize>,
    verdicts: &RunVerdicts,
    comparable: &dyn Fn(&str, (usize, usize)) -> bool,
) -> Result<VersionRow> {
    // Fewer blocks than a verdict takes show no change.
    let blocks_min = verdicts.rules.looks.first().map_or(1, |look| look.blocks);
    let base = verdicts.experiment.base;
    let mut relative: BTreeMap<usize, Judgement> = BTreeMap::new();
    // Nothing is relative to the newest.
    for arm in arms.iter().rev().skip(1).copied().filter(|arm| *arm != base) {
        relative.insert(arm, verdicts.relative_to(run, arm)?);
    }
    relative.insert(base, verdicts.judgement.clone());
    let along = Along { arms: &arms, base, relative: &relative, comparable };
    let mut tests = Vec::new();
    for test in &verdicts.experiment.tests {
        let places: Vec<(Metric, Vec<usize>)> =
            test.metrics.iter().map(|data| (data.metric, places(data, &arms, blocks_min))).collect();
        let steps = places.iter().map(|(metric, places)| (*metric, along.steps(test, *metric, places)));
        let metrics: Vec<(Metric, Vec<Step>)> = steps.filter(|(_, steps)| !steps.is_empty()).collect();
        if !metrics.is_empty() {
            tests.push(TestSteps { test: test.name.clone(), metrics });
        }
    }
    Ok(VersionRow { arrivals: arrivals(&tests), steps: tests, arms })
}

/// The places of versions with results in as many blocks as a verdict takes, ascending.
fn places(data: &MetricData, arms: &[usize], blocks_min: usize) -> Vec<usize> {
    let blocks = |arm: usize| data.blocks.iter().filter(|block| block.values[arm].is_some()).count();
    (0..arms.len()).filter(|place| blocks(arms[*place]) >= blocks_min).collect()
}

/// The verdicts on versions along a row.
struct Along<'a> {
    arms: &'a [usize],
    /// What the run's own verdicts are relative to.
    base: usize,
    /// Verdicts by the arm that they are relative to.
    relative: &'a BTreeMap<usize, Judgement>,
    comparable: &'a dyn Fn(&str, (usize, usize)) -> bool,
}

impl Along<'_> {
    /// The changes of one metric over the versions at `places`.
    fn steps(&self, test: &TestData, metric: Metric, places: &[usize]) -> Vec<Step> {
        let ratio = |before: usize, after: usize| self.ratio(&test.name, metric, (before, after));
        let step = |before: usize, after: usize| {
            let (ratio, interval) = ratio(before, after)?;
            Some(Step { arrivals: (before + 1..=after).collect(), ratio, interval })
        };
        let mut steps: Vec<Step> = places.windows(2).filter_map(|pair| step(pair[0], pair[1])).collect();
        let Some(base) = places.iter().copied().find(|place| self.arms[*place] == self.base) else {
            return steps;
        };
        let mut others: Vec<usize> = places.iter().copied().filter(|place| *place != base).collect();
        others.sort_by_key(|place| place.abs_diff(base));
        for place in others {
            let Some(whole) = step(place.min(base), place.max(base)) else { continue };
            let whole = self.since_the_same(&test.name, metric, (base, place)).unwrap_or(whole);
            let is_part = |one: &Step| {
                one.direction() == whole.direction()
                    && one.arrivals.iter().all(|version| whole.arrivals.contains(version))
            };
            if !steps.iter().any(is_part) {
                steps.push(whole);
            }
        }
        steps.sort_by_key(|step| step.arrivals.first().copied());
        steps
    }

    /// The change between base and `place` as one since the nearest version that a verdict calls the same as base. A
    /// change between two versions of which neither has a control takes more blocks to show.
    fn since_the_same(&self, test: &str, metric: Metric, (base, place): (usize, usize)) -> Option<Step> {
        let relation =
            |one: usize, other: usize| self.relation(test, metric, (one.min(other), one.max(other)));
        let (_, whole, _) = relation(base, place)?;
        let is_same = |between: &usize| {
            let found = relation(base, *between);
            found.is_some_and(|(verdict, ratio, _)| {
                verdict.class == Class::Same && ratio.ln().abs() <= SAME_OF_CHANGE_MAX * whole.ln().abs()
            })
        };
        let between = (base.min(place) + 1..base.max(place)).filter(is_same);
        let last = between.min_by_key(|between| between.abs_diff(place))?;
        let (_, ratio, interval) = relation(last, place)?;
        let arrivals = (last.min(place) + 1..=last.max(place)).collect();
        ((ratio.ln() > 0.0) == (whole.ln() > 0.0)).then_some(Step { arrivals, ratio, interval })
    }

    /// The ratio of two versions with its interval, if it is a significant change.
    fn ratio(
        &self,
        test: &str,
        metric: Metric,
        (before, after): (usize, usize),
    ) -> Option<(f64, (f64, f64))> {
        let (verdict, ratio, interval) = self.relation(test, metric, (before, after))?;
        verdict.class.is_change().then_some((ratio, interval))
    }

    /// The verdict on two comparable versions, and the later one's ratio to the earlier with its interval.
    fn relation(
        &self,
        test: &str,
        metric: Metric,
        (before, after): (usize, usize),
    ) -> Option<(&Verdict, f64, (f64, f64))> {
        let (before, after) = (self.arms[before], self.arms[after]);
        // Whatever is relative to base has its verdict already.
        let (base, arm) = if after == self.base { (after, before) } else { (before, after) };
        let is_it = |one: &&Verdict| one.test == test && one.arm == arm && one.metric == metric;
        let verdict = self.relative.get(&base)?.verdicts.iter().find(is_it)?;
        let (ratio, interval) = match arm == after {
            true => (verdict.ratio, (verdict.low, verdict.high)),
            false => (1.0 / verdict.ratio, (1.0 / verdict.high, 1.0 / verdict.low)),
        };
        let is_known = ratio.is_finite() && ratio > 0.0 && (self.comparable)(test, (arm, base));
        is_known.then_some((verdict, ratio, interval))
    }
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
