//! From an experiment to its verdicts.
//!
//! A verdict is called at `alpha`, by its own blocks alone; so it stands whatever else is measured. How many of the
//! calls of a report may be false is a second question: `significant` answers it, from the same blocks.

use crate::adjust::{benjamini_hochberg, false_coverage_error};
use crate::experiment::{BlockData, Experiment, MetricData, Misshapen, TestData};
use crate::figures::Case;
use crate::pairs::Pairs;
use crate::priors::{Priors, Source};
use crate::rules::Rules;
use crate::verdict::{Judgement, Tag, Verdict};
use rqps_model::{Detector, Metric};

/// A list that is this many times longer than that of significant changes, in errors allowed, holds the suspects.
const SUSPECT_TIMES: f64 = 10.0;

/// One metric of one test: each arm's contrasts with base.
struct Compared<'a> {
    test: &'a TestData,
    metric: Metric,
    /// (arm, contrasts), base left out.
    arms: Vec<(usize, Pairs)>,
}

impl Compared<'_> {
    fn of_arm(&self, arm: usize) -> Option<&Pairs> {
        self.arms.iter().find(|(its, _)| *its == arm).map(|(_, pairs)| pairs)
    }
}

/// A verdict with what its interval is made from.
struct Draft<'a> {
    verdict: Verdict,
    case: Case<'a>,
}

/// Judges every arm of every test against base.
///
/// # Errors
/// Where the data or the rules contradict themselves.
pub fn judge(experiment: &Experiment, rules: &Rules) -> Result<Judgement, Misshapen> {
    experiment.check()?;
    rules.check()?;
    let compared = compare(experiment);
    let sources: Vec<Source> = compared.iter().flat_map(sources_of).collect();
    let priors = Priors::fit(&sources, rules);
    let mut drafts: Vec<Draft> = Vec::new();
    for test in &experiment.tests {
        let of_test: Vec<&Compared> = compared.iter().filter(|one| one.test.name == test.name).collect();
        for arm in experiment.compared() {
            drafts.extend(drafts_of(&of_test, arm, experiment, rules, &priors));
        }
    }
    for detector in Detector::ALL {
        for is_control in [false, true] {
            let of_family = |draft: &&mut Draft| {
                draft.verdict.detector == detector && draft.verdict.is_control == is_control
            };
            finish(drafts.iter_mut().filter(of_family).collect(), rules);
        }
    }
    let mut verdicts: Vec<Verdict> = drafts.into_iter().map(|draft| draft.verdict).collect();
    for of_arm in verdicts.chunk_by_mut(|a, b| (&a.test, a.arm) == (&b.test, b.arm)) {
        oppose(of_arm);
    }
    Ok(Judgement { verdicts, priors: priors.report() })
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
    // The order of metrics decides which of them is the cost.
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
    // Instructions go before CPU time where anybody counted them on this arm.
    let costs = || metrics.iter().filter(|one| one.metric.measure().is_cost).copied();
    let is_measured = |one: &&Compared| one.of_arm(arm).is_some_and(|pairs| pairs.len() > 0);
    let cost_of = costs().find(is_measured).or_else(|| costs().next()).map(|one| one.metric);
    let draft = |one: &&'a Compared<'a>| {
        let detector = one.metric.detector(cost_of.unwrap_or(Metric::Instructions));
        let is_cost_elsewhere = detector == Detector::Cost && cost_of != Some(one.metric);
        let pairs = one.of_arm(arm).filter(|_| !is_cost_elsewhere)?;
        let case = Case {
            test: one.test,
            arm,
            is_control: Some(arm) == experiment.control,
            detector,
            metric: one.metric,
            pairs,
            control: experiment.control.and_then(|control| one.of_arm(control)),
            spreads: priors.of(one.metric, &one.test.group, pairs),
            rules,
        };
        Some(Draft { verdict: case.judge(), case })
    };
    let mut drafts: Vec<Draft> = metrics.iter().filter_map(draft).collect();
    drafts.sort_by_key(|draft| draft.verdict.detector);
    drafts
}

/// Names what has moved the other way, of what an operation takes, on one arm of a test. Only what is significant
/// counts: a chance call is not to take a regression back.
fn oppose(of_arm: &mut [Verdict]) {
    let changed: Vec<(Metric, bool)> = of_arm
        .iter()
        .filter(|one| one.detector.weighs() && one.significant)
        .map(|one| (one.metric, one.class.is_regression()))
        .collect();
    for one in of_arm.iter_mut().filter(|one| one.detector.weighs() && one.class.is_change()) {
        let other_way = changed.iter().filter(|(_, regression)| *regression != one.class.is_regression());
        one.opposed_by = other_way.map(|(metric, _)| *metric).collect();
        if one.is_mixed() {
            one.tags.push(Tag::Mixed);
            one.tags.sort();
        }
    }
}

/// What depends on all verdicts of a family: which are significant, and their intervals.
fn finish(mut family: Vec<&mut Draft>, rules: &Rules) {
    let p_values: Vec<f64> = family.iter().map(|draft| draft.verdict.p_seq).collect();
    for (draft, q_value) in family.iter_mut().zip(benjamini_hochberg(&p_values)) {
        let verdict = &mut draft.verdict;
        verdict.q_value = q_value;
        verdict.significant = verdict.class.is_change() && q_value <= rules.q;
        if verdict.class.is_change() && !verdict.significant {
            verdict.tags.push(Tag::NotSignificant);
        }
        if !verdict.class.is_decided() && q_value <= rules.q * SUSPECT_TIMES {
            verdict.tags.push(Tag::Suspect);
        }
    }
    let significant = family.iter().filter(|draft| draft.verdict.significant).count();
    let error_of_significant = false_coverage_error(rules.q, significant, family.len());
    for Draft { verdict, case } in family {
        let error = match (verdict.significant, verdict.class.is_change()) {
            (true, _) => error_of_significant,
            (false, true) => rules.alpha,
            (false, false) => 2.0 * rules.tost_alpha,
        };
        case.set_interval(verdict, error);
        verdict.tags.sort();
    }
}
