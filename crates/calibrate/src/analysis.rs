//! What a campaign has shown: verdicts against the truth, as they were called and as they would have been called with
//! the same blocks in other orders.

use crate::DETECTORS;
use crate::confusion::{Range, Row};
use crate::dose::Dose;
use crate::error::Result;
use crate::frozen::{Call, Frozen, FrozenVerdict};
use crate::goals::{Goal, goals};
use crate::pairing::{Look, Sample, repair};
use crate::share::Share;
use crate::truth::{Size, Truth};
use rqps_stats::{Detector, Experiment, Metric, Rules, TestData};
use std::collections::{BTreeMap, BTreeSet};

/// Draws that make shares of a thousandth visible.
pub const DRAWS: usize = 200;
/// Of the draws: the same report from the same run.
const SEED: u64 = 20_260;

/// What goes into an analysis.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub experiment: &'a Experiment,
    /// The rules of the verdicts.
    pub rules: &'a Rules,
    /// Names of the experiment's arms.
    pub arms: &'a [String],
    pub doses: &'a [Dose],
    /// What a multiplication is worth.
    pub truth: &'a Truth,
    /// The verdicts as they were before the doses were known.
    pub frozen: &'a Frozen,
    /// How often base, control and the order of blocks are drawn.
    pub draws: usize,
}

/// Verdicts at one look, over all draws.
#[derive(Debug, Clone)]
pub struct AtLook {
    pub blocks: usize,
    /// False changes among verdicts on arms without a dose, by detector and group of tests; no group: all of them.
    pub false_changes: BTreeMap<(Detector, Option<String>), Share>,
    /// How often which metric called them.
    pub false_by: BTreeMap<(Detector, Metric), usize>,
    /// Those that were significant among all verdicts of their draw.
    pub false_significant: BTreeMap<Detector, Share>,
    /// Regressions among verdicts on slower arms, by detector and true size.
    pub found: BTreeMap<(Detector, Range), Share>,
    /// What was said, by detector and true size.
    pub said: BTreeMap<(Detector, Range), Row>,
}

/// A test's noise, and what it can show.
#[derive(Debug, Clone, PartialEq)]
pub struct TestNoise {
    pub test: String,
    pub group: String,
    /// Of the rate: standard deviation of one block's logarithm of the ratio, and the smallest change that would have
    /// been shown with 80 % probability. Medians over arms.
    pub rate: Option<(f64, f64)>,
    /// The same of the cost that decides, with its key.
    pub cost: Option<(String, f64, f64)>,
}

/// One column of one arm that waits, writes log and forces it to the disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub metric: String,
    /// Tests in which it was called worse.
    pub called: Vec<String>,
    /// Tests in which it was not.
    pub missed: Vec<String>,
}

/// What the multiplications of an arm are worth in a test.
#[derive(Debug, Clone, PartialEq)]
pub struct TrueSize {
    pub arm: String,
    pub test: String,
    /// How much more an operation costs.
    pub cost: Option<Size>,
    /// How much smaller the rate is.
    pub rate: Option<Size>,
}

/// What a campaign has shown.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// What was said blindly, by detector and true size.
    pub blind: BTreeMap<(Detector, Range), Row>,
    pub goals: Vec<Goal>,
    /// Verdicts of draws, by look.
    pub looks: Vec<AtLook>,
    /// What each column says of the arms that wait and write.
    pub columns: Vec<Column>,
    /// Per test.
    pub noise: Vec<TestNoise>,
    /// True sizes of the arms with multiplications.
    pub sizes: Vec<TrueSize>,
    /// Arms without a dose, base and control included.
    pub nulls: usize,
    /// Blocks in which everything was measured.
    pub blocks: usize,
}

impl Analysis {
    /// Analyses a campaign.
    ///
    /// # Errors
    /// When there are too few blocks or arms.
    pub fn new(input: &Input<'_>) -> Result<Self> {
        let nulls: Vec<usize> = (0..input.doses.len()).filter(|arm| input.doses[*arm].is_null()).collect();
        let looks = repair(input.experiment, &nulls, input.rules, input.draws, SEED)?;
        let blocks = crate::pairing::complete_blocks(input.experiment).len();
        let noise: Vec<TestNoise> = input.experiment.tests.iter().map(|test| noise(input, test)).collect();
        Ok(Self {
            blind: blind(input),
            goals: goals(input, &looks, &noise, blocks),
            looks: looks.iter().map(|look| at_look(input, look, blocks)).collect(),
            columns: columns(input),
            noise,
            sizes: sizes(input),
            nulls: nulls.len(),
            blocks,
        })
    }
}

/// The range of the true size of what an arm does in a test; none where it was not measured.
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
        // Multiplications need nothing else.
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
    let mut said: BTreeMap<(Detector, Range), Row> = BTreeMap::new();
    for (sample, range) in look.samples.iter().zip(&ranges) {
        if let Some(range) = range {
            said.entry((sample.detector, *range)).or_default().add(sample.class.into());
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
        said,
    };
    for sample in look.samples.iter().filter(|sample| is_null(sample) && changed(sample)) {
        *at_look.false_by.entry((sample.detector, sample.metric)).or_default() += 1;
    }
    for detector in DETECTORS {
        for group in &groups {
            let wanted = |sample: &Sample| {
                let its_group = &tests[sample.test].group;
                let in_group = group.as_ref().is_none_or(|group| group == its_group);
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
        at_look.said.keys().filter(|(_, range)| *range != Range::Null).copied().collect();
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
    let is_other = |name: &str| {
        let arm = input.arms.iter().position(|its| its == name);
        arm.and_then(|arm| input.doses.get(arm)).is_some_and(|dose| !dose.is_null() && !dose.is_spin())
    };
    let affected = [Metric::Rate, Metric::Instructions, Metric::CpuUs, Metric::WalBytes, Metric::Fsyncs];
    let column = |metric: Metric| {
        let mut column = Column { metric: metric.key().to_owned(), called: Vec::new(), missed: Vec::new() };
        for verdict in input.frozen.verdicts.iter().filter(|verdict| is_other(&verdict.arm)) {
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
        let sd = median(figures().filter_map(|figure| figure.block_sd).collect())?;
        Some((sd, median(figures().filter_map(|figure| figure.mde80).collect()).unwrap_or(f64::NAN)))
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

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn sizes(input: &Input<'_>) -> Vec<TrueSize> {
    let spins = input.arms.iter().zip(input.doses).filter(|(_, dose)| dose.is_spin() && !dose.is_null());
    let of_arm = |(arm, dose): (&String, &Dose)| {
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
    spins.flat_map(of_arm).collect()
}
