//! Cost per operation: columns, formulas, and the rule for ratios of values that are too small.
//!
//! Every column is a total over the window divided by the window's operations. An operation is a query as
//! sysbench counts them (BEGIN and COMMIT included); for tests that count rows (`scan`) it is a thousand
//! rows, summed over all clients; for a load it is a row. Totals and operations cover the same interval,
//! warm-up excluded. In blocks `cpu_us/o` and `o/s` are those of verdicts instead.
//!
//! | column | formula |
//! | --- | --- |
//! | `cpu/o` | user + system CPU of the whole host in percent of all its CPUs, divided by operations per second. Multiply by the number of CPUs and by 10,000 to get microseconds. Includes client and background work |
//! | `cpu_us/o` | microseconds of CPU of the server's own processes |
//! | `cs/o` | context switches of the whole host |
//! | `r/o`, `w/o` | read and write requests to all whole disks of the host |
//! | `rKB/o`, `wKB/o` | KB read from and written to them |
//! | `dw/o` | the server's writes to its data files and log, if it counts them |
//! | `fsync/o` | the server's fsyncs of data and log, if it counts them |
//! | `fsync/dw` | these fsyncs over these writes |
//! | `o/s` | operations per second |
//! | `instr/o` | user instructions of the server, if the host counts them |
//!
//! A ratio is noise if the base's value is too small: below `per_op_min` per operation, or fewer than
//! `count_min` events (microseconds, for CPU) in the base's window. If both values are too small, the ratio
//! is printed as `~`; if only the base's is, as `>` and the ratio to the smallest value that would count. 0/0
//! is 1.

use rqps_explain::host_cpu_us;
use rqps_model::Metrics;
use rqps_store::{Load, Recorded, Window};

use crate::document::{Cell, Column};
use crate::number;

/// An observation's operations and totals.
pub(crate) struct Cost<'a> {
    operations: f64,
    /// Operations per second.
    rate: f64,
    /// CPU time of the server per operation as a verdict gives it.
    cpu_us: Option<f64>,
    metrics: &'a Metrics,
}

impl<'a> From<&'a Recorded<Window>> for Cost<'a> {
    fn from(window: &'a Recorded<Window>) -> Self {
        Self::of(window.result.operations, window.result.elapsed_us, &window.metrics)
    }
}

impl<'a> From<&'a Recorded<Load>> for Cost<'a> {
    fn from(load: &'a Recorded<Load>) -> Self {
        let elapsed_us = load.result.load_us + load.result.index_us;
        Self::of(load.result.rows as f64, elapsed_us, &load.metrics)
    }
}

/// One per-operation column.
pub(crate) struct PerOp {
    pub name: &'static str,
    pub key: &'static str,
    source: Source,
    print: fn(f64) -> String,
    per_op_min: f64,
    count_min: f64,
    /// Omit the column if no arm has a value: not every DBMS or version counts it.
    optional: bool,
}

/// What a column is computed from.
enum Source {
    /// A metric's total per operation.
    Metric(&'static str),
    /// The server's CPU time per operation.
    ServerCpu,
    /// The host's busy CPU in percent, per operation per second.
    HostCpu,
    /// Operations per second.
    Rate,
    /// The server's fsyncs of data and log, over its writes to both.
    FsyncsPerWrite,
}

/// The server's CPU microseconds per operation.
pub(crate) const SERVER_CPU: PerOp = PerOp {
    print: |value| format!("{value:.1}"),
    ..column("cpu_us/o", "cpu_us_per_op", Source::ServerCpu, 0.0, CPU_US_MIN)
};

/// The columns, in the order of the tables.
static COLUMNS: [PerOp; 12] = [
    CPU,
    SERVER_CPU,
    metric("cs/o", "context_switches_per_op", "host_context_switches", 0.01, EVENTS_MIN),
    metric("r/o", "reads_per_op", "disk_reads", 0.01, EVENTS_MIN),
    metric("rKB/o", "read_kb_per_op", "disk_read_kb", 0.1, KB_MIN),
    metric("w/o", "writes_per_op", "disk_writes", 0.01, EVENTS_MIN),
    metric("wKB/o", "write_kb_per_op", "disk_write_kb", 0.1, KB_MIN),
    PerOp { optional: true, ..metric("dw/o", "data_writes_per_op", "server_data_writes", 0.01, EVENTS_MIN) },
    PerOp {
        // A few in ten thousand operations are usual where commits do not wait for the disk.
        print: |value| if value < 0.01 { number::significant(value, 3) } else { format!("{value:.3}") },
        optional: true,
        ..metric("fsync/o", "fsyncs_per_op", "server_fsyncs", 0.001, EVENTS_MIN)
    },
    PerOp {
        print: |value| format!("{value:.5}"),
        optional: true,
        ..column("fsync/dw", "fsyncs_per_data_write", Source::FsyncsPerWrite, 0.0, EVENTS_MIN)
    },
    PerOp { print: number::rate, ..column("o/s", "ops_per_s", Source::Rate, 0.0, 0.0) },
    PerOp {
        print: |value| format!("{value:.0}"),
        ..metric("instr/o", "server_instructions_per_op", "server_instructions_user", 0.0, 0.0)
    },
];

/// `cpu/o`, also used in headlines.
pub(crate) const CPU: PerOp = PerOp {
    print: |value| format!("{value:.6}"),
    ..column("cpu/o", "cpu_per_op", Source::HostCpu, 0.0, CPU_US_MIN)
};

/// Fewer events in a window are mostly chance (100 events: 10 %).
const EVENTS_MIN: f64 = 100.0;
/// Less I/O in a window is only a handful of requests.
const KB_MIN: f64 = 4000.0;
/// CPU time is counted in ticks of 10 ms: ratios of fewer than ten are imprecise.
const CPU_US_MIN: f64 = 100_000.0;

const fn metric(
    name: &'static str,
    key: &'static str,
    metric: &'static str,
    per_op_min: f64,
    count_min: f64,
) -> PerOp {
    column(name, key, Source::Metric(metric), per_op_min, count_min)
}

const fn column(
    name: &'static str,
    key: &'static str,
    source: Source,
    per_op_min: f64,
    count_min: f64,
) -> PerOp {
    PerOp { name, key, source, print: |value| format!("{value:.3}"), per_op_min, count_min, optional: false }
}

/// The columns of a table of these costs, without optional ones that have no value, and without the rate if nobody
/// judges it.
pub(crate) fn columns(costs: &[Cost<'_>], with_rate: bool) -> Vec<&'static PerOp> {
    let is_shown =
        |column: &&PerOp| !column.optional || costs.iter().any(|cost| column.value(cost).is_some());
    let is_of_rate = |column: &PerOp| matches!(column.source, Source::Rate);
    COLUMNS.iter().filter(is_shown).filter(|column| with_rate || !is_of_rate(column)).collect()
}

impl<'a> Cost<'a> {
    fn of(operations: f64, elapsed_us: u64, metrics: &'a Metrics) -> Self {
        Self { operations, rate: operations / (elapsed_us as f64 / 1e6), cpu_us: None, metrics }
    }

    /// The same with the figures of verdicts, where there are any.
    pub fn with(self, rate: Option<f64>, cpu_us: Option<f64>) -> Self {
        Self { rate: rate.unwrap_or(self.rate), cpu_us, ..self }
    }

    fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}

impl PerOp {
    pub fn column(&self) -> Column {
        Column::number(self.name, self.key)
    }

    /// The value per operation; None if it was not measured or there were no operations.
    pub fn value(&self, cost: &Cost<'_>) -> Option<f64> {
        let value = match self.source {
            Source::ServerCpu => {
                let total_us = cost.metric("server_cpu_us")?;
                cost.cpu_us.unwrap_or(total_us / cost.operations)
            }
            Source::Metric(name) => cost.metric(name)? / cost.operations,
            Source::HostCpu => {
                let busy_us = host_cpu_us(|name| cost.metric(name))?;
                busy_us / (cost.metric("cpus")? * CPU_US_PER_UNIT) / cost.operations
            }
            Source::Rate => cost.rate,
            Source::FsyncsPerWrite => cost.metric("server_fsyncs")? / cost.metric("server_data_writes")?,
        };
        value.is_finite().then_some(value)
    }

    /// The value as a cell.
    pub fn absolute(&self, cost: Option<&Cost<'_>>) -> Cell {
        Cell::printed(cost.and_then(|cost| self.value(cost)), self.print)
    }

    /// The ratio to the base as a cell, by the rule at the top of this file.
    pub fn relative(&self, base: Option<&Cost<'_>>, cost: Option<&Cost<'_>>) -> Cell {
        self.ratio(base, cost).unwrap_or_else(Cell::missing)
    }

    fn ratio(&self, base: Option<&Cost<'_>>, cost: Option<&Cost<'_>>) -> Option<Cell> {
        let (base, cost) = (base?, cost?);
        let (low, high, floor) = (self.value(base)?, self.value(cost)?, self.floor(base));
        if low == 0.0 && high == 0.0 {
            return Some(Cell::number(1.0, "1.00".to_owned()));
        }
        if low > 0.0 && low >= floor {
            return Some(Cell::number(high / low, format!("{:.2}", high / low)));
        }
        if high < floor || floor <= 0.0 {
            return Some(Cell::words("~"));
        }
        Some(Cell::words(format!(">{:.2}", high / floor)))
    }

    /// The smallest base value per operation that a ratio may divide by.
    fn floor(&self, base: &Cost<'_>) -> f64 {
        let count_min = match self.source {
            Source::HostCpu => self.count_min / (base.metric("cpus").unwrap_or(1.0) * CPU_US_PER_UNIT),
            Source::Metric(_) | Source::ServerCpu | Source::Rate | Source::FsyncsPerWrite => self.count_min,
        };
        let of = match self.source {
            Source::FsyncsPerWrite => base.metric("server_data_writes").unwrap_or(base.operations),
            Source::Metric(_) | Source::ServerCpu | Source::Rate | Source::HostCpu => base.operations,
        };
        self.per_op_min.max(count_min / of)
    }
}

/// Microseconds of CPU in one unit of `cpu/o` on one CPU: 1 % of a second.
const CPU_US_PER_UNIT: f64 = 1e4;

/// Footnote that explains `~` and `>`.
pub(crate) const LEGEND: &str = "~ : both values are too small for a ratio, or are of too few \
    operations. >N : the base's value is; N is the ratio to the smallest value that would count";

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(metrics: &Metrics, operations: f64) -> Cost<'_> {
        Cost::of(operations, 1_000_000, metrics)
    }

    fn by_name(name: &str) -> &'static PerOp {
        COLUMNS.iter().find(|column| column.name == name).unwrap()
    }

    #[test]
    fn formulas_reproduce_published_figures() {
        // One second with 25,817 queries on 48 CPUs that were 14.4 % busy.
        let metrics: Metrics = [
            ("cpus", 48.0),
            ("host_user_us", 0.144 * 48.0 * 1e6 - 1e6),
            ("host_system_us", 1e6),
            ("host_context_switches", 176_167.0),
            ("disk_reads", 35_503.0),
            ("disk_read_kb", 373.7 * 1024.0),
            ("disk_write_kb", 1345.1 * 1024.0),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let cost = cost(&metrics, 25_817.0);
        let check = |name: &str, expected: f64, tolerance: f64| {
            let value = by_name(name).value(&cost).unwrap();
            assert!((value - expected).abs() <= tolerance, "{name}: {value} is not {expected}");
        };
        check("r/o", 1.375, 0.0005);
        check("rKB/o", 14.82, 0.005);
        check("wKB/o", 53.35, 0.005);
        check("cs/o", 6.824, 0.0005);
        check("cpu/o", 0.000557, 0.000001);
        check("o/s", 25_817.0, 1e-6);
        // 0.000557 on 48 CPUs is 267 microseconds of host CPU per operation.
        let cpu_us = by_name("cpu/o").value(&cost).unwrap() * 48.0 * 1e4;
        assert!((cpu_us - 267.0).abs() < 1.0, "{cpu_us}");
        assert_eq!(by_name("w/o").value(&cost), None, "not measured is not 0");
    }

    #[test]
    fn ratios_of_tiny_values_are_not_printed() {
        let reads = |count: f64| Metrics::from([("disk_reads".to_owned(), count)]);
        let ratio = |base: f64, other: f64| {
            let (base, other) = (reads(base), reads(other));
            by_name("r/o").relative(Some(&cost(&base, 1e6)), Some(&cost(&other, 1e6))).text
        };
        assert_eq!(ratio(0.0, 0.0), "1.00");
        assert_eq!(ratio(1000.0, 2000.0), "~", "0.001 and 0.002 reads per operation");
        assert_eq!(ratio(1000.0, 500_000.0), ">50.00", "many reads where base had few");
        assert_eq!(ratio(500_000.0, 0.0), "0.00");
        assert_eq!(ratio(500_000.0, 600_000.0), "1.20");
        let few = reads(40.0);
        let text = by_name("r/o").relative(Some(&cost(&few, 50.0)), Some(&cost(&few, 50.0))).text;
        assert_eq!(text, "~", "0.8 per operation, but only 40 reads");
    }
}
