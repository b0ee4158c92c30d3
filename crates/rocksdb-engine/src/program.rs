//! A window that db_bench runs instead of client threads: its command line, and what it prints.
//!
//! db_bench is a child of the engine process, which has closed the database, so its work is charged, limited and ended
//! like the engine's own. It reads the options that the database was last opened with.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::counters::{self, TICKERS};
use crate::describe::{block_cache, filter_bits, newest_options, option_in, other_options, version_in};
use crate::error::{Error, Result};
use crate::latencies;
use crate::protocol::{
    Background, Counter, End, KEYS_PER_MULTI_GET, Phase, RunResult, RunSpec, Work, shares,
};
use crate::window::Lead;

/// How often progress is reported and a cancellation looked for.
const TICK: Duration = Duration::from_millis(200);

/// What an error repeats of db_bench's last words.
const LAST_WORDS: usize = 400;

/// What kills a db_bench that nobody kills.
const KILLED: &str = "; if nobody killed it, memory ran out, the host's or that of a server_memory in the plan: raise that, or use \
     smaller caches";

/// Option, and flag of the same name: the most that flushes and compactions write, bytes per second.
const RATE_LIMIT: &str = "rate_limiter_bytes_per_sec";

const BYTES_PER_MB: f64 = 1_048_576.0;

/// What db_bench works on.
pub(crate) struct Files<'a> {
    /// The database.
    pub database: &'a Path,
    /// For its options and report.
    pub directory: &'a Path,
    /// The options file that it reads.
    pub options: &'a str,
    /// The options of the config, as an options string.
    pub configured: &'a str,
}

impl Files<'_> {
    fn options_path(&self) -> PathBuf {
        self.directory.join("db_bench.ini")
    }

    fn report_path(&self) -> PathBuf {
        self.directory.join("db_bench.csv")
    }
}

/// Refuses a db_bench of another release than the library's. Its release is the one that it writes into a new database:
/// those before 7.0 tell it in no other way.
pub(crate) fn check_version(program: &Path, directory: &Path, options: &str) -> Result<()> {
    let scratch = directory.join("db_bench.check");
    let named = Error::io(format!("run {}", program.display()));
    let output = Command::new(program)
        .args(["--benchmarks=fillseq", "--num=1", &format!("--db={}", scratch.display())])
        .stdin(Stdio::null())
        .output()
        .map_err(named);
    let written = newest_options(&scratch);
    // It may have created nothing.
    let _ = fs::remove_dir_all(&scratch);
    let output = output?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(written) = written.ok().filter(|_| output.status.success()) else {
        return Err(Error::Misuse(format!(
            "{} cannot create a database, it ended with {}",
            program.display(),
            ended(output.status, &last_words(&text(&output.stdout), &text(&output.stderr)))
        )));
    };
    let found = version_in(&written).unwrap_or("of an unknown version");
    let library = version_in(options).unwrap_or_default();
    if found == library {
        return Ok(());
    }
    Err(Error::Misuse(format!(
        "{} is of RocksDB {found}, but the library is RocksDB {library}; put the db_bench of this release there",
        program.display()
    )))
}

/// Runs a window of `program`. Returns its figures, and the engine's counters at its end.
pub(crate) fn run(
    program: &Path,
    files: &Files<'_>,
    spec: &RunSpec,
    lead: &mut dyn Lead,
) -> Result<(RunResult, Vec<Counter>)> {
    let (name, arguments) = arguments(files, spec);
    fs::write(files.options_path(), for_all_releases(files.options))
        .map_err(Error::io(format!("write {}", files.options_path().display())))?;
    let mut command = Command::new(program);
    command.args(&arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec, this makes one system call and nothing else.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    let mut child = command.spawn().map_err(Error::io(format!("run {}", program.display())))?;
    // Not into files: they would miss the end on a full disk.
    let (text, errors) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let outcome = wait(&mut child, &files.report_path(), lead);
    if outcome.is_err() {
        // It has ended, or ends now.
        let _ = child.kill();
        let _ = child.wait();
    }
    let status = outcome?;
    let (text, errors) = (text.join().unwrap_or_default(), errors.join().unwrap_or_default());
    // The log may be on a full disk.
    let _ = writeln!(io::stderr(), "{} {}\n{errors}{text}", program.display(), arguments.join(" "));
    let printed = Printed::parse(&text, name).filter(|_| status.success());
    let Some(printed) = printed else {
        let words = last_words(&text, &errors);
        let hint = if status.signal() == Some(Signal::KILL.as_raw()) { KILLED } else { "" };
        return Err(Error::Engine(format!("db_bench ended with {}{hint}", ended(status, &words))));
    };
    let report = fs::read_to_string(files.report_path()).unwrap_or_default();
    let counters = counters::parse(&text);
    let mut result = printed.result(spec, &counters, &report)?;
    let written = newest_options(files.database)?;
    result.other_options = other_options(files.configured, files.options, &written);
    Ok((result, counters))
}

/// An options file that all releases read: those before 7.0 ignore a memtable's full name.
fn for_all_releases(options: &str) -> String {
    options.replace("  memtable_factory=VectorRepFactory\n", "  memtable=vector\n")
}

/// Reads all that a process writes there.
fn collect(mut pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is what there is.
        let _ = pipe.as_mut().map(|pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until it ends, reporting progress.
fn wait(child: &mut Child, report: &Path, lead: &mut dyn Lead) -> Result<std::process::ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(Error::io("wait for db_bench"))? {
            return Ok(status);
        }
        thread::sleep(TICK);
        let operations = per_second(&fs::read_to_string(report).unwrap_or_default()).iter().sum();
        let elapsed_s = start.elapsed().as_secs_f64();
        lead.say(&crate::protocol::Event::Progress { phase: Phase::Window, elapsed_s, operations })?;
        if lead.is_cancelled() {
            return Err(Error::Cancelled);
        }
    }
}

/// Lines of its error output that are no errors: progress, and what it prints at its start.
const NO_ERRORS: [&str; 6] =
    ["... finished", "RocksDB:", "Date:", "CPU:", "CPUCache:", "Initializing RocksDB"];

/// The end of what it printed: the errors in its error output, or else its output.
fn last_words(out: &str, errors: &str) -> String {
    let useful = |text: &str| {
        let lines = text.lines().flat_map(|line| line.split('\r'));
        let is_error =
            |line: &str| !line.is_empty() && !NO_ERRORS.iter().any(|start| line.starts_with(start));
        let lines = lines.map(str::trim).filter(|line| is_error(line));
        lines.collect::<Vec<_>>().join("; ")
    };
    let (out, errors) = (useful(out), useful(errors));
    let words = if errors.is_empty() { out } else { errors };
    let skipped = words.chars().count().saturating_sub(LAST_WORDS);
    words.chars().skip(skipped).collect()
}

/// How it ended, with its last words if it had any.
fn ended(status: ExitStatus, words: &str) -> String {
    if words.is_empty() { status.to_string() } else { format!("{status}: {words}") }
}

/// The name of the benchmark, and the command line.
fn arguments(files: &Files<'_>, spec: &RunSpec) -> (&'static str, Vec<String>) {
    let is_beside_writer = spec.background_bytes_per_s.is_some();
    let name = match (spec.work, is_beside_writer) {
        (Work::FillSequential, _) => "fillseq",
        (Work::Overwrite, _) => "overwrite",
        (Work::Get, false) => "readrandom",
        (Work::Get, true) => "readwhilewriting",
        (Work::MultiGet, _) => "multireadrandom",
        (Work::Scan { .. }, false) => "seekrandom",
        (Work::Scan { .. }, true) => "seekrandomwhilewriting",
    };
    let mut all = vec![
        format!("--benchmarks={name},stats"),
        format!("--db={}", files.database.display()),
        format!("--options_file={}", files.options_path().display()),
        format!("--use_existing_db={}", u8::from(spec.work != Work::FillSequential)),
        format!("--num={}", spec.keys),
        format!("--key_size={}", spec.key_bytes),
        format!("--value_size={}", spec.value_bytes),
        format!("--compression_ratio={}", spec.compression_ratio),
        format!("--threads={}", spec.clients),
        // 0 is the clock's.
        format!("--seed={}", (spec.seed >> 1).max(1)),
        format!("--statistics={}", u8::from(spec.open.statistics)),
        format!("--disable_wal={}", u8::from(spec.open.fills)),
        "--histogram=1".to_owned(),
        "--report_interval_seconds=1".to_owned(),
        format!("--report_file={}", files.report_path().display()),
    ];
    // It replaces the block cache of an options file by its own.
    let cache = block_cache(files.configured);
    let flags = [
        ("capacity", "cache_size"),
        ("num_shard_bits", "cache_numshardbits"),
        ("high_pri_pool_ratio", "cache_high_pri_pool_ratio"),
    ];
    for (option, flag) in flags {
        if let Some(value) = cache.iter().find(|(name, _)| *name == option).map(|(_, value)| value) {
            all.push(format!("--{flag}={value}"));
        }
    }
    // Options files do not have it.
    let limit = option_in(files.configured, RATE_LIMIT);
    all.extend(limit.map(|limit| format!("--{RATE_LIMIT}={limit}")));
    // Releases before 7.0 also replace its filter, by none.
    all.extend(filter_bits(files.configured).map(|bits| format!("--bloom_bits={bits}")));
    match spec.work {
        Work::Scan { entries, reverse } => {
            all.extend([format!("--seek_nexts={entries}"), format!("--reverse_iterator={reverse}")]);
        }
        Work::MultiGet => all.push(format!("--batch_size={KEYS_PER_MULTI_GET}")),
        _ => {}
    }
    if let Some(rate) = spec.background_bytes_per_s {
        all.push(format!("--benchmark_write_rate_limit={rate:.0}"));
    }
    match &spec.window {
        _ if spec.work == Work::FillSequential => {}
        End::Seconds(seconds) => all.push(format!("--duration={:.0}", seconds.ceil().max(1.0))),
        End::Operations(each) => {
            let flag = if spec.work.writes() { "writes" } else { "reads" };
            all.push(format!("--{flag}={}", each.iter().max().copied().unwrap_or(1).max(1)));
        }
    }
    (name, all)
}

/// Operations of each second, as in the report file: `secs_elapsed,interval_qps`.
fn per_second(report: &str) -> Vec<u64> {
    let rows = report.lines().filter_map(|line| line.split_once(','));
    rows.filter_map(|(_, operations)| operations.trim().parse().ok()).collect()
}

/// The figures that db_bench prints of a benchmark.
#[derive(Debug, PartialEq)]
struct Printed {
    operations: u64,
    seconds: f64,
    /// It prints none of a benchmark that gets many keys at a time.
    mb_per_s: Option<f64>,
    /// Keys asked for and found, of one thread.
    found: Option<(u64, u64)>,
    latency: Histogram<u64>,
}

impl Printed {
    /// Reads the line of benchmark `name` and the histogram after it. Releases before 7.0 print neither seconds nor
    /// operations.
    fn parse(text: &str, name: &str) -> Option<Self> {
        let mut lines = text.lines();
        let line = lines.by_ref().find_map(|line| {
            let (before, rest) = line.split_once(" : ")?;
            (before.trim() == name && rest.contains("micros/op")).then_some(rest)
        })?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = |label: &str| {
            let pair = words.windows(2).find(|pair| pair[1].trim_end_matches(';') == label)?;
            pair[0].parse::<f64>().ok()
        };
        let latency = histogram(lines)?;
        let operations = before("operations").unwrap_or(latency.len() as f64);
        let seconds = before("seconds").or_else(|| Some(operations / before("ops/sec")?))?;
        let found = line.split_once('(').and_then(|(_, rest)| {
            let (found, asked) = rest.strip_suffix(" found)")?.split_once(" of ")?;
            Some((found.parse().ok()?, asked.parse().ok()?))
        });
        Some(Self { operations: operations as u64, seconds, mb_per_s: before("MB/s"), found, latency })
    }

    fn result(&self, spec: &RunSpec, counters: &[Counter], report: &str) -> Result<RunResult> {
        let clients = spec.clients.max(1) as usize;
        // It counts the keys of a batch.
        let each = if spec.work == Work::MultiGet { KEYS_PER_MULTI_GET as u64 } else { 1 };
        let operations = self.operations / each;
        let entries = match spec.work {
            Work::Scan { entries, .. } => operations * u64::from(entries),
            _ => operations * each,
        };
        let entry_bytes = (spec.key_bytes + spec.value_bytes) as u64;
        let printed = self.mb_per_s.map(|mb_per_s| (mb_per_s * BYTES_PER_MB * self.seconds) as u64);
        let written = counters.iter().find(|one| one.group == TICKERS && one.name == "number.keys.written");
        let background = written.filter(|_| spec.background_bytes_per_s.is_some()).map(|written| {
            let operations = written.value as u64;
            Background { operations, bytes: operations * entry_bytes, elapsed_s: self.seconds }
        });
        Ok(RunResult {
            warmup_s: 0.0,
            warmup_operations: vec![0; clients],
            operations: shares(operations, spec.clients),
            elapsed_s: vec![self.seconds; clients],
            bytes: printed.unwrap_or(entries * entry_bytes),
            entries,
            missing: self.found.map_or(0, |(found, asked)| asked.saturating_sub(found)),
            per_second: per_second(report).into_iter().map(|count| count / each).collect(),
            latency: latencies::serialized(&self.latency)?,
            background,
            other_options: Vec::new(),
        })
    }
}

/// The first histogram in these lines, its buckets as their middles: `[ 0, 1 ]  7394  36.970% …`, microseconds.
fn histogram<'t>(lines: impl Iterator<Item = &'t str>) -> Option<Histogram<u64>> {
    let mut found = latencies::empty().ok()?;
    let mut max_us = f64::INFINITY;
    for line in lines {
        if let Some((_, max)) = line.split_once(" Max:") {
            max_us = max.trim().parse().ok()?;
        }
        match line.strip_prefix(['[', '(']).and_then(|rest| rest.split_once([']', ')'])) {
            Some((bounds, rest)) => {
                let (low, high) = bounds.split_once(',')?;
                let (low, high): (f64, f64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
                let count = rest.split_whitespace().next()?.parse().ok()?;
                let middle_ns = (low + high.min(max_us).max(low)) / 2.0 * 1000.0;
                found.record_n((middle_ns as u64).max(1), count).ok()?;
            }
            None if !found.is_empty() => break,
            None => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "\
readrandom   :      14.232 micros/op 114731 ops/sec 0.017 seconds 2000 operations;   46.0 MB/s (998 of 1000 found)

Microseconds per read:
Count: 2000 Average: 14.3125  StdDev: 116.25
Min: 1  Median: 8.5686  Max: 4720
------------------------------------------------------
[       0,       1 ]       10   0.500%   0.500%
(       6,      10 ]     1989  99.450%  99.950% ####################
(    4400,    6600 ]        1   0.050% 100.000%

rocksdb.number.keys.read COUNT : 2000
(   9, 10 ] 5 is of no histogram
";

    fn spec(work: Work) -> RunSpec {
        RunSpec {
            open: crate::protocol::OpenOptions::default(),
            program: None,
            work,
            clients: 3,
            keys: 1000,
            key_bytes: 20,
            value_bytes: 400,
            compression_ratio: 0.5,
            seed: 1,
            warmup: End::Seconds(0.0),
            window: End::Operations(vec![7, 7, 6]),
            background_bytes_per_s: None,
        }
    }

    #[test]
    fn figures_are_those_of_the_printed_line_and_of_the_histogram_below_it() {
        let printed = Printed::parse(NEW, "readrandom").unwrap();
        assert_eq!((printed.operations, printed.seconds, printed.found), (2000, 0.017, Some((998, 1000))));
        assert_eq!(printed.latency.len(), 2000);
        // The last bucket ends at the longest latency.
        assert!(printed.latency.max().abs_diff(4_560_000) < 10_000, "{}", printed.latency.max());
        let result =
            printed.result(&spec(Work::Get), &[], "secs_elapsed,interval_qps\n1,1500\n2,500\n").unwrap();
        assert_eq!((result.operations, result.missing), (vec![667, 667, 666], 2));
        assert_eq!(result.per_second, [1500, 500]);
        assert_eq!(Printed::parse(NEW, "overwrite"), None);
    }

    #[test]
    fn an_old_release_prints_a_rate_only() {
        let old =
            NEW.replace(" ops/sec 0.017 seconds 2000 operations;", " ops/sec;").replace("114731", "1000");
        let printed = Printed::parse(&old, "readrandom").unwrap();
        assert_eq!((printed.operations, printed.seconds, printed.mb_per_s), (2000, 2.0, Some(46.0)));
    }

    #[test]
    fn a_batch_of_keys_is_one_operation() {
        let printed =
            Printed::parse(&NEW.replace("readrandom ", "multireadrandom "), "multireadrandom").unwrap();
        let result = printed.result(&spec(Work::MultiGet), &[], "").unwrap();
        assert_eq!((result.operations.iter().sum::<u64>(), result.entries), (200, 2000));
        // It prints no MB/s.
        let without = NEW.replace("readrandom ", "multireadrandom ").replace("   46.0 MB/s", "");
        let printed = Printed::parse(&without, "multireadrandom").unwrap();
        assert_eq!(printed.result(&spec(Work::MultiGet), &[], "").unwrap().bytes, 2000 * 420);
    }

    #[test]
    fn a_command_line_has_the_cache_of_the_config_and_the_end_of_the_window() {
        let files = Files {
            database: Path::new("/d/db"),
            directory: Path::new("/d"),
            options: "",
            configured: "write_buffer_size=1;block_based_table_factory={block_cache={capacity=64M;num_shard_bits=4}};",
        };
        let (name, all) = arguments(&files, &spec(Work::Overwrite));
        assert_eq!(name, "overwrite");
        for argument in
            ["--cache_size=67108864", "--cache_numshardbits=4", "--writes=7", "--use_existing_db=1"]
        {
            assert!(all.iter().any(|found| found == argument), "{argument}: {all:?}");
        }
    }

    #[test]
    fn last_words_are_errors_without_progress() {
        let errors = "RocksDB:    version 7.8.3\nCPU:        2 * X\n... finished 100 ops        \rput error: IO error: No space left\n";
        assert_eq!(last_words("DB path: [x]", errors), "put error: IO error: No space left");
        assert_eq!(last_words("open error", ""), "open error");
    }
}
