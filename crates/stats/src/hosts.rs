//! The same comparison on several hosts: one verdict over all of them, or none if they disagree.
//!
//! Arms are compared within a host only. Each host is judged by its own blocks. Over hosts, a host is what a
//! block is on one host, the unit of replication: its figure is the mean contrast of its blocks, hosts are a
//! random sample, and the interval is one over hosts. So what varies from host to host is in the interval,
//! and more blocks on the same hosts cannot make it narrower than that.
//!
//! What tests of a host have in common counts once, however many tests there are ([`crate::host_share`]), and each
//! arm's spread is its own: the control does not vary from host to host, whatever the candidates do.
//!
//! An average hides a difference that only some hosts have. [`Agreement`] tests every pair of hosts for the
//! same ratio, by the moderated errors of their own verdicts (Welch's test), adjusted for the number of pairs.

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{Events, Metric, sample};
use statrs::function::beta::beta_reg;

use crate::distribution::t_two_sided;
use crate::experiment::{BlockData, Experiment, InvalidData, MetricData, TestData};
use crate::judge::{judge, judge_pooled};
use crate::priors::Pool;
use crate::rules::{Look, Rules};
use crate::verdict::{Class, Judgement, Tag, Verdict};

/// Fewest hosts for a verdict over hosts. Two are judged each, and compared.
pub const HOSTS_MIN: usize = 3;
/// Share of the errors that are spent. All hosts are there before anything is judged, so there is a single look. The
/// rest is for tests of which some vary from host to host and others hardly do, as the spread that is fitted to all of
/// them is too small for some: `what_varies_from_host_to_host_is_no_change` simulates both.
const SPEND: f64 = 0.5;
/// From this probability of hosts that are alike on, an inconclusive row is not said to be of hosts that may differ.
const DOUBT_P: f64 = 0.05;
/// Probability that a host whose verdicts hold is left out for false alarms.
const LEFT_OUT_P: f64 = 0.01;

/// The judgement on several hosts.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// Each host by its own blocks, in the order given.
    pub each: Vec<OnHost>,
    /// Over the hosts that pass their check, by test, arm and detector; without the control, and without stalls,
    /// which have no average.
    pub joint: Vec<Joint>,
}

/// A host by its own blocks.
#[derive(Debug, Clone)]
pub struct OnHost {
    pub judgement: Judgement,
    /// Verdicts on the control, which measures base again.
    pub checked: usize,
    /// How many of them are changes.
    pub alarms: usize,
}

impl OnHost {
    fn of(judgement: Judgement) -> Self {
        let is_checked = |verdict: &&Verdict| {
            verdict.is_control && verdict.looks_reached > 0 && !verdict.tags.contains(&Tag::TooShort)
        };
        let checked = judgement.verdicts.iter().filter(is_checked);
        let alarms = checked.clone().filter(|verdict| verdict.class.is_change()).count();
        Self { checked: checked.count(), alarms, judgement }
    }

    /// Whether base differs from itself more often than errors of `alpha` explain.
    pub fn fails_check(&self, alpha: f64) -> bool {
        let (alarms, checked) = (self.alarms as f64, self.checked as f64);
        self.alarms > 0 && beta_reg(alarms, checked - alarms + 1.0, alpha) <= LEFT_OUT_P
    }
}

/// One test, arm and detector over all hosts that measured it.
#[derive(Debug, Clone)]
pub struct Joint {
    /// Hosts are its blocks; fewer than [`HOSTS_MIN`] have no interval. Nothing follows from it if hosts disagree.
    pub verdict: Verdict,
    /// The hosts' own verdicts: index of the host, verdict.
    pub hosts: Vec<(usize, Verdict)>,
    pub agreement: Agreement,
}

impl Joint {
    /// Whether the hosts may differ: too few blocks to tell, and nothing is decided over all of them.
    pub fn may_differ(&self) -> bool {
        let Joint { verdict, agreement, .. } = self;
        !agreement.is_broken() && verdict.class == Class::Inconclusive && agreement.p <= DOUBT_P
    }

    /// What every host shows by its own blocks, if nothing is decided over hosts: these changed, and say too little of
    /// others.
    pub fn on_each(&self) -> Option<Class> {
        let Joint { verdict, hosts, agreement } = self;
        let first = hosts.first().map(|(_, own)| own.class).filter(|class| class.is_change())?;
        let is_so =
            |own: &Verdict| own.class.is_change() && own.class.is_regression() == first.is_regression();
        let all = verdict.class == Class::Inconclusive
            && hosts.len() > 1
            && hosts.iter().all(|(_, own)| is_so(own));
        (all && !agreement.is_broken()).then_some(first)
    }

    /// Whether one figure stands for all hosts: an average would hide what some of them have.
    pub fn has_average(&self) -> bool {
        !(self.agreement.is_broken() || self.may_differ())
    }
}

/// Whether hosts have the same ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Probability, over all pairs, of two hosts at least as different if all have the same ratio.
    pub p: f64,
    /// Pairs of hosts, by index, whose ratios differ by more than what matters.
    pub differing: Vec<(usize, usize)>,
}

impl Agreement {
    /// Whether a difference exists on some hosts only, or in different sizes.
    pub fn is_broken(&self) -> bool {
        !self.differing.is_empty()
    }

    fn of(hosts: &[(usize, Verdict)], alpha: f64) -> Agreement {
        let mut pairs = Vec::new();
        for (at, (first, one)) in hosts.iter().enumerate() {
            for (second, other) in &hosts[at + 1..] {
                pairs.push((*first, *second, p_of_pair(one, other), differs_by_what_matters(one, other)));
            }
        }
        let count = pairs.len() as f64;
        let p = pairs.iter().map(|(.., p, _)| p * count).fold(1.0, f64::min);
        let is_differing = |pair: &&(usize, usize, f64, bool)| pair.2 * count <= alpha && pair.3;
        let differing =
            pairs.iter().filter(is_differing).map(|(first, second, ..)| (*first, *second)).collect();
        Agreement { p, differing }
    }
}

/// Probability of ratios at least as different, if both hosts have the same.
fn p_of_pair(one: &Verdict, other: &Verdict) -> f64 {
    let difference = one.ratio.ln() - other.ratio.ln();
    let [a, b] = [one, other].map(|verdict| verdict.moderated_sd.powi(2) / verdict.blocks as f64);
    if !(difference.is_finite() && a.is_finite() && b.is_finite() && one.df > 0.0 && other.df > 0.0) {
        return exact(one, other);
    }
    let (error, squares) = ((a + b).sqrt(), a * a / one.df + b * b / other.df);
    if error == 0.0 || squares == 0.0 {
        return exact(one, other);
    }
    t_two_sided(difference / error, (a + b).powi(2) / squares)
}

/// Counters that do not vary: equal or not is certain once both hosts are decided.
fn exact(one: &Verdict, other: &Verdict) -> f64 {
    let are_exact = [one, other].iter().all(|verdict| verdict.tags.contains(&Tag::Exact));
    let are_decided = one.class.is_decided() && other.class.is_decided();
    if are_exact && are_decided && one.class.key() != other.class.key() { 0.0 } else { 1.0 }
}

fn differs_by_what_matters(one: &Verdict, other: &Verdict) -> bool {
    let mei = one.mei.max(other.mei);
    (one.ratio / other.ratio).ln().abs() > mei.ln_1p()
}

/// Judges the same arms on several hosts. Every experiment has the same arms. Hosts whose control fails its check
/// are left out of what is said over hosts.
///
/// # Errors
/// Returns an error if the data of a host or the rules are inconsistent.
pub fn judge_hosts(experiments: &[Experiment], rules: &Rules) -> Result<Hosts, InvalidData> {
    let each =
        experiments.iter().map(|one| Ok(OnHost::of(judge(one, rules)?))).collect::<Result<Vec<_>, _>>()?;
    let is_good = |host: &usize| !each[*host].fails_check(rules.alpha);
    let good: Vec<usize> = (0..experiments.len()).filter(is_good).collect();
    let own = own_verdicts(&each, &good);
    let mut joint = Vec::new();
    for (hosts, experiment) in joined(experiments, &good) {
        let looks = vec![Look { blocks: hosts.max(HOSTS_MIN), spend: SPEND }];
        for mut verdict in judge_pooled(&experiment, &Rules { looks, ..rules.clone() }, Pool::Hosts)?.verdicts
        {
            if hosts < HOSTS_MIN {
                (verdict.low, verdict.high, verdict.confidence) = (f64::NAN, f64::NAN, f64::NAN);
                verdict.common = (f64::NAN, f64::NAN);
            }
            let Some(hosts) = own.get(&key(&verdict)).cloned() else { continue };
            if hosts.len() > 1 && !verdict.is_control && verdict.blocks_measured > 0 {
                let agreement = Agreement::of(&hosts, rules.alpha);
                joint.push(Joint { verdict, hosts, agreement });
            }
        }
    }
    joint.sort_by(|a, b| key(&a.verdict).cmp(&key(&b.verdict)));
    Ok(Hosts { each, joint })
}

type Key<'v> = (&'v str, usize, Metric);

fn key(verdict: &Verdict) -> Key<'_> {
    (&verdict.test, verdict.arm, verdict.metric)
}

/// The hosts' own verdicts on what they measured.
fn own_verdicts<'v>(each: &'v [OnHost], good: &[usize]) -> BTreeMap<Key<'v>, Vec<(usize, Verdict)>> {
    let mut own: BTreeMap<Key, Vec<(usize, Verdict)>> = BTreeMap::new();
    for host in good {
        for verdict in each[*host].judgement.verdicts.iter().filter(|verdict| verdict.blocks > 0) {
            own.entry(key(verdict)).or_default().push((*host, verdict.clone()));
        }
    }
    own
}

/// Experiments whose blocks are hosts, by the number of hosts that measured an arm in a test.
fn joined(experiments: &[Experiment], good: &[usize]) -> BTreeMap<usize, Experiment> {
    let mut by_test: BTreeMap<&str, Vec<(usize, &TestData)>> = BTreeMap::new();
    for host in good {
        for test in &experiments[*host].tests {
            by_test.entry(&test.name).or_default().push((*host, test));
        }
    }
    let mut by_count: BTreeMap<usize, Experiment> = BTreeMap::new();
    for on_hosts in by_test.values() {
        let Some((first, test)) = on_hosts.first() else { continue };
        let Experiment { arms, base, control, .. } = experiments[*first];
        let metrics = metrics_over(on_hosts, (arms, base));
        let is_own = |arm: usize| arm == base || Some(arm) == control;
        let count = |data: &MetricData, arm: usize| {
            data.blocks.iter().filter(|block| block.values[arm].is_some()).count()
        };
        let counts: BTreeSet<usize> = metrics
            .iter()
            .flat_map(|data| (0..arms).filter(|arm| !is_own(*arm)).map(|arm| count(data, arm)))
            .filter(|hosts| *hosts > 1)
            .collect();
        for hosts in counts {
            let only = |data: &MetricData| {
                let others: Vec<usize> =
                    (0..arms).filter(|arm| !is_own(*arm) && count(data, *arm) != hosts).collect();
                let mut data = data.clone();
                for block in &mut data.blocks {
                    for arm in &others {
                        (block.values[*arm], block.ln[*arm]) = (None, None);
                    }
                }
                data.blocks.retain(|block| (0..arms).any(|arm| !is_own(arm) && block.values[arm].is_some()));
                (!data.blocks.is_empty()).then_some(data)
            };
            let test = TestData {
                name: test.name.clone(),
                group: test.group.clone(),
                starts: String::new(),
                metrics: metrics.iter().filter_map(only).collect(),
            };
            let empty = || Experiment { arms, base, control, tests: Vec::new() };
            by_count.entry(hosts).or_insert_with(empty).tests.push(test);
        }
    }
    by_count
}

/// A test's metrics with a block for each host.
fn metrics_over(on_hosts: &[(usize, &TestData)], (arms, base): (usize, usize)) -> Vec<MetricData> {
    let over = |metric: Metric| {
        let blocks: Vec<BlockData> = on_hosts
            .iter()
            .filter_map(|(host, test)| {
                let data = test.metrics.iter().find(|data| data.metric == metric)?;
                as_block(*host as u32, data, arms, base)
            })
            .collect();
        (!blocks.is_empty()).then_some(MetricData { metric, blocks, windows: Vec::new() })
    };
    Metric::ALL
        .into_iter()
        .filter(|metric| metric.measure().events != Events::Rare)
        .filter_map(over)
        .collect()
}

/// A host's blocks as one: each arm's mean contrast with base, over the blocks that both have.
fn as_block(host: u32, data: &MetricData, arms: usize, base: usize) -> Option<BlockData> {
    let base_values: Vec<f64> = data.blocks.iter().filter_map(|block| block.values[base]).collect();
    let base_value = mean(&base_values)?;
    let base_ln = (base_value > 0.0).then(|| base_value.ln());
    let figure = |arm: usize| {
        if arm == base {
            return (Some(base_value), base_ln);
        }
        let both = |block: &BlockData| Some((block.values[arm]?, block.values[base]?));
        let pairs: Vec<(f64, f64)> = data.blocks.iter().filter_map(both).collect();
        let Some((of_arm, of_base)) = mean(&pairs.iter().map(|pair| pair.0).collect::<Vec<f64>>())
            .zip(mean(&pairs.iter().map(|pair| pair.1).collect::<Vec<f64>>()))
        else {
            return (None, None);
        };
        let lns = data.blocks.iter().filter(|block| both(block).is_some());
        let contrasts: Option<Vec<f64>> = lns.map(|block| Some(block.ln[arm]? - block.ln[base]?)).collect();
        match (contrasts.and_then(|contrasts| mean(&contrasts)), base_ln) {
            (Some(contrast), Some(ln)) => (Some((ln + contrast).exp()), Some(ln + contrast)),
            _ if of_base > 0.0 => (Some(base_value * of_arm / of_base), None),
            _ => (Some(of_arm), None),
        }
    };
    let (values, ln) = (0..arms).map(figure).unzip();
    Some(BlockData { block: host, values, ln, errors: Vec::new() })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| sample::mean(values))
}
