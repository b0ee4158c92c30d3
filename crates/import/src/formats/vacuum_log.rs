//! `sb.o.pgvac` and `sb.o.myvac`: what an archive did between tests. Their first line has the only date of a run.

use std::io::Read;

use crate::dates;
use crate::error::Broken;
use crate::lines::Lines;
use crate::model::Document;

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let first = lines.next()?.unwrap_or_default().to_owned();
    let date = first.split_once(" starts at ").map(|(_, rest)| rest.split(" with ").next().unwrap_or(rest));
    let measured_at_ms = date.and_then(dates::of_date_command);
    if measured_at_ms.is_none() {
        return Err(Broken::at(1, format!("no date in {first:?}")));
    }
    Ok(Document { measured_at_ms, ..Document::default() })
}
