//! Judges an experiment.
//!
//! A verdict is decided at `alpha` by its own blocks alone, so it does not depend on what else is measured.
//! How many of a report's changes may be false is a separate question, which `significant` answers from the
//! same blocks.

use crate::adjust::{benjamini_hochberg, false_coverage_error};
use crate::experiment::{BlockData, Experiment, InvalidData, MetricData, TestData};
use crate::figures::Case;
use crate::pairs::Pairs;
use crate::priors::{Pool, Priors, Source};
use crate::rules::Rules;
use crate::verdict::{Class, Judgement, Tag, Verdict};
use rqps_model::{Detector, Events, Metric};

/// Likely is what would be significant if this many times the errors were allowed.
const LIKELY_TIMES: f64 = 10.0;

/// One metric of one test: each arm's pairs with base.
struct Compared<'a> {
    test: &'a TestData,
    metric: Metric,
    /// Pairs of each arm other than base.
    arms: Vec<(usize, Pairs)>,
}

impl Compared<'_> {
    fn pairs_of(&self, arm: usize) -> Option<&Pairs> {
        self.arms.iter().find(|(other, _)| *other == arm).map(|(_, pairs)| pairs)
    }
}

/// A verdict with the data for its interval.
struct Draft<'a> {
    verdict: Verdict,
    case: Case<'a>,
}

/// Judges every arm of every test against base.
///
/// # Errors
/// Returns an error if the data or the rules are inconsistent.
pub fn judge(experiment: &Experiment, rules: &Rules) -> Result<Judgement, InvalidData> {
    judge_pooled(experiment, rules, Pool::Blocks)
}

/// The same, with the noise of other tests pooled in this way.
pub(crate) fn judge_pooled(
    experiment: &Experiment,
    rules: &Rules,
    pool: Pool,
) -> Result<Judgement, InvalidData> {
    experiment.check()?;
    rules.check()?;
    let compared = compare(experiment);
    let numbers = compared.iter().flat_map(|one| one.arms.iter().map(|(_, pairs)| pairs.len()));
    let once = rules.at_once.then(|| rules.once_after(numbers));
    let rules = once.as_ref().unwrap_or(rules);
    let sources: Vec<Source> = compared.iter().flat_map(sources_of).collect();
    let priors = Priors::fit(&sources, rules, pool);
    let mut drafts: Vec<Draft> = Vec::new();
    for test in &experiment.tests {
        let metrics: Vec<&Compared> = compared.iter().filter(|one| one.test.name == test.name).collect();
        for arm in experiment.compared() {
            drafts.extend(drafts_of(&metrics, arm, experiment, rules, &priors));
        }
    }
    for detector in Detector::ALL {
        for is_control in [false, true] {
            let in_family = |draft: &&mut Draft| {
                draft.verdict.detector == detector && draft.verdict.is_control == is_control
            };
            finish(drafts.iter_mut().filter(in_family).collect(), rules);
        }
    }
    let mut verdicts: Vec<Verdict> = drafts.into_iter().map(|draft| draft.verdict).collect();
    for of_arm in verdicts.chunk_by_mut(|a, b| (&a.test, a.arm) == (&b.test, b.arm)) {
        mark_opposed(of_arm);
    }
    Ok(Judgement { verdicts })
}

fn compare(experiment: &Experiment) -> Vec<Compared<'_>> {
    let one = |test, data: &MetricData| {
        let mut blocks: Vec<&BlockData> = data.blocks.iter().collect();
        blocks.sort_by_key(|block| block.block);
        let pairs = |arm| (arm, Pairs::of(&blocks, &data.windows, arm, experiment.base));
        Compared { test, metric: data.metric, arms: experiment.compared().map(pairs).collect() }
    };
    let mut compared: Vec<Compared> = experiment
        .tests
        .iter()
        .flat_map(|test| test.metrics.iter().map(move |data| one(test, data)))
        .collect();
    // The first metric in order that is a cost becomes the cost.
    compared.sort_by_key(|one| one.metric);
    compared
}

fn sources_of<'a>(one: &'a Compared<'a>) -> impl Iterator<Item = Source<'a>> {
    let TestData { name, group, starts, .. } = one.test;
    one.arms.iter().map(move |(arm, pairs)| Source {
        metric: one.metric,
        test: name,
        group,
        starts,
        arm: *arm,
        pairs,
    })
}

/// The verdicts on one arm of a test, in the order of detectors.
fn drafts_of<'a>(
    metrics: &[&'a Compared<'a>],
    arm: usize,
    experiment: &Experiment,
    rules: &'a Rules,
    priors: &Priors,
) -> Vec<Draft<'a>> {
    // Instructions take precedence over CPU time if they were counted on this arm.
    let costs = || metrics.iter().filter(|one| one.metric.measure().is_cost).copied();
    let is_measured = |one: &&Compared| one.pairs_of(arm).is_some_and(|pairs| pairs.len() > 0);
    let cost_of = costs().find(is_measured).or_else(|| costs().next()).map(|one| one.metric);
    let draft = |one: &&'a Compared<'a>| {
        let detector = one.metric.detector(cost_of.unwrap_or(Metric::Instructions));
        let is_cost_elsewhere = detector == Detector::Cost && cost_of != Some(one.metric);
        let pairs = one.pairs_of(arm).filter(|_| !is_cost_elsewhere)?;
        let case = Case {
            test: one.test,
            arm,
            is_control: Some(arm) == experiment.control,
            detector,
            metric: one.metric,
            pairs,
            control: experiment.control.and_then(|control| one.pairs_of(control)),
            spreads: priors.of(one.metric, &one.test.group, arm, pairs),
            rules,
        };
        Some(Draft { verdict: case.judge(), case })
    };
    let mut drafts: Vec<Draft> = metrics.iter().filter_map(draft).collect();
    drafts.sort_by_key(|draft| draft.verdict.detector);
    drafts
}

/// Records, for each resource or cost that changed, those that significantly changed in the other direction.
/// A higher rate offsets a higher cost, as of instructions
/// that spare a wait; a lower cost never offsets a lower rate.
fn mark_opposed(of_arm: &mut [Verdict]) {
    let changed: Vec<(Detector, Metric, bool)> = of_arm
        .iter()
        .filter(|one| (one.detector.weighs() || one.detector == Detector::Rate) && one.class.is_change())
        .map(|one| (one.detector, one.metric, one.class.is_regression()))
        .collect();
    for one in of_arm.iter_mut().filter(|one| one.detector.weighs() && one.class.is_change()) {
        let is_cost_regression = one.detector == Detector::Cost && one.class.is_regression();
        let other_way = changed.iter().filter(|(detector, _, regression)| {
            *regression != one.class.is_regression() && (*detector != Detector::Rate || is_cost_regression)
        });
        one.opposed_by = other_way.map(|(_, metric, _)| *metric).collect();
        if one.is_mixed() {
            one.tags.push(Tag::Mixed);
            one.tags.sort();
        }
    }
}

/// A change of an earlier look, or one that it found likely, stands no longer when the interval of all blocks contains
/// no change: more blocks decide.
fn withdraw_unsupported(verdict: &mut Verdict) {
    let is_told = verdict.class.is_change() || verdict.is_likely();
    if is_told && (verdict.low..=verdict.high).contains(&1.0) {
        verdict.class = Class::Inconclusive;
        verdict.tags.retain(|tag| {
            !matches!(tag, Tag::Likely | Tag::FewBlocks | Tag::NotSignificant | Tag::LaterBlocksDisagree)
        });
        verdict.tags.push(Tag::LaterBlocksDisagree);
    }
}

/// Sets what depends on all verdicts of a family: significance and intervals.
fn finish(mut family: Vec<&mut Draft>, rules: &Rules) {
    let p_values: Vec<f64> = family.iter().map(|draft| draft.verdict.p_seq).collect();
    for (draft, q_value) in family.iter_mut().zip(benjamini_hochberg(&p_values)) {
        let verdict = &mut draft.verdict;
        verdict.q_value = q_value;
        if verdict.class.is_change() && q_value > rules.q {
            verdict.class = Class::Inconclusive;
            verdict.tags.extend([Tag::Likely, Tag::NotSignificant]);
        }
        if !verdict.is_likely() && !verdict.class.is_decided() && q_value <= rules.q * LIKELY_TIMES {
            verdict.tags.push(Tag::Likely);
        }
    }
    let significant = family.iter().filter(|draft| draft.verdict.class.is_change()).count();
    let error_of_significant = false_coverage_error(rules.q, significant, family.len());
    for Draft { verdict, case } in family {
        let error = match verdict.class.is_change() {
            true => error_of_significant,
            false => 2.0 * rules.tost_alpha,
        };
        case.set_intervals(verdict, error);
        if case.metric.measure().events != Events::Rare {
            withdraw_unsupported(verdict);
        }
        verdict.tags.sort();
    }
}
