//! Resuming after a kill between a step's changes and its journal entry. The state after such a kill is made from a
//! complete run, so the tests do not depend on timing.

use std::collections::BTreeSet;

use rqps_store::{Outcome, Run, RunFolder, Status};

use crate::bench::{Bench, Ended};
use crate::data::{ALL_COLUMNS, Kept};
use crate::insert::{content, keys, plan};

/// Makes the run look as if it was killed just before this step of an arm's last pass was journaled; later actions of
/// the arm are not done.
fn cut_before(bench: &Bench, arm: &str, step: &str) {
    let run = bench.run();
    let cut = run.actions.iter().rfind(|action| action.arm == arm && action.step == step).unwrap().seq;
    let later = run.actions.iter().filter(|action| action.arm == arm && action.seq >= cut);
    let later: BTreeSet<u32> = later.map(|action| action.seq).collect();
    let mut writer = RunFolder::open_for_writing(run.folder.path()).unwrap();
    writer.forget_actions(&later, &BTreeSet::new()).unwrap();
    writer.begin_action(cut).unwrap();
    writer.set_status(Status::Running, None).unwrap();
}

fn resume(bench: &Bench) -> Ended {
    bench.call(&["resume", "--keep-data"]).expect(0)
}

#[track_caller]
fn expect_all_valid(bench: &Bench) {
    for action in &bench.run().actions {
        assert_eq!((action.outcome, action.attempt), (Outcome::Done, 1), "{action:?}");
    }
}

const WRITES: &str = "steps = [\"point-query\", \"update-nonindex\", \"delete\", \"insert\", \"scan\"]
[test.point-query]\nevents = 100\n[test.scan]\nevents = 1
[test.update-nonindex]\nevents = 1_000\n[test.delete]\nevents = 500\n[test.insert]\nevents = 1_500\n";

#[test]
fn an_arm_whose_rows_a_cut_write_changed_begins_anew() {
    let bench = Bench::new();
    let plan = bench.plan("", WRITES, &["18", "18"]);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    let rows = |arm: &str| Kept::open(&bench, arm).checksum(ALL_COLUMNS, "true");
    let undisturbed = rows("a");
    cut_before(&bench, "b", "delete");
    let output = resume(&bench).stderr;
    let words = "arm b starts over from the load because delete was interrupted; 2 steps had been measured";
    assert!(output.contains(words), "{output}");
    expect_all_valid(&bench);
    assert_eq!((rows("a"), rows("b")), (undisturbed.clone(), undisturbed.clone()));
    // Base starts over like any other arm. After a reading test, which changes nothing, only that test is repeated.
    cut_before(&bench, "a", "insert");
    resume(&bench);
    expect_all_valid(&bench);
    cut_before(&bench, "b", "scan");
    resume(&bench);
    let run = bench.run();
    let repeated = run.actions.iter().filter(|action| action.attempt > 1);
    assert_eq!(repeated.map(|action| &*action.step).collect::<Vec<_>>(), ["scan"]);
    assert_eq!((rows("a"), rows("b")), (undisturbed.clone(), undisturbed));
}

#[test]
fn of_several_passes_one_begins_anew_and_keeps_what_it_measured() {
    let bench = Bench::new();
    let workload = "steps = [\"update-one\", \"update-index\"]\n";
    let plan = bench.plan("passes = 2", workload, &["18", "18"]);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    let work = |run: &Run, seq: u32| {
        let series = run.series(seq).unwrap();
        series.into_iter().find(|one| one.name == "work-window").unwrap().values
    };
    let measured = |kept: &str| {
        let run = bench.run();
        let windows = run.windows.iter().filter(|window| window.action.step == kept);
        windows.map(|window| (window.action.clone(), work(&run, window.action.seq))).collect::<Vec<_>>()
    };
    let rows = |arm: &str| Kept::open(&bench, arm).checksum(ALL_COLUMNS, "true");
    let (before, undisturbed) = (measured("update-one"), rows("a"));
    for arm in ["b", "a"] {
        cut_before(&bench, arm, "update-index");
        let output = resume(&bench).stderr;
        let words = "the step before it is repeated for its data and keeps its result";
        assert!(output.contains(words), "{output}");
        expect_all_valid(&bench);
        assert_eq!(measured("update-one"), before);
        assert_eq!((rows("a"), rows("b")), (undisturbed.clone(), undisturbed.clone()));
    }
    // As if killed when base had done the first step of all.
    let run = bench.run();
    let of_base = before[0].0.seq;
    let later = run.actions.iter().filter(|action| action.seq >= of_base).map(|action| action.seq).collect();
    let mut writer = RunFolder::open_for_writing(run.folder.path()).unwrap();
    writer.forget_actions(&later, &BTreeSet::new()).unwrap();
    writer.begin_action(of_base).unwrap();
    writer.set_status(Status::Running, None).unwrap();
    drop((writer, run));
    resume(&bench);
    expect_all_valid(&bench);
    for step in ["update-one", "update-index"] {
        let work = measured(step);
        assert!(work.len() == 4 && work.iter().all(|one| one.1 == work[0].1), "{work:?}");
    }
    assert!(bench.run().blocks.iter().all(|block| block.status == rqps_store::BlockStatus::Done));
}

#[test]
fn a_step_of_the_queue_killed_after_its_last_commit_has_no_result_until_it_is_measured_anew() {
    let bench = Bench::new();
    let sizes = "load_rows = 3_030\nwrite_rows = 1_503\nquery_seconds = 2";
    let plan = plan(&bench, "steps = [\"l.i0\", \"l.x\", \"l.i1\"]", sizes, &["18", "18"]);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    let of_b = (content(&bench, "b", 1), keys(&bench, "b"));
    cut_before(&bench, "a", "l.i1");
    let output = bench.call(&["resume", "--keep-data"]).expect(3);
    let reason = "it was cut off when 1203 of its 1203 rows were inserted";
    for text in [&output.stdout, &output.stderr] {
        assert!(text.contains(reason) && !text.contains("NaN"), "{text}");
    }
    let run = bench.run();
    assert_eq!(run.status.status, Status::Complete);
    let lost: Vec<_> = run.actions.iter().filter(|action| action.outcome == Outcome::Invalid).collect();
    assert!(lost.len() == 1 && (&*lost[0].arm, &*lost[0].step) == ("a", "l.i1"), "{lost:?}");
    assert_eq!((content(&bench, "a", 1), keys(&bench, "a")), of_b);
    assert!(resume(&bench).stderr.contains("arm a starts over from the load because l.i1 was interrupted"));
    expect_all_valid(&bench);
    assert_eq!((content(&bench, "a", 1), keys(&bench, "a")), of_b);
    let ended = bench.call(&["resume"]).expect(2);
    assert!(ended.stderr.contains("nothing to resume"), "{}", ended.stderr);
}

#[test]
fn an_index_build_killed_after_its_end_is_measured_again_as_a_whole() {
    let bench = Bench::new();
    let plan = plan(&bench, "steps = [\"l.i0\", \"l.x\"]", "load_rows = 3_030\nwrite_rows = 500", &["18"]);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    cut_before(&bench, "a", "l.x");
    resume(&bench);
    let run = bench.run();
    let built = run.windows.iter().find(|window| window.action.step == "l.x").unwrap();
    assert_eq!(
        (built.action.outcome, built.action.attempt, built.result.rows.unwrap()),
        (Outcome::Done, 2, 3_130)
    );
    assert!(built.result.rate().unwrap_or(0.0) > 0.0 && built.metric("index_build_us").unwrap() > 0.0);
}
