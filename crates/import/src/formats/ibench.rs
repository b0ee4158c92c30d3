//! Results of the Insert Benchmark: a line per step of one arm (`o.sum.t.*`), and lines of all arms per step (`mrg.*`,
//! `rel.*`).

use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, QUERIES, ROWS, Value, Work, number};

/// The first column.
pub const FIRST: &str = "ips";
/// Steps of 2021, in order; later files have ten lines.
const STEPS_OF_2021: [&str; 15] = [
    "l.i0", "l.x", "l.i1", "q100.1", "q100.2", "q200.1", "q200.2", "q400.1", "q400.2", "q600.1", "q600.2",
    "q800.1", "q800.2", "q1000.1", "q1000.2",
];
const STEPS: [&str; 10] =
    ["l.i0", "l.x", "l.i1", "l.i2", "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6"];

/// Rows under one header.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    /// The line above the header, in files of several steps.
    pub step: Option<String>,
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Without the name of the data set: `pg131.cx5`.
    pub arm: String,
    pub cells: Vec<String>,
    /// Number of the group of arms, from 0: the first arm of a group is its base.
    pub group: usize,
    pub line: u32,
}

pub fn is_header(line: &str) -> bool {
    line.starts_with("ips\tqps\trps\t")
}

pub fn parse_blocks(input: impl Read) -> Result<Vec<Block>, Broken> {
    let mut lines = Lines::new(input);
    let (mut blocks, mut step, mut group): (Vec<Block>, Option<String>, usize) = (Vec::new(), None, 0);
    while let Some((at, line)) = lines.next_whole()? {
        if line.trim().is_empty() {
            continue;
        }
        if line.trim() == "-" {
            group += 1;
            continue;
        }
        let mut cells: Vec<String> = line.split('\t').map(|cell| cell.trim().to_owned()).collect();
        if cells.len() == 1 {
            step = Some(cells.remove(0));
            continue;
        }
        let tag = cells.pop().unwrap_or_default();
        if cells.first().is_some_and(|cell| cell == FIRST) {
            blocks.push(Block { step: step.take(), columns: cells, rows: Vec::new() });
            group = 0;
            continue;
        }
        let block = blocks.last_mut().ok_or_else(|| Broken::at(at, "figures before a header"))?;
        if cells.len() != block.columns.len() {
            return Err(Broken::at(
                at,
                format!("{} figures in {} columns: the file is cut off", cells.len(), block.columns.len()),
            ));
        }
        if let Some(cell) =
            cells.iter().find(|cell| number(cell).is_none() && !["NA", "inf"].contains(&cell.as_str()))
        {
            return Err(Broken::at(at, format!("{cell:?} is not a number")));
        }
        block.rows.push(Row { arm: arm_of(&tag), cells, group, line: at });
    }
    blocks.retain(|block| !block.rows.is_empty());
    if blocks.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no rows in it"));
    }
    Ok(blocks)
}

/// The data set comes first: `20m.pg131.cx5`.
fn arm_of(tag: &str) -> String {
    let rest = tag.split_once('.').filter(|(set, _)| set.starts_with(|c: char| c.is_ascii_digit()));
    rest.map_or(tag, |(_, rest)| rest).to_owned()
}

/// The steps of one arm's rows: as many as known, with queries in the lines of those that have some.
///
/// # Errors
/// If they are others: part of a file would get the names of other steps.
pub fn steps(block: &Block) -> Result<&'static [&'static str], Broken> {
    let first = block.rows.first().map_or(1, |row| row.line);
    let names: &[&str] = match block.rows.len() {
        15 => &STEPS_OF_2021,
        10 => &STEPS,
        count => {
            let why = format!("{count} steps: known are 15 (of 2021) and 10; is a part of the file missing?");
            return Err(Broken::at(first, why));
        }
    };
    let queries = block.columns.iter().position(|column| column == "qps");
    let has_queries = |row: &Row| queries.and_then(|at| number(&row.cells[at])).is_some_and(|qps| qps > 0.0);
    // Lines of one kind do not tell steps apart.
    let is_told = block.rows.iter().any(has_queries) && !block.rows.iter().all(has_queries);
    for (row, step) in block.rows.iter().zip(names).filter(|_| is_told) {
        let has_queries = has_queries(row);
        if has_queries != step.starts_with('q') {
            let (is, other) = if has_queries { ("has", "none") } else { ("has no", "some") };
            let why = format!(
                "step {step} by its place, but the line {is} queries, and that step has {other}: the file is cut off, or of \
                 other steps"
            );
            return Err(Broken::at(row.line, why));
        }
    }
    Ok(names)
}

/// Whether rows are the steps of one arm, not the arms of one step.
pub fn is_of_one_arm(block: &Block) -> bool {
    block.rows.len() > 1 && block.rows.iter().all(|row| row.arm == block.rows[0].arm)
}

/// Where a step is in the order in which they are measured; names of files sort otherwise.
pub fn position(step: &str) -> usize {
    let place = |steps: &[&str]| steps.iter().position(|name| *name == step);
    place(&STEPS_OF_2021).or_else(|| place(&STEPS)).unwrap_or(usize::MAX)
}

/// Rows of all arms (`mrg.*`) name the step above, or the file's name does.
pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let blocks = parse_blocks(input)?;
    let (mut measurements, mut is_table) = (Vec::new(), false);
    for block in &blocks {
        let names = is_of_one_arm(block).then(|| steps(block)).transpose()?;
        is_table |= names.is_none();
        for (index, row) in block.rows.iter().enumerate() {
            let of_position = names.map(|names| names[index].to_owned());
            measurements.push(measurement(block, row, of_position.or_else(|| block.step.clone()))?);
        }
    }
    Ok(Document { measurements, is_consecutive: true, is_table, ..Document::default() })
}

fn measurement(block: &Block, row: &Row, step: Option<String>) -> Result<Measurement, Broken> {
    let cell = |name: &str| Some(&row.cells[block.columns.iter().position(|column| column == name)?]);
    let figure = |name: &str| number(cell(name)?);
    if ["ips", "qps"].iter().filter_map(|name| cell(name)).any(|cell| cell.contains('.')) {
        return Err(Broken::derived(row.line, "ratios, as ips or qps has decimals: give mrg.*"));
    }
    let rows_per_s = figure("ips").ok_or_else(|| Broken::at(row.line, "no ips"))?;
    let queries_per_s = figure("qps").unwrap_or(0.0);
    let work =
        if queries_per_s > 0.0 { Work::rate(&QUERIES, queries_per_s) } else { Work::rate(&ROWS, rows_per_s) };
    let values = block
        .columns
        .iter()
        .zip(&row.cells)
        .map(|(name, cell)| Value::number(name.clone(), unit(name), cell, row.line));
    let mut values: Vec<Value> = values.collect();
    for (name, column) in [
        ("host_context_switches_per_s", "csps"),
        ("host_cpu_percent", "cpups"),
        ("disk_reads_per_s", "rps"),
        ("disk_writes_per_s", "wps"),
    ] {
        values.push(Value::computed(name, unit(column), figure(column), row.line));
    }
    Ok(Measurement {
        arm: Some(row.arm.clone()),
        test: step,
        work: Some(work),
        values,
        line: row.line,
        ..Measurement::default()
    })
}

fn unit(column: &str) -> &'static str {
    match column {
        "ips" | "qps" | "rps" | "wps" | "csps" => "1/s",
        "rmbps" | "wmbps" => "MB/s",
        "cpups" => "%",
        "cpupq" => "us",
        "dbgb1" | "dbgb2" | "rss" => "GB",
        "maxop" => "s",
        "p50" | "p99" => "1/s",
        _ => "",
    }
}
