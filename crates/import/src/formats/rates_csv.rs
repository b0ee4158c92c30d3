//! A CSV that any program can write: `arm,test,repeat,rate[,unit]`, with that header.

use std::io::Read;

use rqps_model::Unit;

use crate::error::Broken;
use crate::lines::FILE_BYTES_MAX;
use crate::model::{
    Document, EVENTS, Measurement, OPERATIONS, QUERIES, ROWS, THOUSAND_ROWS, TRANSACTIONS, Value, Work,
    number,
};

const COLUMNS: [&str; 4] = ["arm", "test", "repeat", "rate"];

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(input.take(FILE_BYTES_MAX));
    let broken = |error: csv::Error| {
        let line = error.position().map_or(1, |at| at.line() as u32);
        Broken::at(line, error.to_string())
    };
    let header = reader.headers().map_err(broken)?.clone();
    let place = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
    let mut places = [0; 4];
    for (at, name) in places.iter_mut().zip(COLUMNS) {
        *at = place(name).ok_or_else(|| {
            Broken::at(1, format!("no column {name}; the header is arm,test,repeat,rate[,unit]"))
        })?;
    }
    let unit_at = place("unit");
    let mut measurements = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(1, |at| at.line() as u32);
        if record.iter().all(str::is_empty) {
            continue;
        }
        let cell = |index: usize| {
            let cell = record.get(places[index]).filter(|cell| !cell.is_empty());
            cell.ok_or_else(|| Broken::at(line, format!("no {}", COLUMNS[index])))
        };
        let rate = number(cell(3)?)
            .ok_or_else(|| Broken::at(line, format!("rate: {:?} is no number", &record[places[3]])))?;
        let repeat = cell(2)?;
        let repeat = repeat
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| Broken::at(line, format!("repeat: {repeat:?} is no number from 1")))?;
        let unit = unit_at.and_then(|at| record.get(at)).filter(|unit| !unit.is_empty());
        measurements.push(Measurement {
            arm: Some(cell(0)?.to_owned()),
            test: Some(cell(1)?.to_owned()),
            repeat: Some(repeat),
            work: Some(Work::rate(&unit_of(unit.unwrap_or("queries")), rate)),
            values: vec![Value::number("rate", "1/s", &record[places[3]], line)],
            line,
            ..Measurement::default()
        });
    }
    if measurements.is_empty() {
        return Err(Broken::at(1, "a header without rows"));
    }
    Ok(Document { measurements, ..Document::default() })
}

/// A known unit, or one of that name.
fn unit_of(name: &str) -> Unit {
    let name = name.strip_suffix("/s").unwrap_or(name);
    let known = [&QUERIES, &TRANSACTIONS, &OPERATIONS, &EVENTS, &ROWS, &THOUSAND_ROWS];
    if let Some(unit) = known.into_iter().find(|unit| unit.key == name) {
        return unit.clone();
    }
    let (name, per) = (name.to_owned(), name.strip_suffix('s').unwrap_or(name).to_owned());
    Unit {
        key: name.clone().into(),
        one: format!("one of {name}").into(),
        per: per.into(),
        many: name.into(),
    }
}
