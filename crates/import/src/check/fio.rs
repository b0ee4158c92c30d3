//! Tables of fio from its text.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Checked, Computed, Doubled, Place, Raw, Reading, only_source, read, several};
use crate::error::Result;
use crate::formats::Format;
use crate::formats::fio::{FioTest, parse_tests};
use crate::formats::fio_table::{self, Row};
use crate::grouped::grouped;
use crate::model::Quirk;
use crate::printf::fixed;

/// Rows and tests of one name, one by one: more are taken in their order.
const ALIGNED_MAX: usize = 1_000_000;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let rows = read(path, fio_table::parse)?;
    let texts: Vec<&Raw> = raws.iter().filter(|raw| raw.format == Format::Fio).collect();
    if texts.len() < 2 {
        return of_one(&rows, only_source(raws, Format::Fio, path, "fio's text")?, reading);
    }
    // Of several, the one that it has most cells in common with: no other has them by chance.
    let all = texts.iter().map(|raw| of_one(&rows, raw, reading)).collect::<Result<Vec<Checked>>>()?;
    let most = all.iter().map(|one| one.equal).max().unwrap_or(0);
    let is_its = |one: &Checked| one.equal == most && 2 * one.equal > one.cells + one.without_source;
    let mut fitting = all.iter().filter(|one| is_its(one));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(only.clone()),
        _ => Err(several(path, "fio's text", texts.iter().map(|raw| raw.path.as_path()))),
    }
}

/// The table, from one of fio's texts.
fn of_one(rows: &[Row], raw: &Raw, reading: Reading) -> Result<Checked> {
    let (_, mut tests) = raw.read(parse_tests)?;
    tests.retain(|test| test.has_label);
    let mut of_text: BTreeMap<&str, Vec<(u32, [Computed; 4])>> = BTreeMap::new();
    for (index, test) in tests.iter().enumerate() {
        let figures = computed(test, index + 1 == tests.len());
        of_text.entry(&test.name).or_default().push((test.line, figures));
    }
    let of_table: BTreeMap<&str, Vec<&Row>> = grouped(rows.iter().map(|row| (&*row.test, row)));
    let mut checked = Checked { may_repeat_rows: true, ..Checked::default() };
    for (name, rows) in &of_table {
        let tests = of_text.get(name).map_or(&[][..], Vec::as_slice);
        let partners = partners(rows, tests);
        for (at, row) in rows.iter().enumerate() {
            let computed = partners[at].map(|test| &tests[test].1);
            // Others of the name have their test.
            let is_one_of_several = computed.is_none() && !tests.is_empty();
            let name =
                if is_one_of_several { format!("{name} (line {})", row.line) } else { row.test.clone() };
            for (index, column) in ["w/s", "MB/s", "sync_us", "jobs"].into_iter().enumerate() {
                let place = Place { line: row.line, row: &name, column };
                checked.add(place, &row.cells[index], computed.map(|cells| &cells[index]), reading);
            }
            let same = rows.iter().find(|other| other.line != row.line && other.cells == row.cells);
            if let Some(same) = same.filter(|_| is_one_of_several) {
                let lines = [same.line.min(row.line), same.line.max(row.line)];
                checked.doubled.push(Doubled { row: row.test.clone(), lines });
            }
        }
        let is_lacking = |(at, _): &(usize, &(u32, [Computed; 4]))| !partners.contains(&Some(*at));
        let lacking = tests.iter().enumerate().filter(is_lacking);
        let lacking: Vec<String> =
            lacking.map(|(_, (line, _))| format!("{name} (line {line} of {})", raw.name())).collect();
        checked.expect(lacking.iter().map(String::as_str), |_| false);
    }
    checked.expect(of_text.keys().copied(), |name| of_table.contains_key(name));
    Ok(checked)
}

/// The test of each row, all of one name: in their order, and where one of them is missing those with most cells in
/// common.
fn partners(rows: &[&Row], tests: &[(u32, [Computed; 4])]) -> Vec<Option<usize>> {
    if rows.len() == tests.len() || rows.len() * tests.len() > ALIGNED_MAX {
        return (0..rows.len()).map(|at| Some(at).filter(|at| *at < tests.len())).collect();
    }
    let equal = |row: usize, test: usize| {
        let cells = rows[row].cells.iter().zip(&tests[test].1);
        cells.filter(|(cell, computed)| computed.published == **cell).count()
    };
    // Of the rows and tests from there on: pairs, and equal cells of these.
    let mut best = vec![vec![(0, 0); tests.len() + 1]; rows.len() + 1];
    let together = |best: &[Vec<(usize, usize)>], row: usize, test: usize| {
        let (pairs, cells) = best[row + 1][test + 1];
        (pairs + 1, cells + equal(row, test))
    };
    for row in (0..rows.len()).rev() {
        for test in (0..tests.len()).rev() {
            let apart = best[row + 1][test].max(best[row][test + 1]);
            best[row][test] = together(&best, row, test).max(apart);
        }
    }
    let mut partners = vec![None; rows.len()];
    let (mut row, mut test) = (0, 0);
    while row < rows.len() && test < tests.len() {
        if together(&best, row, test) == best[row][test] {
            partners[row] = Some(test);
            (row, test) = (row + 1, test + 1);
        } else if best[row + 1][test] == best[row][test] {
            row += 1;
        } else {
            test += 1;
        }
    }
    partners
}

fn computed(test: &FioTest, is_last: bool) -> [Computed; 4] {
    let with_truth = |published: String, truth: String, quirk: Quirk| {
        let truth = (truth != published).then_some((truth, quirk));
        Computed { published, truth }
    };
    let rate = with_truth(fixed(test.printed_iops(), 0), fixed(test.exact_iops(), 0), Quirk::ThreeDigits);
    let mib = |thousand: f64| fixed(test.mib_per_s(thousand), 1);
    let bandwidth = with_truth(mib(1000.0), mib(1024.0), Quirk::Mebibytes);
    let published = test.published_sync_us(is_last);
    let quirk = if is_last && test.jobs.len() > 1 && !test.has_padded_sync() {
        Quirk::SumOfJobs
    } else {
        Quirk::Padded
    };
    let sync = with_truth(fixed(published, 1), fixed(test.sync_us(), 1), quirk);
    // Those that synced; the tables have 1 if none did.
    let jobs = Computed::exact(test.jobs_with_sync().max(1).to_string());
    [rate, bandwidth, sync, jobs]
}
