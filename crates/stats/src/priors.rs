//! Which spread of noise applies to which test: per metric, per look, and per group if it has enough tests.
//!
//! A look uses only what had been measured by its own last block; later blocks of other tests are ignored. So
//! a look's decision is reproduced however much is measured afterwards.

use crate::pairs::{Pairs, Scale};
use crate::prior::{Sample, Spread, fit};
use crate::rules::Rules;
use crate::shared::{Contrasts, design_effect};
use rqps_model::sample::variance;
use rqps_model::{Events, Metric};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of tests for a group's own fit; smaller groups use the fit over all groups.
const GROUP_TESTS_MIN: usize = 8;

/// What a fit was based on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    metric: Metric,
    /// Index of the look in the rules.
    look: usize,
    /// The last block that was used.
    until: u32,
    /// `None`: all groups.
    group: Option<String>,
}

/// Fitted spreads by metric, group and look.
pub(crate) struct Priors {
    fitted: BTreeMap<Moment, Spread>,
    looks: Vec<usize>,
}

/// The pairs of one metric, arm and test.
pub(crate) struct Source<'a> {
    pub(crate) metric: Metric,
    pub(crate) test: &'a str,
    pub(crate) group: &'a str,
    pub(crate) starts: &'a str,
    pub(crate) arm: usize,
    pub(crate) pairs: &'a Pairs,
}

/// The number of a look's last block if the test has reached it; otherwise unlimited.
fn until(pairs: &Pairs, blocks: usize) -> u32 {
    blocks.checked_sub(1).and_then(|last| pairs.0.get(last)).map_or(u32::MAX, |pair| pair.block)
}

impl Priors {
    pub(crate) fn fit(sources: &[Source], rules: &Rules) -> Priors {
        let looks: Vec<usize> = rules.looks.iter().map(|look| look.blocks).collect();
        let mut fitted = BTreeMap::new();
        for metric in Metric::ALL.into_iter().filter(|metric| metric.measure().events != Events::Rare) {
            let own: Vec<&Source> = sources.iter().filter(|source| source.metric == metric).collect();
            let groups: BTreeSet<&str> = own.iter().map(|one| one.group).collect();
            let is_reached = |blocks: usize| own.iter().any(|one| one.pairs.len() >= blocks);
            // Figures below the first look use its spread.
            let wanted = looks.iter().enumerate();
            for (look, blocks) in wanted.filter(|(look, blocks)| *look == 0 || is_reached(**blocks)) {
                let moments: BTreeSet<u32> = own.iter().map(|one| until(one.pairs, *blocks)).collect();
                for until in moments {
                    for group in groups.iter().map(|group| Some(*group)).chain([None]) {
                        let spread = fit_group(&own, group, *blocks, until);
                        if group.is_none() || spread.tests >= GROUP_TESTS_MIN {
                            let group = group.map(str::to_owned);
                            fitted.insert(Moment { metric, look, until, group }, spread);
                        }
                    }
                }
            }
        }
        Priors { fitted, looks }
    }

    /// One spread per look. On the linear scale variances are not comparable, so nothing is known.
    pub(crate) fn of(&self, metric: Metric, group: &str, pairs: &Pairs) -> Vec<Spread> {
        let at = |(look, blocks): (usize, &usize)| {
            if pairs.scale(*blocks) == Scale::Linear {
                return Spread::UNKNOWN;
            }
            let until = until(pairs, *blocks);
            let fitted = |group| self.fitted.get(&Moment { metric, look, until, group });
            fitted(Some(group.to_owned())).or_else(|| fitted(None)).copied().unwrap_or(Spread::UNKNOWN)
        };
        self.looks.iter().enumerate().map(at).collect()
    }
}

fn contrasts_of<'a>(source: &Source<'a>, blocks_max: usize, until: u32) -> Option<Contrasts<'a>> {
    let known = source.pairs.0.iter().take(blocks_max).take_while(|pair| pair.block <= until);
    let by_block: Option<Vec<(u32, f64)>> = known.map(|pair| Some((pair.block, pair.ln?))).collect();
    let by_block = by_block.filter(|by_block| by_block.len() >= 2)?;
    Some(Contrasts { starts: source.starts, test: source.test, arm: source.arm, by_block })
}

fn fit_group<'a>(own: &[&Source<'a>], group: Option<&str>, blocks: usize, until: u32) -> Spread {
    let is_selected = |other: &str| group.is_none_or(|group| group == other);
    let contrasts: Vec<Contrasts<'a>> = own
        .iter()
        .filter(|one| is_selected(one.group))
        .filter_map(|one| contrasts_of(one, blocks, until))
        .collect();
    let sample = |one: &Contrasts<'a>| {
        let values: Vec<f64> = one.by_block.iter().map(|(_, value)| *value).collect();
        Sample { test: one.test, variance: variance(&values), df: values.len() as f64 - 1.0 }
    };
    let samples: Vec<Sample> = contrasts.iter().map(sample).collect();
    fit(&samples, design_effect(&contrasts))
}
