//! Units of rates as people write them: `QPS`, `rows/s`, `transactions per minute`. What is no rate is refused: of
//! times less is better, and every verdict would be inverted.

use rqps_model::Unit;

use crate::formats::hammerdb::NEW_ORDERS;
use crate::model::{EVENTS, OPERATIONS, QUERIES, ROWS, THOUSAND_ROWS, TRANSACTIONS, number};

/// Abbreviations: what they count, and in how many seconds.
const ABBREVIATIONS: [(&str, &Unit, f64); 10] = [
    ("tps", &TRANSACTIONS, 1.0),
    ("qps", &QUERIES, 1.0),
    ("ops", &OPERATIONS, 1.0),
    ("iops", &OPERATIONS, 1.0),
    ("eps", &EVENTS, 1.0),
    ("tpm", &TRANSACTIONS, 60.0),
    ("qpm", &QUERIES, 60.0),
    ("opm", &OPERATIONS, 60.0),
    ("nopm", &NEW_ORDERS, 60.0),
    ("tpmc", &NEW_ORDERS, 60.0),
];
const KNOWN: [&Unit; 7] = [&QUERIES, &TRANSACTIONS, &OPERATIONS, &EVENTS, &ROWS, &THOUSAND_ROWS, &NEW_ORDERS];

/// Times that a rate may be per: seconds, symbol, words.
const PERIODS: [(f64, &str, &[&str]); 3] = [
    (1.0, "1/s", &["s", "sec", "secs", "second", "seconds"]),
    (60.0, "1/min", &["min", "mins", "minute", "minutes"]),
    (3600.0, "1/h", &["h", "hr", "hour", "hours"]),
];
/// Other words that say that a figure is a time.
const TIMES: [&str; 27] = [
    "ms",
    "msec",
    "msecs",
    "milli",
    "millis",
    "millisecond",
    "milliseconds",
    "us",
    "µs",
    "μs",
    "usec",
    "usecs",
    "micro",
    "micros",
    "microsecond",
    "microseconds",
    "ns",
    "nsec",
    "nanos",
    "nanosecond",
    "nanoseconds",
    "latency",
    "latencies",
    "time",
    "times",
    "duration",
    "elapsed",
];
const RATIOS: [&str; 5] = ["%", "percent", "ratio", "relative", "speedup"];

/// What a rate counts, and in which time.
#[derive(Debug, Clone, PartialEq)]
pub struct RateUnit {
    pub unit: Unit,
    pub seconds: f64,
    /// `1/s`.
    pub symbol: &'static str,
}

/// # Errors
/// If it is not the unit of a rate: why, to be read after the unit.
pub fn parse(text: &str) -> Result<RateUnit, String> {
    if number(text).is_some() {
        return Err("is a number".to_owned());
    }
    let (what, period) = parts(text);
    let words = words(what);
    let is_percentile =
        |word: &str| word.strip_prefix('p').is_some_and(|digits| digits.parse::<u32>().is_ok());
    let is_time = |word: &String| {
        let is_period = || PERIODS.iter().any(|(_, _, words)| words.contains(&word.as_str()));
        TIMES.contains(&word.as_str()) || is_period() || is_percentile(word)
    };
    if words.iter().any(is_time) {
        return Err(
            "is a time, of which less is better: give rates, 1 / time, such as queries per second".to_owned()
        );
    }
    if words.iter().any(|word| RATIOS.contains(&word.as_str())) {
        return Err("is a ratio: give the rates that it was made of".to_owned());
    }
    let abbreviated = ABBREVIATIONS.iter().find(|(name, ..)| words == [*name]);
    let has_period = period.is_some();
    let known = |period: &str| PERIODS.iter().find(|(_, _, words)| words.contains(&period));
    let period = match period.as_deref().map(|period| (period, known(period))) {
        None => abbreviated.map_or(1.0, |(_, _, seconds)| *seconds),
        Some((_, Some((seconds, ..)))) => *seconds,
        Some((period, None)) => {
            return Err(format!("is per {period}: give rates per second, such as queries per second"));
        }
    };
    if words.is_empty() {
        return Err("does not say what is counted, such as transactions per minute".to_owned());
    }
    let symbol =
        PERIODS.iter().find(|(seconds, ..)| *seconds == period).map_or("1/s", |(_, symbol, _)| symbol);
    let known = abbreviated.map(|(_, unit, _)| (*unit).clone()).or_else(|| known_unit(what.trim()));
    let unit = match known {
        Some(unit) => unit,
        // In what is no known word and has no period, a time would not be noticed: `Sekunden`.
        None if !has_period => {
            return Err(format!("is not known: if it is a rate, write {}/s", what.trim()));
        }
        None => named(what.trim()),
    };
    Ok(RateUnit { unit, seconds: period, symbol })
}

/// `rows` and `s` of `rows/s`, `rows per s` and `rows_per_s`.
fn parts(text: &str) -> (&str, Option<String>) {
    let lower = text.to_ascii_lowercase();
    if let Some(period) = lower.trim_start().strip_prefix("per ") {
        return ("", Some(period.trim().to_owned()));
    }
    let found = ["/", " per ", "_per_"].iter().filter_map(|sign| Some((lower.find(sign)?, sign.len()))).min();
    match found {
        Some((at, length)) => (&text[..at], Some(lower[at + length..].trim().to_owned())),
        None => (text, None),
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '%')).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn known_unit(name: &str) -> Option<Unit> {
    let lower = name.to_lowercase();
    let is_called = |unit: &&&Unit| {
        unit.key == lower.replace(' ', "") || [&unit.per, &unit.many].into_iter().any(|known| *known == lower)
    };
    KNOWN.iter().find(is_called).map(|unit| (*unit).clone())
}

/// A unit of that name.
fn named(name: &str) -> Unit {
    let lower = name.to_lowercase();
    // `Requests` are requests, but `MB` are no `mb`.
    let is_word = name.len() > 3 && name.chars().skip(1).all(|c| !c.is_uppercase());
    let name = if is_word { lower } else { name.to_owned() };
    let per = name.strip_suffix('s').unwrap_or(&name).to_owned();
    Unit {
        key: name.clone().into(),
        one: format!("one of {name}").into(),
        per: per.into(),
        many: name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_rates_whatever_their_case() {
        for (text, many, seconds) in [
            ("queries", "queries", 1.0),
            ("QPS", "queries", 1.0),
            ("Rows per second", "rows", 1.0),
            ("rows/s", "rows", 1.0),
            ("k rows", "thousand rows", 1.0),
            ("thousand rows/sec", "thousand rows", 1.0),
            ("Transactions/min", "transactions", 60.0),
            ("NOPM", "new orders", 60.0),
            ("ops/s", "operations", 1.0),
            ("Requests/s", "requests", 1.0),
            ("MB/s", "MB", 1.0),
            ("documents_per_hour", "documents", 3600.0),
        ] {
            let found = parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!((&*found.unit.many, found.seconds), (many, seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for (text, why) in [
            ("ms", "is a time"),
            ("S", "is a time"),
            ("seconds", "is a time"),
            ("µs", "is a time"),
            ("Latency_ms", "is a time"),
            ("p99 latency", "is a time"),
            ("ms per query", "is a time"),
            ("us/op", "is a time"),
            ("rows per query", "is per query"),
            ("rows per second per second", "is per second per second"),
            ("%", "is a ratio"),
            ("/s", "does not say what is counted"),
            ("per minute", "does not say what is counted"),
            ("5", "is a number"),
            ("Sekunden", "write Sekunden/s"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
