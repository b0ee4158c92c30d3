//! Runs of db_bench on RocksDB: all steps on the oldest and the newest release, an engine process that is killed, a
//! damaged database, a disk that is full, and what cannot be run.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_store::{Note, Recorded, Run, Window};
use rustix::process::Signal;

use crate::bench::{Bench, Running, send, wait_for};
use crate::disk::{SmallDisk, expect_full};

/// A tree of several levels already with 20,000 keys. The last option is unknown to the oldest release.
const CONFIG: &str = "[DBOptions]
max_background_jobs=2

[CFOptions \"default\"]
write_buffer_size=524288
target_file_size_base=524288
max_bytes_for_level_base=2097152
level0_file_num_compaction_trigger=4
compression=kNoCompression

[TableOptions/BlockBasedTable \"default\"]
filter_policy=bloomfilter:10:false
block_cache={capacity=33554432}
max_auto_readahead_size=131072
";

const KEYS: u64 = 20_000;

/// Writes a plan with an arm for each build; the first is base.
fn plan(bench: &Bench, workload: &str, options: &str, builds: &[&str]) -> PathBuf {
    fs::write(bench.path().join("small.ini"), CONFIG).unwrap();
    let mut text = format!(
        "name = \"t\"\nbase = \"a\"\nseed = 7\n[workload]\nbenchmark = \"db-bench\"\n{workload}\n[db_bench]\nkeys = {KEYS}\n\
         seconds = 1\n{options}\n"
    );
    for (name, build) in ('a'..).zip(builds) {
        text.push_str(&format!(
            "[[arm]]\nname = \"{name}\"\nbuild = \"{build}\"\nconfig = \"./small.ini\"\n"
        ));
    }
    bench.plan_text(&text)
}

fn window<'a>(run: &'a Run, arm: &str, step: &str) -> &'a Recorded<Window> {
    let of = |window: &&Recorded<Window>| window.action.arm == arm && window.action.step == step;
    run.windows.iter().find(of).unwrap_or_else(|| panic!("no window of {step} on {arm}"))
}

/// All kinds of steps.
const ALL_STEPS: [&str; 9] = [
    "fillseq",
    "settle",
    "overwritesome",
    "settle",
    "revrangeww",
    "fwdrange",
    "readww",
    "multireadrandom",
    "overwrite",
];

/// Asserts that a window is valid, and that all its operations have a latency.
fn expect_result(run: &Run, recorded: &Recorded<Window>) {
    let (step, result) = (&recorded.action.step, &recorded.result);
    assert!(recorded.valid() && result.events > Some(0), "{step}: {:?}", recorded.action);
    let latencies = run.histograms(recorded.action.seq).unwrap();
    assert_eq!(latencies.first().map(|latency| latency.count), result.events, "{step}");
}

#[test]
fn all_steps_run_on_the_oldest_and_the_newest_release() {
    let bench = Bench::new();
    let workload = format!("clients = 2\nwrite_work = \"as-base\"\nsteps = {ALL_STEPS:?}");
    let plan = plan(&bench, &workload, "", &["rocksdb-5.18.4", "rocksdb-10.10.1"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    assert_eq!(run.windows.len(), 14);
    for recorded in &run.windows {
        let (step, result) = (&recorded.action.step, &recorded.result);
        let metric = |name: &str| recorded.metric(name).unwrap_or_else(|| panic!("{step} has no {name}"));
        expect_result(&run, recorded);
        assert!(metric("lsm_bytes_after") > 5e6 && metric("engine_bytes") > 0.0);
        assert!(metric("server_cpu_us") > 0.0 && metric("client_cpu_us") < metric("server_cpu_us"), "{step}");
        let entries = result.rows.unwrap() as f64 / result.operations;
        let expected = match step.as_str() {
            "revrangeww" | "fwdrange" => 9.9..=10.0,
            "multireadrandom" => 10.0..=10.0,
            _ => 1.0..=1.0,
        };
        assert!(expected.contains(&entries), "{step}: {entries} entries an operation");
        let is_still = recorded.metric("compaction_written_bytes") == Some(0.0);
        if is_still && ["fwdrange", "multireadrandom"].contains(&step.as_str()) {
            // Nobody writes: what the step before left in a memtable, opening the database has flushed.
            assert_eq!(metric("lsm_bytes_before"), metric("lsm_bytes_after"), "{step}");
        }
    }
    for arm in ["a", "b"] {
        let fill = window(&run, arm, "fillseq");
        assert_eq!((fill.result.events, fill.result.clients), (Some(KEYS), 1));
        // 420 bytes of key and value, and the engine's own 16.
        let written = fill.metric("ingested_bytes").unwrap() / KEYS as f64;
        assert!((430.0..445.0).contains(&written), "{arm}: {written} bytes a put");
        // None of it is left in a memtable.
        let flushed = fill.metric("flushed_bytes").unwrap() / KEYS as f64;
        assert!((420.0..440.0).contains(&flushed), "{arm}: {flushed} bytes flushed a put");
        assert_eq!(window(&run, arm, "overwritesome").result.events, Some(KEYS / 10));
        // The settle before it has compacted level 0, and the background writer fills it anew.
        let ranges = window(&run, arm, "revrangeww");
        assert_eq!(ranges.metric("lsm_level0_files_before"), Some(0.0), "{arm}");
        assert!(ranges.metric("background_bytes_per_s").unwrap() > 1e5, "{arm}");
    }
    let operations = |arm: &str| window(&run, arm, "overwrite").result.events;
    assert_eq!(operations("a"), operations("b"));
    let left_out: Vec<&str> = run.arms[0].left_out.iter().map(|left| left.option.as_str()).collect();
    assert_eq!(left_out, ["block_based_table_factory.max_auto_readahead_size"]);
    assert!(run.arms[1].left_out.is_empty());
    for arm in &run.arms {
        let cache = arm.settings.iter().find(|one| one.name.ends_with(".block_cache.capacity")).unwrap();
        assert_eq!((cache.value.as_str(), cache.default), ("33554432", false));
    }
    let shown = bench.call(&["show"]).expect(0).stdout;
    assert!(shown.contains("LSM tree: readww") && shown.contains("w-amp"), "{shown}");
    assert!(shown.contains(" keys, a library built by gcc"), "{shown}");
}

/// A directory with Debian's RocksDB as a build: its library and, if asked, its db_bench.
fn debians(bench: &Bench, name: &str, with_program: bool) -> String {
    let dir = bench.path().join(name);
    for place in ["lib", "bin"] {
        fs::create_dir_all(dir.join(place)).unwrap();
    }
    symlink("/usr/lib/x86_64-linux-gnu/librocksdb.so.7.8", dir.join("lib/librocksdb.so")).unwrap();
    if with_program {
        symlink("/usr/bin/db_bench", dir.join("bin/db_bench")).unwrap();
    }
    format!("rocksdb:{}", dir.display())
}

#[test]
fn a_db_bench_that_cannot_run_is_found_before_anything_is_measured() {
    let bench = Bench::new();
    let build = debians(&bench, "whole", true);
    let broken = debians(&bench, "broken", false);
    fs::write(bench.path().join("broken/bin/db_bench"), "#!/bin/sh\nexit 3\n").unwrap();
    fs::set_permissions(bench.path().join("broken/bin/db_bench"), Permissions::from_mode(0o755)).unwrap();
    let both = plan(&bench, "driver = \"db_bench\"\nsteps = [\"fillseq\"]", "", &[&build, &build, &broken]);
    let ended = bench.call(&["run", both.to_str().unwrap()]).expect(3).stderr;
    let place = |words: &str| ended.find(words).unwrap_or_else(|| panic!("{words}: {ended}"));
    assert!(
        place("cannot create a database, it ended with exit status: 3, during") < place("ops/s"),
        "{ended}"
    );
}

#[test]
fn a_build_s_own_db_bench_runs_the_steps_and_its_output_is_their_result() {
    let bench = Bench::new();
    let workload = format!("clients = 2\ndriver = \"db_bench\"\nsteps = {ALL_STEPS:?}");
    let without = plan(&bench, &workload, "", &[&debians(&bench, "bare", false)]);
    let refused = bench.call(&["run", without.to_str().unwrap()]).expect(2).stderr;
    assert!(refused.contains("has no bin/db_bench") && refused.contains("rqps build rocksdb"), "{refused}");

    let build = debians(&bench, "whole", true);
    let plan = plan(&bench, &workload, "", &[&build]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    assert_eq!(run.windows.len(), 7);
    let driver = run.meta.method.iter().find(|setting| setting.name == "driver").unwrap();
    assert_eq!(driver.value, "db_bench of each build");
    for recorded in &run.windows {
        let (step, result) = (&recorded.action.step, &recorded.result);
        let metric = |name: &str| recorded.metric(name).unwrap_or_else(|| panic!("{step} has no {name}"));
        expect_result(&run, recorded);
        // The process is the engine's child, and its work the engine's.
        let cpu_us_per_op = metric("server_cpu_us") / result.operations;
        assert!(cpu_us_per_op > 0.3, "{step}: {cpu_us_per_op}");
        let writes = metric("ingested_bytes");
        match step.as_str() {
            "fillseq" => {
                assert!((430.0..445.0).contains(&(writes / KEYS as f64)), "{writes}");
                // It flushes after it has printed its counters.
                assert_eq!(recorded.metric("flushed_bytes"), None);
            }
            "overwritesome" => assert_eq!(result.events, Some(KEYS / 10)),
            "revrangeww" | "readww" => assert!(metric("background_bytes_per_s") > 1e5),
            _ => {}
        }
        if step != "fillseq" {
            assert!(metric("lsm_bytes_before") > 5e6, "{step}");
        }
    }
    let shown = bench.call(&["report"]).expect(0).stdout;
    assert!(shown.contains("driven by db_bench of each build"), "{shown}");
    let log = fs::read_to_string(run.folder.logs_dir().join("a/data.log")).unwrap();
    assert!(log.contains("--benchmarks=readwhilewriting") && log.contains("micros/op"), "{log}");
}

/// Steps on a database larger than the process's memory, with O_DIRECT and through the page cache.
fn expect_reads_from_disk(driver: &str) {
    let bench = Bench::on_disk();
    let build = debians(&bench, "whole", true);
    let options = "write_buffer_size=4194304\n[TableOptions/BlockBasedTable \"default\"]\nblock_cache={capacity=1048576}\n";
    let buffered = format!("[CFOptions \"default\"]\ncompression=kNoCompression\n{options}");
    let direct = "[DBOptions]\nuse_direct_reads=true\nuse_direct_io_for_flush_and_compaction=true\n";
    fs::write(bench.path().join("iobuf.ini"), &buffered).unwrap();
    fs::write(bench.path().join("iodir.ini"), format!("{direct}{buffered}")).unwrap();
    let mut text = format!(
        "name = \"t\"\nbase = \"iobuf\"\n[workload]\nbenchmark = \"db-bench\"\ndriver = \"{driver}\"\nsteps = [\"fillseq\", \
         \"readrandom\"]\n[db_bench]\nkeys = 250_000\nseconds = 1\nserver_memory = \"64MiB\"\n"
    );
    for arm in ["iobuf", "iodir"] {
        text.push_str(&format!("[[arm]]\nname = \"{arm}\"\nbuild = \"{build}\"\nconfig = \"./{arm}.ini\"\n"));
    }
    let plan = bench.plan_text(&text);
    let ended = bench.call(&["run", plan.to_str().unwrap()]);
    if ended.stderr.contains("cannot limit the server's memory") {
        println!("NOT RUN: a process's memory limit: {}", ended.stderr);
        return;
    }
    ended.expect(0);
    let run = bench.run();
    for arm in ["iobuf", "iodir"] {
        let reads = window(&run, arm, "readrandom");
        expect_result(&run, reads);
        let metric = |name: &str| reads.metric(name).unwrap_or_else(|| panic!("{arm} has no {name}"));
        let direct = if arm == "iodir" { metric("open_tables") } else { 0.0 };
        assert!(metric("open_tables") > 10.0 && metric("open_tables_direct") == direct, "{arm}");
        // Blocks have 4 KiB, and caches a small part of them.
        let read = metric("server_read_bytes") / reads.result.operations;
        assert!(read > 1000.0, "{arm}: {read} bytes read from the disk for an operation");
    }
}

#[test]
fn clients_read_from_the_disk_what_memory_does_not_hold() {
    expect_reads_from_disk("rqps");
}

#[test]
fn db_bench_reads_from_the_disk_what_memory_does_not_hold() {
    expect_reads_from_disk("db_bench");
}

/// The engine process of the arm that is being measured.
fn engine(bench: &Bench) -> Option<u32> {
    let processes = bench.processes();
    let engine = processes.iter().find(|(_, arguments)| arguments.contains("__rocksdb-engine serve"))?;
    Some(engine.0)
}

const STEPS: &str = "steps = [\"fillseq\", \"readrandom\", \"overwrite\"]";

/// Words of the line that says that the database is filled.
const FILLED: [&str; 3] = ["a ", "fillseq", "ops/s"];

/// The db_bench that reads.
fn reading_db_bench(bench: &Bench) -> Option<u32> {
    let processes = bench.processes();
    let reads = processes.iter().find(|(_, arguments)| arguments.contains("--benchmarks=readrandom"))?;
    Some(reads.0)
}

/// A run with a step that reads, which is paused once the database is filled.
fn run_until_filled(bench: &Bench) -> Running {
    let plan = plan(bench, STEPS, "", &["rocksdb-10.10.1"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&FILLED);
    running.signal(Signal::STOP);
    running
}

#[test]
fn a_killed_engine_process_ends_its_arm_and_resume_completes_the_run() {
    let bench = Bench::new();
    let running = run_until_filled(&bench);
    send(wait_for("the engine process", || engine(&bench)), Signal::KILL);
    running.signal(Signal::CONT);
    let ended = running.end().expect(3);
    assert!(ended.stderr.contains("the server died in step readrandom"), "{}", ended.stderr);
    bench.expect_no_process();
    bench.call(&["resume"]).expect(0);
    bench.expect_complete(1);
}

/// The engine process of an arm, if it is held still.
fn resting_engine(bench: &Bench, arm: &str) -> Option<u32> {
    let (serves, data) = ("__rocksdb-engine serve", format!("/{arm}/data"));
    let engines = bench.processes().into_iter();
    let mut of_arm = engines.filter(|(_, line)| line.contains(serves) && line.contains(&data));
    let (pid, _) = of_arm.next()?;
    fs::read_to_string(format!("/proc/{pid}/stat")).ok()?.contains(") T ").then_some(pid)
}

#[test]
fn an_engine_killed_between_its_turns_has_died_and_the_others_go_on() {
    // Of base, whose operations the others repeat, and of another arm.
    for (dies, after, words) in
        [("b", "c ", "given up in pass 1: pass 2"), ("a", "b ", "the server died in step")]
    {
        let bench = Bench::new();
        let workload = "steps = [\"fillseq\", \"overwrite\"]\nwrite_work = \"as-base\"";
        let plan = plan(&bench, workload, "", &["rocksdb-10.10.1"; 3]);
        let text = fs::read_to_string(&plan).unwrap();
        fs::write(&plan, format!("passes = 2\n{text}")).unwrap();
        let mut running = bench.start(&["run", plan.to_str().unwrap()]);
        running.expect_line(&[after, "fillseq", "ops/s"]);
        running.signal(Signal::STOP);
        send(wait_for("an engine that rests", || resting_engine(&bench, dies)), Signal::KILL);
        running.signal(Signal::CONT);
        let ended = running.end().expect(3);
        bench.expect_no_process();
        let died = format!("arm {dies}: the server died in step");
        assert!(ended.stderr.contains(&died) && ended.stderr.contains(words), "{}", ended.stderr);
        assert!(ended.stderr.contains("its main process ended (signal: 9"), "{}", ended.stderr);
        let run = bench.run();
        let windows = |arm: &str| run.windows.iter().filter(|window| window.action.arm == arm).count();
        if dies == "b" {
            assert_eq!((windows("a"), windows("c")), (4, 4));
            assert!(windows("b") < 4);
            bench.call(&["resume"]).expect(0);
            assert_eq!(bench.run().windows.len(), 12);
        }
    }
}

#[test]
fn db_bench_ends_with_the_engine_process_that_started_it() {
    let bench = Bench::new();
    let workload = format!("driver = \"db_bench\"\n{STEPS}\n[test.readrandom]\nseconds = 60");
    let plan = plan(&bench, &workload, "", &[&debians(&bench, "whole", true)]);
    let running = bench.start(&["run", plan.to_str().unwrap()]);
    wait_for("db_bench", || reading_db_bench(&bench));
    send(wait_for("the engine process", || engine(&bench)), Signal::KILL);
    let ended = running.end().expect(3);
    assert!(ended.stderr.contains("the server died in step readrandom"), "{}", ended.stderr);
    bench.expect_no_process();
}

#[test]
fn profiles_are_taken_in_a_sequence_of_all_steps() {
    let bench = Bench::new();
    let workload = "steps = [\"fillseq\", \"settle\", \"readrandom\"]";
    let profile = "[profile]\nafter = \"all\"";
    let plan = plan(&bench, workload, profile, &["rocksdb-10.10.1"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    let found: Vec<_> = run.profiles.iter().map(|profile| profile.result.test.as_str()).collect();
    assert_eq!(found, ["fillseq", "readrandom"]);
    let reads = run.folded(&run.profiles[1].result).unwrap();
    assert!(reads.contains("rocksdb::DBImpl::Get"), "{reads}");
    // It read from a filled database.
    assert!(
        reads.contains("rocksdb::BlockBasedTable") && run.profiles[1].result.operations > 100.0,
        "{reads}"
    );
    bench.expect_no_process();
    let timed = bench.call(&["profile", "last", "--test", "readrandom", "--seconds", "6"]).expect(2);
    assert!(timed.stderr.contains("--seconds does not apply here"), "{}", timed.stderr);
}

#[test]
fn a_damaged_database_is_reported_and_loaded_anew_by_the_next_resume() {
    let bench = Bench::new();
    run_until_filled(&bench).kill();
    bench.expect_no_process();
    let runs = fs::read_dir(bench.work()).unwrap().flatten();
    let current = runs.map(|run| run.path().join("a/data/db/CURRENT")).find(|path| path.is_file());
    fs::write(current.unwrap(), "MANIFEST-none\n").unwrap();
    let ended = bench.call(&["resume"]).expect(3);
    assert!(ended.stderr.contains("the database is damaged"), "{}", ended.stderr);
    assert!(ended.stderr.contains("did not start (exit status: 1): Corruption: "), "{}", ended.stderr);
    assert_eq!(bench.run().windows.len(), 0);
    bench.call(&["resume"]).expect(0);
    bench.expect_complete(1);
}

#[test]
fn a_killed_db_bench_ends_its_arm_and_resume_completes_the_run() {
    let bench = Bench::new();
    let workload = format!("driver = \"db_bench\"\n{STEPS}");
    let plan = plan(&bench, &workload, "", &[&debians(&bench, "whole", true)]);
    let running = bench.start(&["run", plan.to_str().unwrap()]);
    send(wait_for("db_bench", || reading_db_bench(&bench)), Signal::KILL);
    let ended = running.end().expect(3);
    assert!(ended.stderr.contains("db_bench ended with signal: 9 (SIGKILL)"), "{}", ended.stderr);
    bench.expect_no_process();
    bench.call(&["resume"]).expect(0);
    bench.expect_complete(1);
}

#[test]
fn a_full_disk_loses_nothing_but_the_step_in_hand() {
    let words = "No space left on device";
    expect_to_survive_a_full_disk(STEPS, |_| "rocksdb-10.10.1".to_owned(), words);
}

#[test]
fn a_full_disk_loses_nothing_but_db_bench_s_step_in_hand() {
    let workload = format!("driver = \"db_bench\"\n{STEPS}");
    // Debian's library has assertions, which end the process without a word about the disk.
    expect_to_survive_a_full_disk(&workload, |bench| debians(bench, "whole", true), "readrandom");
}

fn expect_to_survive_a_full_disk(workload: &str, build: impl Fn(&Bench) -> String, words: &str) {
    if !rustix::process::geteuid().is_root() {
        println!("NOT RUN: a full disk: a small one requires root");
        return;
    }
    let bench = Bench::new();
    let plan = plan(&bench, workload, "", &[&build(&bench)]);
    let disk = SmallDisk::mount(&bench, 60);
    let mut running = Running::of(disk.lend(&bench.rqps(&["run", plan.to_str().unwrap()])));
    running.expect_line(&FILLED);
    expect_full(&bench, disk.stays_full(running), words);
    fs::remove_file(disk.filler()).unwrap();
    Running::of(disk.lend(&bench.rqps(&["resume"]))).end().expect(0);
    let is_full = |note: &Note| note.text.contains("failed: ") && note.text.contains("no space left for");
    assert!(bench.run().notes.iter().any(is_full), "{:?}", bench.run().notes);
    drop(disk);
    bench.expect_complete(1);
}

#[test]
fn a_library_that_cannot_be_used_is_refused_with_the_reason() {
    let bench = Bench::new();
    let compile = |name: &str, text: &str, needs: &[&str]| {
        let (source, library) = (bench.path().join("source.c"), bench.path().join(name));
        fs::write(&source, text).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"]).args([&library, &source]).args(needs);
        assert!(compiler.current_dir(bench.path()).status().unwrap().success());
        library
    };
    let needed = compile("libneeded.so", "", &[]);
    let opens = "void *rocksdb_open(void) { return 0; }";
    let lacks = compile("lacks.so", opens, &[]);
    let loads = compile("loads.so", opens, &["-L.", "-lneeded"]);
    fs::remove_file(needed).unwrap();
    let run = |library: &Path| {
        let plan = plan(&bench, STEPS, "", &[&format!("rocksdb:{}", library.display())]);
        bench.call(&["run", plan.to_str().unwrap()]).expect(2).stderr
    };
    let text = run(&lacks);
    assert!(text.contains("lacks functions of RocksDB's C API (rocksdb_free, "), "{text}");
    let text = run(&loads);
    assert!(
        text.contains("libneeded.so: cannot open shared object file") && text.contains("install"),
        "{text}"
    );
}

/// A new database lists neither of the two options: one because it is empty, the other as an object that is missing.
/// The third is of old releases, which the new one reads and ignores.
#[test]
fn options_that_a_new_database_does_not_list_reach_the_engine() {
    let bench = Bench::new();
    let plan = plan(&bench, "steps = [\"fillseq\"]", "", &["rocksdb-10.10.1"]);
    let levels = "kNoCompression:kNoCompression:kLZ4Compression";
    let options = format!(
        "[DBOptions]\nrate_limiter_bytes_per_sec=3000000\n[CFOptions \"default\"]\n\
                           compression_per_level={levels}\n"
    );
    let own = CONFIG.replace("max_auto_readahead_size=131072\n", "");
    fs::write(bench.path().join("small.ini"), format!("{own}{options}")).unwrap();
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    assert_eq!(run.arms[0].left_out, []);
    let set = run.arms[0].settings.iter().find(|one| one.name == "compression_per_level").unwrap();
    assert_eq!((set.value.as_str(), set.default), (levels, false));
    // 8.4 MB are flushed, and written again by compactions.
    assert!(window(&run, "a", "fillseq").result.elapsed_us > 1_500_000, "{:?}", run.windows[0].result);

    let ignored = format!("{own}[DBOptions]\nskip_log_error_on_recovery=true\n");
    fs::write(bench.path().join("small.ini"), &ignored).unwrap();
    let text = bench.call(&["run", plan.to_str().unwrap()]).expect(2).stderr;
    assert!(text.contains("no version measured here knows `skip_log_error_on_recovery`"), "{text}");

    // A shipped config has the option, in its section.
    let in_wrong_section = "!include mini\n[CFOptions \"default\"]\nfilter_policy=nullptr\n";
    fs::write(bench.path().join("small.ini"), in_wrong_section).unwrap();
    let text = bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(2).stderr;
    assert!(text.contains("no version measured here knows `filter_policy`"), "{text}");

    // A release wrote the option, so it is no mistake.
    fs::write(bench.path().join("small.ini"), format!("[Version]\n  rocksdb_version=5.18.4\n{ignored}"))
        .unwrap();
    let text = bench.call(&["run", plan.to_str().unwrap(), "--label", "old"]).expect(0).stderr;
    assert!(text.contains("does not know `skip_log_error_on_recovery` (arm"), "{text}");
}

#[test]
fn an_option_that_an_engine_refuses_or_adjusts_is_named_and_its_arm_left_out_of_tables() {
    let bench = Bench::new();
    let plan =
        plan(&bench, "steps = [\"fillseq\"]", "", &["rocksdb-10.10.1", "rocksdb-5.18.4", "rocksdb-10.10.1"]);
    let refused = CONFIG.replace("bloomfilter:10:false", "blom:abc\nformat_version=new");
    let refused = refused.replace("max_auto_readahead_size=131072\n", "");
    let adjusted = CONFIG.replace("write_buffer_size=524288", "write_buffer_size=1000");
    let mut text = fs::read_to_string(&plan).unwrap();
    for (name, config) in [("a", CONFIG), ("b", &*refused), ("c", &*adjusted)] {
        fs::write(bench.path().join(format!("{name}.ini")), config).unwrap();
        text = text.replacen("./small.ini", &format!("./{name}.ini"), 1);
    }
    fs::write(&plan, text).unwrap();
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(3);
    let named = "Can't parse option block_based_table_factory; the config has filter_policy=blom:abc";
    assert!(ended.stderr.contains(named), "{}", ended.stderr);
    let as_well = "; and Invalid argument: Can't parse option block_based_table_factory; the config has format_version=new";
    assert!(ended.stderr.contains(as_well), "all in one go: {}", ended.stderr);
    let adjusted = "adjusted by the engine: write_buffer_size from 1000 to 65536";
    assert!(ended.stderr.contains(&format!("arm c: {adjusted}")), "{}", ended.stderr);
    let shown = bench.call(&["show"]).expect(0).stdout;
    assert!(shown.contains("Without results so far: rocksdb-5.18.4.b (b) (the database on"), "{shown}");
    assert!(!shown.contains("col-3") && !shown.contains("options left out on rocksdb-10"), "{shown}");
    assert!(shown.contains("write_buffer_size from 1000 to 65536"), "{shown}");
    let options = bench.call(&["show", "--section", "left-out"]).expect(0).stdout;
    assert!(options.contains("Options adjusted by the engine process"), "{options}");

    // This release takes no filter instead of one that it does not know.
    fs::write(bench.path().join("b.ini"), refused.replace("\nformat_version=new", "")).unwrap();
    let text = fs::read_to_string(&plan).unwrap().replace("rocksdb-5.18.4", "rocksdb-10.10.1");
    fs::write(&plan, text).unwrap();
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(3);
    let line = ended.stderr.lines().find(|line| line.contains("given up for now")).unwrap_or_default();
    assert!(line.contains("filter_policy") && line.contains("correct the value"), "{}", ended.stderr);

    // A resume would have the same config.
    let alone = bench.plan_text(
        "name = \"t\"\n[workload]\nbenchmark = \"db-bench\"\nsteps = [\"fillseq\"]\n[[arm]]\nname = \"b\"\n\
         build = \"rocksdb-5.18.4\"\nconfig = \"./b.ini\"\n",
    );
    let ended = bench.call(&["run", alone.to_str().unwrap()]).expect(3).stderr;
    assert!(ended.contains("start a new run") && !ended.contains("rqps resume"), "{ended}");
}

#[test]
fn what_cannot_be_run_is_refused_with_its_remedy() {
    let bench = Bench::new();
    let check = |workload: &str, builds: &[&str]| {
        let plan = plan(&bench, workload, "", builds);
        bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(2).stderr
    };
    let text = check("", &["postgres-18.1"]);
    assert!(text.contains("[workload] benchmark: \"db-bench\" does not run on postgres"), "{text}");
    let text = check("steps = [\"readrandom\"]", &["rocksdb-10.10.1"]);
    assert!(text.contains("readrandom comes before fillseq"), "{text}");
    let text = check("", &["rocksdb:/bin/true"]);
    assert!(text.contains("lacks the C API"), "{text}");
    let text = check("", &["rocksdb-99"]);
    assert!(text.contains("no known published build of rocksdb 99"), "{text}");
    let text = check("driver = \"db_bench\"", &["rocksdb-10.10.1"]);
    assert!(text.contains("rocksdb-10.10.1 has no bin/db_bench"), "{text}");
    let text = bench.call(&["serve", "rocksdb-10.10.1", "--", "true"]).expect(2).stderr;
    assert!(text.contains("rocksdb has no server: only `rqps run` measures it"), "{text}");
}
