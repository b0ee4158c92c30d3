//! Figures of vmstat and iostat per operation: of one step (`sb.met.*`), and tables of all arms (`o.met.*`).

use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, Quirk, Value, number};

/// Columns of a step's file: iostat, then vmstat.
pub const IOSTAT: [&str; 9] = ["samp", "r/s", "rMB/s", "w/s", "wMB/s", "r/o", "rKB/o", "wKB/o", "o/s"];
pub const VMSTAT: [&str; 5] = ["samp", "cs/s", "cpu/s", "cs/o", "cpu/o"];

/// A step's file, as printed.
#[derive(Debug, Clone, PartialEq)]
pub struct StepMetrics {
    pub iostat: Vec<String>,
    pub vmstat: Vec<String>,
}

impl StepMetrics {
    /// A cell by its column; both tables have `samp`, this is vmstat's.
    pub fn cell(&self, column: &str) -> Option<&str> {
        let of = |columns: &[&str], cells: &'_ [String]| {
            columns.iter().position(|name| *name == column).filter(|at| *at < cells.len())
        };
        if let Some(at) = of(&VMSTAT, &self.vmstat) {
            return Some(&self.vmstat[at]);
        }
        of(&IOSTAT, &self.iostat).map(|at| self.iostat[at].as_str())
    }

    /// Samples of iostat.
    pub fn iostat_samples(&self) -> Option<f64> {
        number(self.iostat.first()?)
    }

    /// By what means per sample are too small: vmstat's headers count as samples, and the sample since boot is one.
    /// iostat tells how many samples there were, to within one.
    pub fn samples_factor(&self) -> Option<f64> {
        let counted = number(self.cell("samp")?)?;
        let is = |samples: f64| samples + (samples / 21.0).ceil() - 1.0 == counted;
        let near = self.iostat_samples()?;
        let samples = [near, near + 1.0, near - 1.0].into_iter().find(|samples| is(*samples))?;
        (samples > 0.0).then(|| counted / samples)
    }
}

pub fn parse_step(input: impl Read) -> Result<StepMetrics, Broken> {
    let mut lines = Lines::new(input);
    let mut tables: Vec<Vec<String>> = Vec::new();
    let mut header: Option<Vec<String>> = None;
    while let Some((at, line)) = lines.next_whole()? {
        let cells: Vec<String> = line.split('\t').map(|cell| cell.trim().to_owned()).collect();
        if cells.first().is_some_and(|cell| cell == "samp") {
            header = Some(cells);
        } else if let Some(columns) = header.take() {
            if cells.len() != columns.len() || cells.iter().any(|cell| number(cell).is_none()) {
                return Err(Broken::at(at, format!("{} figures expected", columns.len())));
            }
            tables.push(cells);
        }
    }
    match <[Vec<String>; 2]>::try_from(tables) {
        Ok([iostat, vmstat]) if iostat.len() == IOSTAT.len() && vmstat.len() == VMSTAT.len() => {
            Ok(StepMetrics { iostat, vmstat })
        }
        _ => Err(Broken::at(
            lines.number().max(1),
            "not two rows of figures, of iostat and vmstat: the file is cut off",
        )),
    }
}

/// A step's figures, corrected for counted headers.
pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let step = parse_step(input)?;
    let factor = step.samples_factor();
    let mut values = Vec::new();
    let mut push = |name: &'static str, unit: &'static str, column: &str, scale: Option<f64>, line| {
        if let Some(text) = step.cell(column) {
            let value = scale.and_then(|scale| Some(number(text)? * scale));
            values.push(Value {
                name: name.into(),
                unit: unit.into(),
                value,
                published: Some(text.to_owned()),
                line,
            });
        }
    };
    // The same quantity under the same name as from vmstat and iostat themselves; but MB of 1024 kB.
    push("disk_reads_per_s", "1/s", "r/s", Some(1.0), 3);
    push("disk_read_mb_per_s", "MB/s", "rMB/s", Some(1.0), 3);
    push("disk_writes_per_s", "1/s", "w/s", Some(1.0), 3);
    push("disk_write_mb_per_s", "MB/s", "wMB/s", Some(1.0), 3);
    push("disk_reads_per_op", "1/o", "r/o", Some(1.0), 3);
    push("disk_read_kb_per_op", "kB/o", "rKB/o", Some(1.0), 3);
    push("disk_write_kb_per_op", "kB/o", "wKB/o", Some(1.0), 3);
    push("host_context_switches_per_s", "1/s", "cs/s", factor, 6);
    push("host_cpu_percent", "%", "cpu/s", factor, 6);
    push("host_context_switches_per_op", "1/o", "cs/o", factor, 6);
    push("host_cpu_per_op", "%/o/s", "cpu/o", factor, 6);
    push("metrics_rate", "1/s", "o/s", Some(1.0), 3);
    let measurement = Measurement { values, line: 3, ..Measurement::default() };
    let quirks = vec![Quirk::Samples, Quirk::RoundedRatios];
    Ok(Document { quirks, measurements: vec![measurement], ..Document::default() })
}

/// A table of all arms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricsTable {
    /// Name of the files it was made of: `sb.met.scan.range100.pk1.dop1`.
    pub file: String,
    pub columns: Vec<String>,
    pub absolute: Vec<MetricsRow>,
    pub relative: Vec<MetricsRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricsRow {
    pub arm: String,
    pub cells: Vec<String>,
    pub line: u32,
}

pub fn parse_tables(input: impl Read) -> Result<Vec<MetricsTable>, Broken> {
    let mut lines = Lines::new(input);
    let mut tables: Vec<MetricsTable> = Vec::new();
    let (mut is_relative, mut is_new) = (false, true);
    while let Some((at, line)) = lines.next_whole()? {
        if line.trim().is_empty() {
            is_new = true;
            continue;
        }
        if is_new {
            tables.push(MetricsTable { file: line.trim().to_owned(), ..MetricsTable::default() });
            (is_new, is_relative) = (false, false);
            continue;
        }
        let Some(table) = tables.last_mut() else { continue };
        if line.starts_with("---") {
            is_relative = line.contains("relative");
            continue;
        }
        let mut cells: Vec<String> =
            line.split('\t').map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect();
        let arm = cells.pop().unwrap_or_default();
        if arm == "dbms" {
            table.columns = cells;
            continue;
        }
        if cells.len() != table.columns.len() || cells.is_empty() {
            return Err(Broken::at(
                at,
                format!("{} figures in {} columns", cells.len(), table.columns.len()),
            ));
        }
        let row = MetricsRow { arm, cells, line: at };
        if is_relative { table.relative.push(row) } else { table.absolute.push(row) }
    }
    tables.retain(|table| !table.absolute.is_empty());
    if tables.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no table in it"));
    }
    Ok(tables)
}
