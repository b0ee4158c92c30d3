//! Run folders with known truth, judged.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use rqps_stats::{Class, Detector, Metric};
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Spec, write_run};
use rqps_verdicts::*;

fn made(spec: &Spec) -> (tempfile::TempDir, Run) {
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap();
    (results, run)
}

fn judged(run: &Run) -> RunVerdicts {
    judge_run(run, &rules_of(run).unwrap()).unwrap()
}

#[test]
fn what_is_true_is_found_and_nothing_else() {
    let spec =
        Spec { effects: vec![(2, "hot-points", 0.95, 1.03), (2, "insert", 1.06, 0.97)], ..Spec::default() };
    let (_results, run) = made(&spec);
    let verdicts = judged(&run);
    for detector in Detector::ALL {
        let class = |test| verdicts.verdict(test, 2, detector).unwrap().class;
        assert!(class("hot-points").is_regression(), "{detector:?}");
        assert!(matches!(class("insert"), Class::Improvement { .. }), "{detector:?}");
    }
    let tally = Tally::of(verdicts.on_candidates());
    assert_eq!((tally.regressions, tally.improvements), (2, 2), "{tally:?}");
    let check = verdicts.false_alarms.unwrap();
    assert_eq!((check.verdicts, check.alarms.len()), (12, 0));
    assert_eq!(verdicts.source, InstructionSource::Counted("valgrind-3.19.0".into()));
}

#[test]
fn void_blocks_give_no_figures() {
    let (_results, run) = made(&Spec { blocks: 5, void: 3, ..Spec::default() });
    let verdicts = judged(&run);
    assert_eq!((verdicts.blocks_done, verdicts.blocks_void), (2, 3));
    for test in &verdicts.experiment.tests {
        for data in &test.metrics {
            let blocks: Vec<u32> = data.blocks.iter().map(|block| block.block).collect();
            assert_eq!(blocks, [4, 5], "{} {}", test.name, data.metric);
        }
    }
    assert_eq!(Tally::of(verdicts.on_candidates()).inconclusive, 12, "two blocks say nothing");
}

#[test]
fn instructions_of_the_processor_go_before_those_of_a_program() {
    let (_results, run) = made(&Spec { counted: false, ..Spec::default() });
    assert_eq!(instruction_source(&run), InstructionSource::Processor);
    let experiment = experiment(&run);
    let instructions =
        experiment.tests[0].metrics.iter().find(|data| data.metric == Metric::Instructions).unwrap();
    assert_eq!(instructions.blocks.len(), 5);
}

#[test]
fn housekeeping_of_a_reading_test_is_no_cost() {
    let (_results, run) = made(&Spec::default());
    let experiment = experiment(&run);
    let measured = |test: &str| {
        let test = experiment.tests.iter().find(|data| data.name == test).unwrap();
        test.metrics.iter().any(|data| data.metric == Metric::WalBytes)
    };
    assert!(measured("insert") && !measured("point-query"));
}

#[test]
fn seconds_of_further_blocks_come_from_those_measured() {
    let (_results, run) = made(&Spec::default());
    let timing = Timing::of(&run);
    // Six windows and three counts of 2 s; a block lasts 130 s and has six tests.
    assert_eq!(timing.test_s["insert"], 18.0);
    assert_eq!(timing.overhead_s, 130.0 - 6.0 * 18.0);
    let both = timing.seconds_for([("insert", 3), ("insert", 2), ("hot-points", 1)]);
    assert_eq!(both, 3.0 * 18.0 + 18.0 + 3.0 * 22.0);
}
