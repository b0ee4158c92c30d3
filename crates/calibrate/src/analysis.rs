//! Compares a campaign's verdicts with the truth: the blind verdicts, and re-paired ones from the same blocks
//! in other orders.

use crate::DETECTORS;
use crate::confusion::{Range, Row};
use crate::dose::Dose;
use crate::error::Result;
use crate::frozen::{Call, Frozen, FrozenVerdict};
use crate::goals::{Goal, goals};
use crate::pairing::{Look, Sample, re_pair};
use crate::share::Share;
use crate::truth::{Size, Truth};
use rqps_model::sample::median;
use rqps_stats::{Detector, Experiment, Metric, Rules, TestData};
use std::collections::{BTreeMap, BTreeSet};

/// Enough draws to estimate shares of 0.1 %.
pub const DRAWS: usize = 200;
/// Seed of the draws: the same run gives the same report.
const SEED: u64 = 20_260;

/// Input of an analysis.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub experiment: &'a Experiment,
    /// The rules of the verdicts.
    pub rules: &'a Rules,
    /// Names of the experiment's arms.
    pub arms: &'a [String],
    pub doses: &'a [Dose],
    /// The true cost of a multiplication.
    pub truth: &'a Truth,
    /// The verdicts before the doses were known.
    pub frozen: &'a Frozen,
    /// Number of draws of base, control and the order of blocks.
    pub draws: usize,
}

/// Verdicts at one look, over all draws.
#[derive(Debug, Clone)]
pub struct AtLook {
    pub blocks: usize,
    /// False changes among verdicts on arms without a dose, by detector and group of tests; group `None`: all
    /// tests.
    pub false_changes: BTreeMap<(Detector, Option<String>), Share>,
    /// False changes by detector and metric.
    pub false_by: BTreeMap<(Detector, Metric), usize>,
    /// False changes that were significant among all verdicts of their draw.
    pub false_significant: BTreeMap<Detector, Share>,
    /// Regressions among verdicts on slower arms, by detector and true size.
    pub found: BTreeMap<(Detector, Range), Share>,
    /// Verdicts by detector and true size.
    pub verdicts: BTreeMap<(Detector, Range), Row>,
}

/// A test's noise and detectable changes.
#[derive(Debug, Clone, PartialEq)]
pub struct TestNoise {
    pub test: String,
    pub group: String,
    /// For the rate: standard deviation of a block's log ratio, and the smallest change that would have been
    /// detected with 80 % probability. Medians over arms.
    pub rate: Option<(f64, f64)>,
    /// The same for the metric of the cost, with its key.
    pub cost: Option<(String, f64, f64)>,
}

/// One metric's verdicts on the arms that sleep, write WAL and flush it.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub metric: String,
    /// Tests with a regression.
    pub called: Vec<String>,
    /// Tests without one.
    pub missed: Vec<String>,
}

/// The true size of an arm's multiplications in a test.
#[derive(Debug, Clone, PartialEq)]
pub struct TrueSize {
    pub arm: String,
    pub test: String,
    /// Relative increase of the cost.
    pub cost: Option<Size>,
    /// Relative decrease of the rate.
    pub rate: Option<Size>,
}

#[derive(Debug, Clone)]
pub struct Analysis {
    /// Blind verdicts by detector and true size.
    pub blind: BTreeMap<(Detector, Range), Row>,
    pub goals: Vec<Goal>,
    /// Verdicts of the draws, by look.
    pub looks: Vec<AtLook>,
    /// Verdicts of each metric on the arms that sleep and write.
    pub columns: Vec<Column>,
    pub noise: Vec<TestNoise>,
    /// True sizes of the arms with multiplications.
    pub sizes: Vec<TrueSize>,
    /// Number of arms without a dose, including base and control.
    pub nulls: usize,
    /// Number of blocks in which everything was measured.
    pub blocks: usize,
}

impl Analysis {
    /// # Errors
    /// Returns an error if there are too few blocks or arms.
    pub fn new(input: &Input<'_>) -> Result<Self> {
        let nulls: Vec<usize> = (0..input.doses.len()).filter(|arm| input.doses[*arm].is_null()).collect();
        let looks = re_pair(input.experiment, &nulls, input.rules, input.draws, SEED)?;
        let blocks = crate::pairing::complete_blocks(input.experiment).len();
        let noise: Vec<TestNoise> = input.experiment.tests.iter().map(|test| noise(input, test)).collect();
        Ok(Self {
            blind: blind(input),
            goals: goals(input, &looks, blocks),
            looks: looks.iter().map(|look| at_look(input, look, blocks)).collect(),
            columns: columns(input),
            noise,
            sizes: sizes(input),
            nulls: nulls.len(),
            blocks,
        })
    }
}

/// The range of the true size of an arm's dose in a test; `None` if it was not measured.
pub(crate) fn range(input: &Input<'_>, test: &str, arm: usize, detector: Detector) -> Option<Range> {
    let dose = *input.doses.get(arm)?;
    if dose.is_null() {
        return Some(Range::Null);
    }
    if !dose.is_spin() {
        return Some(Range::Others);
    }
    size(input.truth, test, dose, detector).map(Range::of_size)
}

fn size(truth: &Truth, test: &str, dose: Dose, detector: Detector) -> Option<Size> {
    match detector {
        Detector::Rate => truth.size(test, Metric::Rate, dose.spin),
        Detector::Cost => {
            let by_count = truth.size(test, Metric::Instructions, dose.spin);
            by_count.or_else(|| truth.size(test, Metric::CpuUs, dose.spin))
        }
        Detector::Cpu => truth.size(test, Metric::CpuUs, dose.spin),
        // Multiplications affect nothing else.
        _ => None,
    }
}

fn blind(input: &Input<'_>) -> BTreeMap<(Detector, Range), Row> {
    let mut rows: BTreeMap<(Detector, Range), Row> = BTreeMap::new();
    for verdict in &input.frozen.verdicts {
        let arm = input.arms.iter().position(|name| *name == verdict.arm);
        let Some((arm, detector)) = arm.zip(verdict.detector()) else {
            continue;
        };
        if let Some(range) = range(input, &verdict.test, arm, detector) {
            rows.entry((detector, range)).or_default().add(verdict.call);
        }
    }
    rows
}

fn at_look(input: &Input<'_>, look: &Look, blocks: usize) -> AtLook {
    let tests = &input.experiment.tests;
    let range_of = |sample: &Sample| range(input, &tests[sample.test].name, sample.arm, sample.detector);
    let ranges: Vec<Option<Range>> = look.samples.iter().map(range_of).collect();
    let mut verdicts: BTreeMap<(Detector, Range), Row> = BTreeMap::new();
    for (sample, range) in look.samples.iter().zip(&ranges) {
        if let Some(range) = range {
            verdicts.entry((sample.detector, *range)).or_default().add(sample.class.into());
        }
    }
    let changed = |sample: &Sample| sample.class.is_change();
    let is_null = |sample: &Sample| input.doses.get(sample.arm).is_some_and(|dose| dose.is_null());
    let groups: BTreeSet<Option<String>> =
        tests.iter().map(|test| Some(test.group.clone())).chain([None]).collect();
    let mut at_look = AtLook {
        blocks: look.blocks,
        false_changes: BTreeMap::new(),
        false_by: BTreeMap::new(),
        false_significant: BTreeMap::new(),
        found: BTreeMap::new(),
        verdicts,
    };
    for sample in look.samples.iter().filter(|sample| is_null(sample) && changed(sample)) {
        *at_look.false_by.entry((sample.detector, sample.metric)).or_default() += 1;
    }
    for detector in DETECTORS {
        for group in &groups {
            let wanted = |sample: &Sample| {
                let test_group = &tests[sample.test].group;
                let in_group = group.as_ref().is_none_or(|group| group == test_group);
                sample.detector == detector && in_group && is_null(sample)
            };
            if let Some(share) = Share::count(look, blocks, wanted, changed) {
                at_look.false_changes.insert((detector, group.clone()), share);
            }
        }
        let wanted = |sample: &Sample| sample.detector == detector && is_null(sample);
        let significant = |sample: &Sample| changed(sample) && sample.significant;
        if let Some(share) = Share::count(look, blocks, wanted, significant) {
            at_look.false_significant.insert(detector, share);
        }
    }
    let slower: Vec<(Detector, Range)> =
        at_look.verdicts.keys().filter(|(_, range)| *range != Range::Null).copied().collect();
    for (detector, range) in slower {
        let wanted = |sample: &Sample| sample.detector == detector && range_of(sample) == Some(range);
        let hit = |sample: &Sample| sample.class.is_regression();
        if let Some(share) = Share::count(look, blocks, wanted, hit) {
            at_look.found.insert((detector, range), share);
        }
    }
    at_look
}

fn columns(input: &Input<'_>) -> Vec<Column> {
    let is_mixed_dose = |name: &str| {
        let arm = input.arms.iter().position(|other| other == name);
        arm.and_then(|arm| input.doses.get(arm)).is_some_and(|dose| !dose.is_null() && !dose.is_spin())
    };
    let affected = [Metric::Rate, Metric::Instructions, Metric::CpuUs, Metric::WalBytes, Metric::Fsyncs];
    let column = |metric: Metric| {
        let mut column = Column { metric: metric.key().to_owned(), called: Vec::new(), missed: Vec::new() };
        for verdict in input.frozen.verdicts.iter().filter(|verdict| is_mixed_dose(&verdict.arm)) {
            match verdict.call {
                _ if verdict.metric != metric.key() => {}
                Call::Regression => column.called.push(verdict.test.clone()),
                _ => column.missed.push(verdict.test.clone()),
            }
        }
        column
    };
    let all = affected.into_iter().map(column);
    all.filter(|column| !column.called.is_empty() || !column.missed.is_empty()).collect()
}

fn noise(input: &Input<'_>, test: &TestData) -> TestNoise {
    let figures = |detector: Detector, metric: Metric| {
        let is_wanted = |verdict: &&FrozenVerdict| {
            verdict.test == test.name
                && verdict.detector() == Some(detector)
                && verdict.metric == metric.key()
        };
        let figures = || input.frozen.verdicts.iter().filter(is_wanted);
        let sd = median(&figures().filter_map(|figure| figure.block_sd).collect::<Vec<f64>>())?;
        Some((
            sd,
            median(&figures().filter_map(|figure| figure.mde80).collect::<Vec<f64>>()).unwrap_or(f64::NAN),
        ))
    };
    let cost = [Metric::Instructions, Metric::CpuUs].into_iter().find_map(|metric| {
        let (sd, mde80) = figures(Detector::Cost, metric)?;
        Some((metric.key().to_owned(), sd, mde80))
    });
    TestNoise {
        test: test.name.clone(),
        group: test.group.clone(),
        rate: figures(Detector::Rate, Metric::Rate),
        cost,
    }
}

fn sizes(input: &Input<'_>) -> Vec<TrueSize> {
    let spins = input.arms.iter().zip(input.doses).filter(|(_, dose)| dose.is_spin() && !dose.is_null());
    let sizes_of_arm = |(arm, dose): (&String, &Dose)| {
        let row = |test: &TestData| {
            let size = |detector| size(input.truth, &test.name, *dose, detector);
            TrueSize {
                arm: arm.clone(),
                test: test.name.clone(),
                cost: size(Detector::Cost),
                rate: size(Detector::Rate),
            }
        };
        input.experiment.tests.iter().map(row).collect::<Vec<_>>()
    };
    spins.flat_map(sizes_of_arm).collect()
}
