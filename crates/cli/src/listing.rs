//! Lists of things (runs, builds, configs) in every output format: aligned and no wider than the terminal, Markdown,
//! CSV.
//!
//! If text does not fit, optional columns are dropped, then elastic columns are wrapped, at last the names of rows.
//! Other formats are complete. Each verb builds its own JSON, which has more fields than the list.

use crate::context::Context;
use crate::out;
use rqps_report::{Aligned, Format, GAP, aligned, tame};
use serde_json::Value;

const RESET: &str = "\x1b[0m";
/// Minimum width of an elastic column: that of `inconclusive;`, which would be broken before its mark.
const ELASTIC_MIN: usize = 13;

pub struct Listing {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column: its name in every format.
pub struct Column {
    name: &'static str,
    right_aligned: bool,
    is_elastic: bool,
    /// The order in which columns are dropped when a line is too long, from 1; 0: never.
    drop_order: u8,
}

impl Column {
    pub fn text(name: &'static str) -> Self {
        Self { name, right_aligned: false, is_elastic: false, drop_order: 0 }
    }

    /// Right-aligned.
    pub fn number(name: &'static str) -> Self {
        Self { name, right_aligned: true, is_elastic: false, drop_order: 0 }
    }

    /// Wrapped when a line is too long.
    pub fn elastic(name: &'static str) -> Self {
        Self { name, right_aligned: false, is_elastic: true, drop_order: 0 }
    }

    /// The same column, dropped when a line is too long; `drop_order` 1 before 2.
    pub fn optional(self, drop_order: u8) -> Self {
        Self { drop_order, ..self }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Cell {
    pub text: String,
    /// For CSV, if that differs from the text.
    pub exact: Option<String>,
    /// Used when output is coloured.
    pub tint: Option<Tint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// Something is wrong, or worse.
    Red,
    Green,
    /// Not finished.
    Yellow,
    Dim,
}

impl Tint {
    fn code(self) -> &'static str {
        match self {
            Tint::Red => "\x1b[31m",
            Tint::Green => "\x1b[32m",
            Tint::Yellow => "\x1b[33m",
            Tint::Dim => "\x1b[2m",
        }
    }

    /// The text in this colour.
    pub fn paint(self, text: &str) -> String {
        format!("{}{text}{RESET}", self.code())
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Cell {
    /// Readable text, and the exact value for CSV.
    pub fn with_exact(text: impl Into<String>, exact: impl ToString) -> Self {
        Self { text: text.into(), exact: Some(exact.to_string()), tint: None }
    }

    /// The same in a colour.
    pub fn tinted(self, tint: Option<Tint>) -> Self {
        Self { tint, ..self }
    }
}

impl Listing {
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        // Before widths are measured or colours added.
        let tamed = |cell: Cell| Cell { text: tame(&cell.text).into_owned(), ..cell };
        self.rows.push(cells.into_iter().map(tamed).collect());
    }

    /// Prints the list in the context's format; `json` builds the JSON.
    pub fn print(
        &self,
        context: &Context,
        json: impl FnOnce() -> anyhow::Result<Value>,
    ) -> anyhow::Result<()> {
        let text = match context.format {
            Format::Json => serde_json::to_string_pretty(&json()?)?,
            Format::Text if self.rows.is_empty() => return Ok(()),
            Format::Text => self.text(context.width, context.color),
            Format::Markdown => self.markdown(),
            Format::Csv => self.csv(),
        };
        out::print_line(&text)
    }

    /// Aligned text, lines at most `width` wide.
    pub fn text(&self, width: Option<usize>, color: bool) -> String {
        let widths = self.widths(width);
        let head = |column: &Column| Cell::from(column.name).tinted(Some(Tint::Dim));
        let heads = self.columns.iter().map(head).collect();
        let lines = [heads].into_iter().chain(self.rows.iter().cloned());
        lines.map(|cells| self.line(&cells, &widths, color)).collect::<Vec<_>>().join("\n")
    }

    /// The width of each column; `None` if it is dropped.
    fn widths(&self, width: Option<usize>) -> Vec<Option<usize>> {
        let natural_width = |index: usize, column: &Column| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| cell.text.chars().count()).chain([column.name.len()]).max()
        };
        let mut widths: Vec<Option<usize>> =
            self.columns.iter().enumerate().map(|(index, column)| natural_width(index, column)).collect();
        let Some(width) = width else {
            return widths;
        };
        let total_of = |widths: &[Option<usize>]| {
            widths.iter().flatten().map(|width| width + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
        };
        let least: Vec<Option<usize>> = self
            .columns
            .iter()
            .zip(&widths)
            .map(|(column, width)| {
                width.map(|all| if column.is_elastic { all.min(ELASTIC_MIN) } else { all })
            })
            .collect();
        let mut is_dropped = vec![false; widths.len()];
        let mut droppable: Vec<(u8, usize)> =
            self.columns.iter().enumerate().map(|(index, column)| (column.drop_order, index)).collect();
        droppable.sort_unstable();
        for (_, index) in droppable.into_iter().filter(|(order, _)| *order > 0) {
            let left = least.iter().zip(&is_dropped).map(|(width, dropped)| width.filter(|_| !dropped));
            is_dropped[index] = total_of(&left.collect::<Vec<_>>()) > width;
        }
        widths
            .iter_mut()
            .zip(&is_dropped)
            .filter(|(_, dropped)| **dropped)
            .for_each(|(width, _)| *width = None);
        // The widest gives first.
        while total_of(&widths) > width {
            let elastic = self.columns.iter().zip(&mut widths).filter(|(column, _)| column.is_elastic);
            let widest = elastic.filter_map(|(_, width)| width.as_mut()).max();
            let Some(widest) = widest.filter(|width| **width > ELASTIC_MIN) else { break };
            *widest -= 1;
        }
        // The name of a row is broken, behind its hyphens, if nothing else helps.
        let excess = total_of(&widths).saturating_sub(width);
        if let Some(name) = widths.first_mut().and_then(Option::as_mut).filter(|name| **name > ELASTIC_MIN) {
            *name = name.saturating_sub(excess).max(ELASTIC_MIN);
        }
        widths
    }

    /// A row, in several lines if columns are wrapped.
    fn line(&self, cells: &[Cell], widths: &[Option<usize>], color: bool) -> String {
        let shown = self.columns.iter().zip(widths).zip(cells);
        let shown = shown.filter_map(|((column, width), cell)| {
            Some(Aligned {
                text: &cell.text,
                width: (*width)?,
                is_right: column.right_aligned,
                colour: cell.tint.filter(|_| color).map_or("", Tint::code),
            })
        });
        aligned(&shown.collect::<Vec<_>>())
    }

    fn markdown(&self) -> String {
        let cells = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', " ");
        let rule = |column: &Column| if column.right_aligned { "---:" } else { "---" }.to_owned();
        let mut lines = vec![
            cells(self.columns.iter().map(|column| column.name.to_owned()).collect()),
            cells(self.columns.iter().map(rule).collect()),
        ];
        lines.extend(self.rows.iter().map(|row| cells(row.iter().map(|cell| escaped(&cell.text)).collect())));
        lines.join("\n")
    }

    fn csv(&self) -> String {
        let field = |text: &str| match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let exact = |cell: &Cell| field(cell.exact.as_deref().unwrap_or(&cell.text));
        let mut lines =
            vec![self.columns.iter().map(|column| field(column.name)).collect::<Vec<_>>().join(",")];
        lines.extend(self.rows.iter().map(|row| row.iter().map(exact).collect::<Vec<_>>().join(",")));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let mut listing =
            Listing::new(vec![Column::text("name"), Column::number("size"), Column::elastic("what")]);
        listing.row(vec!["a".into(), Cell::with_exact("1 kB", 1024), "the first, of | two".into()]);
        listing.row(vec!["second".into(), "12 MB".into(), Cell::from("ends").tinted(Some(Tint::Red))]);
        listing
    }

    #[test]
    fn lines_fit_the_terminal_and_have_no_trailing_blanks() {
        let whole = "name     size  what\na        1 kB  the first, of | two\nsecond  12 MB  ends";
        assert_eq!(listing().text(None, false), whole);
        assert_eq!(listing().text(Some(80), false), whole);
        let narrow = listing().text(Some(28), false);
        assert_eq!(
            narrow,
            "name     size  what\na        1 kB  the first, of\n               | two\nsecond  12 MB  ends"
        );
        let mut droppable = listing();
        droppable.columns[1].drop_order = 1;
        assert_eq!(droppable.text(Some(28), false), narrow, "dropped without need");
        assert_eq!(
            droppable.text(Some(22), false),
            "name    what\na       the first, of\n        | two\nsecond  ends"
        );
        let mut named = listing();
        named.rows[0][0] = "calibrate-ladder-20261130".into();
        let broken = [
            "calibrate-ladder-    1 kB  the first, of",
            "20261130                   | two",
            "second              12 MB  ends",
        ];
        assert_eq!(named.text(Some(40), false).lines().skip(1).collect::<Vec<_>>(), broken);
        assert_eq!(listing().text(Some(3), false).lines().nth(1), Some("a        1 kB  the first, of"));
    }

    #[test]
    fn colours_do_not_move_columns() {
        let plain =
            listing().text(None, true).replace("\x1b[31m", "").replace("\x1b[2m", "").replace(RESET, "");
        let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
        assert_eq!(trimmed.join("\n"), listing().text(None, false));
    }

    #[test]
    fn other_formats_are_complete_and_escaped() {
        assert_eq!(
            listing().markdown(),
            "| name | size | what |\n| --- | ---: | --- |\n| a | 1 kB | the first, of \\| two |\n| second | 12 MB | ends |"
        );
        assert_eq!(listing().csv(), "name,size,what\na,1024,\"the first, of | two\"\nsecond,12 MB,ends");
    }
}
