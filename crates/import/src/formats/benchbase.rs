//! benchbase's `summary.json`.

use std::io::Read;

use serde_json::Value as Json;

use crate::error::Broken;
use crate::lines::whole;
use crate::model::{Document, FAILED_MIN, Measurement, Quirk, TRANSACTIONS, Value, Work};

const GOODPUT: &str = "Goodput (requests/second)";

/// Keys that stand before the rates, which a file that is cut off may lack.
const KEYS: [&str; 3] = ["\"Benchmark Type\"", "\"DBMS Version\"", "\"Throughput (requests/second)\""];

/// Whether a line is one of a summary.
pub fn is_line(line: &str) -> bool {
    KEYS.iter().any(|key| line.contains(key))
}

/// `14.2` of `PostgreSQL 14.2 on x86_64`, and `8.0.36` of `8.0.36-0ubuntu0.22.04.1`: what begins with a digit.
fn version_in(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().map(|word| word.trim_start_matches('v'));
    let word = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(word.len());
    Some(word[..end].to_owned())
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let text = whole(input)?;
    let json: Json = serde_json::from_str(&text).map_err(|error| Broken::json(&error, 1))?;
    let line_of = |key: &str| {
        let before = text.find(&format!("\"{key}\"")).map_or("", |at| &text[..at]);
        before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1
    };
    let figure = |key: &str| {
        json[key].as_f64().or_else(|| json[key].as_str()?.parse().ok()).filter(|value: &f64| *value >= 0.0)
    };
    let words = |key: &str| json[key].as_str().map(str::to_owned);
    let required =
        |key: &str| figure(key).ok_or_else(|| Broken::at(line_of(key), format!("no figure {key:?}")));
    let throughput_key = "Throughput (requests/second)";
    let (throughput, goodput) = (required(throughput_key)?, figure(GOODPUT));
    let elapsed_us = figure("Elapsed Time (nanoseconds)").map(|ns| (ns / 1e3) as u64).filter(|us| *us > 0);
    let requests = figure("Measured Requests");
    let line = line_of(throughput_key);
    // No request is good that was not made: this throughput is that of the requests not aborted, or half of it.
    let is_wrong = goodput.is_some_and(|goodput| goodput > throughput * 1.001);
    // What was aborted is no work: a server that refuses a part of it is quickly done with it.
    let failed = goodput.map(|goodput| throughput - goodput);
    let failed = failed.filter(|failed| *failed > 0.0 && *failed >= FAILED_MIN * throughput);
    // Of all arms alike, however few requests failed.
    let succeeded = goodput.filter(|goodput| *goodput < throughput).unwrap_or(throughput);
    let work = match (elapsed_us, requests) {
        (Some(us), Some(requests)) if requests > 0.0 && failed.is_none() => {
            let rate = if is_wrong { requests / (us as f64 / 1e6) } else { succeeded };
            Work { events: Some(requests as u64), ..Work::in_time(&TRANSACTIONS, rate * us as f64 / 1e6, us) }
        }
        _ if is_wrong => {
            return Err(Broken::at(
                line,
                "throughput is below goodput, and without requests and time it cannot be recomputed",
            ));
        }
        (Some(us), _) => {
            let seconds = us as f64 / 1e6;
            let errors = failed.map(|failed| (failed * seconds).round() as u64);
            Work { errors, ..Work::in_time(&TRANSACTIONS, succeeded * seconds, us) }
        }
        _ if failed.is_some() => {
            return Err(Broken::at(
                line,
                "goodput is below throughput, and no time tells how many requests failed",
            ));
        }
        _ => Work::rate(&TRANSACTIONS, succeeded),
    };
    let value = |name: &'static str, unit: &'static str, value: Option<f64>, json: &Json| {
        let published = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
        Value { name: name.into(), unit: unit.into(), value, published: value.map(|_| published), line }
    };
    let measured = if is_wrong { work.per_second() } else { throughput };
    let mut values = vec![
        value("throughput", "1/s", Some(measured), &json[throughput_key]),
        value("goodput", "1/s", goodput, &json[GOODPUT]),
    ];
    for (name, key) in [
        ("latency_p50_us", "Median Latency (microseconds)"),
        ("latency_p95_us", "95th Percentile Latency (microseconds)"),
        ("latency_p99_us", "99th Percentile Latency (microseconds)"),
        ("latency_max_us", "Maximum Latency (microseconds)"),
        ("latency_avg_us", "Average Latency (microseconds)"),
    ] {
        let latency = &json["Latency Distribution"][key];
        values.push(value(name, "us", latency.as_f64(), latency));
    }
    for (name, key) in [("scale", "scalefactor"), ("isolation", "isolation")] {
        let text = json[key].as_str().map_or_else(|| json[key].to_string(), str::to_owned);
        values.extend((!json[key].is_null()).then(|| Value::words(name, text, line_of(key))));
    }
    values.retain(|value| value.value.is_some() || value.published.is_some());
    let dbms = words("DBMS Type").map(|dbms| dbms.to_lowercase().replace("postgresql", "postgres"));
    let measurement = Measurement {
        dbms,
        version: words("DBMS Version").and_then(|text| version_in(&text)),
        test: words("Benchmark Type").map(|test| test.to_lowercase()),
        clients: figure("terminals").map(|clients| clients as u32),
        work: Some(work),
        values,
        line,
        ..Measurement::default()
    };
    Ok(Document {
        tool: Some("benchbase".to_owned()),
        measured_at_ms: json["Current Timestamp (milliseconds)"].as_i64(),
        quirks: if is_wrong { vec![Quirk::BelowGoodput] } else { Vec::new() },
        measurements: vec![measurement],
        ..Document::default()
    })
}
