//! Round trips of run folders, and their state after the writer was killed.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use rqps_model::{
    ConnectionCpu, Counter, HostFigure, HostQuantity, LeftOut, Metrics, Pacer, QueryPlan, Series,
    ServerSetting, Setting, Settle, SettleCondition, Wait,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rqps_store::testing as made;
use rqps_store::*;

const TIMEOUT: Duration = Duration::from_secs(120);

fn meta() -> Meta {
    let method = vec![made::setting("connection", "unix socket")];
    Meta { seed: u64::MAX, tables: 2, actions_total: 20_000, method, ..made::meta("demo") }
}

fn arm(name: &str, role: Role) -> Arm {
    let (config_name, managed) = ("x10b_c8r32".into(), vec![made::setting("port", "5433")]);
    Arm { config_name, managed, ..made::arm(name, role, "18.1") }
}

fn step() -> PlannedStep {
    made::step(1, "point-query", "point")
}

fn create(results: &Path) -> RunWriter {
    create_by(results, "sequence")
}

fn create_by(results: &Path, protocol: &str) -> RunWriter {
    let folder = RunFolder::create(results, "demo").unwrap();
    let mut writer = RunFolder::open_for_writing(folder.path()).unwrap();
    let arms = [arm("base", Role::Base), arm("new", Role::Candidate)];
    let host = [Fact { key: "kernel".into(), value: "6.1".into(), comparable: true }];
    let meta = Meta { protocol: protocol.into(), ..meta() };
    writer.begin_run("plan = 1\n", &meta, &[step()], &arms, &host).unwrap();
    writer
}

fn record(seq: u32, attempt: u32) -> ActionRecord {
    ActionRecord { attempt, ..made::record(seq, "new", "measure", "point-query") }
}

fn window() -> Observation {
    let window = Window {
        seed: Some(u64::MAX - 1),
        warmup_us: Some(5_000_000),
        target_events_per_s: Some(20.0),
        pacer: Some(Pacer::Burst),
        statements_working: Some(990),
        noop_statements: Some(10),
        rows: Some(990),
        retries: BTreeMap::from([("40001".into(), 3)]),
        ..made::window("point-query", "point", 1_000, 10.0)
    };
    let counter = |column: &str, before, after| Counter {
        before,
        after,
        ..made::counter("pg_stat_all_tables", "sbtest1", column, 0.0)
    };
    Observation {
        metrics: Metrics::from([("host_user_us".into(), 1.5), ("unknown".into(), f64::NAN)]),
        connections: vec![
            ConnectionCpu::only(0, 10.0),
            ConnectionCpu { role: "delete".into(), client: 0, cpu_us: 20.0 },
        ],
        counters: vec![counter("idx_scan", Some(1.0), Some(11.0)), counter("new", None, Some(1.0))],
        series: vec![Series {
            name: "queries".into(),
            unit: "1/s".into(),
            values: vec![99.5, f64::NAN, 100.0],
        }],
        histograms: vec![Histogram {
            statement: "select-point".into(),
            from: LatencyFrom::Sent,
            count: 1000,
            p50_us: 50.0,
            p95_us: 95.0,
            p99_us: 99.0,
            max_us: 500.0,
            mean_us: 60.0,
            v2: vec![0, 255],
        }],
        plans: vec![QueryPlan {
            statement: "select-point".into(),
            sql: "SELECT".into(),
            text: "Index Scan".into(),
            json: "[]".into(),
        }],
        fingerprint: vec![("dead_rows".into(), "0".into())],
        ..Observation::new(Measured::Window(window))
    }
}

#[test]
fn observations_round_trip() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    let load = Load { tables: 2, rows: 200_000, load_us: 1_500_000, index_us: 500_000 };
    let settle = Settle {
        actions: vec!["vacuum (verbose, analyze)".into(), "checkpoint".into()],
        conditions: vec![SettleCondition { name: "dead_rows".into(), before: 9.0, after: 0.0, target: 0.0 }],
        elapsed_us: 5,
        cap_us: 60,
        reached: true,
    };
    writer.begin_action(0).unwrap();
    writer.finish_action(&record(0, 1), Some(&Observation::new(Measured::Load(load.clone())))).unwrap();
    writer.finish_action(&record(1, 1), Some(&Observation::new(Measured::Settle(settle.clone())))).unwrap();
    writer.finish_action(&record(2, 1), Some(&window())).unwrap();
    let mut changed = arm("new", Role::Candidate);
    changed.left_out = vec![LeftOut {
        option: "io_method".into(),
        value: "sync".into(),
        reason: "unknown before 18".into(),
        refused: true,
        taken: Some("2".to_owned()),
        without_effect: true,
        unknown: true,
        instead: Some("io_method = worker".to_owned()),
    }];
    writer.put_arm(&changed).unwrap();
    writer.add_note(Some("new"), "server died").unwrap();
    writer.set_status(Status::Failed, Some("the disk is full")).unwrap();
    let path = writer.folder().path().to_owned();
    drop(writer);

    let run = RunFolder::open(&path).unwrap();
    assert_eq!(run.meta, meta());
    assert_eq!(run.steps, [step()]);
    assert_eq!(run.arms, [arm("base", Role::Base), changed]);
    assert_eq!(run.arms[0].variant(), "postgres-18.1.x10b_c8r32");
    assert_eq!((run.status.status, run.status.reason.as_deref()), (Status::Failed, Some("the disk is full")));
    assert_eq!(run.notes[0].text, "server died");
    assert_eq!(run.loads[0].result, load);
    assert_eq!(run.loads[0].result.rows_per_s(), Some(100_000.0));
    assert_eq!(run.settles[0].result, settle);
    let wrote = window();
    let read = &run.windows[0];
    assert_eq!(Measured::Window(read.result.clone()), wrote.measured);
    assert_eq!(read.result.rate(), Some(100.0));
    assert_eq!(
        read.metrics,
        Metrics::from([("host_user_us".into(), 1.5)]),
        "values that are not finite are dropped"
    );
    assert_eq!(read.connections, wrote.connections);
    assert_eq!(run.counters(2).unwrap(), wrote.counters);
    assert_eq!(run.counters(2).unwrap()[0].delta(), Some(10.0));
    let values = &run.series(2).unwrap()[0].values;
    assert!(matches!(values[..], [99.5, missed, 100.0] if missed.is_nan()), "{values:?}");
    assert_eq!(run.histograms(2).unwrap(), wrote.histograms);
    assert_eq!(run.plans(2).unwrap(), wrote.plans);
    assert_eq!(run.fingerprint(2).unwrap(), wrote.fingerprint);
}

fn block(number: u32) -> Block {
    Block {
        number,
        seed: u64::MAX - 7,
        status: BlockStatus::Running,
        note: None,
        started_at_ms: 5,
        finished_at_ms: None,
        restored_by: "copy".into(),
        tests: vec!["point-query".into()],
        arms: vec![BlockArm {
            arm: "new".into(),
            start_position: 2,
            side: "b".into(),
            cpus: "0-1".into(),
            data_seq: None,
            copy: 1,
        }],
    }
}

#[test]
fn blocks_round_trip() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    let control = Arm {
        control: true,
        env: BTreeMap::from([("LD_PRELOAD".into(), "/x.so".into())]),
        ..arm("again", Role::Candidate)
    };
    writer.put_arm(&control).unwrap();
    assert_eq!((writer.last_block().unwrap(), writer.next_seq().unwrap()), (None, 0));
    writer.begin_block(&block(1)).unwrap();
    let placed = Placement { block: 1, window: 2, slot: 3 };
    writer.finish_action(&record(0, 1), Some(&Observation { placement: Some(placed), ..window() })).unwrap();
    let count = Count {
        test: "point-query".into(),
        group: "point".into(),
        events: 50,
        operations: 50.0,
        instructions: 1e6,
        counted_by: "valgrind-3.19.0".into(),
    };
    let at = Placement { block: 1, window: 0, slot: 1 };
    let observed = Observation { placement: Some(at), ..Observation::new(Measured::Count(count.clone())) };
    writer.finish_action(&record(1, 1), Some(&observed)).unwrap();
    let canary = |moment, value| Canary { block: 1, moment, name: "spin_ns".into(), value };
    writer.put_canaries(&[canary(Moment::Before, 1.0), canary(Moment::After, 1.5)]).unwrap();
    let work = TestWork {
        test: "scan".into(),
        warmup_events: 1,
        window_events: 2,
        slice_events: 1,
        count_events: 3,
    };
    writer.put_work(&TestWork { window_events: 9, ..work.clone() }).unwrap();
    writer.put_work(&work).unwrap();
    writer.add_method("connection", "tcp").unwrap();
    writer.add_method("counted by", "valgrind").unwrap();
    writer.finish_block(1, BlockStatus::Done, Some("slow disk")).unwrap();

    let run = RunFolder::open(writer.folder().path()).unwrap();
    let done = Block {
        status: BlockStatus::Done,
        note: Some("slow disk".into()),
        finished_at_ms: run.blocks[0].finished_at_ms,
        ..block(1)
    };
    assert_eq!(run.blocks, [done]);
    assert!(run.blocks[0].finished_at_ms.is_some());
    assert_eq!(run.arms[2], control);
    assert_eq!((run.windows[0].placement, run.counts[0].placement), (Some(placed), Some(at)));
    assert_eq!(run.counts[0].result, count);
    assert_eq!(run.canaries, [canary(Moment::Before, 1.0), canary(Moment::After, 1.5)]);
    assert_eq!(run.works, [work]);
    let method: Vec<(&str, &str)> =
        run.meta.method.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
    assert_eq!(method, [("connection", "tcp"), ("counted by", "valgrind")]);
    assert!(writer.finish_block(2, BlockStatus::Done, None).is_err());
}

#[test]
fn an_invalid_window_spoils_those_before_it_on_the_same_data() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    for number in [1, 2] {
        writer.begin_block(&block(number)).unwrap();
    }
    let mut put = |seq: u32, arm: &str, (block, window), wrong: Option<&str>| {
        let outcome = if wrong.is_some() { Outcome::Invalid } else { Outcome::Done };
        let record = ActionRecord { arm: arm.into(), outcome, note: wrong.map(Into::into), ..record(seq, 1) };
        let placement = Some(Placement { block, window, slot: 1 });
        writer.finish_action(&record, Some(&Observation { placement, ..self::window() })).unwrap();
    };
    put(0, "new", (1, 1), None);
    put(1, "new", (2, 1), None);
    put(2, "base", (2, 1), None);
    put(3, "new", (2, 2), Some("a row is lost"));
    let run = RunFolder::open(writer.folder().path()).unwrap();
    let valid: Vec<bool> = run.windows.iter().map(Recorded::valid).collect();
    assert_eq!(valid, [true, false, true, false]);
    assert_eq!(run.actions[1].note.as_deref(), Some("after a later window on the same data: a row is lost"));
}

#[test]
fn windows_of_a_block_that_is_not_done_are_no_results_yet() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create_by(results.path(), "isolated");
    let put = |writer: &mut RunWriter, seq: u32, number: u32, outcome: Outcome| {
        writer.begin_block(&block(number)).unwrap();
        let record = ActionRecord { outcome, note: Some("a row is lost".into()), ..record(seq, 1) };
        let placement = Some(Placement { block: number, window: 1, slot: 1 });
        writer.finish_action(&record, Some(&Observation { placement, ..window() })).unwrap();
    };
    put(&mut writer, 0, 1, Outcome::Invalid);
    writer.finish_block(1, BlockStatus::Done, None).unwrap();
    put(&mut writer, 1, 2, Outcome::Done);
    let reasons = |writer: &RunWriter| {
        let run = RunFolder::open(writer.folder().path()).unwrap();
        run.without_result().iter().map(|one| one.reason.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(reasons(&writer), ["a row is lost"]);
    let run = RunFolder::open(writer.folder().path()).unwrap();
    assert_eq!(run.invalid_in_part(), [], "a window of a block that is not done is no valid one either");
    writer.finish_block(2, BlockStatus::Done, None).unwrap();
    assert_eq!(reasons(&writer), [""; 0]);
    put(&mut writer, 2, 3, Outcome::Done);
    writer.finish_block(3, BlockStatus::Done, None).unwrap();
    let run = RunFolder::open(writer.folder().path()).unwrap();
    let texts: Vec<String> = run.invalid_in_part().iter().map(|part| part.text()).collect();
    assert_eq!(texts, ["1 of 3 windows is invalid: a row is lost"]);
    assert!(run.mostly_invalid().is_empty(), "in one of three blocks");
    put(&mut writer, 3, 4, Outcome::Invalid);
    writer.finish_block(4, BlockStatus::Done, None).unwrap();
    let run = RunFolder::open(writer.folder().path()).unwrap();
    assert_eq!(run.mostly_invalid().len(), 1, "in two of four blocks");
}

#[test]
fn certificates_round_trip_and_a_new_one_replaces_the_old() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    let figure = |quantity, value: f64| HostFigure { quantity, value, low: value - 1.0, high: value + 1.0 };
    let before = [figure(HostQuantity::OneCore, 600.0), figure(HostQuantity::Sync, 9.0)];
    let after = [figure(HostQuantity::Sync, 11.0)];
    assert!(!writer.has_certificate(Moment::Before).unwrap());
    writer.put_certificate(Moment::Before, &before).unwrap();
    assert!(!writer.has_certificate(Moment::After).unwrap());
    writer.put_certificate(Moment::After, &before).unwrap();
    writer.put_certificate(Moment::After, &after).unwrap();
    let read = writer.run().unwrap().certificates;
    assert_eq!((read.before.as_slice(), read.after.as_slice()), (&before[..], &after[..]));
}

#[test]
fn server_settings_and_profiles_round_trip() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    let setting = |name: &str, value: &str, default| ServerSetting {
        name: name.into(),
        value: value.into(),
        source: "configuration file".into(),
        default,
    };
    let started = Arm {
        after_load: vec!["DROP INDEX k_1".into(), "ANALYZE".into()],
        facts: vec![Setting { name: "cflags".into(), value: "-O2".into() }],
        settings: vec![setting("jit", "off", false), setting("work_mem", "4MB", true)],
        ..arm("started", Role::Candidate)
    };
    writer.put_arm(&arm("started", Role::Candidate)).unwrap();
    writer.put_arm(&started).unwrap();
    let profile = Profile {
        elapsed_us: 5_000_000,
        lost_samples: 1,
        unresolved_samples: 2,
        note: Some("stripped".into()),
        ..made::profile("point-query", "point", "profiles/started.point-query.folded")
    };
    let folded = "backend;main;ExecutorRun 29\ncheckpointer;main 1\n";
    std::fs::write(writer.folder().path().join(&profile.file), folded).unwrap();
    let wait = Wait { kind: "IO".into(), event: "WalSync".into(), found: 40, looks: 100 };
    let observed =
        Observation { waits: vec![wait.clone()], ..Observation::new(Measured::Profile(profile.clone())) };
    writer.finish_action(&record(0, 1), Some(&observed)).unwrap();

    let run = RunFolder::open(writer.folder().path()).unwrap();
    assert_eq!(run.arm("started"), Some(&started));
    assert_eq!(run.profiles[0].result, profile);
    assert_eq!(run.waits(0).unwrap(), [wait]);
    assert_eq!(run.folded(&profile).unwrap(), folded);
    let gone = Profile { file: "profiles/gone.folded".into(), ..profile };
    assert!(run.folded(&gone).unwrap_err().to_string().contains("gone.folded"));
}

/// The blocks after a writer died in the second, and the run was opened for writing again.
fn after_death(protocol: &str) -> Vec<Block> {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create_by(results.path(), protocol);
    writer.begin_block(&block(1)).unwrap();
    writer.finish_block(1, BlockStatus::Done, None).unwrap();
    writer.begin_block(&block(2)).unwrap();
    writer.begin_action(41).unwrap();
    let path = writer.folder().path().to_owned();
    drop(writer);
    let writer = RunFolder::open_for_writing(&path).unwrap();
    assert_eq!((writer.last_block().unwrap(), writer.next_seq().unwrap()), (Some(2), 42), "never reused");
    RunFolder::open(&path).unwrap().blocks
}

#[test]
fn a_block_whose_writer_died_is_void() {
    let blocks = after_death("isolated");
    assert_eq!((blocks[0].status, blocks[1].status), (BlockStatus::Done, BlockStatus::Void));
    assert_eq!(blocks[1].note.as_deref(), Some(CUT_OFF));
    let passes = after_death("sequence");
    assert_eq!(passes[1].status, BlockStatus::Running, "a pass of a sequence is resumed, not lost");
}

#[test]
fn an_action_is_never_half_written() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    writer.finish_action(&record(7, 1), Some(&window())).unwrap();
    // The last rows violate a constraint, so everything inserted before them must be rolled back.
    let mut broken = window();
    broken.plans.push(broken.plans[0].clone());
    assert!(writer.finish_action(&record(7, 2), Some(&broken)).is_err());
    assert!(writer.finish_action(&record(8, 1), Some(&broken)).is_err());
    assert_eq!(writer.done_actions().unwrap().into_iter().collect::<Vec<_>>(), [7]);
    let run = RunFolder::open(writer.folder().path()).unwrap();
    assert_eq!(run.actions, [record(7, 1)], "the failed second attempt leaves the first one's result");
    assert_eq!(run.counters(7).unwrap().len(), 2);
    assert_eq!(run.counters(8).unwrap().len(), 0);
}

#[test]
fn a_repeated_action_replaces_its_result_and_counts_attempts() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    assert_eq!(writer.begin_action(3).unwrap(), 1);
    assert_eq!(writer.begin_action(3).unwrap(), 2);
    writer.finish_action(&record(3, 2), Some(&window())).unwrap();
    assert_eq!(writer.begin_action(3).unwrap(), 3);
    writer.finish_action(&record(3, 3), Some(&window())).unwrap();
    let run = RunFolder::open(writer.folder().path()).unwrap();
    assert_eq!(run.actions, [record(3, 3)]);
    assert_eq!(run.windows.len(), 1);
    assert_eq!(run.counters(3).unwrap().len(), 2);
}

#[test]
fn an_unknown_arm_is_an_error_that_names_it() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    let error =
        writer.finish_action(&ActionRecord { arm: "nobody".into(), ..record(1, 1) }, None).unwrap_err();
    assert!(error.to_string().contains("\"nobody\""), "{error}");
}

#[test]
fn one_writer_excludes_others_but_not_readers() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    let (path, run) = (writer.folder().path().to_owned(), RunFolder::open(writer.folder().path()).unwrap());
    let told = RunProgress { share: 0.2, at_ms: 7, ends_at_ms: Some(9), until: Until::End, share_then: 0.2 };
    writer.record_progress(told).unwrap();
    assert_eq!(run.folder.last_progress(), Some(told));
    let error = RunFolder::open_for_writing(&path).unwrap_err().to_string();
    assert!(error.contains(&format!("in use by another rqps (pid {})", std::process::id())), "{error}");
    assert_eq!(run.folder.in_use_by(), Some(std::process::id().to_string()));
    drop(writer);
    assert_eq!(run.folder.in_use_by(), None);
    let mut writer = RunFolder::open_for_writing(&path).unwrap();
    // Progress does not fall when a run is resumed; one that had ended begins anew.
    let resumed = RunProgress { at_ms: 0, ends_at_ms: None, ..told };
    assert_eq!(run.folder.last_progress(), Some(resumed));
    let mut published = |share| writer.record_progress(RunProgress { share, ..resumed }).unwrap().share;
    assert_eq!([0.1, 0.75, 1.0].map(&mut published), [0.2, 0.75, 1.0]);
    drop(writer);
    RunFolder::open_for_writing(&path).unwrap();
    assert_eq!(run.folder.last_progress(), None);
}

#[test]
fn a_newer_schema_is_refused_with_a_remedy() {
    let results = tempfile::tempdir().unwrap();
    let writer = create(results.path());
    let path = writer.folder().path().to_owned();
    drop(writer);
    let database = rusqlite::Connection::open(path.join("run.db")).unwrap();
    database.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(database);
    for error in [RunFolder::open(&path).unwrap_err(), RunFolder::open_for_writing(&path).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("newer rqps that wrote it"), "{text}");
    }
}

#[test]
fn a_list_shows_runs_in_order_and_broken_ones_with_their_problem() {
    let results = tempfile::tempdir().unwrap();
    drop(create(results.path()));
    drop(create(results.path()));
    let broken = results.path().join("broken");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("run.db"), "not a database, but long enough to be read as one".repeat(50))
        .unwrap();
    std::fs::create_dir(results.path().join("not-a-run")).unwrap();
    let empty = RunFolder::create(results.path(), "empty").unwrap();
    let writer = RunFolder::open_for_writing(empty.path()).unwrap();
    let living = RunFolder::open(empty.path()).unwrap_err().to_string();
    assert!(living.contains("is being created") && !living.contains("Delete"), "{living}");
    drop(writer);

    let runs = RunFolder::list(results.path()).unwrap();
    let problems: Vec<bool> = runs.iter().map(|run| run.problem.is_some()).collect();
    assert_eq!(problems, [true, true, false, false]);
    assert!(
        runs.iter().any(|run| { run.problem.as_deref().is_some_and(|text| text.contains("holds no plan")) })
    );
    assert_eq!(runs[3].variants, ["postgres-18.1.x10b_c8r32", "postgres-18.1.x10b_c8r32"]);
    assert!(RunFolder::list(&results.path().join("none")).unwrap().is_empty());
}

/// Not a test: the process that `a_killed_writer_leaves_complete_actions` kills.
#[test]
fn write_until_killed() {
    let Ok(path) = std::env::var("RQPS_STORE_TEST_WRITE_TO") else {
        return;
    };
    let mut writer = RunFolder::open_for_writing(Path::new(&path)).unwrap();
    let mut seq = writer.done_actions().unwrap().last().map_or(0, |last| last + 1);
    loop {
        let attempt = writer.begin_action(seq).unwrap();
        writer.finish_action(&record(seq, attempt), Some(&window())).unwrap();
        seq += 1;
    }
}

#[test]
fn a_killed_writer_leaves_complete_actions() {
    let results = tempfile::tempdir().unwrap();
    let writer = create(results.path());
    let path = writer.folder().path().to_owned();
    drop(writer);
    let mut done = 0;
    for more in [1, 8, 31] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["write_until_killed", "--exact"])
            .env("RQPS_STORE_TEST_WRITE_TO", &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Killed at a random point.
        let deadline = Instant::now() + TIMEOUT;
        while RunFolder::open(&path).unwrap().actions.len() < done + more {
            assert!(Instant::now() < deadline, "the writer made no progress");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let run = RunFolder::open(&path).unwrap();
        assert!(run.actions.len() >= done + more);
        done = run.actions.len();
        assert_eq!(run.windows.len(), done);
        for action in &run.actions {
            assert_eq!(run.counters(action.seq).unwrap().len(), 2, "action {}", action.seq);
            assert_eq!(run.plans(action.seq).unwrap().len(), 1, "action {}", action.seq);
        }
        drop(RunFolder::open_for_writing(&path).unwrap());
    }
}

/// The flat views are in docs/EXPORT.md instead.
#[test]
fn the_schema_document_names_every_table_and_column() {
    let document = include_str!("../../../docs/SCHEMA.md");
    let results = tempfile::tempdir().unwrap();
    let path = create(results.path()).folder().db_path();
    let database = rusqlite::Connection::open(path).unwrap();
    let mut statement = database
        .prepare("SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type IN ('table', 'view') \
             AND s.name NOT GLOB 'flat_*'")
        .unwrap();
    let columns: Vec<(String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(|row| row.unwrap())
        .collect();
    assert!(columns.len() > 100);
    for (table, column) in columns {
        let (_, after) =
            document.split_once(&format!("**`{table}`**")).unwrap_or_else(|| panic!("no table {table}"));
        let section = &after[..after.find("\n**`").unwrap_or(after.len())];
        assert!(section.contains(&format!("`{column}`")), "no column {table}.{column}");
    }
}

/// Meaningful only as an ordinary user: permissions do not apply to root.
#[test]
fn a_run_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    writer.finish_action(&record(1, 1), Some(&window())).unwrap();
    let path = writer.folder().path().to_owned();
    drop(writer);
    let set_mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o555);
    let run = RunFolder::open(&path);
    set_mode(0o755);
    let run = run.unwrap();
    assert_eq!(run.windows.len(), 1);
    assert_eq!(run.counters(1).unwrap().len(), 2);
}

#[test]
fn forgotten_actions_start_again_and_interrupted_ones_are_listed() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = create(results.path());
    for seq in [3, 7, 8] {
        let attempt = writer.begin_action(seq).unwrap();
        writer.finish_action(&record(seq, attempt), Some(&window())).unwrap();
    }
    // 7 has a result and was begun again, 9 has none.
    writer.begin_action(7).unwrap();
    writer.begin_action(9).unwrap();
    assert_eq!(writer.cut_off_actions().unwrap(), BTreeSet::from([7, 9]));
    writer.forget_actions(&BTreeSet::from([7, 8, 9]), &BTreeSet::new()).unwrap();
    assert_eq!(writer.cut_off_actions().unwrap(), BTreeSet::new());
    assert_eq!(writer.done_actions().unwrap(), BTreeSet::from([3]));
    let run = RunFolder::open(writer.folder().path()).unwrap();
    assert_eq!((run.windows.len(), run.actions.len()), (1, 1));
    assert_eq!(writer.begin_action(7).unwrap(), 1, "its attempts are forgotten too");
}
