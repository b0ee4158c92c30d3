//! Aligned text: numbers right-aligned, labels last, two spaces between columns.

use crate::document::{Align, Block, Cell, Column, Document, Row, Table, Tint};
use crate::format::Screen;
use crate::render::{by_group, wrapped};

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const GRAY: &str = "\x1b[90m";
const RESET: &str = "\x1b[0m";
const GAP: &str = "  ";
/// Words of up to this many characters are never cut off: verdicts and names of metrics are shorter.
const CUT_MIN: usize = 16;
const CUT_NOTE: &str = "…: too long for this terminal; `--format markdown` prints it whole";

/// Renders the document as aligned text.
pub(crate) fn render(document: &Document, screen: Screen) -> String {
    let blocks: Vec<String> = document.blocks.iter().map(|block| render_block(block, screen)).collect();
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}

fn render_block(block: &Block, screen: Screen) -> String {
    match block {
        Block::Heading(level, heading) => {
            let line = if *level == 1 { "=" } else { "-" };
            format!("{heading}\n{}", line.repeat(heading.chars().count()))
        }
        Block::Text(text) | Block::Alarm(text) => wrapped(text, screen.width),
        Block::Items(items) => {
            let items = items.iter().map(|item| wrapped(&format!("- {item}"), screen.width));
            items.collect::<Vec<_>>().join("\n")
        }
        Block::Code(code) => {
            code.trim_end().lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
        }
        Block::Table(table) => render_table(table, screen),
        Block::Fold(summary, blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|block| render_block(block, screen)).collect();
            format!("{summary}:\n\n{}", blocks.join("\n\n"))
        }
    }
}

fn render_table(table: &Table, screen: Screen) -> String {
    let shown = table.shown();
    let cut = screen.width.and_then(|width_max| cut_to_fit(&shown, width_max));
    let table = cut.as_ref().unwrap_or(&shown);
    let mut lines = vec![table.title.clone()];
    lines.extend(table.above());
    lines.extend(table.warnings().iter().map(|warning| format!("WARNING: {warning}")));
    lines.iter_mut().for_each(|line| *line = wrapped(line, screen.width));
    let parts = Parts::of(table, screen.width);
    lines.extend(parts.constants());
    let heads: Vec<Cell> = table.columns.iter().map(|column| Cell::words(&*column.name)).collect();
    for (group, rows) in by_group(table) {
        if group.is_some() || lines.len() > 1 {
            lines.push(String::new());
        }
        lines.extend(group.map(str::to_owned));
        for (at, part) in parts.columns.iter().enumerate() {
            if at > 0 {
                lines.push(String::new());
            }
            lines.push(parts.line(part, &heads, false));
            lines.extend(rows.iter().map(|row| parts.line(part, &row.cells, screen.color)));
        }
        lines.extend(parts.remarks(&rows).map(|remark| wrapped(&remark, screen.width)));
    }
    if cut.is_some() {
        lines.extend([String::new(), wrapped(CUT_NOTE, screen.width)]);
    }
    if !table.footnotes.is_empty() {
        lines.push(String::new());
        lines.extend(table.footnotes.iter().map(|footnote| wrapped(footnote, screen.width)));
    }
    lines.join("\n")
}

/// A table as it fits the terminal: one that is too wide is printed in parts, each with the columns that name the row,
/// and what its last column says follows below.
struct Parts<'a> {
    table: &'a Table,
    widths: Vec<usize>,
    /// Indices of each part's columns.
    columns: Vec<Vec<usize>>,
    /// Columns that say the same in all rows, printed once above.
    constants: Vec<usize>,
    /// The column of sentences that does not fit.
    remarks: Option<usize>,
}

impl<'a> Parts<'a> {
    fn of(table: &'a Table, width_max: Option<usize>) -> Self {
        let count = table.columns.len();
        let widths: Vec<usize> =
            table.columns.iter().enumerate().map(|(index, column)| width(table, index, column)).collect();
        let all: Vec<usize> = (0..count).collect();
        let one = Self { table, widths, columns: vec![all], constants: Vec::new(), remarks: None };
        let Some(width_max) = width_max.filter(|width_max| one.width_of(&one.columns[0]) > *width_max) else {
            return one;
        };
        // The first column names the row, unless the last ones do.
        let labels = if table.labels > 0 { count - table.labels..count } else { 0..1 };
        let names: Vec<usize> =
            labels.clone().filter(|index| *index + 1 == labels.end || !is_constant(table, *index)).collect();
        let remarks = remarks_column(table);
        let rest = (0..count).filter(|index| !names.contains(index) && Some(*index) != remarks);
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for index in rest {
            // A column of words, such as a verdict, begins what belongs together.
            match groups.last_mut() {
                Some(group) if table.columns[index].align == Align::Right => group.push(index),
                _ => groups.push(vec![index]),
            }
        }
        let (constants, groups): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| matches!(group.as_slice(), [column] if is_constant(table, *column)));
        let fits = |columns: &[usize]| one.width_of(&[columns, &names].concat()) <= width_max;
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for group in groups {
            let is_whole = fits(&group);
            let pieces =
                if is_whole { vec![group] } else { group.into_iter().map(|one| vec![one]).collect() };
            for piece in pieces {
                match parts.last_mut() {
                    Some(part) if fits(&[part.as_slice(), &piece].concat()) => part.extend(piece),
                    _ => parts.push(piece),
                }
            }
        }
        let named = |part: Vec<usize>| match table.labels {
            0 => [names.clone(), part].concat(),
            _ => [part, names.clone()].concat(),
        };
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let columns = parts.into_iter().map(named).collect();
        Self { columns, constants: constants.concat(), remarks, ..one }
    }

    fn constants(&self) -> impl Iterator<Item = String> {
        let text = |index: &usize| {
            let cell = self.table.rows.first().and_then(|row| row.cells.get(*index));
            cell.map(|cell| format!("{}: {}", self.table.columns[*index].name, cell.text))
        };
        self.constants.iter().filter_map(text)
    }

    fn width_of(&self, columns: &[usize]) -> usize {
        columns.iter().map(|index| self.widths[*index] + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
    }

    fn line(&self, part: &[usize], cells: &[Cell], color: bool) -> String {
        let mut line = String::new();
        for index in part {
            let Some(cell) = cells.get(*index) else { continue };
            let pad = " ".repeat(self.widths[*index].saturating_sub(cell.text.chars().count()));
            let text = tinted(cell, color);
            match self.table.columns[*index].align {
                Align::Right => line.extend([&pad, &*text, GAP]),
                Align::Left => line.extend([&*text, &pad, GAP]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// `point-query, scan: rate: too noisy`, below the rows: each remark once, with the rows that it is about.
    fn remarks(&self, rows: &'a [&Row]) -> impl Iterator<Item = String> {
        let of_row = |index: usize| {
            let name = &self.table.columns[index].name;
            let texts = rows.iter().filter_map(move |row| Some((row.cells.first()?, row.cells.get(index)?)));
            let said = texts.filter(|(_, remark)| remark.is_known());
            let mut each: Vec<(&str, Vec<&str>)> = Vec::new();
            for (row, remark) in said {
                match each.iter_mut().find(|(text, _)| *text == remark.text) {
                    Some((_, names)) => names.push(&row.text),
                    None => each.push((&remark.text, vec![&row.text])),
                }
            }
            let line = |(text, names): &(&str, Vec<&str>)| format!("- {}: {text}", names.join(", "));
            let lines: Vec<String> = each.iter().map(line).collect();
            let head = (!lines.is_empty()).then(|| format!("\n{name}"));
            head.into_iter().chain(lines)
        };
        self.remarks.into_iter().flat_map(of_row)
    }
}

/// The column of sentences about a row, if there is one.
fn remarks_column(table: &Table) -> Option<usize> {
    let last = table.columns.len().checked_sub(1).filter(|last| table.labels == 0 && *last > 1)?;
    (table.columns[last].align == Align::Left).then_some(last)
}

/// A copy of a table whose longest words would not even fit in a part of their own, with such words cut off: to where
/// all columns fit, if that leaves `CUT_MIN` characters, else to that. None: all fit. Labels, remarks and what is
/// printed once stay whole.
fn cut_to_fit(table: &Table, width_max: usize) -> Option<Table> {
    let (remarks, labels) = (remarks_column(table), table.columns.len() - table.labels);
    let shown = |index: &usize| Some(*index) != remarks && !is_constant(table, *index);
    let columns: Vec<usize> = (0..table.columns.len()).filter(shown).collect();
    let is_name = |index: usize| if table.labels > 0 { index >= labels } else { index == 0 };
    let is_words = |index: &usize| table.columns[*index].align == Align::Left && !is_name(*index);
    let width_of = |index: &usize| width(table, *index, &table.columns[*index]);
    let total = |columns: &mut dyn Iterator<Item = &usize>, cap: usize| {
        let each =
            columns.map(|index| if is_words(index) { width_of(index).min(cap) } else { width_of(index) });
        each.map(|width| width + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
    };
    let names = total(&mut columns.iter().filter(|index| is_name(**index)), usize::MAX);
    let words: Vec<usize> = columns.iter().copied().filter(is_words).collect();
    let longest = words.iter().map(width_of).max()?;
    if longest <= CUT_MIN || longest + GAP.len() + names <= width_max {
        return None;
    }
    let cap =
        (CUT_MIN..longest).rev().find(|cap| total(&mut columns.iter(), *cap) <= width_max).unwrap_or(CUT_MIN);
    let mut cut = table.clone();
    let cells = cut.rows.iter_mut().flat_map(|row| row.cells.iter_mut().enumerate());
    for (_, Cell { text, .. }) in cells.filter(|(index, _)| words.contains(index)) {
        *text = rqps_model::cut(text, cap).into_owned();
    }
    Some(cut)
}

fn width(table: &Table, index: usize, column: &Column) -> usize {
    let cells =
        table.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| cell.text.chars().count());
    cells.chain([column.name.chars().count()]).max().unwrap_or(0)
}

/// Whether a column of words says the same in all rows.
fn is_constant(table: &Table, column: usize) -> bool {
    let mut texts = table.rows.iter().map(|row| row.cells.get(column).map(|cell| &cell.text));
    let first = texts.next();
    table.columns[column].align == Align::Left && texts.all(|text| Some(text) == first)
}

fn tinted(cell: &Cell, color: bool) -> String {
    let code = match cell.tint {
        Tint::Red | Tint::Worst => RED,
        Tint::Green | Tint::Best => GREEN,
        Tint::Unranked => GRAY,
        Tint::None => "",
    };
    match color && !code.is_empty() {
        true => format!("{code}{}{RESET}", cell.text),
        false => cell.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_values_stand_beside_the_name_however_long_one_is() {
        let columns = ["kind", "base", "arm", "name"].map(Column::words).into();
        let mut table = Table::new("differences", "What differs", columns, 1);
        let modes = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,NO_AUTO_CREATE_USER";
        table.row(["default", "80", "151", "back_log"].map(Cell::words).into());
        table.row(["set", modes, "STRICT_TRANS_TABLES", "sql_mode"].map(Cell::words).into());
        let at = |width| render_table(&table, Screen { width, ..Screen::default() });
        let narrow = at(Some(80));
        let row = narrow.lines().find(|line| line.contains("sql_mode")).unwrap();
        assert!(row.contains("ONLY_FULL_GROUP_BY,STRICT") && row.contains("… "), "{narrow}");
        assert!(row.contains("STRICT_TRANS_TABLES  sql_mode"), "{narrow}");
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 80) && narrow.contains(CUT_NOTE),
            "{narrow}"
        );
        assert!(at(None).contains(modes) && !at(None).contains('…'));
    }
}
