//! Tables as Markdown whose columns also line up as plain text.

use std::fmt;

/// A table: a head and rows of the same number of cells.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Self { rows: vec![head.into_iter().map(Into::into).collect()] }
    }

    /// Appends a row; what it lacks stays empty.
    pub fn push<T: Into<String>>(&mut self, row: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = row.into_iter().map(Into::into).collect();
        row.resize(self.rows[0].len(), String::new());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows[0].len();
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (number, row) in self.rows.iter().enumerate() {
            for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let cell = if place == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
                write!(out, "| {cell} ")?;
            }
            writeln!(out, "|")?;
            if number == 0 {
                let rules = widths.iter().enumerate().map(|(place, width)| match place {
                    0 => format!("| {} ", "-".repeat(*width)),
                    _ => format!("| {}: ", "-".repeat(width - 1)),
                });
                writeln!(out, "{}|", rules.collect::<String>())?;
            }
        }
        Ok(())
    }
}

/// A figure with as many digits as tell something: one place behind the point below 10, none above.
#[must_use]
pub fn figure(value: f64) -> String {
    if value.abs() < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A ratio: two places below 10.
#[must_use]
pub fn ratio(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}x") } else { format!("{value:.1}x") }
}

/// The geometric mean; nothing of nothing.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logs / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["set", "ns"]);
        table.push(["url", "12345"]);
        table.push(["few100"]);
        let expected = "| set    |    ns |\n| ------ | ----: |\n| url    | 12345 |\n| few100 |       |\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn means_and_figures() {
        assert_eq!(geometric_mean(&[2.0, 8.0]).map(ratio).as_deref(), Some("4.00x"));
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!([figure(9.94), figure(9.96), figure(0.25)], ["9.9", "10", "0.2"]);
    }
}
