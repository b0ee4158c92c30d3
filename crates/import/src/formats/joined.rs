//! Counters of `perf stat` as published: a counter and its count, or counts of several arms in a row.

use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;

#[derive(Debug, Clone, PartialEq)]
pub struct JoinedRow {
    pub name: String,
    pub cells: Vec<String>,
    pub line: u32,
}

fn is_figure(cell: &str) -> bool {
    cell == "INF" || cell.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether a line has counts of several arms: the counter first, with spaces, or last, with tabs.
pub fn is_joined(line: &str) -> bool {
    row(line, 1).is_some_and(|row| row.cells.len() > 1)
}

/// Whether a line is a counter and its count.
pub fn is_value(line: &str) -> bool {
    line.contains('\t') && row(line, 1).is_some_and(|row| row.cells.len() == 1)
}

/// Counters have names such as `L1-dcache-loads`, `ipc`, `GHz`.
fn is_counter(name: &str) -> bool {
    const WORDS: [&str; 8] =
        ["cycles", "faults", "instructions", "ipc", "GHz", "branches", "migratons", "switches"];
    let is_compound =
        ["loads", "misses", "stores", "references", "pct", "prefetches", "backend", "frontend", "refs"];
    let last = name.rsplit('-').next().unwrap_or(name);
    WORDS.contains(&last) || (name.contains('-') && is_compound.contains(&last))
}

fn row(line: &str, at: u32) -> Option<JoinedRow> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let name = match (words.first(), words.last()) {
        (Some(first), _) if is_counter(first) => words.remove(0),
        (_, Some(last)) if is_counter(last) => words.pop()?,
        _ => return None,
    };
    let is_row = !words.is_empty() && words.iter().all(|word| is_figure(word));
    is_row.then(|| JoinedRow {
        name: name.to_owned(),
        cells: words.into_iter().map(str::to_owned).collect(),
        line: at,
    })
}

pub fn parse(input: impl Read) -> Result<Vec<JoinedRow>, Broken> {
    let mut lines = Lines::new(input);
    let mut rows: Vec<JoinedRow> = Vec::new();
    while let Some((at, line)) = lines.next_whole()? {
        if line.trim().is_empty() {
            continue;
        }
        let row = row(line, at).ok_or_else(|| Broken::at(at, "not a counter and its counts"))?;
        if rows.first().is_some_and(|first| first.cells.len() != row.cells.len()) {
            return Err(Broken::at(
                at,
                format!("{} counts, others have {}", row.cells.len(), rows[0].cells.len()),
            ));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Broken::at(1, "no counters in it"));
    }
    Ok(rows)
}
