//! pgbench's logs: a line a transaction (`--log`), or a line an interval (`--aggregate-interval`).

use std::collections::BTreeMap;
use std::io::Read;

use rqps_model::Series;

use crate::error::Broken;
use crate::histogram::Buckets;
use crate::lines::Lines;
use crate::model::{Document, Measurement, TRANSACTIONS, Value, Work};

/// Seconds that a series may span.
const SECONDS_MAX: i64 = 10_000_000;

/// `client tx time_us script epoch_s usec [lag_us] [retries]`; instead of a time the reason why there is none.
pub fn parse_log(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let mut buckets = Buckets::default();
    let (mut done, mut first_us, mut last_us) = (0u64, i64::MAX, i64::MIN);
    let mut clients = std::collections::BTreeSet::new();
    let mut failed: BTreeMap<String, u64> = BTreeMap::new();
    let mut seconds: BTreeMap<i64, u64> = BTreeMap::new();
    loop {
        let at = lines.number() + 1;
        let Some(line) = lines.next()? else { break };
        let words: Vec<&str> = line.split_whitespace().collect();
        let whole = |index: usize| -> Result<i64, Broken> {
            let word =
                words.get(index).ok_or_else(|| Broken::at(at, "fewer than 6 fields: the file is cut off"))?;
            word.parse().map_err(|_| Broken::at(at, format!("{word:?} is no whole number")))
        };
        let ended_us = whole(4)?.saturating_mul(1_000_000).saturating_add(whole(5)?);
        clients.insert(whole(0)?);
        match words.get(2).copied().unwrap_or_default() {
            reason if reason.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                *failed.entry(reason.to_owned()).or_default() += 1;
            }
            _ => {
                let us = whole(2)?.max(0);
                done += 1;
                buckets.add(us as f64, 1);
                first_us = first_us.min(ended_us.saturating_sub(us));
                last_us = last_us.max(ended_us);
                *seconds.entry(ended_us / 1_000_000).or_default() += 1;
            }
        }
    }
    if done == 0 || last_us <= first_us {
        return Err(Broken::at(lines.number().max(1), "no transactions in it"));
    }
    let work = Work::in_time(&TRANSACTIONS, done as f64, (last_us - first_us) as u64);
    let skipped = failed.remove("skipped").unwrap_or(0);
    let mut measured = Measurement {
        dbms: Some("postgres".to_owned()),
        clients: u32::try_from(clients.len()).ok(),
        work: Some(Work { events: Some(done), errors: Some(failed.values().sum()), ..work }),
        series: series(&seconds),
        histograms: buckets.histogram("event").into_iter().collect(),
        retries: failed,
        line: 1,
        ..Measurement::default()
    };
    if skipped > 0 {
        measured.values.push(Value::number("skipped_transactions", "", &skipped.to_string(), 1));
    }
    Ok(Document {
        tool: Some("pgbench".to_owned()),
        measured_at_ms: Some(first_us / 1000),
        measurements: vec![measured],
        ..Document::default()
    })
}

/// Lines of 15 fields since 15, of 6 to 11 before: start, transactions, sum, sum of squares, least and greatest
/// latency.
/// The first and the last interval are partial and left out where there are others.
pub fn parse_aggregate(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let mut intervals: Vec<(i64, u64, f64)> = Vec::new();
    let (mut least, mut greatest) = (f64::INFINITY, 0f64);
    loop {
        let at = lines.number() + 1;
        let Some(line) = lines.next()? else { break };
        let words: Vec<&str> = line.split_whitespace().collect();
        let field = |index: usize| -> Result<f64, Broken> {
            let word =
                words.get(index).ok_or_else(|| Broken::at(at, "fewer than 6 fields: the file is cut off"))?;
            word.parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
                .ok_or_else(|| Broken::at(at, format!("{word:?} is no number")))
        };
        let (start, count) = (field(0)? as i64, field(1)?.max(0.0) as u64);
        if intervals.last().is_some_and(|(before, ..)| *before >= start) {
            return Err(Broken::at(at, "intervals out of order: give each thread's file alone"));
        }
        intervals.push((start, count, field(2)?));
        least = least.min(field(4)?);
        greatest = greatest.max(field(5)?);
    }
    let [first, .., last] = intervals[..] else {
        return Err(Broken::at(
            lines.number().max(1),
            "fewer than two intervals: the length of one is not known",
        ));
    };
    let length_s = (last.0.saturating_sub(first.0)) as f64 / (intervals.len() - 1) as f64;
    let inner = if intervals.len() > 2 { &intervals[1..intervals.len() - 1] } else { &intervals[..1] };
    let done: u64 = inner.iter().map(|(_, count, _)| count).fold(0, |a, b| a.saturating_add(*b));
    let elapsed_us = (length_s * inner.len() as f64 * 1e6) as u64;
    if done == 0 || elapsed_us == 0 {
        return Err(Broken::at(1, "no transactions in its whole intervals"));
    }
    let latency_us = inner.iter().map(|(.., sum)| sum).sum::<f64>() / done as f64;
    let value = |name: &'static str, us: f64| Value {
        name: name.into(),
        unit: "ms".into(),
        value: Some(us / 1e3),
        published: None,
        line: 1,
    };
    let rates = intervals.iter().map(|(_, count, _)| *count as f64 / length_s).collect();
    let series = Series { name: "transactions".to_owned(), unit: "transactions".to_owned(), values: rates };
    let measured = Measurement {
        dbms: Some("postgres".to_owned()),
        work: Some(Work { events: Some(done), ..Work::in_time(&TRANSACTIONS, done as f64, elapsed_us) }),
        values: vec![
            value("latency_avg_ms", latency_us),
            value("latency_min_ms", least),
            value("latency_max_ms", greatest),
        ],
        series: if length_s == 1.0 { vec![series] } else { Vec::new() },
        line: 1,
        ..Measurement::default()
    };
    Ok(Document {
        tool: Some("pgbench".to_owned()),
        measured_at_ms: Some(first.0.saturating_mul(1000)),
        measurements: vec![measured],
        ..Document::default()
    })
}

/// Transactions by second.
fn series(seconds: &BTreeMap<i64, u64>) -> Vec<Series> {
    let (Some((first, _)), Some((last, _))) = (seconds.first_key_value(), seconds.last_key_value()) else {
        return Vec::new();
    };
    if last - first > SECONDS_MAX.min(seconds.len() as i64 * 100) {
        return Vec::new();
    }
    let values = (*first..=*last).map(|second| seconds.get(&second).copied().unwrap_or(0) as f64).collect();
    vec![Series { name: "transactions".to_owned(), unit: "transactions".to_owned(), values }]
}
