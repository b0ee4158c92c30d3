//! Judges run folders with known truth.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use rqps_stats::{Class, Detector, Metric, Tag};
use rqps_store::{Outcome, Run, RunFolder};
use rqps_verdicts::testing::{Extra, Observed, Spec, write_run};
use rqps_verdicts::*;

fn made(spec: &Spec) -> (tempfile::TempDir, Run) {
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap();
    (results, run)
}

fn judged(run: &Run) -> RunVerdicts {
    judge_run(run, &rules_of(run).unwrap()).unwrap()
}

/// Instructions are counted apart from the windows, which tell whether the answers are right.
#[test]
fn instructions_of_a_test_without_a_valid_window_are_not_judged() {
    let (_results, mut run) = made(&Spec::default());
    assert_eq!(instruction_source(&run), InstructionSource::Counted("valgrind-3.19.0".to_owned()));
    let costs = |run: &Run| {
        let verdicts = judged(run).judgement.verdicts;
        let costs = verdicts
            .iter()
            .filter(|one| one.metric == Metric::Instructions && one.test == "hot-points" && one.blocks > 0);
        costs.map(|one| one.arm).collect::<Vec<_>>()
    };
    assert_eq!(costs(&run), [1, 2]);
    let wrong =
        run.windows.iter_mut().filter(|one| one.action.step == "hot-points" && one.action.arm == "new");
    wrong.for_each(|window| window.action.outcome = Outcome::Invalid);
    assert_eq!(costs(&run), [1]);
}

/// Counting failed after some blocks: their counts are not compared with CPU time.
#[test]
fn an_arm_that_could_not_be_counted_is_judged_by_cpu_time() {
    let by_instructions = |uncounted: &str| {
        let (_results, mut run) = made(&Spec::default());
        let mut counts = run.counts.iter_mut().rev();
        counts.find(|count| count.action.arm == uncounted).unwrap().action.outcome = Outcome::Invalid;
        let verdicts = judged(&run).judgement.verdicts;
        let costs = verdicts.iter().filter(|one| one.detector == Detector::Cost && one.blocks > 0);
        let metrics: std::collections::BTreeSet<_> =
            costs.map(|one| (one.arm, one.metric == Metric::Instructions)).collect();
        metrics.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(by_instructions("new"), [(1, true), (2, false)]);
    assert_eq!(by_instructions("old"), [(1, false), (2, false)]);
}

/// One stalled event in ten thousand is a regression although the rate is the same.
#[test]
fn stalls_are_judged_independently_of_the_rate() {
    let spec = Spec {
        stalls: vec![(2, "hot-points", 150_000), (0, "insert", 0)],
        blocks: 8,
        block_sd: 0.002,
        ..Spec::default()
    };
    let (_results, run) = made(&spec);
    let verdicts = judged(&run);
    let verdict = |test, arm| verdicts.verdict(test, arm, Detector::Stalls);
    let stalled = verdict("hot-points", 2).unwrap();
    assert!(stalled.class.is_regression(), "{stalled:?}");
    // 0.13 s of the 5 s of a window were lost.
    let ratio = stalled.ratio;
    assert!((ratio - 1.0 / (1.0 - 0.13 / 5.0)).abs() < 0.001, "{ratio}");
    assert!(!verdicts.verdict("hot-points", 2, Detector::Rate).unwrap().class.is_change());
    for (test, arm) in [("hot-points", 1), ("insert", 1), ("insert", 2)] {
        let found = verdict(test, arm).unwrap();
        assert_eq!(
            (found.class, found.tags.contains(&Tag::TooShort)),
            (Class::Inconclusive, true),
            "{found:?}"
        );
    }
    assert!(verdict("update-index", 2).is_none(), "no latencies, no verdict");
    let rows = rqps_verdicts::variance(&run, 0).unwrap();
    let row = rows.iter().find(|row| row.test == "hot-points" && row.arm == 2).unwrap();
    let latency = row.latency.unwrap();
    assert_eq!((row.blocks, row.windows, latency.stalls, latency.stall_us), (8, 16, 16, 20_000.0));
    assert!((latency.stalled_share - 0.026).abs() < 0.001, "{latency:?}");
}

#[test]
fn only_true_effects_are_found() {
    let spec =
        Spec { effects: vec![(2, "hot-points", 0.95, 1.03), (2, "insert", 1.06, 0.97)], ..Spec::default() };
    let (_results, run) = made(&spec);
    let verdicts = judged(&run);
    for detector in [Detector::Rate, Detector::Cost] {
        let class = |test| verdicts.verdict(test, 2, detector).unwrap().class;
        assert!(class("hot-points").is_regression(), "{detector:?}");
        assert!(matches!(class("insert"), Class::Improvement { .. }), "{detector:?}");
    }
    let tally = Tally::of(verdicts.on_candidates());
    assert_eq!((tally.regressions, tally.improvements), (3, 3), "{tally:?}");
    let check = verdicts.false_alarms.unwrap();
    assert_eq!((check.verdicts, check.alarms.len()), (32, 0));
    assert_eq!(verdicts.source, InstructionSource::Counted("valgrind-3.19.0".into()));
}

#[test]
fn void_blocks_are_not_used() {
    let (_results, mut run) = made(&Spec { blocks: 5, void: 3, ..Spec::default() });
    let verdicts = judged(&run);
    assert_eq!((verdicts.blocks_done, verdicts.blocks_void), (2, 3));
    for test in &verdicts.experiment.tests {
        for data in &test.metrics {
            let blocks: Vec<u32> = data.blocks.iter().map(|block| block.block).collect();
            assert_eq!(blocks, [4, 5], "{} {}", test.name, data.metric);
        }
    }
    assert_eq!(Tally::of(verdicts.on_candidates()).inconclusive, 32, "two blocks are too few");
    let doubts_host =
        |found: &RunVerdicts| found.host.iter().any(|one| matches!(one, HostRemark::ManyVoid { .. }));
    assert!(doubts_host(&verdicts));
    run.blocks
        .iter_mut()
        .for_each(|block| block.note = block.note.take().map(|_| rqps_store::CUT_OFF.to_owned()));
    let cut_off = judged(&run);
    assert_eq!(cut_off.blocks_void, 3, "as `status` and section blocks say");
    assert!(!doubts_host(&cut_off));
    run.blocks.iter_mut().find(|block| block.note.is_some()).unwrap().note = Some("busy".to_owned());
    let many = |found: &RunVerdicts| {
        found.host.iter().find(|one| matches!(one, HostRemark::ManyVoid { .. })).cloned()
    };
    assert_eq!(many(&judged(&run)), Some(HostRemark::ManyVoid { void: 3, cut_off: 2, done: 2 }));
}

#[test]
fn hardware_counters_are_used_for_instructions_if_there_are_any() {
    let (_results, run) = made(&Spec { counted: false, ..Spec::default() });
    assert_eq!(instruction_source(&run), InstructionSource::Processor);
    let experiment = experiment(&run).unwrap();
    let instructions =
        experiment.tests[0].metrics.iter().find(|data| data.metric == Metric::Instructions).unwrap();
    assert_eq!(instructions.blocks.len(), 5);
}

#[test]
fn wal_of_a_reading_test_is_not_judged() {
    let (_results, run) = made(&Spec::default());
    let experiment = experiment(&run).unwrap();
    let measured = |test: &str| {
        let test = experiment.tests.iter().find(|data| data.name == test).unwrap();
        test.metrics.iter().any(|data| data.metric == Metric::WalBytes)
    };
    assert!(measured("insert") && !measured("point-query"));
}

#[test]
fn timing_is_the_mean_of_measured_blocks() {
    let (_results, run) = made(&Spec::default());
    let timing = Timing::of(&run);
    // Six windows and three counts of 2 s; a block lasts 130 s and has six tests.
    assert_eq!(timing.test_s["insert"], 18.0);
    assert_eq!(timing.overhead_s, 130.0 - 6.0 * 18.0);
    let both = timing.seconds_for([("insert", 3), ("insert", 2), ("hot-points", 1)]);
    assert_eq!(both, 3.0 * 18.0 + 18.0 + 3.0 * 22.0);
}

#[test]
fn a_row_of_versions_shows_where_a_change_arrived() {
    let arms =
        vec![("v18", "18.1"), ("control", "18.1"), ("v9", "9.6.24"), ("v17", "17.7"), ("v16", "16.11")];
    // Two tests cost less in 9.6 and 16 than in 17 and 18. Base is the newest and listed first.
    let effects = ["hot-points", "insert"]
        .iter()
        .flat_map(|test| [(2, *test, 1.05, 0.97), (4, *test, 1.05, 0.97)])
        .collect();
    let (_results, mut run) = made(&Spec { arms, effects, blocks: 6, ..Spec::default() });
    let verdicts = judged(&run);
    let rows = version_rows(&run, &verdicts, &|_, _| true).unwrap();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let names: Vec<&str> = row.arms.iter().map(|arm| run.arms[*arm].name.as_str()).collect();
    assert_eq!(names, ["v9", "v16", "v17", "v18"], "9.6 sorts before 16");
    let [arrival] = row.arrivals.as_slice() else { panic!("{:?}", row.arrivals) };
    assert_eq!(arrival.versions, [2], "in 17.7");
    assert_eq!(arrival.tests, ["hot-points", "insert"]);
    let sizes = arrival_sizes(&row.steps, arrival);
    let (low, high) = sizes[&Metric::Instructions];
    let (low, high) = (low.ratio, high.ratio);
    assert!((low - 1.0 / 0.97).abs() < 1e-3 && (high - 1.0 / 0.97).abs() < 1e-3, "{sizes:?}");
    assert_eq!(row.span(&run, arrival), "16.11 to 17.7");

    // Without a result of 17 nobody knows which of the two it was.
    run.windows.retain(|window| window.action.arm != "v17");
    run.counts.retain(|count| count.action.arm != "v17");
    let rows = version_rows(&run, &judged(&run), &|_, _| true).unwrap();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let [arrival] = row.arrivals.as_slice() else { panic!("{:?}", row.arrivals) };
    assert_eq!(
        (arrival.versions.as_slice(), row.span(&run, arrival).as_str()),
        (&[2, 3][..], "16.11 to 18.1")
    );
    assert_eq!(arrival.tests, ["hot-points", "insert"]);
}

/// What the verdicts say and what the versions say is one answer.
#[test]
fn a_change_that_neighbours_do_not_show_is_of_the_versions_further_apart_that_do() {
    let arms = vec![("v16", "16.11"), ("control", "16.11"), ("v17", "17.7"), ("v18", "18.1")];
    // 2 % matter.
    let effects = vec![(2, "hot-points", 0.985, 1.0), (3, "hot-points", 0.97, 1.05)];
    let (_results, run) = made(&Spec { arms, effects, block_sd: 0.002, blocks: 8, ..Spec::default() });
    let verdicts = judged(&run);
    let rate = |arm| verdicts.verdict("hot-points", arm, Detector::Rate).unwrap();
    assert!(!rate(2).class.is_change() && rate(3).class.is_regression(), "{:?}", (rate(2), rate(3)));
    let rows = version_rows(&run, &verdicts, &|_, _| true).unwrap();
    let [arrival, of_cost] = rows[0].arrivals.as_slice() else { panic!("{:?}", rows[0].arrivals) };
    // What the neighbours do show stays theirs.
    assert_eq!(rows[0].span(&run, of_cost), "17.7 to 18.1");
    assert_eq!(arrival_sizes(&rows[0].steps, of_cost).keys().collect::<Vec<_>>(), [&Metric::Instructions]);
    assert_eq!(rows[0].span(&run, arrival), "16.11 to 18.1");
    let sizes = arrival_sizes(&rows[0].steps, arrival);
    let (low, high) = sizes[&Metric::Rate];
    assert_eq!((low.ratio, high.ratio), (rate(3).ratio, rate(3).ratio), "{sizes:?}");
    assert_eq!(low.interval, (rate(3).low, rate(3).high), "{sizes:?}");
    let unlike = version_rows(&run, &verdicts, &|test, _| test != "hot-points").unwrap();
    assert!(unlike[0].arrivals.is_empty(), "{:?}", unlike[0].arrivals);
}

/// Without a control, equal counters of five blocks prove no change between two versions; that the older one is the
/// same as base tells since when it is there.
#[test]
fn a_counter_changes_with_the_rate_of_the_same_step() {
    let arms = vec![("v16", "16.11"), ("control", "16.11"), ("v17", "17.7"), ("v18", "18.1")];
    let what = Observed::Metric("server_blocks_touched");
    let of_test = |test: &'static str| {
        let blocks = [(0, 200.0), (1, 200.0), (2, 200.0), (3, 5.0)];
        blocks.map(|(arm, per_query)| Extra { arm, test, what, per_query })
    };
    let tests = ["hot-points", "insert"];
    let effects = tests.map(|test| (3, test, 1.6, 0.6)).to_vec();
    let extra = tests.into_iter().flat_map(of_test).collect();
    let (_results, run) = made(&Spec { arms, effects, extra, ..Spec::default() });
    let verdicts = judged(&run);
    let rows = version_rows(&run, &verdicts, &|_, _| true).unwrap();
    let [arrival] = rows[0].arrivals.as_slice() else { panic!("{:?}", rows[0].arrivals) };
    assert_eq!(rows[0].span(&run, arrival), "17.7 to 18.1");
    let sizes = arrival_sizes(&rows[0].steps, arrival);
    assert!(sizes.contains_key(&Metric::Rate), "{sizes:?}");
    assert!((sizes[&Metric::Blocks].0.ratio - 0.025).abs() < 1e-9, "{sizes:?}");
}

#[test]
fn a_change_in_the_sequence_alone_is_state_dependent() {
    let (_isolated, isolated) = made(&Spec::default());
    let effects = vec![(2, "hot-points", 0.90, 1.0)];
    let spec = Spec { protocol: "sequence", effects, counted: false, seed: 2, ..Spec::default() };
    let (_sequence, sequence) = made(&spec);
    let of = |run| (run, judged(run));
    let (isolated, sequence) = (of(&isolated), of(&sequence));
    let found = state_dependent((isolated.0, &isolated.1), (sequence.0, &sequence.1)).unwrap();
    let rate: Vec<_> = found.iter().filter(|one| one.detector == Detector::Rate).collect();
    let [one] = rate.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.test.as_str(), one.is_regression), ("hot-points", true));
    assert!((one.in_sequence - 0.9).abs() < 0.02 && (one.isolated.0 - 1.0).abs() < 0.02, "{one:?}");
    assert_eq!(one.dead_rows, (Some(0.0), Some(2000.0)));
}

#[test]
fn a_slower_rate_with_equal_instructions_is_a_layout_suspect() {
    let (_results, run) = made(&Spec { effects: vec![(2, "hot-points", 0.94, 1.0)], ..Spec::default() });
    let verdicts = judged(&run);
    assert_eq!(verdicts.remarks_on("hot-points", 2), [Remark::LayoutSuspect]);
    assert_eq!(verdicts.remarks.len(), 1, "{:?}", verdicts.remarks);
    assert!(verdicts.host.is_empty(), "{:?}", verdicts.host);
}

#[test]
fn counts_that_disagree_with_cpu_time_are_not_used() {
    let effects = vec![(2, "insert", 1.0, 12.9), (2, "hot-points", 1.0, 1.03)];
    let (_results, run) = made(&Spec { effects, ..Spec::default() });
    let verdicts = judged(&run);
    let cost = |test| verdicts.verdict(test, 2, Detector::Cost).unwrap();
    assert_eq!(cost("insert").metric, Metric::CpuUs, "{:?}", cost("insert"));
    assert!(!cost("insert").class.is_change(), "{:?}", cost("insert"));
    let remarks = verdicts.remarks_on("insert", 2);
    assert!(
        matches!(remarks, [Remark::CountsPart { instructions, cpu_us }] if *instructions > 12.0 && *cpu_us < 1.1)
    );
    assert_eq!(cost("hot-points").metric, Metric::Instructions, "counts that agree are used");
    let control = verdicts.verdict("insert", 1, Detector::Cost).unwrap();
    assert_eq!(control.metric, Metric::Instructions, "another arm's counts are still used");
    let of = |test, arm| verdicts.agreements.iter().find(|one| one.test == test && one.arm == arm).unwrap();
    assert!((of("hot-points", 2).factor() - 1.03).abs() < 0.02, "{:?}", of("hot-points", 2));
    assert!(of("insert", 1).factor() < 1.02, "{:?}", of("insert", 1));
}

#[test]
fn a_rate_that_changes_within_each_block_is_remarked_on() {
    let (_results, run) = made(&Spec { settling: 1.05, ..Spec::default() });
    let verdicts = judged(&run);
    assert_eq!(verdicts.remarks.len(), 6 * 3, "every test on every arm");
    let [Remark::NoSteadyState { last_over_first: Some(ratio) }] = verdicts.remarks_on("insert", 0) else {
        panic!("{:?}", verdicts.remarks);
    };
    assert!((ratio - 1.05).abs() < 0.01, "{ratio}");
}
