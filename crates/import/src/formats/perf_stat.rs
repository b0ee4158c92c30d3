//! `perf stat`: counters of one process, in sections one after the other, each of its own seconds.

use std::io::Read;

use crate::dates;
use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, Quirk, Value, number};

/// A counter of a section.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    pub name: String,
    /// `None`: the host does not have it.
    pub count: Option<f64>,
    /// As printed, without thousands separators.
    pub text: String,
    /// What perf computes from it: `0.65  insn per cycle`.
    pub comment: String,
    /// Of its section.
    pub seconds: f64,
    pub line: u32,
}

/// Counters, and the date.
pub fn parse_counters(input: impl Read) -> Result<(Vec<Counter>, Option<i64>), Broken> {
    let mut lines = Lines::new(input);
    let (mut counters, mut date): (Vec<Counter>, Option<i64>) = (Vec::new(), None);
    let mut open = 0;
    while let Some((at, line)) = lines.next_whole()? {
        let line = line.trim();
        if let Some(started) = line.strip_prefix("# started on ") {
            date = date.or_else(|| dates::of_date_command(started));
        } else if let Some(seconds) = line.strip_suffix("seconds time elapsed") {
            let seconds =
                number(seconds).filter(|s| *s > 0.0).ok_or_else(|| Broken::at(at, "no time elapsed"))?;
            counters[open..].iter_mut().for_each(|counter| counter.seconds = seconds);
            open = counters.len();
        } else if let Some(counter) = counter(line, at) {
            counters.push(counter);
        }
    }
    if let Some(cut) = counters.get(open) {
        return Err(Broken::at(cut.line, "counters without `seconds time elapsed`: the file is cut off"));
    }
    if counters.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no counters in it"));
    }
    Ok((counters, date))
}

fn counter(line: &str, at: u32) -> Option<Counter> {
    let (figures, comment) = line.split_once('#').unwrap_or((line, ""));
    let (count, rest) =
        match figures.strip_prefix("<not supported>").or_else(|| figures.strip_prefix("<not counted>")) {
            Some(rest) => (None, rest),
            None => {
                let (count, rest) = figures.split_once(char::is_whitespace)?;
                (Some(count.replace(',', "")), rest)
            }
        };
    let value = match &count {
        Some(text) => Some(number(text)?),
        None => None,
    };
    // `msec cpu-clock` has a unit.
    let name = rest.split_whitespace().next_back()?.to_owned();
    let text = count.unwrap_or_else(|| "-1".to_owned());
    Some(Counter { name, count: value, text, comment: comment.trim().to_owned(), seconds: 0.0, line: at })
}

/// Counts per second. They belong to the process that served one client.
pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let (counters, measured_at_ms) = parse_counters(input)?;
    let values = counters.iter().flat_map(|counter| {
        let count = Value {
            name: counter.name.clone().into(),
            unit: format!("in {:.1} s", counter.seconds).into(),
            value: counter.count,
            published: Some(counter.text.clone()),
            line: counter.line,
        };
        let rate = counter.count.map(|count| count / counter.seconds);
        let rate = Value::computed(format!("{}_per_s", counter.name), "1/s", rate, counter.line);
        [count, rate]
    });
    let measurement = Measurement { values: values.collect(), line: 1, ..Measurement::default() };
    let tool = Some("perf stat".to_owned());
    Ok(Document {
        tool,
        measured_at_ms,
        quirks: vec![Quirk::MinusOne],
        measurements: vec![measurement],
        ..Document::default()
    })
}
