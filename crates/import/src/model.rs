//! What files hold, before it is a run: measurements with the figures that came with them, as far as the file tells.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rqps_model::{EndedBy, QueryPlan, Series, Unit, sample, words};
use rqps_store::Histogram;

use crate::mix::Mix;

pub static QUERIES: Unit = Unit::new("queries", "a query", "query", "queries");
pub static TRANSACTIONS: Unit = Unit::new("transactions", "a transaction", "transaction", "transactions");
pub static OPERATIONS: Unit = Unit::new("operations", "an operation", "operation", "operations");
pub static WRITES: Unit = Unit::new("writes", "a write", "write", "writes");
pub static REQUESTS: Unit = Unit::new("requests", "a request", "request", "requests");
pub static EVENTS: Unit = Unit::new("events", "an event", "event", "events");
pub static THOUSAND_ROWS: Unit = Unit::new("krows", "a thousand rows", "1000 rows", "thousand rows");
pub static ROWS: Unit = Unit::new("rows", "a row", "row", "rows");

words! {
    /// What a published figure is known to get wrong. Files have those that apply to them.
    Quirk {
        /// Repeated headers of vmstat counted as samples of 0, and the row since boot counted.
        Samples = "vmstat-samples",
        /// MiB taken as 10^6 bytes and then divided by 2^20.
        Mebibytes = "mebibytes",
        /// A number padded with a space (`avg= 9.22`) read as 0.
        Padded = "padded-number",
        /// Latency summed over jobs instead of averaged, in the last test of a file.
        SumOfJobs = "sum-of-jobs",
        /// Rates from three digits (`43.4k`).
        ThreeDigits = "three-digits",
        /// The rate of `scan` is that of one client, by its mean latency.
        ScanOfOneClient = "scan-of-one-client",
        /// Ratios of rounded figures.
        RoundedRatios = "rounded-ratios",
        /// A mean over matching devices instead of their sum.
        MeanOfDevices = "mean-of-devices",
        /// Columns of compaction shifted by one, from RocksDB 10.3 on.
        ShiftedColumns = "shifted-columns",
        /// Throughput that is below goodput.
        BelowGoodput = "below-goodput",
        /// -1 for a counter that the host does not have.
        MinusOne = "minus-one",
    }
}

/// Share of failed operations that is worth a doubt.
pub const FAILED_MIN: f64 = 0.01;

/// A file, understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// The program that wrote it, with its version.
    pub tool: Option<String>,
    /// Milliseconds since 1970 (UTC), if the file tells.
    pub measured_at_ms: Option<i64>,
    pub quirks: Vec<Quirk>,
    /// Whether each test finds the data that the one before it left, so that their order matters.
    pub is_consecutive: bool,
    /// Whether it puts results of several arms together, which have files of their own.
    pub is_table: bool,
    pub measurements: Vec<Measurement>,
}

/// Figures of one test on one arm, once. What the file does not say is `None`; the path may tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurement {
    /// Name of the arm.
    pub arm: Option<String>,
    pub dbms: Option<String>,
    /// Version of the server.
    pub version: Option<String>,
    /// Name of the test as the file has it.
    pub test: Option<String>,
    /// Number of the repeat, from 1.
    pub repeat: Option<u32>,
    pub clients: Option<u32>,
    /// What sysbench's command line says.
    pub range: Option<u32>,
    /// Of sysbench's command line, or the path of pgbench's own script.
    pub script: Option<String>,
    /// Statements of an event, of a test that the file does not name.
    pub mix: Option<Mix>,
    /// How the file's name contradicts its content.
    pub misnamed: Option<String>,
    /// `None`: figures that belong to another file's window.
    pub work: Option<Work>,
    pub values: Vec<Value>,
    /// Totals of rqps' own metrics.
    pub metrics: BTreeMap<String, f64>,
    pub series: Vec<Series>,
    pub histograms: Vec<Histogram>,
    pub plans: Vec<QueryPlan>,
    /// By SQLSTATE or kind.
    pub retries: BTreeMap<String, u64>,
    /// Folded stacks.
    pub stacks: Option<String>,
    /// The option that set the rate, which tells nothing of the server then.
    pub schedule: Option<&'static str>,
    /// Whether a log has only some of the transactions.
    pub is_sample: bool,
    /// What time figures of the host are of.
    pub sampled: Option<Sampled>,
    /// Line of the rate, from 1.
    pub line: u32,
}

/// The time that means of the host are of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled {
    pub program: &'static str,
    pub samples: u64,
    /// From the first to the last, if they have times; else each is taken to be of one second.
    pub seconds: Option<f64>,
    /// Begin and end in milliseconds since 1970 (UTC), if times and their zone are known.
    pub utc_ms: Option<(i64, i64)>,
}

/// What was done in a measured time.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub unit: Unit,
    /// In that unit, in the whole time, or in a second if that is unknown.
    pub operations: f64,
    /// `None`: only the rate is known.
    pub elapsed_us: Option<u64>,
    pub ended_by: EndedBy,
    pub warmup_us: Option<u64>,
    pub events: Option<u64>,
    pub queries: Option<u64>,
    pub rows: Option<u64>,
    pub errors: Option<u64>,
}

impl Work {
    /// A rate of which nothing else is known.
    pub fn rate(unit: &Unit, per_second: f64) -> Self {
        Self {
            operations: per_second,
            elapsed_us: None,
            ended_by: EndedBy::Rate,
            ..Self::in_time(unit, 0.0, 0)
        }
    }

    /// So many operations in so many microseconds.
    pub fn in_time(unit: &Unit, operations: f64, elapsed_us: u64) -> Self {
        Self {
            unit: unit.clone(),
            operations,
            elapsed_us: Some(elapsed_us),
            ended_by: EndedBy::Time,
            warmup_us: None,
            events: None,
            queries: None,
            rows: None,
            errors: None,
        }
    }

    /// Operations per second.
    pub fn per_second(&self) -> f64 {
        match self.elapsed_us {
            Some(us) if us > 0 => self.operations / (us as f64 / 1e6),
            _ => self.operations,
        }
    }
}

/// A figure that windows have no place for.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    pub name: Cow<'static, str>,
    pub unit: Cow<'static, str>,
    /// What was measured; `None` if that cannot be told.
    pub value: Option<f64>,
    /// As printed, or as it would be published.
    pub published: Option<String>,
    pub line: u32,
}

impl Value {
    pub fn number(
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        printed: &str,
        line: u32,
    ) -> Self {
        let value = printed.parse().ok().filter(|value: &f64| value.is_finite()).or_else(|| number(printed));
        Self { name: name.into(), unit: unit.into(), value, published: Some(printed.to_owned()), line }
    }

    /// A figure that its file does not print.
    pub fn computed(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        value: impl Into<Option<f64>>,
        line: u32,
    ) -> Self {
        Self { name: name.into(), unit: unit.into(), value: value.into(), published: None, line }
    }

    pub fn words(name: impl Into<Cow<'static, str>>, text: impl Into<String>, line: u32) -> Self {
        Self { name: name.into(), unit: "".into(), value: None, published: Some(text.into()), line }
    }
}

/// A figure as printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    pub value: f64,
    /// Half a unit of its last digit.
    pub half: f64,
}

impl Printed {
    pub fn of(text: &str) -> Option<Self> {
        let decimals = text.trim().split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(Self {
            value: number(text)?,
            half: 0.5 * 0.1f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX)),
        })
    }

    /// Whether both are the same figure, but for their rounding and this share.
    pub fn is(self, other: Self, share: f64) -> bool {
        (self.value - other.value).abs() <= (self.half + other.half + self.value * share) * (1.0 + 1e-9)
    }
}

/// A non-negative number as programs print it, with a decimal point or comma; spaces around it are ignored. `None` also
/// if the comma may be one of thousands.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if has_thousands(text) {
        return None;
    }
    let value: f64 = match text.contains(',') && !text.contains('.') {
        true => text.replace(',', ".").parse().ok()?,
        false => text.parse().ok()?,
    };
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// Whether a comma may be one of thousands: `4,533`, but neither `0,533` nor `4533,1`.
fn has_thousands(text: &str) -> bool {
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(',').is_some_and(|(before, after)| {
        (1..=3).contains(&before.len())
            && !before.starts_with('0')
            && after.len() == 3
            && is_digits(before)
            && is_digits(after)
    })
}

/// Why a text is no number, after `what` it is not.
pub fn no_number(text: &str, what: &str) -> String {
    let plain = text.trim().replace(',', "");
    match has_thousands(text.trim()) {
        true => format!(
            "the comma of {text:?} may be one of thousands or of decimals: write it without comma, or with a point"
        ),
        false if text.contains(',') && number(&plain).is_some() => {
            format!("{text:?} is not {what}: write it without commas of thousands, {plain}")
        }
        false => format!("{text:?} is not {what}"),
    }
}

/// The median of the finite values.
pub fn median(values: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sample::median(&finite)
}
