//! Runs of blocks: their content, their state after a kill, more time, passes of a sequence.

use std::collections::BTreeMap;

use rqps_store::{ActionRecord, BlockStatus, Moment, Run, RunFolder, Status};

use crate::bench::{Bench, wait_for};

const TOP: &str = "protocol = \"isolated\"\nbudget = \"1s\"\n";

/// A reading and a writing test. Instructions are not counted, which takes most of a block's time under valgrind.
const UNCOUNTED: &str = "rows = 5_000\nsteps = [\"point-query\", \"delete\"]\n\
    [isolated]\nwindow_seconds = 0.1\nwindows = 2\ncount_instructions = false\n";

/// The same with instructions.
const COUNTED: &str = "rows = 5_000\nsteps = [\"scan\", \"update-index\"]\n\
    [isolated]\nwindow_seconds = 0.1\nwindows = 2\nblocks_min = 1\n";

fn plan(bench: &Bench, top: &str, workload: &str) -> String {
    // The bench also writes keys of a sequence, which have no effect here.
    bench.plan(top, workload, &["18", "17"]).to_str().unwrap().to_owned()
}

/// Numbers of the valid blocks.
fn done(run: &Run) -> Vec<u32> {
    run.blocks.iter().filter(|b| b.status == BlockStatus::Done).map(|b| b.number).collect()
}

/// Blocks may be void only because the host changed, which is correct.
fn expect_only_the_host_s_void(run: &Run) {
    for block in run.blocks.iter().filter(|block| block.status == BlockStatus::Void) {
        let why = block.note.as_deref().unwrap_or_default();
        assert!(why.contains("the host changed") || why.contains("the hypervisor gave"), "{block:?}");
    }
}

fn expect_whole_blocks(run: &Run, tests: usize) {
    for block in done(run) {
        let mut by_test: BTreeMap<&str, Vec<(u32, &str, u64)>> = BTreeMap::new();
        for window in &run.windows {
            let at = window.placement.unwrap();
            if at.block == block {
                assert!(window.valid(), "{:?}", window.action);
                by_test.entry(&window.action.step).or_default().push((
                    at.slot,
                    &window.action.arm,
                    window.result.events.unwrap(),
                ));
            }
        }
        assert_eq!(by_test.len(), tests, "block {block}: {by_test:?}");
        for (test, mut slots) in by_test {
            slots.sort_unstable();
            let arms: Vec<&str> = slots.iter().map(|(_, arm, _)| *arm).collect();
            let mirrored: Vec<&str> = arms.iter().rev().copied().collect();
            assert_eq!(arms, mirrored, "{test}: six windows in mirrored order");
            assert_eq!(arms.len(), 6, "{test}: base, its control and one other, twice each");
            assert!(
                slots.iter().all(|slot| slot.2 == slots[0].2),
                "{test}: the same work for all: {slots:?}"
            );
        }
        let moments: Vec<Moment> =
            run.canaries.iter().filter(|canary| canary.block == block).map(|canary| canary.moment).collect();
        assert!(moments.contains(&Moment::Before) && moments.contains(&Moment::After), "{moments:?}");
    }
}

/// Base, its control and the other version have their own loads, in equal states.
fn expect_like_loads(run: &Run) {
    let loaded: Vec<&str> = run.loads.iter().map(|load| load.action.arm.as_str()).collect();
    assert_eq!(loaded, ["a", "a-again", "b"]);
    let from: Vec<u32> = run.blocks[0].arms.iter().map(|arm| arm.data_seq.unwrap()).collect();
    let states = run.loads.iter().zip(from).map(|(load, seq)| {
        assert_eq!(load.action.seq, seq, "{}: the control does not start from base's load", load.action.arm);
        BTreeMap::from_iter(run.fingerprint(seq).unwrap())
    });
    let states: Vec<BTreeMap<String, String>> = states.collect();
    for state in &states {
        assert_eq!(state["table.sbtest1.all_visible_pages"], state["table.sbtest1.pages"], "{state:?}");
    }
    for field in ["heap_bytes", "index_bytes", "statistics"] {
        let key = format!("table.sbtest1.{field}");
        assert_eq!(states[0][&key], states[1][&key], "{key}");
    }
    assert_eq!(states[0]["wal_files"], states[1]["wal_files"]);
}

/// WAL bytes per event in the windows of a count's test, arm and block.
fn wal_per_event(run: &Run, count: &ActionRecord, block: u32) -> f64 {
    let windows = run.windows.iter().filter(|window| {
        (&window.action.arm, &window.action.step) == (&count.arm, &count.step)
            && window.placement.is_some_and(|at| at.block == block)
    });
    let (bytes, events) = windows.fold((0.0, 0.0), |(bytes, events), window| {
        (bytes + window.metric("server_wal_bytes").unwrap(), events + window.result.events.unwrap() as f64)
    });
    bytes / events
}

#[test]
fn a_block_is_mirrored_counted_and_judged() {
    let bench = Bench::new();
    let plan = plan(&bench, TOP, COUNTED);
    let ended = bench.call(&["run", &plan]).expect(0);
    let run = bench.run();
    assert_eq!(run.status.status, rqps_store::Status::Complete, "{}", ended.stderr);
    assert_eq!(done(&run).len(), 1, "a second is over after the first block: {}", ended.stderr);
    expect_only_the_host_s_void(&run);
    expect_whole_blocks(&run, 2);
    let control: Vec<&str> = run.arms.iter().filter(|arm| arm.control).map(|arm| arm.name.as_str()).collect();
    assert_eq!(control, ["a-again"]);
    expect_like_loads(&run);
    if rqps_probe::counts_instructions().is_err() {
        // Without hardware counters every test was counted on every arm, base and control almost alike: a server's
        // periodic work is a larger share of the same events if they take longer.
        assert_eq!(run.counts.len(), 6, "{}", ended.stderr);
        let of = |arm: &str, test: &str| {
            let count = run.counts.iter().find(|c| c.action.arm == arm && c.result.test == test).unwrap();
            count.result.instructions_per_op().unwrap()
        };
        let ratio = of("a-again", "scan") / of("a", "scan");
        assert!((ratio - 1.0).abs() < 0.05, "base again / base = {ratio}");
        assert!(of("a", "scan") > 1_000.0, "{}", of("a", "scan"));
        for count in &run.counts {
            let of = |name: &str| count.metric(name);
            let Some((dense, bare)) = of("count_dense_instructions").zip(of("count_bare_instructions"))
            else {
                assert_eq!(count.result.test, "scan", "{count:?}");
                continue;
            };
            // With full-page images an event writes much more WAL. Windows of few events, on a busy machine, write
            // images all the time, longer ones only now and then.
            let (dense_log, bare_log) =
                (of("count_dense_wal_bytes").unwrap(), of("count_bare_wal_bytes").unwrap());
            assert!(dense_log > 3.0 * bare_log, "{dense_log} {bare_log}");
            let share = of("count_dense_share").unwrap();
            let per_event = wal_per_event(&run, &count.action, count.placement.unwrap().block);
            let windows_log = per_event * count.result.events as f64;
            let expected = ((windows_log - bare_log) / (dense_log - bare_log)).clamp(0.0, 1.0);
            assert!((share - expected).abs() < 1e-6, "{share}, {expected} by windows: {count:?}");
            let mixed = bare + share * (dense - bare);
            assert!((count.result.instructions - mixed).abs() < 1.0, "{count:?}");
        }
    }
    assert!(ended.stdout.contains("inconclusive"), "one block proves nothing: {}", ended.stdout);
    bench.expect_no_process();
}

#[test]
fn more_time_gives_more_blocks() {
    let bench = Bench::new();
    let plan = plan(&bench, TOP, UNCOUNTED);
    bench.call(&["run", &plan]).expect(0);
    let again = bench.call(&["resume"]);
    assert_eq!(again.code(), Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("--more"), "{}", again.stderr);
    let more = bench.call(&["resume", "--more", "soon"]);
    assert_eq!(more.code(), Some(2), "{}", more.stderr);
    assert!(more.stderr.contains("--more 20m"), "the remedy: {}", more.stderr);
    // As if it had been killed after it removed its data.
    let mut writer = RunFolder::open_for_writing(bench.run().folder.path()).unwrap();
    writer.set_status(Status::Running, None).unwrap();
    drop(writer);
    let loads = bench.run().loads.len();
    bench.call(&["resume"]).expect(0);
    let run = bench.run();
    assert_eq!(
        (run.status.status, run.loads.len()),
        (Status::Complete, loads),
        "nothing is left to load for"
    );
    let mut running = bench.start(&["resume", "--more", "2h"]);
    running.expect_line(&["block ", ": done in"]);
    // Before the third block nothing is decided, however noisy the machine is.
    running.signal(rustix::process::Signal::INT);
    running.end().expect(130);
    bench.expect_no_process();
    let run = bench.run();
    assert!(done(&run).len() >= 2, "{:?}", run.blocks);
    expect_whole_blocks(&run, 2);
    let show = bench.call(&["show", "--format", "json"]).expect(0).stdout;
    assert!(serde_json::from_str::<serde_json::Value>(&show).is_ok(), "{show}");
}

#[test]
fn a_block_that_a_kill_cut_off_does_not_count() {
    let bench = Bench::new();
    let top = TOP.replace("1s", "10m");
    let plan = plan(&bench, &top, UNCOUNTED);
    let mut running = bench.start(&["run", &plan]);
    running.expect_line(&["block 1 of at least 3"]);
    // Two windows of 12.
    wait_for("windows of the first block", || (bench.run().windows.len() >= 2).then_some(()));
    running.kill();
    bench.expect_no_process();
    let mut running = bench.start(&["resume"]);
    running.expect_line(&["block ", ": done in"]);
    running.signal(rustix::process::Signal::INT);
    running.end().expect(130);
    let run = bench.run();
    let first = run.blocks.iter().find(|block| block.number == 1).unwrap();
    assert_eq!(first.status, BlockStatus::Void, "{first:?}");
    assert!(!done(&run).is_empty(), "{:?}", run.blocks);
    expect_whole_blocks(&run, 2);
    bench.call(&["clean"]).expect(0);
}

#[test]
fn a_preloaded_library_that_is_not_there_is_refused_before_anything_starts() {
    let bench = Bench::new();
    let path = plan(&bench, TOP, COUNTED);
    let text = std::fs::read_to_string(&path).unwrap();
    let env = "env = { LD_PRELOAD = \"/nowhere/dose.so\" }\n\n[[arm]]\nname = \"b\"";
    std::fs::write(&path, text.replace("[[arm]]\nname = \"b\"", env)).unwrap();
    let ended = bench.call(&["run", &path]);
    assert_ne!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("/nowhere/dose.so"), "{}", ended.stderr);
    bench.expect_no_process();
}

#[test]
fn arms_take_turns_in_the_steps_of_passes_with_equal_work() {
    let bench = Bench::new();
    let workload = "rows = 5_000\nsteps = [\"point-query\", \"update-index\", \"scan\"]\n";
    let plan = bench.plan("passes = 2\n", workload, &["18", "17"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    assert_eq!(done(&run), [1, 2], "{:?}", run.blocks);
    let order = |pass: u32| -> Vec<String> {
        let windows = run.windows.iter().filter(|w| w.placement.is_some_and(|at| at.block == pass));
        windows.map(|w| format!("{} {}", w.action.step, w.action.arm)).collect()
    };
    assert_eq!((order(1).len(), order(2).len()), (6, 6));
    for window in &run.windows {
        let slices = run.slices(window.action.seq).unwrap();
        let step = &window.action.step;
        assert!(!slices.is_empty() && slices.iter().all(|slice| slice.events > 0), "{step}: turns");
        let others = run
            .windows
            .iter()
            .filter(|other| other.action.step == *step && window.placement == other.placement);
        for other in others {
            assert_eq!(window.result.events, other.result.events, "{step}: the same events in a pass");
        }
    }
    let updates = run.windows.iter().filter(|w| w.action.step == "update-index");
    let updates: Vec<u64> = updates.map(|window| window.result.events.unwrap()).collect();
    assert!(updates.iter().all(|events| *events == updates[0]), "equal work in every pass: {updates:?}");
    bench.expect_complete(0);
}
