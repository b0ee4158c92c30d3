//! Tables that are left out, since they were computed from results: held against these.

use std::collections::BTreeSet;
use std::path::Path;

use crate::check::{Checked, Reading, format_of, raws, read, recompute};
use crate::derived::{DERIVED, rates_of_text};
use crate::formats::Format;
use crate::formats::metrics::{MetricsRow, parse_tables};
use crate::loaded::{Given, LeftOut, Why};
use crate::model::Printed;
use crate::names::TestName;
use crate::placed::{Assembled, Doubt, Placed};

/// Cells of one table that are named.
const CELLS_MAX: usize = 10;
/// The column with the rate that figures are divided by.
const RATE: &str = "o/s";

impl Assembled {
    /// Adds what is wrong in tables that were left out, before all other notes.
    pub fn examine_tables(&mut self, left_out: &[LeftOut], files: &[Given]) {
        let mut tables = left_out.iter().filter(|one| one.why == Why::Derived).peekable();
        if tables.peek().is_none() {
            return;
        }
        let Ok(raws) = raws(files, true) else { return };
        let mut doubts = Vec::new();
        for path in tables.map(|one| &*one.path) {
            let Ok(format) = format_of(path) else { continue };
            // Of most tables only some sources are among the files, or none.
            let of_sources = recompute((path, format), &raws, None, Reading::Published);
            let texts = of_sources.map(|checked| texts(path, &checked)).unwrap_or_default();
            doubts.extend(texts.into_iter().map(|(row, text)| self.doubt_on(&row, text)));
            if format == Format::MetricsTable {
                doubts.extend(self.rates_in(path));
            }
        }
        let notes: Vec<_> = doubts.iter().map(|doubt| (Some(doubt.arm), doubt.text.clone())).collect();
        self.notes.splice(0..0, notes);
        self.doubts.splice(0..0, doubts);
    }

    /// A doubt about the arm and the test that a row and its column name; if they name no test, about all of the arm.
    fn doubt_on(&self, row: &str, text: String) -> Doubt {
        let words: Vec<&str> = row.split(' ').collect();
        let arm = self
            .arms
            .iter()
            .position(|arm| words.iter().any(|word| [&arm.raw, &arm.name].contains(&&(*word).to_owned())));
        let arm = arm.unwrap_or(self.base);
        let of_file = words.iter().filter_map(|word| TestName::of_file(word)).map(|(_, test)| test.row());
        let tests: Vec<String> = of_file.chain(words.iter().map(|word| (*word).to_owned())).collect();
        let of_arm: BTreeSet<usize> =
            self.results.iter().filter(|one| one.arm == arm).map(|one| one.step).collect();
        let of_test = |step: &usize| tests.contains(&self.steps[*step].bare);
        let mut steps: Vec<usize> = of_arm.iter().copied().filter(of_test).collect();
        if steps.is_empty() {
            steps.extend(of_arm);
        }
        Doubt { arm, steps, repeat: None, text }
    }

    /// Rates that a table of figures per operation names, against those of the results.
    fn rates_in(&self, path: &Path) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for table in read(path, parse_tables).unwrap_or_default() {
            let Some((_, test)) = TestName::of_file(&table.file) else { continue };
            let Some(column) = table.columns.iter().position(|column| column == RATE) else { continue };
            let of_test = || self.results.iter().filter(|one| self.steps[one.step].bare == test.row());
            let is_of =
                |one: &Placed, rate: Printed| rates_of_text(one).iter().any(|own| own.is(rate, DERIVED));
            let is_arm = |one: &Placed, row: &MetricsRow| self.arms[one.arm].raw == row.arm;
            for row in &table.absolute {
                let Some(rate) = row.cells.get(column).and_then(|cell| Printed::of(cell)) else { continue };
                let Some(own) = of_test().find(|one| is_arm(one, row)) else { continue };
                let rates = rates_of_text(own);
                if rates.is_empty() || of_test().any(|one| is_arm(one, row) && is_of(one, rate)) {
                    continue;
                }
                let other = of_test().find(|one| is_of(one, rate)).map(|one| &self.arms[one.arm].name);
                let other = other.map(|name| format!("; rows look exchanged: it is the rate of {name}"));
                let text = format!(
                    "{}: {RATE} is {} in {}, line {}, but {} in {}{}",
                    test.row(),
                    rate.value,
                    path.display(),
                    row.line,
                    rates[0].value,
                    self.sources[own.source].path,
                    other.unwrap_or_default()
                );
                doubts.push(Doubt::of_test(own.arm, own.step, text));
            }
        }
        doubts
    }
}

/// What differs in a table: a row, and a sentence.
fn texts(path: &Path, checked: &Checked) -> Vec<(String, String)> {
    let path = path.display();
    let exchanged = checked.exchanged.iter().map(|one| {
        let what = if one.are_rows { "rows" } else { "columns" };
        let [first, second] = &one.names;
        (
            first.clone(),
            format!("{path}: {what} look exchanged: {first} and {second} have each other's figures"),
        )
    });
    let cells = checked.differences.iter().take(CELLS_MAX).map(|one| {
        let text = format!(
            "{path}, line {}: {} of {} is {}, but {} by what it was derived from",
            one.line, one.column, one.row, one.published, one.computed
        );
        (format!("{} {}", one.row, one.column), text)
    });
    let more = checked.differences.get(CELLS_MAX).map(|one| {
        let count = checked.differences.len() - CELLS_MAX;
        (one.row.clone(), format!("{path}: {count} more cells differ: rqps import --check {path} names all"))
    });
    let doubled = checked.doubled.iter().map(|one| {
        let [first, second] = one.lines;
        (one.row.clone(), format!("{path}: {} is there twice, in lines {first} and {second}", one.row))
    });
    doubled.chain(exchanged).chain(cells).chain(more).collect()
}
