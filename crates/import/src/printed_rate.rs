//! Rates that programs print beside what they counted and how long it took: each two tell the third. If they do not
//! agree, one of them was damaged.

use rqps_store::Source;

use crate::formats::{Format, pgbench};
use crate::model::{Printed, THOUSAND_ROWS, Value, Work};
use crate::placed::{Assembled, Doubt, Placed};

/// Rounding apart, a rate may differ by this share.
const SHARE: f64 = 0.001;
/// The clock of sysbench's rate stops some milliseconds after that of its time, more on a loaded host, and hardly ever
/// before it: `docs/MEASURED.md`.
const LATER_CLOCK_S: f64 = 0.02;
const EARLIER_CLOCK_S: f64 = 0.005;
/// Half a unit of db_bench's seconds.
const SECONDS_HALF: f64 = 0.000_5;
/// Of rates with three digits, and of their sum.
const THREE_DIGITS: f64 = 0.01;
/// A run of so many seconds takes that long but for these shares and seconds, until its last transactions end.
const TIME_SHARE: f64 = 0.05;
const LATER_S: f64 = 1.0;
const LATER_LATENCIES: f64 = 20.0;

/// What a rate counts.
type Count = fn(&Work) -> Option<f64>;

/// Rates by name, and what they count.
const RATES: [(&str, Count); 3] = [
    ("queries_per_s", |work| Some(work.operations)),
    ("events_per_s", |work| Some(work.events? as f64)),
    ("transactions_per_s", |work| Some(work.events? as f64)),
];
/// Half a unit of the last digit of such a rate, and of a time in seconds.
const RATE_HALF: f64 = 0.005;
const TIME_HALF_S: f64 = 0.000_05;

/// Examines the rates of all results.
pub fn examine(assembled: &Assembled) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for placed in &assembled.results {
        let source = &assembled.sources[placed.source];
        let others = [of_three_digits, of_duration, of_latency, of_seconds];
        let other = || others.iter().find_map(|check| check(placed));
        let Some((text, line)) = of_count(placed, source).or_else(other) else { continue };
        let path = &source.path;
        let text = format!("{text} ({path}, line {line})");
        doubts.push(Doubt::of(placed, text));
    }
    doubts
}

fn value<'a>(placed: &'a Placed, name: &str) -> Option<&'a Value> {
    let own = placed.values.iter().filter(|(source, _)| *source == placed.source);
    own.map(|(_, value)| value).find(|value| value.name == name)
}

/// A rate that is not its count in its time: the sentence, and the line.
fn of_count(placed: &Placed, source: &Source) -> Option<(String, u32)> {
    let work = placed.measurement.work.as_ref().filter(|work| work.unit != THOUSAND_ROWS)?;
    let seconds = work.elapsed_us.filter(|us| *us > 0)? as f64 / 1e6;
    RATES.iter().find_map(|(name, count)| {
        // The count of the same line, if it has one.
        let own = name.strip_suffix("_per_s").and_then(|own| value(placed, own)?.value);
        let (value, count) = (value(placed, name)?, own.or_else(|| count(work))?);
        let printed = Printed { value: value.value?, half: RATE_HALF };
        let rate = count / seconds;
        let computed = Printed { value: rate, half: rate * TIME_HALF_S / seconds };
        let clocks_s = if printed.value < rate { LATER_CLOCK_S } else { EARLIER_CLOCK_S };
        (!computed.is(printed, SHARE.max(clocks_s / seconds))).then(|| {
            let text = format!(
                "{}, but {count} in {seconds} s are {rate:.2} per second",
                line(name, source, (count, value.published.as_deref().unwrap_or_default()))
            );
            (text, value.line)
        })
    })
}

/// A rate as its line has it: `transactions: 60199 (100.30 per sec.)`.
fn line(name: &str, source: &Source, (count, rate): (f64, &str)) -> String {
    let is_sysbench = source.format == Format::Sysbench.key();
    match name {
        "queries_per_s" if is_sysbench => format!("queries: {count} ({rate} per sec.)"),
        "transactions_per_s" if is_sysbench => format!("transactions: {count} ({rate} per sec.)"),
        "events_per_s" if is_sysbench => {
            let is_later = source.tool.as_deref().is_some_and(|tool| tool.starts_with("sysbench 1.1"));
            format!("{}: {rate}", if is_later { "events/s (eps)" } else { "events per second" })
        }
        name => format!("{name} is {rate}"),
    }
}

/// fio prints the sum of three digits, and what it counted.
fn of_three_digits(placed: &Placed) -> Option<(String, u32)> {
    let value = value(placed, "requests_per_s")?;
    let printed = Printed::of(value.published.as_deref()?)?;
    let jobs = f64::from(placed.measurement.clients.unwrap_or(1));
    let computed = Printed { value: value.value?, half: RATE_HALF };
    let is_same = computed.is(Printed { half: printed.half * jobs, ..printed }, THREE_DIGITS);
    (!is_same).then(|| {
        let text = format!(
            "the rate is {}, but the requests issued are {:.0} per second",
            printed.value, computed.value
        );
        (text, value.line)
    })
}

/// db_bench prints its operations and the seconds that they took, to milliseconds.
fn of_seconds(placed: &Placed) -> Option<(String, u32)> {
    let rate = value(placed, "ops_sec")?;
    let work = placed.measurement.work.as_ref()?;
    let (operations, seconds) = (work.events? as f64, work.elapsed_us? as f64 / 1e6);
    let printed = Printed::of(rate.published.as_deref()?)?;
    let least = (seconds - SECONDS_HALF).max(0.0);
    let computed = Printed { value: operations / seconds, half: operations / least - operations / seconds };
    (computed.half.is_finite() && !computed.is(printed, THREE_DIGITS)).then(|| {
        let text = format!(
            "the rate is {} ops/sec, but {operations} operations in {seconds:.3} seconds are {:.0}",
            printed.value, computed.value
        );
        (text, rate.line)
    })
}

/// pgbench tells no time but that it was to take: it is what its transactions took at their rate.
fn of_duration(placed: &Placed) -> Option<(String, u32)> {
    let number = |name: &str| value(placed, name)?.value;
    let duration = value(placed, pgbench::DURATION)?;
    let with_connections = value(placed, pgbench::RATE_WITH_CONNECTIONS);
    let (rate, planned) =
        (with_connections.or_else(|| value(placed, "transactions_per_s"))?, duration.value?);
    let transactions = placed.measurement.work.as_ref()?.events?;
    let took = transactions as f64 / rate.value.filter(|rate| *rate > 0.0)?;
    let connecting = number(pgbench::CONNECTION_MS).unwrap_or(0.0) / 1e3;
    let latency = number("latency_avg_ms").unwrap_or(0.0) / 1e3;
    let least = planned * (1.0 - TIME_SHARE) - connecting;
    let most = planned * (1.0 + TIME_SHARE) + LATER_S + LATER_LATENCIES * latency;
    (!(least..=most).contains(&took)).then(|| {
        let text = format!(
            "{transactions} transactions at {} per second take {took:.3} s, but the duration is {planned} s",
            rate.value.unwrap_or_default()
        );
        (text, rate.line)
    })
}

/// sysbench prints the sum of all latencies, and their mean.
fn of_latency(placed: &Placed) -> Option<(String, u32)> {
    let (mean, sum) = (value(placed, "latency_avg_ms")?, value(placed, "latency_sum_ms")?);
    let of = |value: &Value| Printed::of(value.published.as_deref()?);
    let (printed, total) = (of(mean)?, of(sum)?);
    let events = placed.measurement.work.as_ref()?.events.filter(|events| *events > 0)? as f64;
    let computed = Printed { value: total.value / events, half: total.half / events };
    (!computed.is(printed, SHARE)).then(|| {
        let text = format!(
            "the mean latency is {} ms, but {} ms of {events} events are {:.3} ms each",
            printed.value, total.value, computed.value
        );
        (text, mean.line)
    })
}
