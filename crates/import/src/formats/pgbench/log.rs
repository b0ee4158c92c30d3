//! pgbench's logs: a line a transaction (`--log`), or a line an interval (`--aggregate-interval`).

use std::collections::BTreeMap;
use std::io::Read;

use rqps_model::Series;

use crate::error::Broken;
use crate::formats::Format;
use crate::formats::pgbench::text::SCHEDULE;
use crate::histogram::Buckets;
use crate::lines::Lines;
use crate::model::{Document, Measurement, TRANSACTIONS, Value, Work};

/// Seconds that a series may span.
const SECONDS_MAX: i64 = 10_000_000;

/// Transactions of a client on average from which on none has done nothing.
const DONE_BY_EACH: u64 = 10;
/// A seventh field that is more is no number of retries, but microseconds behind schedule.
const TRIES_MAX: i64 = 1000;
/// The value with the transactions of a whole log.
pub const LOGGED: &str = "logged_transactions";

/// The numbers of a client's transactions: the first, the last, and how many.
struct Numbered {
    first: i64,
    last: i64,
    count: u64,
}

/// The log of one pgbench: a file, or one of each thread.
#[derive(Default)]
pub struct Log {
    latencies: Buckets,
    done: u64,
    /// When the first transaction began and the last one ended.
    span_us: Option<(i64, i64)>,
    clients: BTreeMap<i64, Numbered>,
    failed: BTreeMap<String, u64>,
    seconds: BTreeMap<i64, u64>,
    is_scheduled: bool,
}

impl Log {
    /// `client tx time_us script epoch_s usec [lag_us] [retries]`; instead of a time the reason why there is none.
    pub fn read(&mut self, input: impl Read) -> Result<(), Broken> {
        let mut lines = Lines::new(input);
        while let Some((at, line)) = lines.next_whole()? {
            let words: Vec<&str> = line.split_whitespace().collect();
            let whole = |index: usize| -> Result<i64, Broken> {
                let word = words
                    .get(index)
                    .ok_or_else(|| Broken::at(at, "fewer than 6 fields: the file is cut off"))?;
                word.parse().map_err(|_| Broken::at(at, format!("{word:?} is not a whole number")))
            };
            let ended_us = whole(4)?.saturating_mul(1_000_000).saturating_add(whole(5)?);
            let number = whole(1)?;
            let client = self.clients.entry(whole(0)?);
            let client = client.or_insert(Numbered { first: number, last: number, count: 0 });
            client.first = client.first.min(number);
            client.last = client.last.max(number);
            client.count += 1;
            let last = words.get(6).and_then(|word| word.parse().ok()).unwrap_or(0);
            self.is_scheduled |= words.len() > 7 || last > TRIES_MAX;
            match words.get(2).copied().unwrap_or_default() {
                reason if reason.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                    *self.failed.entry(reason.to_owned()).or_default() += 1;
                }
                _ => {
                    let us = whole(2)?.max(0);
                    let (first, last) = self.span_us.unwrap_or((i64::MAX, i64::MIN));
                    self.span_us = Some((first.min(ended_us.saturating_sub(us)), last.max(ended_us)));
                    self.done += 1;
                    self.latencies.add(us as f64, 1);
                    *self.seconds.entry(ended_us / 1_000_000).or_default() += 1;
                }
            }
        }
        Ok(())
    }

    pub fn document(mut self) -> Result<Document, Broken> {
        self.expect_all_clients()?;
        let span = self.span_us.filter(|(first, last)| last > first);
        let (first_us, last_us) = span.ok_or_else(|| Broken::at(1, "no transactions in it"))?;
        let work = Work::in_time(&TRANSACTIONS, self.done as f64, last_us.abs_diff(first_us));
        let skipped = self.failed.remove("skipped").unwrap_or(0);
        let has_gaps = |one: &Numbered| one.last.abs_diff(one.first) >= one.count;
        let is_sample = self.clients.values().any(has_gaps);
        let mut measured = Measurement {
            dbms: Some("postgres".to_owned()),
            clients: u32::try_from(self.clients.len()).ok(),
            work: Some(Work { events: Some(self.done), errors: Some(self.failed.values().sum()), ..work }),
            series: series(&self.seconds),
            histograms: self.latencies.histogram("event").into_iter().collect(),
            retries: self.failed,
            schedule: self.is_scheduled.then_some(SCHEDULE),
            is_sample,
            line: 1,
            ..Measurement::default()
        };
        measured.values.push(Value::number(LOGGED, "", &self.done.to_string(), 1));
        if skipped > 0 {
            measured.values.push(Value::number("skipped_transactions", "", &skipped.to_string(), 1));
        }
        Ok(document(Some(first_us / 1000), measured))
    }

    /// Clients count from 0, and each thread has some in a row: a gap is the log of another thread, unless clients did
    /// so little that one may have done nothing.
    fn expect_all_clients(&self) -> Result<(), Broken> {
        let missing = (0..).zip(self.clients.keys()).find(|(expected, client)| expected != *client);
        let Some((first, next)) = missing else { return Ok(()) };
        if self.done < self.clients.len() as u64 * DONE_BY_EACH {
            return Ok(());
        }
        let which = match first {
            0 => "of the first thread, whose name ends in the process number,",
            _ => "of their thread",
        };
        Err(Broken::at(
            1,
            format!(
                "no transaction of clients {first} to {}: the log {which} is missing; give all logs of the run",
                next - 1
            ),
        ))
    }
}

/// Intervals of one pgbench: of a file, or of one of each thread, whose intervals have the same limits.
pub struct Aggregate {
    intervals: BTreeMap<i64, Interval>,
    least_us: f64,
    greatest_us: f64,
    is_scheduled: bool,
}

#[derive(Default, Clone, Copy)]
struct Interval {
    transactions: u64,
    sum_us: f64,
}

impl Default for Aggregate {
    fn default() -> Self {
        Self { intervals: BTreeMap::new(), least_us: f64::INFINITY, greatest_us: 0.0, is_scheduled: false }
    }
}

impl Aggregate {
    /// Lines of 15 fields since 15, of 6 to 11 before: start, transactions, sum, sum of squares, least and greatest
    /// latency.
    pub fn read(&mut self, input: impl Read) -> Result<(), Broken> {
        let mut lines = Lines::new(input);
        let mut before = None;
        while let Some((at, line)) = lines.next_whole()? {
            let words: Vec<&str> = line.split_whitespace().collect();
            let field = |index: usize| -> Result<f64, Broken> {
                let word = words
                    .get(index)
                    .ok_or_else(|| Broken::at(at, "fewer than 6 fields: the file is cut off"))?;
                word.parse()
                    .ok()
                    .filter(|value: &f64| value.is_finite())
                    .ok_or_else(|| Broken::at(at, format!("{word:?} is not a number")))
            };
            let (start, count) = (field(0)? as i64, field(1)?.max(0.0) as u64);
            if before.is_some_and(|before| before >= start) {
                return Err(Broken::at(at, "intervals out of order: more than one file in it?"));
            }
            before = Some(start);
            let interval = self.intervals.entry(start).or_default();
            interval.transactions = interval.transactions.saturating_add(count);
            interval.sum_us += field(2)?;
            self.least_us = self.least_us.min(field(4)?);
            self.greatest_us = self.greatest_us.max(field(5)?);
            // What transactions waited for their turn.
            self.is_scheduled |= words.len() > 6 && field(6)? > 0.0;
        }
        Ok(())
    }

    /// The first and the last interval are partial and left out where there are others.
    pub fn document(self) -> Result<Document, Broken> {
        let all: Vec<(i64, Interval)> = self.intervals.into_iter().collect();
        let [(first, _), .., (last, _)] = all[..] else {
            return Err(Broken::at(1, "fewer than two intervals: the length of one is not known"));
        };
        let length_s = last.saturating_sub(first) as f64 / (all.len() - 1) as f64;
        let logged = all.iter().map(|(_, one)| one.transactions).fold(0, u64::saturating_add);
        let inner = if all.len() > 2 { &all[1..all.len() - 1] } else { &all[..1] };
        let done = inner.iter().map(|(_, one)| one.transactions).fold(0, u64::saturating_add);
        let elapsed_us = (length_s * inner.len() as f64 * 1e6) as u64;
        if done == 0 || elapsed_us == 0 {
            return Err(Broken::at(1, "no transactions in its whole intervals"));
        }
        let latency_us = inner.iter().map(|(_, one)| one.sum_us).sum::<f64>() / done as f64;
        let value = |name: &'static str, us: f64| Value::computed(name, "ms", us / 1e3, 1);
        let rates = all.iter().map(|(_, one)| one.transactions as f64 / length_s).collect();
        let series =
            Series { name: "transactions".to_owned(), unit: "transactions".to_owned(), values: rates };
        let measured = Measurement {
            dbms: Some("postgres".to_owned()),
            work: Some(Work { events: Some(done), ..Work::in_time(&TRANSACTIONS, done as f64, elapsed_us) }),
            values: vec![
                value("latency_avg_ms", latency_us),
                value("latency_min_ms", self.least_us),
                value("latency_max_ms", self.greatest_us),
                Value::number(LOGGED, "", &logged.to_string(), 1),
            ],
            series: if length_s == 1.0 { vec![series] } else { Vec::new() },
            schedule: self.is_scheduled.then_some(SCHEDULE),
            line: 1,
            ..Measurement::default()
        };
        Ok(document(Some(first.saturating_mul(1000)), measured))
    }
}

fn document(measured_at_ms: Option<i64>, measured: Measurement) -> Document {
    Document {
        tool: Some("pgbench".to_owned()),
        measured_at_ms,
        measurements: vec![measured],
        ..Document::default()
    }
}

/// The logs of a pgbench's threads, which are one result.
pub enum Threads {
    Log(Log),
    Aggregate(Aggregate),
}

impl Threads {
    /// `None`: not a format that a pgbench writes a file of in each thread.
    pub fn of(format: Format) -> Option<Self> {
        match format {
            Format::PgbenchLog => Some(Self::Log(Log::default())),
            Format::PgbenchAggregate => Some(Self::Aggregate(Aggregate::default())),
            _ => None,
        }
    }

    pub fn read(&mut self, input: impl Read) -> Result<(), Broken> {
        match self {
            Self::Log(log) => log.read(input),
            Self::Aggregate(aggregate) => aggregate.read(input),
        }
    }

    /// Whether the first thread's log is among them, as far as they tell.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Log(log) => log.clients.contains_key(&0),
            Self::Aggregate(_) => false,
        }
    }

    pub fn document(self) -> Result<Document, Broken> {
        match self {
            Self::Log(log) => log.document(),
            Self::Aggregate(aggregate) => aggregate.document(),
        }
    }
}

/// A file of transactions.
pub fn parse_log(input: impl Read) -> Result<Document, Broken> {
    let mut log = Log::default();
    log.read(input)?;
    log.document()
}

/// A file of intervals.
pub fn parse_aggregate(input: impl Read) -> Result<Document, Broken> {
    let mut aggregate = Aggregate::default();
    aggregate.read(input)?;
    aggregate.document()
}

/// The number of the thread that wrote a log: 2 of `pgbench_log.4711.2`, with the name of the first thread's log.
pub fn thread_of(name: &str) -> Option<(&str, u32)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let (first, thread) = name.rsplit_once('.')?;
    let (_, process) = first.rsplit_once('.')?;
    (is_number(process) && is_number(thread)).then_some((first, thread.parse().ok()?))
}

/// Transactions by second.
fn series(seconds: &BTreeMap<i64, u64>) -> Vec<Series> {
    let (Some((first, _)), Some((last, _))) = (seconds.first_key_value(), seconds.last_key_value()) else {
        return Vec::new();
    };
    if last.saturating_sub(*first) > SECONDS_MAX.min(seconds.len() as i64 * 100) {
        return Vec::new();
    }
    let values = (*first..=*last).map(|second| seconds.get(&second).copied().unwrap_or(0) as f64).collect();
    vec![Series { name: "transactions".to_owned(), unit: "transactions".to_owned(), values }]
}
