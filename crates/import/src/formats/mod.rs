//! The formats, one file each, and how a file's format is found: by its content, whatever its name.

pub mod arms_table;
pub mod benchbase;
pub mod db_bench;
pub mod fio;
pub mod fio_figures;
pub mod fio_table;
pub mod flamegraph;
pub mod hammerdb;
pub mod ibench;
pub mod iostat;
pub mod joined;
pub mod metrics;
pub mod perf_stat;
pub mod pgbench;
pub mod rate_unit;
pub mod rates_csv;
pub mod rates_table;
pub mod sysbench;
pub mod unread;
pub mod vacuum_log;
pub mod vmstat;
pub mod ycsb;

use std::io::Read;

use rqps_model::words;

use crate::error::Broken;
use crate::model::{Document, number};
use crate::names::version_of;

words! {
    /// A format.
    Format {
        /// Results of `sysbench … run`.
        Sysbench = "sysbench",
        /// Final text of pgbench, progress, or both.
        Pgbench = "pgbench",
        /// `pgbench --log`.
        PgbenchLog = "pgbench-log",
        /// `pgbench --log --aggregate-interval`.
        PgbenchAggregate = "pgbench-aggregate",
        /// Rates with a header `arm,test,repeat,rate[,unit]`.
        RatesCsv = "rates-csv",
        /// A published table of rates: a column an arm, a row a test.
        RatesTable = "rates-table",
        /// A published table of figures per operation.
        MetricsTable = "metrics-table",
        /// Figures of vmstat and iostat per operation of one step.
        StepMetrics = "step-metrics",
        Vmstat = "vmstat",
        Iostat = "iostat",
        /// Rows of db_bench: `report.tsv`, `sum.*.txt`.
        DbBench = "db_bench",
        /// What db_bench prints.
        DbBenchLog = "db_bench-log",
        /// A published table with a header of versions.
        ArmsTable = "arms-table",
        /// Text or JSON of fio.
        Fio = "fio",
        /// A published table of fio.
        FioTable = "fio-table",
        /// Output of HammerDB.
        Hammerdb = "hammerdb",
        /// HammerDB's jobs database.
        HammerdbJobs = "hammerdb-jobs",
        /// Arms and their new orders per minute.
        HammerdbCsv = "hammerdb-csv",
        /// Lines of the Insert Benchmark: steps of an arm, or arms of a step.
        InsertBenchmark = "insert-benchmark",
        /// `summary.json` of benchbase.
        Benchbase = "benchbase",
        /// Output of YCSB or go-ycsb.
        Ycsb = "ycsb",
        PerfStat = "perf-stat",
        /// Counters of perf stat, a line each.
        PerfValues = "perf-values",
        /// The same of several arms.
        JoinedCounters = "joined-counters",
        /// A flamegraph's SVG.
        Flamegraph = "flamegraph",
        /// What an archive did between tests, with the date.
        VacuumLog = "vacuum-log",
    }
}

/// The beginning of a database of SQLite.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Lines that tell a format.
const LINES: usize = 400;

impl Format {
    /// The formats of a file that begins with `head`.
    pub fn of(head: &[u8]) -> Vec<Self> {
        // Its pages have the text of other formats in them.
        if head.starts_with(SQLITE) {
            return vec![Self::HammerdbJobs];
        }
        let text = String::from_utf8_lossy(head);
        let lines: Vec<&str> = text.lines().take(LINES).collect();
        Self::ALL.into_iter().filter(|format| format.recognises(&lines)).collect()
    }

    fn recognises(self, lines: &[&str]) -> bool {
        let first = lines.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or_default();
        let any = |start: &str| lines.iter().any(|line| line.starts_with(start));
        match self {
            Self::Sysbench => lines.iter().any(|line| {
                line.strip_prefix("sysbench ")
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            }),
            Self::Pgbench => {
                any("transaction type: ")
                    || any("progress: ")
                    || first.starts_with("pgbench (")
                    || lines.iter().any(|line| pgbench::error_of(line).is_some())
            }
            Self::PgbenchLog => is_pgbench_log(first),
            Self::PgbenchAggregate => is_aggregate(first),
            Self::RatesCsv => rates_csv::separator(first).is_some(),
            Self::RatesTable => is_rates_table(first),
            Self::MetricsTable => lines.iter().take(5).any(|line| line.starts_with("--- absolute")),
            Self::StepMetrics => first.starts_with("iostat, vmstat normalized"),
            Self::Vmstat => first.starts_with("procs "),
            Self::Iostat => lines
                .iter()
                .take(100)
                .any(|line| line.starts_with("Device") && line.contains("rkB/s") && line.contains("w/s")),
            Self::DbBench => lines.iter().any(|line| line.starts_with("ops_sec\tmb_sec")),
            Self::DbBenchLog => {
                lines.iter().any(|line| line.contains(" micros/op ") && line.contains(" ops/sec"))
            }
            Self::ArmsTable => arms_table::is_header(first),
            Self::Fio => {
                lines.iter().any(|line| line.contains("\"fio version\"") || line.contains(": (g=0): rw="))
            }
            Self::FioTable => fio_table::is_row(first),
            Self::Hammerdb => {
                first.starts_with("HammerDB CLI v")
                    || lines.iter().any(|line| line.contains("TEST RESULT : System achieved"))
            }
            Self::HammerdbJobs => false,
            Self::HammerdbCsv => hammerdb::is_row(first),
            Self::InsertBenchmark => lines.iter().take(3).any(|line| ibench::is_header(line)),
            Self::Benchbase => lines.iter().any(|line| benchbase::is_line(line)),
            Self::Ycsb => any("[OVERALL], ") || lines.iter().any(|line| line.contains(" - Takes(s): ")),
            Self::PerfStat => lines.iter().any(|line| line.contains("Performance counter stats for")),
            Self::PerfValues => joined::is_value(first),
            Self::JoinedCounters => joined::is_joined(first),
            Self::Flamegraph => {
                any("<svg")
                    && lines.iter().any(|line| line.contains("flamegraph") || line.contains("Flame Graph"))
            }
            Self::VacuumLog => {
                ["vac_my starts at ", "pg_vac starts at "].iter().any(|start| first.starts_with(start))
            }
        }
    }

    /// Whether what is read of it are sums over its lines, such as means of a host: other lines can have the same.
    pub fn has_sums_alone(self) -> bool {
        matches!(
            self,
            Self::Vmstat
                | Self::Iostat
                | Self::PgbenchLog
                | Self::PgbenchAggregate
                | Self::PerfStat
                | Self::Flamegraph
                | Self::HammerdbJobs
        )
    }

    /// Reads a file of this format.
    ///
    /// # Errors
    /// With the line that breaks the format.
    pub fn parse(self, input: impl Read) -> Result<Document, Broken> {
        self.parsed(input).and_then(plausible)
    }

    fn parsed(self, input: impl Read) -> Result<Document, Broken> {
        match self {
            Self::Sysbench => sysbench::parse(input),
            Self::Pgbench => pgbench::parse(input),
            Self::PgbenchLog => pgbench::parse_log(input),
            Self::PgbenchAggregate => pgbench::parse_aggregate(input),
            Self::RatesCsv => rates_csv::parse(input),
            Self::RatesTable => rates_table::parse(input),
            Self::DbBench => db_bench::parse(input),
            Self::DbBenchLog => db_bench::parse_log(input),
            Self::Fio => fio::parse(input),
            Self::Hammerdb => hammerdb::parse(input),
            Self::HammerdbJobs => hammerdb::parse_jobs(input),
            Self::HammerdbCsv => hammerdb::parse_csv(input),
            Self::InsertBenchmark => ibench::parse(input),
            Self::Benchbase => benchbase::parse(input),
            Self::Ycsb => ycsb::parse(input),
            Self::PerfStat => perf_stat::parse(input),
            Self::Flamegraph => flamegraph::parse(input),
            Self::PerfValues
            | Self::JoinedCounters
            | Self::ArmsTable
            | Self::MetricsTable
            | Self::FioTable => Err(Broken::derived(
                1,
                "a table that is derived from results: give those, and hold this one against them with --check",
            )),
            Self::StepMetrics => metrics::parse(input),
            Self::Vmstat => vmstat::parse(input),
            Self::Iostat => iostat::parse(input),
            Self::VacuumLog => vacuum_log::parse(input),
        }
    }
}

/// Operations per second; more than any computer does.
const RATE_MAX: f64 = 1e15;

/// The document. Numbers can be read one by one and still be absurd together.
pub fn plausible(document: Document) -> Result<Document, Broken> {
    for measurement in &document.measurements {
        let rate = measurement.work.as_ref().map(|work| work.per_second());
        if rate.is_some_and(|rate| !(0.0..=RATE_MAX).contains(&rate)) {
            return Err(Broken::at(
                measurement.line.max(1),
                "its rate is no number that a program can reach",
            ));
        }
        if rate == Some(0.0) {
            return Err(Broken::at(measurement.line.max(1), "its rate is 0: leave out what did not run"));
        }
    }
    Ok(document)
}

/// Since 1970: about the year 2001.
const EPOCH_MIN: i64 = 1_000_000_000;

fn is_pgbench_log(first: &str) -> bool {
    let words: Vec<&str> = first.split_whitespace().collect();
    let is_whole = |index: usize| words.get(index).is_some_and(|word| word.parse::<i64>().is_ok());
    let is_time = |word: &str| {
        word.parse::<i64>().is_ok() || ["skipped", "failed", "serialization", "deadlock"].contains(&word)
    };
    (6..=8).contains(&words.len())
        && [0, 1, 3, 5].into_iter().all(is_whole)
        && is_time(words[2])
        && words[4].parse::<i64>().is_ok_and(|epoch| epoch >= EPOCH_MIN)
        && words[0].parse::<i64>().is_ok_and(|client| client < EPOCH_MIN)
}

fn is_aggregate(first: &str) -> bool {
    let words: Vec<&str> = first.split_whitespace().collect();
    (6..=16).contains(&words.len())
        && words.iter().all(|word| number(word).is_some())
        && words[0].parse::<i64>().is_ok_and(|epoch| epoch >= EPOCH_MIN)
}

/// `col-1 : DIR`, `Relative to: DIR`, or a row of a CSV: a test's name, and rates.
fn is_rates_table(first: &str) -> bool {
    if first.starts_with("col-1 : ") || first.starts_with("Relative to: ") {
        return true;
    }
    if rates_csv::separator(first).is_none() && rates_table::header(first).is_some() {
        return true;
    }
    let mut cells = first.split(',');
    let name = cells.next().unwrap_or_default().trim();
    let is_name = !name.is_empty()
        && number(name).is_none()
        && version_of(name.split('_').next().unwrap_or(name)).is_none();
    let rates: Vec<&str> = cells.collect();
    is_name && !name.contains(' ') && !rates.is_empty() && rates.iter().all(|cell| number(cell).is_some())
}
