//! Published tables of rates: a column for each arm, a row for each test, as text with tabs or as CSV.

use std::collections::HashMap;
use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, QUERIES, Quirk, THOUSAND_ROWS, Value, Work, no_number, number};

/// Columns of a table: more is no table.
const COLUMNS_MAX: usize = 256;

/// Ratios are below it.
const RATIO_MAX: f64 = 100.0;

/// A column without a name is called so, with its number.
const COLUMN: &str = "col-";

/// Whether an arm is a column without a name.
pub fn is_unnamed(arm: Option<&str>) -> bool {
    arm.and_then(|arm| arm.strip_prefix(COLUMN)).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A table as printed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RatesTable {
    /// The directory that ratios are relative to; `None` for absolute rates.
    pub relative_to: Option<String>,
    /// Directories of the columns; empty if the file does not name them.
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub test: String,
    pub cells: Vec<String>,
    pub line: u32,
}

pub fn parse_table(input: impl Read) -> Result<RatesTable, Broken> {
    let mut lines = Lines::new(input);
    let mut table = RatesTable::default();
    let mut lines_of_tests: HashMap<String, u32> = HashMap::new();
    // Published tables have the test last.
    let mut is_test_first = false;
    // A name that is cut off is another test's.
    while let Some((at, line)) = lines.next_whole()? {
        if let Some(base) = line.strip_prefix("Relative to:") {
            table.relative_to = Some(base.trim().to_owned());
        } else if let Some((column, name)) = line.split_once(" : ").filter(|(column, _)| is_column(column)) {
            if column.trim() != format!("col-{}", table.columns.len() + 1)
                || table.columns.len() >= COLUMNS_MAX
            {
                return Err(Broken::at(at, format!("{column} is out of order")));
            }
            table.columns.push(name.trim().to_owned());
        } else if let Some(names) = header(line).filter(|_| table.rows.is_empty() && table.columns.is_empty())
        {
            table.columns = names;
            is_test_first = line.contains('\t');
        } else if is_heading(line) {
            continue;
        } else if line.contains('\t') {
            let mut cells: Vec<String> = line.split('\t').map(|cell| cell.trim().to_owned()).collect();
            let test = if is_test_first { cells.remove(0) } else { cells.pop().unwrap_or_default() };
            add(&mut table, &mut lines_of_tests, test, cells, at)?;
        } else {
            let mut cells = line.split(',').map(|cell| cell.trim().to_owned());
            let test = cells.next().unwrap_or_default();
            add(&mut table, &mut lines_of_tests, test, cells.collect(), at)?;
        }
    }
    if table.rows.is_empty() {
        return Err(Broken::at(lines.number().max(1), "a table without rows"));
    }
    Ok(table)
}

/// The arms of a header, also with tabs: `test,8.0.36,8.4.3`.
pub fn header(line: &str) -> Option<Vec<String>> {
    let separator = if line.contains('\t') { '\t' } else { ',' };
    let mut cells = line.split(separator).map(str::trim);
    let is_of_tests = cells.next().is_some_and(|cell| cell.eq_ignore_ascii_case("test"));
    let names: Vec<String> = cells.map(str::to_owned).collect();
    let is_figure = |name: &String| number(name).is_some();
    let is_other = |name: &String| name.is_empty() || ["arm", "repeat", "rate"].contains(&name.as_str());
    let are_arms = !names.is_empty() && !names.iter().any(is_other) && !names.iter().all(is_figure);
    (is_of_tests && are_arms && names.len() <= COLUMNS_MAX).then_some(names)
}

fn is_column(text: &str) -> bool {
    text.trim().strip_prefix("col-").is_some_and(|digits| digits.parse::<u32>().is_ok())
}

/// Blank lines, headers, and the headings of hand-edited tables: `-> point queries`, `- point queries`.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with('-')
        || line.split_whitespace().all(is_column)
        || line.ends_with("\ttest")
}

fn add(
    table: &mut RatesTable,
    lines_of_tests: &mut HashMap<String, u32>,
    test: String,
    cells: Vec<String>,
    line: u32,
) -> Result<(), Broken> {
    if test.is_empty() || number(&test).is_some() {
        return Err(Broken::at(line, "a row of figures without the name of a test"));
    }
    if let Some(cell) = cells.iter().find(|cell| number(cell).is_none() && !cell.is_empty() && *cell != "inf")
    {
        return Err(Broken::at(line, no_number(cell, "a number")));
    }
    let columns = if table.columns.is_empty() {
        table.rows.first().map_or(cells.len(), |row| row.cells.len())
    } else {
        table.columns.len()
    };
    if cells.len() != columns || cells.is_empty() {
        return Err(Broken::at(line, format!("{} figures in {columns} columns", cells.len())));
    }
    if let Some(before) = lines_of_tests.insert(test.clone(), line) {
        let why = format!("{test} has a row in line {before} already: leave out one of them");
        return Err(Broken::at(line, why));
    }
    table.rows.push(Row { test, cells, line });
    Ok(())
}

/// Makes a result of a full scan of a row: its rate counts thousand rows, of one client.
pub fn as_scan(measured: &mut Measurement) -> Quirk {
    if let Some(work) = &mut measured.work {
        work.unit = THOUSAND_ROWS.clone();
    }
    Quirk::ScanOfOneClient
}

/// A table of absolute rates as measurements.
pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let table = parse_table(input)?;
    if let Some(base) = &table.relative_to {
        return Err(Broken::derived(
            1,
            format!("ratios relative to {base} are no rates: give the table of absolute rates"),
        ));
    }
    if let Some(cell) = table.rows.iter().flat_map(|row| &row.cells).find(|cell| *cell == "inf") {
        return Err(Broken::at(1, format!("{cell:?} is not a rate")));
    }
    let cells = || table.rows.iter().flat_map(|row| &row.cells);
    let has_two_decimals =
        |cell: &String| cell.rsplit_once('.').is_some_and(|(_, decimals)| decimals.len() == 2);
    let is_small = |cell: &String| number(cell).is_none_or(|figure| figure < RATIO_MAX);
    if cells().all(|cell| has_two_decimals(cell) && is_small(cell)) {
        return Err(Broken::derived(
            table.rows[0].line,
            "ratios, as all figures have two decimals: give the table of rates",
        ));
    }
    if table.columns.is_empty() && table.rows[0].cells.len() == 1 {
        let why = "names and one figure each, without a header: are they arms or tests? Write `arm,rate` above them if they are arms, \
                   or `test,NAME` with the name of their arm";
        return Err(Broken::at(table.rows[0].line, why));
    }
    let mut measurements = Vec::new();
    for row in &table.rows {
        for (index, cell) in row.cells.iter().enumerate() {
            let Some(rate) = number(cell) else { continue };
            let arm = table.columns.get(index).cloned().unwrap_or_else(|| format!("{COLUMN}{}", index + 1));
            measurements.push(Measurement {
                arm: Some(arm),
                test: Some(row.test.clone()),
                work: Some(Work::rate(&QUERIES, rate)),
                values: vec![Value::number("queries_per_s", "1/s", cell, row.line)],
                line: row.line,
                ..Measurement::default()
            });
        }
    }
    Ok(Document { measurements, is_table: true, ..Document::default() })
}
