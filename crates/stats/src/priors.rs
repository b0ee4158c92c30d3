//! Which spread of noise holds for which test: per metric, per group where it has tests enough, per look.
//!
//! A look learns from what had been measured when its last block was: other tests' later blocks are left out. So what
//! was decided at a look is found again however much is measured afterwards.

use crate::pairs::{Pairs, Scale, variance};
use crate::prior::{Sample, Spread, fit};
use crate::rules::Rules;
use crate::shared::{Contrasts, design_effect};
use crate::verdict::Prior;
use rqps_model::{Events, Metric};
use std::collections::{BTreeMap, BTreeSet};

/// A group with this many tests is fitted by itself; a smaller one would know less than all groups together.
const GROUP_TESTS_MIN: usize = 8;

/// What was known at a moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    metric: Metric,
    /// Place of the look in the rules.
    look: usize,
    /// The last block that had been measured.
    until: u32,
    /// None: all groups.
    group: Option<String>,
}

/// Everything that is known of noise, looked up by metric, group and look.
pub(crate) struct Priors {
    fitted: BTreeMap<Moment, Spread>,
    looks: Vec<usize>,
}

/// The contrasts of one metric, arm and test.
pub(crate) struct Source<'a> {
    pub(crate) metric: Metric,
    pub(crate) test: &'a str,
    pub(crate) group: &'a str,
    pub(crate) starts: &'a str,
    pub(crate) arm: usize,
    pub(crate) pairs: &'a Pairs,
}

/// The last block of each look that a test has reached; of the others, whatever there is.
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
            // Below the first look its spread is what figures are described by.
            let wanted = looks.iter().enumerate();
            for (look, blocks) in wanted.filter(|(look, blocks)| *look == 0 || is_reached(**blocks)) {
                let moments: BTreeSet<u32> =
                    own.iter().map(|one| until(one.pairs, *blocks)).chain([u32::MAX]).collect();
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

    /// One spread per look. On the linear scale variances mean something else, so nothing is known.
    pub(crate) fn of(&self, metric: Metric, group: &str, pairs: &Pairs) -> Vec<Spread> {
        let at = |(look, blocks): (usize, &usize)| {
            if pairs.scale(*blocks) == Scale::Linear {
                return Spread::UNKNOWN;
            }
            let until = until(pairs, *blocks);
            let of = |group| self.fitted.get(&Moment { metric, look, until, group });
            of(Some(group.to_owned())).or_else(|| of(None)).copied().unwrap_or(Spread::UNKNOWN)
        };
        self.looks.iter().enumerate().map(at).collect()
    }

    /// Those that were fitted to everything, as they are reported.
    pub(crate) fn report(&self) -> Vec<Prior> {
        let all = self.fitted.iter().filter(|(moment, spread)| moment.until == u32::MAX && spread.tests > 0);
        all.map(|(moment, spread)| Prior {
            metric: moment.metric,
            group: moment.group.clone(),
            look: moment.look + 1,
            tests: spread.tests,
            variance: spread.variance,
            df: spread.df,
        })
        .collect()
    }
}

fn contrasts_of<'a>(source: &Source<'a>, blocks_max: usize, until: u32) -> Option<Contrasts<'a>> {
    let known = source.pairs.0.iter().take(blocks_max).take_while(|pair| pair.block <= until);
    let by_block: Option<Vec<(u32, f64)>> = known.map(|pair| Some((pair.block, pair.ln?))).collect();
    let by_block = by_block.filter(|by_block| by_block.len() >= 2)?;
    Some(Contrasts { starts: source.starts, test: source.test, arm: source.arm, by_block })
}

fn fit_group<'a>(own: &[&Source<'a>], group: Option<&str>, blocks: usize, until: u32) -> Spread {
    let is_wanted = |its: &str| group.is_none_or(|group| group == its);
    let contrasts: Vec<Contrasts<'a>> = own
        .iter()
        .filter(|one| is_wanted(one.group))
        .filter_map(|one| contrasts_of(one, blocks, until))
        .collect();
    let sample = |one: &Contrasts<'a>| {
        let values: Vec<f64> = one.by_block.iter().map(|(_, value)| *value).collect();
        Sample { test: one.test, variance: variance(&values), df: values.len() as f64 - 1.0 }
    };
    let samples: Vec<Sample> = contrasts.iter().map(sample).collect();
    fit(&samples, design_effect(&contrasts))
}
