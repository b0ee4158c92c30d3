//! Published tables with a header of versions above rows of figures, and the test last: `9.8.4 9.9.3 … test`.

use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;
use crate::model::number;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArmsTable {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: String,
    pub cells: Vec<String>,
    pub line: u32,
}

pub fn is_header(line: &str) -> bool {
    let cells: Vec<&str> = line.split('\t').collect();
    cells.len() > 1 && cells.last() == Some(&"test") && cells[0].starts_with(|c: char| c.is_ascii_digit())
}

pub fn parse(input: impl Read) -> Result<ArmsTable, Broken> {
    let mut lines = Lines::new(input);
    let mut table = ArmsTable::default();
    while let Some((at, line)) = lines.next_whole()? {
        let mut cells: Vec<String> = line.split('\t').map(|cell| cell.trim().to_owned()).collect();
        let name = cells.pop().unwrap_or_default();
        if line.trim().is_empty() {
            continue;
        }
        if is_header(line) {
            table.columns = cells;
            continue;
        }
        if cells.len() != table.columns.len()
            || cells.iter().any(|cell| number(cell).is_none() && cell != "NA")
        {
            return Err(Broken::at(at, format!("{} figures and a test expected", table.columns.len())));
        }
        table.rows.push(Row { name, cells, line: at });
    }
    if table.rows.is_empty() {
        return Err(Broken::at(lines.number().max(1), "a table without rows"));
    }
    Ok(table)
}
