//! Aligned text: numbers right-aligned, labels last, two spaces between columns.

use std::borrow::Cow;

use crate::document::{Align, Block, Cell, Column, Document, Row, Table, Tint};
use crate::format::Screen;
use crate::html::short_names;
use crate::render::{Aligned, GAP, aligned, by_group, longest_piece, wrapped};

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const GRAY: &str = "\x1b[90m";
/// Words of up to this many characters are never wrapped: verdicts and names of metrics are shorter.
const WRAP_MIN: usize = 16;
/// Longer names and values may be broken anywhere.
const PIECE_MAX: usize = 40;
/// With more rows in each part of a table, the group's heading is repeated: it may be off the screen.
const ROWS_SEEN: usize = 20;
/// Longer names of arms are no headings of columns.
const HEADING_MAX: usize = 12;

/// Renders the document as aligned text.
pub(crate) fn render(document: &Document, screen: Screen) -> String {
    let mut told = Vec::new();
    let mut block = |block| render_block(block, screen, &mut told);
    let blocks: Vec<String> = document.blocks.iter().map(&mut block).collect();
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}

/// `told`: the columns that an earlier table says to have left out.
fn render_block(block: &Block, screen: Screen, told: &mut Vec<String>) -> String {
    match block {
        Block::Heading(level, heading) => {
            let line = if *level == 1 { "=" } else { "-" };
            let heading = wrapped(heading, screen.width);
            let longest = heading.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            format!("{heading}\n{}", line.repeat(longest))
        }
        Block::Text(text) | Block::Alarm(text) => wrapped(text, screen.width),
        Block::Items(items) => {
            let items = items.iter().map(|item| wrapped(&format!("- {item}"), screen.width));
            items.collect::<Vec<_>>().join("\n")
        }
        Block::Code(code) => {
            code.trim_end().lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
        }
        Block::Table(table) => render_table(table, screen, told),
        Block::Fold(summary, blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|block| render_block(block, screen, told)).collect();
            format!("{summary}:\n\n{}", blocks.join("\n\n"))
        }
    }
}

fn render_table(table: &Table, screen: Screen, told: &mut Vec<String>) -> String {
    let table = table.shown();
    let table = narrowed(&table, screen.width, told);
    let table = &*named(&table, screen.width);
    let mut lines = vec![table.title.clone()];
    lines.extend(table.above(table.columns.iter().map(|column| &column.name)));
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
                lines.extend(group.filter(|_| rows.len() > ROWS_SEEN).map(str::to_owned));
            }
            lines.push(parts.line(part, &heads, false));
            lines.extend(rows.iter().map(|row| parts.line(part, &row.cells, screen.color)));
        }
        lines.extend(parts.remarks(&rows).map(|remark| wrapped(&remark, screen.width)));
    }
    if !table.footnotes.is_empty() {
        lines.push(String::new());
        lines.extend(table.footnotes.iter().map(|footnote| wrapped(footnote, screen.width)));
    }
    lines.join("\n")
}

/// With the names of arms as headings instead of numbers, without what all have in common, where they fit.
fn named(original: &Table, width_max: Option<usize>) -> Cow<'_, Table> {
    let is_numbered = |column: &&Column| column.stands_for.is_some();
    let arms: Vec<&str> = original.columns.iter().filter(is_numbered).map(|column| &*column.key).collect();
    let names = short_names(&arms).0;
    if arms.is_empty() || names.iter().any(|name| name.is_empty() || name.chars().count() > HEADING_MAX) {
        return Cow::Borrowed(original);
    }
    let mut table = original.clone();
    let mut names = names.into_iter();
    for column in table.columns.iter_mut().filter(|column| column.stands_for.is_some()) {
        column.name = names.next().unwrap_or_default();
    }
    let width = widths(&table, None).iter().map(|width| width + GAP.len()).sum::<usize>() - GAP.len();
    let fits = width_max.is_none_or(|width_max| width <= width_max);
    if fits { Cow::Owned(table) } else { Cow::Borrowed(original) }
}

/// In as few lines as the terminal permits, without the optional columns for which there is no room then, and with a
/// line that names them unless one is `told` that does.
fn narrowed<'a>(table: &'a Table, width_max: Option<usize>, told: &mut Vec<String>) -> Cow<'a, Table> {
    let all = table.columns.iter().map(|column| column.rank).max().unwrap_or(0);
    let shown = |rank: u8| -> Vec<bool> { table.columns.iter().map(|column| column.rank <= rank).collect() };
    // Lines of the terminal that a row takes.
    let lines = |rank: &u8| {
        let table = table.with_columns(&shown(*rank));
        let parts = Parts::of(&table, width_max);
        let width = width_max.unwrap_or(usize::MAX);
        parts.columns.iter().map(|part| parts.width_of(part).div_ceil(width)).sum::<usize>()
    };
    let rank = (0..=all).rev().min_by_key(lines).unwrap_or(all);
    if rank == all {
        return Cow::Borrowed(table);
    }
    let mut narrow = table.with_columns(&shown(rank));
    let left = left_out(&table.columns, rank);
    if told.contains(&left) {
        return Cow::Owned(narrow);
    }
    let whole = Parts::of(table, Some(0));
    let below = [whole.constants.as_slice(), whole.remarks.as_slice()].concat();
    let beside: Vec<usize> = (0..table.columns.len()).filter(|index| !below.contains(index)).collect();
    let width = Parts { widths: widths(table, None), ..whole }.width_of(&beside);
    narrow.footnotes.push(format!(
        "left out here: {left}; a terminal of {width} columns has them, and so has `--format markdown`"
    ));
    told.push(left);
    Cow::Owned(narrow)
}

/// `blocks, detectable, from and to of cost/op`: the headings of columns above a rank. Where a shown column has the
/// same, the nearest heading before it that only one column has tells which is meant.
fn left_out(columns: &[Column], rank: u8) -> String {
    let count = |name: &str| columns.iter().filter(|column| column.name == name).count();
    let mut left: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.rank > rank) {
        let is_shown = columns.iter().any(|shown| shown.rank <= rank && shown.name == column.name);
        let mut before = columns[..at].iter().rev().map(|before| &*before.name);
        let of = before.find(|name| count(name) == 1).filter(|_| is_shown);
        match left.iter_mut().find(|(known, _)| *known == of) {
            Some((_, names)) if names.contains(&&*column.name) => {}
            Some((_, names)) => names.push(&*column.name),
            None => left.push((of, vec![&*column.name])),
        }
    }
    let text = |(of, names): &(Option<&str>, Vec<&str>)| match of {
        Some(of) => format!("{} of {of}", names.join(" and ")),
        None => names.join(", "),
    };
    left.iter().map(text).collect::<Vec<_>>().join(", ")
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
        let widths = widths(table, width_max);
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
            let first_word = |index: &usize| table.columns[*index].name.split(' ').next();
            let pieces: Vec<Vec<usize>> = match fits(&group) {
                true => vec![group],
                // `p50 old` and `p50 new` belong together.
                false => {
                    group.chunk_by(|a, b| first_word(a) == first_word(b)).map(<[usize]>::to_vec).collect()
                }
            };
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

    /// A row, in several lines if words are wrapped.
    fn line(&self, part: &[usize], cells: &[Cell], color: bool) -> String {
        let shown = part.iter().filter_map(|index| cells.get(*index).map(|cell| (*index, cell)));
        let shown = shown.map(|(index, cell)| Aligned {
            text: &cell.text,
            width: self.widths[index],
            is_right: self.table.columns[index].align == Align::Right,
            colour: if color { colour(cell.tint) } else { "" },
        });
        aligned(&shown.collect::<Vec<_>>())
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

/// The widths of columns: of those with long words so that wrapped in it all columns fit side by side, or else so that
/// each fits in a part of its own. Labels, remarks and what is printed once stay whole, unless all columns of the table
/// stay together.
fn widths(table: &Table, width_max: Option<usize>) -> Vec<usize> {
    let count = table.columns.len();
    let all: Vec<usize> = (0..count).map(|index| width(table, index, &table.columns[index])).collect();
    let Some(width_max) = width_max else { return all };
    let pieces: Vec<usize> = (0..count).map(|index| piece(table, index)).collect();
    let (remarks, labels) = (remarks_column(table), count - table.labels);
    let is_shown = |index: &usize| Some(*index) != remarks && !is_constant(table, *index);
    let shown: Vec<usize> = (0..count).filter(is_shown).collect();
    let is_name = |index: &usize| if table.labels > 0 { *index >= labels } else { *index == 0 };
    let is_left = |index: &usize| table.columns[*index].align == Align::Left;
    let is_words = |index: &usize| is_left(index) && !is_name(index);
    let total = |widths: &[usize], columns: &[usize]| {
        columns.iter().map(|index| widths[*index] + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
    };
    // Names in a text, such as those of options, stay whole.
    let capped = |columns: &[usize], cap: usize| {
        let mut widths = all.clone();
        columns.iter().for_each(|index| widths[*index] = all[*index].min(cap.max(pieces[*index])));
        widths
    };
    // The widest columns for which all of `columns` fit side by side.
    let fitted = |words: &[usize], columns: &[usize]| {
        let longest = words.iter().map(|index| all[*index]).max()?;
        let caps = (WRAP_MIN..=longest).rev().map(|cap| capped(words, cap));
        caps.into_iter().find(|widths| total(widths, columns) <= width_max)
    };
    let every: Vec<usize> = (0..count).collect();
    let those = |is_wanted: &dyn Fn(&usize) -> bool, of: &[usize]| -> Vec<usize> {
        of.iter().copied().filter(is_wanted).collect()
    };
    if table.together {
        // Names are wrapped only if nothing else helps.
        let found =
            fitted(&those(&is_words, &every), &every).or_else(|| fitted(&those(&is_left, &every), &every));
        if let Some(found) = found {
            return found;
        }
    }
    let (names, words) = (those(&is_name, &shown), those(&is_words, &shown));
    let longest = words.iter().map(|index| all[*index]).max().unwrap_or(0);
    let beside_names = width_max.saturating_sub(GAP.len() + total(&all, &names));
    if longest > WRAP_MIN && longest > beside_names {
        return fitted(&words, &shown).unwrap_or_else(|| capped(&words, beside_names.max(WRAP_MIN)));
    }
    all
}

fn width(table: &Table, index: usize, column: &Column) -> usize {
    let cells =
        table.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| cell.text.chars().count());
    cells.chain([column.name.chars().count()]).max().unwrap_or(0)
}

/// The longest piece in a column's cells that is not to be broken.
fn piece(table: &Table, index: usize) -> usize {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(index));
    cells.map(|cell| longest_piece(&cell.text)).filter(|piece| *piece <= PIECE_MAX).max().unwrap_or(0)
}

/// Whether a column of words says the same in all rows.
fn is_constant(table: &Table, column: usize) -> bool {
    let mut texts = table.rows.iter().map(|row| row.cells.get(column).map(|cell| &cell.text));
    let first = texts.next();
    table.columns[column].align == Align::Left && texts.all(|text| Some(text) == first)
}

fn colour(tint: Tint) -> &'static str {
    match tint {
        Tint::Red | Tint::Worst => RED,
        Tint::Green | Tint::Best => GREEN,
        Tint::Unranked => GRAY,
        Tint::None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_the_columns_of_low_rank() {
        let column = |name, rank| Column::number(name, name).optional(rank);
        let columns = vec![Column::words("test"), column("from", 2), column("to", 2), column("p50", 1)];
        let mut table = Table::new("upgrade", "Upgrade", columns, 0);
        table.row(["point-query", "0.98765", "1.01234", "1 → 2"].map(Cell::words).into());
        table.row(["scan", "0.9", "1.1", "10 → 20"].map(Cell::words).into());
        let at = |width| render_table(&table, Screen { width, ..Screen::default() }, &mut Vec::new());
        let (whole, narrow) = (at(None), at(Some(30)));
        assert_eq!(at(Some(38)), whole, "what fits is whole");
        assert!(narrow.contains("10 → 20") && !narrow.contains("0.98765"), "{narrow}");
        let left = "left out here: from, to; a\n    terminal of 38 columns has";
        assert!(narrow.contains(left), "{narrow}");
        assert!(!at(Some(18)).contains("→"), "{}", at(Some(18)));
    }

    #[test]
    fn both_values_stand_beside_the_name_however_long_one_is() {
        let columns = ["kind", "base", "arm", "name"].map(Column::words).into();
        let mut table = Table::new("differences", "What differs", columns, 1);
        let modes = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,NO_AUTO_CREATE_USER";
        table.row(["default", "80", "151", "back_log"].map(Cell::words).into());
        table.row(["set", modes, "STRICT_TRANS_TABLES", "sql_mode"].map(Cell::words).into());
        let at = |table: &Table, width| {
            render_table(table, Screen { width, ..Screen::default() }, &mut Vec::new())
        };
        let narrow = at(&table, Some(80));
        let row = narrow.lines().find(|line| line.contains("sql_mode")).unwrap();
        assert!(
            row.contains("ONLY_FULL_GROUP_BY,") && row.contains("STRICT_TRANS_TABLES  sql_mode"),
            "{narrow}"
        );
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        let of_base: String = narrow.lines().filter_map(|line| line.get(9..)?.split("  ").next()).collect();
        assert!(of_base.contains(modes), "{narrow}");
        assert!(at(&table, None).contains(modes));
        table.together = true;
        let lines: Vec<String> = at(&table, Some(80)).lines().map(str::to_owned).collect();
        let is_whole = |mode: &str| lines.iter().any(|line| line.contains(mode));
        assert!(modes.split(',').all(is_whole), "{lines:#?}");
        let whole = at(&table, None);
        let width = whole.lines().map(|line| line.chars().count()).max();
        assert_eq!(at(&table, width), whole, "what fits is not wrapped");
    }
}
