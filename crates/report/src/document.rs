//! The content of a report, before it is rendered as text, Markdown, CSV, JSON or HTML.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rqps_model::{Digits, sentence};

use crate::answer::Answer;
use crate::number;

/// A report: blocks in reading order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    /// What JSON begins with.
    pub answers: Vec<Answer>,
    pub blocks: Vec<Block>,
}

impl Document {
    pub fn push(&mut self, block: Block) {
        self.blocks.push(block);
    }

    pub fn extend(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.blocks.extend(blocks);
    }

    /// Adds a paragraph for each warning.
    pub fn push_warnings(&mut self, warnings: &[String]) {
        self.extend(warnings.iter().map(|warning| Block::warning(warning)));
    }

    /// Sets the warnings of every table that has none of its own.
    pub fn warn(&mut self, warnings: &[String]) {
        self.blocks.iter_mut().for_each(|block| block.warn(warnings));
    }

    /// For readers of the whole: says each warning once, in its paragraph if there is one, else at the first table.
    pub fn warn_once(&mut self) {
        let said = |block: &Block| if let Block::Text(text) = block { Some(text.clone()) } else { None };
        let mut said: BTreeSet<String> = self.blocks.iter().filter_map(said).collect();
        self.blocks.iter_mut().for_each(|block| block.warn_once(&mut said));
    }

    /// All tables, in reading order.
    pub fn tables(&self) -> Vec<&Table> {
        let tables = self.leaves().into_iter();
        tables.filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None }).collect()
    }

    /// All headings and texts, in reading order.
    pub fn remarks(&self) -> Vec<&str> {
        self.leaves().into_iter().flat_map(Block::texts).collect()
    }

    /// All blocks without children, in reading order.
    fn leaves(&self) -> Vec<&Block> {
        fn collect<'a>(blocks: &'a [Block], leaves: &mut Vec<&'a Block>) {
            for block in blocks {
                match block {
                    Block::Fold(_, inner) => collect(inner, leaves),
                    leaf => leaves.push(leaf),
                }
            }
        }
        let mut leaves = Vec::new();
        collect(&self.blocks, &mut leaves);
        leaves
    }
}

/// Keeps a footnote that several tables share only below the last of them.
pub(crate) fn keep_footnotes_once(blocks: &mut [Block]) {
    let mut seen = BTreeSet::new();
    for block in blocks.iter_mut().rev() {
        if let Block::Table(table) = block {
            table.footnotes.retain(|footnote| seen.insert(footnote.clone()));
        }
    }
}

fn warning_text(warning: &str) -> String {
    sentence(&format!("WARNING: {warning}"))
}

/// A piece of a report.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    /// A heading; level 1 is the title.
    Heading(u8, String),
    Text(String),
    /// A text that casts doubt on what follows.
    Alarm(String),
    Items(Vec<String>),
    /// Preformatted text.
    Code(String),
    Table(Table),
    /// Details under a summary; collapsed in Markdown and HTML.
    Fold(String, Vec<Block>),
}

impl Block {
    /// Its own text: of items one each.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Block::Heading(_, text) | Block::Text(text) | Block::Alarm(text) | Block::Code(text) => {
                vec![text.as_str()]
            }
            Block::Items(items) => items.iter().map(String::as_str).collect(),
            Block::Table(_) | Block::Fold(..) => Vec::new(),
        }
    }

    /// Whether it is a table without any figure.
    pub fn is_unknown(&self) -> bool {
        let Block::Table(table) = self else { return false };
        let figures = table.columns.len() - table.labels;
        !table.rows.iter().any(|row| row.cells.iter().take(figures).any(Cell::is_known))
    }

    /// Leaves out columns without any figure, for readers.
    pub fn hide_unknown(&mut self) {
        match self {
            Block::Table(table) => table.hides_unknown = true,
            Block::Fold(_, inner) => inner.iter_mut().for_each(Block::hide_unknown),
            Block::Heading(..) | Block::Text(_) | Block::Alarm(_) | Block::Items(_) | Block::Code(_) => {}
        }
    }

    /// A warning as a paragraph.
    pub fn warning(text: &str) -> Self {
        Block::Text(warning_text(text))
    }

    /// Leaves out warnings that were said before. Nobody has to open a fold to read one.
    fn warn_once(&mut self, said: &mut BTreeSet<String>) {
        match self {
            Block::Table(table) => {
                let warnings = table.warnings.iter_mut().flat_map(std::mem::take);
                let new = warnings.filter(|one| said.insert(warning_text(one))).collect();
                table.warnings = Some(new);
            }
            Block::Fold(_, inner) => {
                let mut said_inside = said.clone();
                inner.iter_mut().for_each(|block| block.warn_once(&mut said_inside));
            }
            Block::Heading(..) | Block::Text(_) | Block::Alarm(_) | Block::Items(_) | Block::Code(_) => {}
        }
    }

    /// Sets the warnings of every table inside that has none of its own.
    pub fn warn(&mut self, warnings: &[String]) {
        match self {
            Block::Table(table) => {
                table.warnings.get_or_insert_with(|| warnings.to_vec());
            }
            Block::Fold(_, inner) => inner.iter_mut().for_each(|block| block.warn(warnings)),
            Block::Heading(..) | Block::Text(_) | Block::Alarm(_) | Block::Items(_) | Block::Code(_) => {}
        }
    }
}

/// A table. The last `labels` columns name the row: text shows them last, all else first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// The kind of table in CSV and JSON, such as `rqps`.
    pub id: &'static str,
    pub title: String,
    /// Key and value that apply to all rows, such as `test`; an additional column in CSV and JSON.
    pub subject: Vec<(&'static str, String)>,
    /// Lines above the table: `Relative to: …`.
    pub preamble: Vec<String>,
    /// Shown at the table, in text and Markdown only what was not said before it. None: not set yet.
    pub warnings: Option<Vec<String>>,
    pub columns: Vec<Column>,
    pub labels: usize,
    pub rows: Vec<Row>,
    pub footnotes: Vec<String>,
    /// Whether all columns stay side by side on a narrow terminal: words are wrapped instead.
    pub together: bool,
    /// Whether documents for readers leave out columns without any figure: imported results lack many.
    pub hides_unknown: bool,
}

impl Table {
    /// The table as readers see it.
    pub fn shown(&self) -> Cow<'_, Self> {
        let is_known =
            |index: usize| self.rows.iter().any(|row| row.cells.get(index).is_some_and(Cell::is_known));
        let labels = self.columns.len() - self.labels;
        let is_shown = |index: usize, column: &Column| {
            !column.in_group && (!self.hides_unknown || index >= labels || is_known(index))
        };
        let shown: Vec<bool> =
            self.columns.iter().enumerate().map(|(index, column)| is_shown(index, column)).collect();
        if shown.iter().all(|shown| *shown) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(self.with_columns(&shown))
    }

    /// With some of the columns.
    pub fn with_columns(&self, shown: &[bool]) -> Self {
        let mut table = self.clone();
        table.labels = shown[self.columns.len() - self.labels..].iter().filter(|shown| **shown).count();
        let mut is_shown = shown.iter();
        table.columns.retain(|_| is_shown.next() == Some(&true));
        for row in &mut table.rows {
            let mut is_shown = shown.iter();
            row.cells.retain(|_| is_shown.next() == Some(&true));
        }
        table
    }

    /// An empty table whose last `labels` columns name the row.
    pub fn new(id: &'static str, title: impl Into<String>, columns: Vec<Column>, labels: usize) -> Self {
        Self { id, title: title.into(), columns, labels, ..Self::default() }
    }

    /// Adds to the subject.
    pub fn about(mut self, key: &'static str, value: &str) -> Self {
        self.subject.push((key, value.to_owned()));
        self
    }

    pub fn warnings(&self) -> &[String] {
        self.warnings.as_deref().unwrap_or_default()
    }

    /// Lines above the table: the preamble, and what the headings of arms stand for.
    pub fn above<'h>(&self, headings: impl IntoIterator<Item = &'h String>) -> Vec<String> {
        let line = |(column, heading): (&Column, &String)| {
            let meaning = column.stands_for.as_ref().filter(|meaning| *meaning != heading)?;
            Some(format!("{heading} : {meaning}"))
        };
        self.preamble.iter().cloned().chain(self.columns.iter().zip(headings).filter_map(line)).collect()
    }

    /// Indexes of columns where names of rows come first, from last to first, then the rest.
    pub fn names_first(&self) -> Vec<usize> {
        let values = self.columns.len().saturating_sub(self.labels);
        (values..self.columns.len()).rev().chain(0..values).collect()
    }

    /// A table with a column for each of `figures` and a row for each of `rows`.
    pub fn of_figures<R>(
        id: &'static str,
        title: impl Into<String>,
        figures: &[Figure<'_, R>],
        labels: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let columns = figures.iter().map(|(column, _)| column.clone()).collect();
        let mut table = Self::new(id, title, columns, labels);
        rows.into_iter().for_each(|row| table.row(cells(figures, &row)));
        table
    }

    /// Adds a row without a group.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row { group: None, kind: RowKind::Body, cells });
    }

    /// Adds a row to a group.
    pub fn row_in(&mut self, group: &str, cells: Vec<Cell>) {
        self.rows.push(Row { group: Some(group.to_owned()), kind: RowKind::Body, cells });
    }

    /// The table as a block; None if it has no rows.
    pub fn block(self) -> Option<Block> {
        (!self.rows.is_empty()).then_some(Block::Table(self))
    }
}

/// A column, and a function that computes its cell from an `R`.
pub(crate) type Figure<'f, R> = (Column, &'f dyn Fn(&R) -> Cell);

/// The cells of one row.
pub(crate) fn cells<R>(figures: &[Figure<'_, R>], row: &R) -> Vec<Cell> {
    figures.iter().map(|(_, cell)| cell(row)).collect()
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Heading in text: `col-1`, `cpu/o`.
    pub name: String,
    /// Heading in CSV and JSON: the arm, `cpu_per_op`.
    pub key: String,
    /// Meaning of a numbered column, explained above the table. Only text has numbers as headings, and only if names
    /// are long: HTML has the key, Markdown what tells it from the others.
    pub stands_for: Option<String>,
    pub align: Align,
    /// Whether the heading of the row's group has it for readers; only CSV and JSON have the column.
    pub in_group: bool,
    /// On a narrow terminal the columns with the highest number are left out first; those with 0 never are.
    pub rank: u8,
}

impl Column {
    pub fn number(name: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            key: key.into(),
            stands_for: None,
            align: Align::Right,
            in_group: false,
            rank: 0,
        }
    }

    /// A column of figures named `col-1`, `col-2`… in text; `index` counts from 0.
    pub fn numbered(index: usize, key: impl Into<String>, stands_for: String) -> Self {
        Self { stands_for: Some(stands_for), ..Self::number(format!("col-{}", index + 1), key) }
    }

    /// A column of words with the same name in all formats.
    pub fn words(name: &str) -> Self {
        Self::keyed_words(name, name)
    }

    /// A column that readers have in the headings of groups.
    pub fn in_group(self) -> Self {
        Self { in_group: true, ..self }
    }

    /// A column that a narrow terminal may leave out.
    pub fn optional(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// A column of words with another name in CSV and JSON.
    pub fn keyed_words(name: &str, key: &str) -> Self {
        Self { align: Align::Left, ..Self::number(name, key) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A row. Consecutive rows of a group share its heading.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub group: Option<String>,
    pub kind: RowKind,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    Body,
    /// A statistic over the rows above it; omitted in CSV and separate in JSON.
    Summary,
}

/// A cell: its text, and the number behind it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub text: String,
    /// What CSV and JSON have in place of the text.
    pub key: Option<&'static str>,
    pub value: Option<f64>,
    pub tint: Tint,
    /// Background shade in HTML, for shares of a whole: 0 to 20.
    pub shade: u8,
}

impl Cell {
    pub fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number and its text.
    pub fn number(value: f64, text: String) -> Self {
        Self { text, value: Some(value), ..Self::default() }
    }

    /// A value that was not measured; the table's footnotes say why.
    pub fn missing() -> Self {
        Self::words(MISSING)
    }

    /// A number formatted by `print`; [`Cell::missing`] if it is absent or not finite.
    pub fn printed(value: Option<f64>, print: impl Fn(f64) -> String) -> Self {
        value
            .filter(|value| value.is_finite())
            .map_or_else(Self::missing, |value| Self::number(value, print(value)))
    }

    /// A number with `decimals`, or [`Cell::missing`].
    pub fn fixed(value: Option<f64>, decimals: usize) -> Self {
        Self::printed(value, |value| format!("{value:.decimals$}"))
    }

    /// A ratio to base, and the two ends of its interval. Without one, as of a single block, its last digits say
    /// nothing.
    pub fn estimate((ratio, low, high): (f64, f64, f64), decimals_max: usize) -> [Self; 3] {
        let decimals_max =
            if low.is_nan() && ratio != 1.0 { decimals_max.min(DECIMALS_ALONE) } else { decimals_max };
        let texts = Digits::of_ratio((low, high), decimals_max).all(ratio);
        let mut values = [ratio, low, high].into_iter();
        texts.map(|text| Self::printed(values.next(), |_| text.clone()))
    }

    pub fn rate(value: Option<f64>) -> Self {
        Self::printed(value, number::rate)
    }

    pub fn count(count: u64) -> Self {
        Self::number(count as f64, count.to_string())
    }

    pub fn is_known(&self) -> bool {
        !(self.is_missing() || self.text.is_empty())
    }

    /// Whether the value was not measured.
    pub fn is_missing(&self) -> bool {
        self.value.is_none() && self.text == MISSING
    }
}

const MISSING: &str = "-";
/// Most decimals of a ratio without an interval.
pub(crate) const DECIMALS_ALONE: usize = 2;

/// Colour of a cell, if the output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tint {
    #[default]
    None,
    Red,
    Green,
    /// In the worst part of its column's range.
    Worst,
    /// In the best part of its column's range.
    Best,
    /// Not comparable with the other values of its column.
    Unranked,
}
