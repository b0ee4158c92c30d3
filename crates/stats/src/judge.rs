//! From an experiment to its verdicts.
//!
//! A verdict is called at `alpha`, by its own blocks alone; so it stands whatever else is measured. How many of the
//! calls of a report may be false is a second question: `confirmed` answers it.

use crate::adjust::{benjamini_hochberg, false_coverage_error};
use crate::exact;
use crate::experiment::{Archive, BlockData, Experiment, MetricData, Misshapen, TestData};
use crate::figures::Case;
use crate::metric::{Detector, Metric};
use crate::pairs::Pairs;
use crate::priors::{Priors, Source, variance_of};
use crate::rules::Rules;
use crate::verdict::{Class, Judgement, MetricVerdict, Tag, Verdict};

/// A list that is this many times longer than the confirmed one, in errors allowed, holds the suspects.
const SUSPECT_TIMES: f64 = 10.0;

/// One metric of one test: each arm's contrasts with base.
struct Compared<'a> {
    test: &'a TestData,
    metric: Metric,
    /// (arm, contrasts), base left out.
    arms: Vec<(usize, Pairs)>,
}

/// A verdict with what its interval is made from.
struct Draft<'a> {
    verdict: Verdict,
    cases: Vec<Case<'a>>,
}

/// Judges every arm of every test against base.
///
/// # Errors
/// Where the data or the rules contradict themselves.
pub fn judge(experiment: &Experiment, rules: &Rules, archive: &Archive) -> Result<Judgement, Misshapen> {
    experiment.check()?;
    rules.check()?;
    let compared = compare(experiment);
    let sources: Vec<(usize, Source)> = compared.iter().flat_map(sources_of).collect();
    let control = |(arm, source): &(usize, Source)| {
        let all_blocks = || variance_of(source, usize::MAX);
        let is_wanted = Some(*arm) == experiment.control && !source.metric.is_of_rare_events();
        is_wanted.then(all_blocks).flatten().filter(|one| one.variance > 0.0)
    };
    let variances = sources.iter().filter_map(control).collect();
    let sources: Vec<Source> = sources.into_iter().map(|(_, source)| source).collect();
    let priors = Priors::fit(&sources, archive, rules);
    let mut drafts = Vec::new();
    for test in &experiment.tests {
        for arm in experiment.compared() {
            for detector in Detector::ALL {
                let of_detector =
                    |one: &&Compared| one.test.name == test.name && one.metric.detector() == detector;
                let metrics: Vec<&Compared> = compared.iter().filter(of_detector).collect();
                if !metrics.is_empty() {
                    drafts.push(draft(&metrics, arm, experiment, rules, &priors));
                }
            }
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
    let verdicts = drafts.into_iter().map(|draft| draft.verdict).collect();
    Ok(Judgement { verdicts, priors: priors.report(), variances })
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
    // The order of metrics decides which cost is the primary one.
    compared.sort_by_key(|one| one.metric);
    compared
}

fn sources_of<'a>(one: &'a Compared<'a>) -> impl Iterator<Item = (usize, Source<'a>)> {
    let source = |pairs| Source { metric: one.metric, test: &one.test.name, group: &one.test.group, pairs };
    one.arms.iter().map(move |(arm, pairs)| (*arm, source(pairs)))
}

fn draft<'a>(
    metrics: &[&'a Compared<'a>],
    arm: usize,
    experiment: &Experiment,
    rules: &'a Rules,
    priors: &'a Priors,
) -> Draft<'a> {
    let test = metrics[0].test;
    let blocks_min = rules.looks[0].blocks;
    let case = |one: &&'a Compared<'a>| {
        let (_, pairs) = one.arms.iter().find(|(its, _)| *its == arm)?;
        let control =
            one.arms.iter().find(|(its, _)| Some(*its) == experiment.control).map(|(_, pairs)| pairs);
        let mei = rules.mei(&test.name, one.metric);
        // That base and control had no stall in some blocks is no proof that they have none.
        let may_be_exact = !one.metric.is_of_rare_events();
        let exact = may_be_exact.then(|| exact::compare(pairs, control, mei, blocks_min)).flatten();
        let spreads = priors.of(one.metric, &test.group, pairs.scale());
        Some(Case { metric: one.metric, pairs, exact, mei, spreads, rules, shares: 1 })
    };
    let mut cases: Vec<Case> = metrics.iter().filter_map(case).collect();
    // A counter that does not vary calls nothing by chance: the error is for the others.
    let noisy = cases.iter().filter(|case| case.exact.is_none() && case.pairs.len() > 0).count().max(1);
    cases.iter_mut().for_each(|case| case.shares = noisy);
    let metrics: Vec<MetricVerdict> = cases.iter().map(Case::judge).collect();
    let decided_by = deciding(&metrics);
    let class = metrics[decided_by].class;
    let opposed = |one: &&MetricVerdict| {
        class.is_change() && one.class.is_change() && one.class.is_regression() != class.is_regression()
    };
    let opposed_by: Vec<Metric> = metrics.iter().filter(opposed).map(|one| one.metric).collect();
    // Metrics have equal shares of alpha, so their p values are worth that many times as much.
    // What could not have called its change says nothing of how probable a call was.
    let may_call = |one: &MetricVerdict| one.metric.calls_improvements() || one.ratio > 1.0;
    let whole = |(one, case): (&MetricVerdict, &Case)| {
        if may_call(one) { one.p_seq * case.shares as f64 } else { 1.0 }
    };
    let p_seq = metrics.iter().zip(&cases).map(whole).fold(1.0, f64::min);
    let mut tags = metrics[decided_by].tags.clone();
    if !opposed_by.is_empty() {
        tags.push(Tag::Mixed);
    }
    let verdict = Verdict {
        test: test.name.clone(),
        group: test.group.clone(),
        arm,
        is_control: Some(arm) == experiment.control,
        detector: metrics[decided_by].metric.detector(),
        class,
        decided_by,
        opposed_by,
        p_seq,
        q_value: 1.0,
        confirmed: false,
        tags,
        metrics,
    };
    Draft { verdict, cases }
}

/// Any metric can call a regression, those that [`Metric::calls_improvements`] an improvement; regressions first,
/// proven ones before others, then the least probable. Where none does, the primary one says whether it is the same:
/// the first that was measured on the arm.
fn deciding(metrics: &[MetricVerdict]) -> usize {
    let rank = |class: Class| match class {
        Class::Regression { proven } => (0, !proven),
        Class::Improvement { proven } => (1, !proven),
        Class::Same | Class::Inconclusive => (2, false),
    };
    let calls = |one: &MetricVerdict| {
        one.class.is_change() && (one.class.is_regression() || one.metric.calls_improvements())
    };
    let called = metrics.iter().enumerate().filter(|(_, one)| calls(one));
    let by_rank = |(_, a): &(usize, &MetricVerdict), (_, b): &(usize, &MetricVerdict)| {
        rank(a.class).cmp(&rank(b.class)).then(a.p_seq.total_cmp(&b.p_seq))
    };
    let first_called = called.min_by(by_rank).map(|(place, _)| place);
    let primary = || metrics.iter().position(|one| one.blocks_measured > 0);
    first_called.or_else(primary).unwrap_or(0)
}

/// What depends on all verdicts of a family: which are confirmed, and their intervals.
fn finish(mut family: Vec<&mut Draft>, rules: &Rules) {
    let p_values: Vec<f64> = family.iter().map(|draft| draft.verdict.p_seq).collect();
    for (draft, q_value) in family.iter_mut().zip(benjamini_hochberg(&p_values)) {
        let verdict = &mut draft.verdict;
        verdict.q_value = q_value;
        verdict.confirmed = verdict.class.is_change() && q_value <= rules.q;
        if verdict.class.is_change() && !verdict.confirmed {
            verdict.tags.push(Tag::Unconfirmed);
        }
        if !verdict.class.is_decided() && q_value <= rules.q * SUSPECT_TIMES {
            verdict.tags.push(Tag::Suspect);
        }
    }
    let confirmed = family.iter().filter(|draft| draft.verdict.confirmed).count();
    let error_of_confirmed = false_coverage_error(rules.q, confirmed, family.len());
    for draft in family {
        let Draft { verdict, cases } = draft;
        for (one, case) in verdict.metrics.iter_mut().zip(cases) {
            let error = match (verdict.confirmed, one.class.is_change()) {
                (true, true) => error_of_confirmed / case.shares as f64,
                (false, true) => rules.alpha / case.shares as f64,
                (_, false) => 2.0 * rules.tost_alpha,
            };
            case.set_interval(one, error);
            one.tags.sort();
        }
        verdict.tags.sort();
    }
}
