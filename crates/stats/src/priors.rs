//! Which spread of noise applies to which test: per metric, per look, and per group if it has enough tests.
//!
//! A look uses only what had been measured by its own last block; later blocks of other tests are ignored. So
//! a look's decision is reproduced however much is measured afterwards.

use crate::host_share::{HostShare, host_shares};
use crate::pairs::{Pairs, Scale};
use crate::prior::{Sample, Spread, TESTS_MIN, fit};
use crate::rules::Rules;
use crate::shared::{Contrasts, design_effect};
use rqps_model::sample::variance;
use rqps_model::{Events, Metric};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of tests for a group's own fit; smaller groups use the fit over all groups.
const GROUP_TESTS_MIN: usize = 8;

/// What is pooled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pool {
    /// All arms, and only what had been measured by the last block of a look.
    Blocks,
    /// Each arm apart, and everything: hosts have no order, and one arm may vary from host to host where another does
    /// not. The control never does, since it is base.
    Hosts,
}

/// What a fit was based on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    metric: Metric,
    /// `None`: all arms.
    arm: Option<usize>,
    /// Index of the look in the rules.
    look: usize,
    /// The last block that was used.
    until: u32,
    tests: Tests,
}

/// Tests that a spread is fitted to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Tests {
    All,
    Group(String),
    /// Those whose windows tell their noise, with the trend that it gives.
    WithTrend,
}

/// Fitted spreads by metric, group and look.
pub(crate) struct Priors {
    fitted: BTreeMap<Moment, Spread>,
    looks: Vec<usize>,
    pool: Pool,
    /// Over hosts: what tests have in common, by metric, arm and hosts.
    shares: BTreeMap<(Metric, usize), BTreeMap<Vec<u32>, HostShare>>,
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

impl Pool {
    /// The arm that an arm's spread is fitted to; `None` is all of them.
    fn arm(self, arm: usize) -> Option<usize> {
        (self == Pool::Hosts).then_some(arm)
    }

    /// The number of a look's last block if the test has reached it and order counts; otherwise unlimited.
    fn until(self, pairs: &Pairs, blocks: usize) -> u32 {
        let last = blocks.checked_sub(1).filter(|_| self == Pool::Blocks);
        last.and_then(|last| pairs.0.get(last)).map_or(u32::MAX, |pair| pair.block)
    }
}

impl Priors {
    pub(crate) fn fit(sources: &[Source], rules: &Rules, pool: Pool) -> Priors {
        let looks: Vec<usize> = rules.looks.iter().map(|look| look.blocks).collect();
        let (mut fitted, mut shares) = (BTreeMap::new(), BTreeMap::new());
        for metric in Metric::ALL.into_iter().filter(|metric| metric.measure().events != Events::Rare) {
            let of_metric = || sources.iter().filter(|source| source.metric == metric);
            let arms: BTreeSet<Option<usize>> = of_metric().map(|one| pool.arm(one.arm)).collect();
            for arm in arms {
                let own: Vec<&Source> = of_metric().filter(|one| pool.arm(one.arm) == arm).collect();
                if let Some(arm) = arm {
                    shares.insert(
                        (metric, arm),
                        host_shares(&all_contrasts(&own, &Tests::All, usize::MAX, u32::MAX)),
                    );
                }
                let is_reached = |blocks: usize| own.iter().any(|one| one.pairs.len() >= blocks);
                // Figures below the first look use its spread.
                let wanted = looks.iter().enumerate();
                for (look, blocks) in wanted.filter(|(look, blocks)| *look == 0 || is_reached(**blocks)) {
                    let moments: BTreeSet<u32> =
                        own.iter().map(|one| pool.until(one.pairs, *blocks)).collect();
                    for until in moments {
                        let moment = Moment { metric, arm, look, until, tests: Tests::All };
                        fitted.extend(fit_all(&own, *blocks, moment));
                    }
                }
            }
        }
        Priors { fitted, looks, pool, shares }
    }

    /// One spread per look. On the linear scale variances are not comparable, so nothing is known.
    pub(crate) fn of(&self, metric: Metric, group: &str, arm: usize, pairs: &Pairs) -> Vec<Spread> {
        let at = |(look, blocks): (usize, &usize)| {
            if pairs.scale(*blocks) == Scale::Linear {
                return Spread::UNKNOWN;
            }
            let (of_arm, until) = (self.pool.arm(arm), self.pool.until(pairs, *blocks));
            let fitted = |tests| self.fitted.get(&Moment { metric, arm: of_arm, look, until, tests });
            let within = pairs.variance_within(*blocks);
            // Groups differ in how noisy their tests are; where windows tell that, all tests are worth more.
            let trend =
                within.and_then(|within| Some(fitted(Tests::WithTrend)?.with_variance_within(within)));
            let group = || fitted(Tests::Group(group.to_owned())).or_else(|| fitted(Tests::All)).copied();
            let mut spread = trend.or_else(group).unwrap_or(Spread::UNKNOWN);
            spread.shared = self.share(metric, arm, pairs);
            spread
        };
        self.looks.iter().enumerate().map(at).collect()
    }
}

impl Priors {
    fn share(&self, metric: Metric, arm: usize, pairs: &Pairs) -> HostShare {
        if self.pool == Pool::Blocks {
            return HostShare::NONE;
        }
        let hosts: Vec<u32> = pairs.0.iter().map(|pair| pair.block).collect();
        let known = self.shares.get(&(metric, arm)).and_then(|shares| shares.get(&hosts));
        known.copied().unwrap_or_else(|| HostShare::alone(hosts.len()))
    }
}

fn contrasts_of<'a>(source: &Source<'a>, blocks_max: usize, until: u32) -> Option<Contrasts<'a>> {
    let known = source.pairs.0.iter().take(blocks_max).take_while(|pair| pair.block <= until);
    let by_block: Option<Vec<(u32, f64)>> = known.map(|pair| Some((pair.block, pair.ln?))).collect();
    let by_block = by_block.filter(|by_block| by_block.len() >= 2)?;
    let variance_within = source.pairs.variance_within(by_block.len());
    Some(Contrasts { starts: source.starts, test: source.test, arm: source.arm, by_block, variance_within })
}

/// Over all tests, of each group with enough of them, and with a trend if enough tell their noise.
fn fit_all(own: &[&Source], blocks: usize, moment: Moment) -> Vec<(Moment, Spread)> {
    let groups: BTreeSet<&str> = own.iter().map(|one| one.group).collect();
    let groups = groups.into_iter().map(|group| (Tests::Group(group.to_owned()), GROUP_TESTS_MIN));
    let kinds = groups.chain([(Tests::All, 0), (Tests::WithTrend, TESTS_MIN)]);
    let fitted = kinds.map(|(tests, fewest)| {
        let moment = Moment { tests, ..moment.clone() };
        let spread = fit_tests(own, blocks, &moment);
        (spread.tests >= fewest).then_some((moment, spread))
    });
    fitted.flatten().collect()
}

fn all_contrasts<'a>(own: &[&Source<'a>], tests: &Tests, blocks: usize, until: u32) -> Vec<Contrasts<'a>> {
    let all = own.iter().filter(|one| !matches!(tests, Tests::Group(group) if group != one.group));
    let all = all.filter_map(|one| contrasts_of(one, blocks, until));
    all.filter(|one| *tests != Tests::WithTrend || one.variance_within.is_some()).collect()
}

fn fit_tests<'a>(own: &[&Source<'a>], blocks: usize, moment: &Moment) -> Spread {
    let contrasts = all_contrasts(own, &moment.tests, blocks, moment.until);
    let sample = |one: &Contrasts<'a>| {
        let values: Vec<f64> = one.by_block.iter().map(|(_, value)| *value).collect();
        let within = one.variance_within.filter(|_| moment.tests == Tests::WithTrend);
        Sample { test: one.test, variance: variance(&values), df: values.len() as f64 - 1.0, within }
    };
    let samples: Vec<Sample> = contrasts.iter().map(sample).collect();
    // What tests over hosts have in common is a part of its own (`host_share`).
    let effect = if moment.arm.is_some() { 1.0 } else { design_effect(&contrasts) };
    fit(&samples, effect)
}
