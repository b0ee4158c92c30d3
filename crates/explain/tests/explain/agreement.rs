//! An explanation agrees with the verdicts above it, and its sentences with each other, whatever was measured.

use crate::common::{self, figure};
use rqps_explain::{Certainty, ExplainRequest, Explanation, Word, explain};
use rqps_stats::sim::Rng;
use rqps_stats::{Detector, Verdict};
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Extra, Observed, Spec, TESTS, write_run};
use rqps_verdicts::{judge_run, rules_of};

/// Made-up runs, each with all tests.
const RUNS: u64 = 12;

/// A run whose rates, work, CPU times, waits and counters are drawn independently: figures that move against each other
/// are what misleads.
fn drawn(rng: &mut Rng, seed: u64) -> Spec {
    let mut effects = Vec::new();
    let mut extra: Vec<Extra> = Vec::new();
    for (test, _, rate, ..) in TESTS {
        // Half of the factors are 1, the others within 20 %.
        let mut factor =
            || if rng.below(2) == 0 { 1.0 } else { (0.08 * rng.normal()).clamp(-0.2, 0.2).exp() };
        effects.push((2, test, factor(), factor()));
        let time_us = 1e6 / rate;
        let session_us = 0.6 * time_us;
        let session = session_us * factor();
        let of_server = session * factor().powf(0.3);
        let blocks = [40.0, 40.0 * factor()];
        let log = [300.0, 300.0 * factor()];
        extra.extend(figure(test, Observed::SessionCpuUs, session_us, session));
        extra.extend(figure(test, Observed::Metric("server_cpu_us"), session_us, of_server));
        extra.extend(figure(
            test,
            Observed::Metric("client_cpu_us"),
            0.2 * time_us,
            0.2 * time_us * factor(),
        ));
        extra.extend(figure(
            test,
            Observed::Noisy("server_backends_queued_us"),
            0.1 * time_us,
            0.1 * time_us * factor(),
        ));
        extra.extend(figure(test, Observed::Metric("server_wal_bytes"), log[0], log[1]));
        extra.extend(common::blocks(test, blocks[0], blocks[1]).into_iter().flatten());
    }
    let block_sd = [0.002, 0.004, 0.01, 0.02][rng.below(4)];
    let blocks = [3, 5, 8][rng.below(3)];
    Spec { effects, extra, block_sd, blocks, counted: rng.below(2) == 0, seed, ..Spec::default() }
}

fn is_worse(verdict: &Verdict) -> bool {
    verdict.class.is_regression()
}

/// Whether an arm has more of what the finding names; `None` for a finding without a direction.
fn names_more(word: Word) -> Option<bool> {
    match word {
        Word::MoreWork | Word::MoreCpuTime | Word::SlowerWork | Word::MoreWaiting => Some(true),
        Word::LessWork | Word::LessCpuTime | Word::FasterWork | Word::LessWaiting => Some(false),
        _ => None,
    }
}

/// What is wrong with an explanation under these verdicts.
fn contradictions(one: &Explanation, shown: &[&Verdict]) -> Vec<String> {
    let mut wrong = Vec::new();
    // What decides where verdicts differ: the rate, else the cost, else CPU time.
    let of = |detector: Detector| shown.iter().find(|verdict| verdict.detector == detector);
    let decides = of(Detector::Rate).or(of(Detector::Cost)).or(of(Detector::Cpu)).or(shown.first());
    let Some(worse) = decides.map(|verdict| is_worse(verdict)) else { return wrong };
    let sentences = || one.findings.iter().map(|finding| format!("{}: {}", finding.word, finding.sentence));
    match one.findings.first() {
        None => wrong.push("a change without a finding".to_owned()),
        Some(first) => {
            if names_more(first.word) == Some(!worse) {
                wrong.push("the first finding works against the verdict".to_owned());
            }
            if first.weight < 0.0 {
                wrong.push("nothing explains the change, and nobody says so".to_owned());
            }
        }
    }
    if sentences().any(|text| text.contains("has no known cause"))
        && one.findings.iter().any(|finding| finding.word != Word::NotExplained && finding.weight > 0.0)
    {
        wrong.push("no known cause, beside one".to_owned());
    }
    let is_apart = one.remarks.iter().any(|remark| remark.contains("not called slower or faster work"));
    if is_apart && one.findings.iter().any(|one| matches!(one.word, Word::SlowerWork | Word::FasterWork)) {
        wrong.push("slower or faster work, which a remark rules out".to_owned());
    }
    // A figure with a verdict that shows no change is no finding, unless one that is said to be likely.
    let has = |noun: &str| sentences().any(|text| text.contains(noun));
    for finding in &one.findings {
        let is_likely = matches!(finding.certainty, Certainty::Likely { .. });
        if is_likely != finding.sentence.contains("likely, not established") {
            wrong.push("a likely change that is not called so, or the reverse".to_owned());
        }
        if is_likely && (finding.share().is_some() || names_more(finding.word) == Some(!worse)) {
            wrong.push("a likely change has a share, or works against the verdict".to_owned());
        }
        if finding.cause == rqps_explain::Cause::Wal && !is_likely && of(Detector::Wal).is_none() {
            wrong.push("the log, whose verdict shows no change".to_owned());
        }
    }
    if one.findings.first().is_some_and(|first| matches!(first.certainty, Certainty::Likely { .. })) {
        wrong.push("what is only likely comes first".to_owned());
    }
    if has("instructions per query, ") && of(Detector::Cost).is_none() {
        wrong.push("instructions, whose verdict shows no change".to_owned());
    }
    if !wrong.is_empty() {
        wrong.extend(
            shown.iter().map(|one| format!("  verdict {:?}: {:?} {:?}", one.detector, one.class, one.ratio)),
        );
        wrong.extend(
            one.findings.iter().map(|one| format!("  {:.2} {}: {}", one.weight, one.word, one.sentence)),
        );
    }
    wrong
}

#[test]
fn explanations_agree_with_verdicts_and_with_themselves() {
    let mut rng = Rng::new(20_261_130);
    let (mut examined, mut wrong) = (0, Vec::new());
    for seed in 1..=RUNS {
        let results = tempfile::tempdir().unwrap();
        let run: Run = RunFolder::open(&write_run(results.path(), &drawn(&mut rng, seed)).unwrap()).unwrap();
        let judged = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
        for one in explain(&run, Some(&judged), &ExplainRequest::default()).unwrap() {
            let shown: Vec<&Verdict> = judged
                .of_arm(one.arm)
                .filter(|verdict| verdict.test == one.test && verdict.class.is_change())
                .collect();
            examined += usize::from(!shown.is_empty());
            let found = contradictions(&one, &shown);
            if !found.is_empty() {
                wrong.push(format!("run {seed}, {}:\n{}", one.test, found.join("\n")));
            }
        }
    }
    assert!(examined > 40, "{examined} changes");
    assert!(wrong.is_empty(), "{} of {examined}:\n{}", wrong.len(), wrong.join("\n"));
}
