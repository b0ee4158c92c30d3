//! Reads captured statements. The kind of source is found by content.

use std::io::BufRead;

use super::{Execution, statement};
use crate::Dialect;

const KINDS: &str = "give a slow query log of MySQL or MariaDB, or pg_stat_statements as CSV: psql -c \"COPY (SELECT \
                     query, calls, total_exec_time FROM pg_stat_statements) TO STDOUT CSV HEADER\"";
/// Begins the line with a statement's time in a slow query log.
const QUERY_TIME: &str = "# Query_time:";
/// Lines at the beginning of a slow query log, before its first statement.
const PREAMBLE_LINES: usize = 20;
/// Names of the column with the total time in milliseconds: of versions 13 and later, and before.
const TIMES: [&str; 2] = ["total_exec_time", "total_time"];

/// Passes the executions in a source on, and returns its dialect.
pub(super) fn read(source: &mut dyn BufRead, each: &mut dyn FnMut(Execution)) -> Result<Dialect, String> {
    let mut head = Vec::new();
    for _ in 0..PREAMBLE_LINES {
        let Some(line) = next_line(source)? else { break };
        let is_slow_log = line.starts_with(QUERY_TIME);
        let is_csv = head.is_empty() && line.split(',').any(|name| name.trim().trim_matches('"') == "query");
        if is_slow_log {
            slow_log(line, source, each)?;
            return Ok(Dialect::Mysql);
        }
        if is_csv {
            csv(&line, source, each)?;
            return Ok(Dialect::Postgres);
        }
        head.push(line);
    }
    match head.is_empty() {
        true => Err(format!("the file is empty: {KINDS}")),
        false => Err(format!("no line in it has the time of a statement: {KINDS}")),
    }
}

fn next_line(source: &mut dyn BufRead) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let length = source.read_until(b'\n', &mut line).map_err(|error| format!("cannot read it: {error}"))?;
    Ok((length > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// `first` is the first line with a time.
fn slow_log(first: String, source: &mut dyn BufRead, each: &mut dyn FnMut(Execution)) -> Result<(), String> {
    let (mut seconds, mut text) = (query_seconds(&first), String::new());
    loop {
        let line = next_line(source)?;
        let is_header = line.as_ref().is_none_or(|line| line.starts_with("# "));
        if let Some(line) = line.as_ref().filter(|_| !is_header) {
            text.push_str(line);
            continue;
        }
        if let Some(piece) = statement(&text, Dialect::Mysql) {
            each(Execution { piece, calls: 1, seconds });
        }
        text.clear();
        let Some(line) = line else { return Ok(()) };
        if line.starts_with(QUERY_TIME) {
            seconds = query_seconds(&line);
        }
    }
}

fn query_seconds(line: &str) -> f64 {
    line[QUERY_TIME.len()..].split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

fn csv(head: &str, source: &mut dyn BufRead, each: &mut dyn FnMut(Execution)) -> Result<(), String> {
    let names: Vec<&str> = head.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let column = |names_of: &[&str]| {
        let found = names.iter().position(|name| names_of.contains(name));
        found.ok_or_else(|| format!("it has no column `{}`: {KINDS}", names_of[0]))
    };
    let (query, calls, time) = (column(&["query"])?, column(&["calls"])?, column(&TIMES)?);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(source);
    for record in reader.records() {
        let record = record.map_err(|error| format!("it is not CSV: {error}"))?;
        let number = |at: usize| record.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        if let Some(piece) = record.get(query).and_then(|query| statement(query, Dialect::Postgres)) {
            each(Execution { piece, calls: number(calls) as u64, seconds: number(time) / 1e3 });
        }
    }
    Ok(())
}
