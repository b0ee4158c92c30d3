//! Published tables of fio: `43400,646.6,0.0,1,fsync=0_16K`: rate, MB/s, sync latency, jobs, test.

use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;
use crate::model::number;

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Rate, MB/s, sync latency, jobs.
    pub cells: [String; 4],
    pub test: String,
    pub line: u32,
}

/// Whether a line is a row.
pub fn is_row(line: &str) -> bool {
    row(line, 1).is_some()
}

fn row(line: &str, at: u32) -> Option<Row> {
    let cells: Vec<&str> = line.trim().split(',').collect();
    let [rate, mb, sync, jobs, test] = cells[..] else { return None };
    jobs.parse::<u32>().ok()?;
    let is_test = test.contains("sync=") && test.contains('_');
    let cells = [rate, mb, sync, jobs];
    (is_test && cells.iter().all(|cell| number(cell).is_some())).then(|| Row {
        cells: cells.map(str::to_owned),
        test: test.to_owned(),
        line: at,
    })
}

pub fn parse(input: impl Read) -> Result<Vec<Row>, Broken> {
    let mut lines = Lines::new(input);
    let mut rows = Vec::new();
    while let Some((at, line)) = lines.next_whole()? {
        if !line.trim().is_empty() {
            rows.push(row(line, at).ok_or_else(|| Broken::at(at, "not rate, MB/s, latency, jobs, test"))?);
        }
    }
    Ok(rows)
}
