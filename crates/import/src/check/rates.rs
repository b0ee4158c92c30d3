//! Tables of rates, absolute and relative, from sysbench's texts, figures of steps, or tables of absolute rates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rqps_model::clipped;

use super::base::{Base, Ratio, other_base};
use super::texts::{Taken, Text, decimals, figures};
use super::{Checked, Computed, EXCHANGED_MIN, Figures, OtherBase, Place, Raw, Reading, read};
use crate::error::{Error, Result};
use crate::formats::rates_table::{RatesTable, Row, parse_table};
use crate::formats::{Format, metrics};
use crate::model::{Quirk, number};
use crate::names::TestName;
use crate::printf::fixed;

/// Of the names in an error.
const NAMES_CHARS_MAX: usize = 200;
/// A row of fewer figures that differ from one another may have another's by chance.
const DISTINCT_MIN: usize = 3;

/// Ratios are below it.
const RATIO_MAX: f64 = 100.0;
/// Results that no table of rates is recomputed from.
const NOT_COMPUTED: [Format; 6] = [
    Format::Pgbench,
    Format::PgbenchLog,
    Format::PgbenchAggregate,
    Format::Ycsb,
    Format::Benchbase,
    Format::RatesCsv,
];

/// Rates by arm and row.
type Rates = BTreeMap<(String, String), Computed>;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, parse_table)?;
    let mut texts = Vec::new();
    for raw in raws.iter().filter(|raw| raw.format == Format::Sysbench) {
        texts.extend(Text::read(raw, &table)?);
    }
    let mut best: Option<Checked> = None;
    for taken in Taken::all(&texts, are_ratios(&table)) {
        let rates = match rates((&texts, taken), raws, (&table, path)) {
            Err(error) if best.is_none() => return Err(error),
            Err(_) => continue,
            Ok(rates) => rates,
        };
        let mut checked = of_rates(&as_ratios(&table, &rates), &rates, reading);
        checked.assumed = taken.words(&texts);
        if best.as_ref().is_none_or(|best| checked.equal > best.equal) {
            best = Some(checked);
        }
    }
    best.filter(|best| best.cells > 0).ok_or_else(|| without_source(path, &table, &texts, raws))
}

/// Whether a table says that its figures are ratios, or all look so.
fn are_ratios(table: &RatesTable) -> bool {
    let is_ratio = |cell: &String| cell.contains('.') && number(cell).is_some_and(|ratio| ratio < RATIO_MAX);
    table.relative_to.is_some() || table.rows.iter().flat_map(|row| &row.cells).all(is_ratio)
}

/// A CSV of ratios does not say so, nor what they are relative to: the column that is 1 everywhere, or the arm that
/// makes most of its figures right.
fn as_ratios(table: &RatesTable, rates: &Rates) -> RatesTable {
    let cells = || {
        table.rows.iter().flat_map(|row| row.cells.iter().zip(&table.columns).map(move |pair| (row, pair)))
    };
    let mut table_of_ratios = table.clone();
    if table.relative_to.is_some() || table.columns.is_empty() || !are_ratios(table) {
        return table_of_ratios;
    }
    let is_one = |column: &&String| {
        let mut own = cells().filter(|(_, (_, other))| other == column);
        own.all(|(_, (cell, _))| number(cell) == Some(1.0))
    };
    let rate = |arm: &str, row: &Row| rates.get(&(arm.to_owned(), row.test.clone()));
    let fits = |base: &&str| {
        let is_equal = |(row, (cell, column)): &(&Row, (&String, &String))| {
            let ratio = || ratio(rate(column, row)?, rate(base, row)?, decimals_of_ratios(table));
            ratio().is_some_and(|ratio| ratio.published == **cell)
        };
        2 * cells().filter(is_equal).count() > cells().count()
    };
    let arms: BTreeSet<&str> = rates.keys().map(|(arm, _)| arm.as_str()).collect();
    let base = table.columns.iter().find(is_one).map(String::as_str);
    table_of_ratios.relative_to = base.or_else(|| arms.into_iter().find(fits)).map(str::to_owned);
    table_of_ratios
}

/// Says what is missing, or how the files are to be named.
fn without_source(path: &Path, table: &RatesTable, texts: &[Text], raws: &[Raw]) -> Error {
    let names =
        |names: BTreeSet<&str>| clipped(&names.into_iter().collect::<Vec<_>>().join(", "), NAMES_CHARS_MAX);
    let what = format!("results of the columns of {}", path.display());
    if let Some(base) = table.relative_to.as_ref().filter(|base| texts.iter().all(|text| text.arm != **base))
        && !texts.is_empty()
    {
        return Error::Missing {
            what: format!("results of {base}, which the ratios of {} are relative to", path.display()),
            remedy: format!("give them, too, such as {base}=DIR"),
        };
    }
    let of_others = raws.iter().find(|raw| NOT_COMPUTED.contains(&raw.format));
    if let Some(other) = of_others.filter(|_| texts.is_empty()) {
        return Error::Contradiction {
            path: other.path.clone(),
            line: 1,
            why: format!(
                "tables of rates are recomputed from sysbench's texts, from sb.met.* and from other tables of rates, not from \
                 files of {}",
                other.format.key()
            ),
        };
    }
    let remedy = match (table.columns.is_empty(), texts.first()) {
        (true, _) => {
            "its columns have no names, so that only a table of absolute rates in the same order fits"
                .to_owned()
        }
        (false, None) => {
            "give the directories that its columns name, or the table of absolute rates".to_owned()
        }
        (false, Some(_)) => format!(
            "its columns are {} and its rows {}, but the files are taken for {} of {}: give each arm as COLUMN=PATH, such as {}=DIR, \
             and name files or directories after rows, such as {}.txt",
            names(table.columns.iter().map(String::as_str).collect()),
            names(table.rows.iter().map(|row| row.test.as_str()).collect()),
            names(texts.iter().map(|text| text.row.as_str()).collect()),
            names(texts.iter().map(|text| text.arm.as_str()).collect()),
            table.columns[0],
            table.rows[0].test
        ),
    };
    Error::Missing { what, remedy }
}

/// A table from the rates of arms.
fn of_rates(table: &RatesTable, rates: &Rates, reading: Reading) -> Checked {
    let mut checked = Checked::default();
    let named = match &table.relative_to {
        Some(base) => Some(base.clone()),
        // A table without names is relative if its figures are: the file of rates has one column more.
        None if table.columns.is_empty() => base_of_unnamed(table, rates),
        None => None,
    };
    let other = named.as_ref().filter(|_| !table.columns.is_empty());
    let other = other.and_then(|named| base_that_fits(table, rates, named));
    if let (Some(named), Some(fitting)) = (&named, &other) {
        checked.relative_to = Some(OtherBase { fitting: fitting.clone(), named: named.clone() });
    }
    let base = other.or(named.clone());
    let digits = decimals_of_ratios(table);
    let ratio = |rate: &Computed, base: &Computed| ratio(rate, base, digits);
    let offset = usize::from(base.is_some() && table.columns.is_empty());
    let arm = |index: usize| {
        table.columns.get(index).cloned().unwrap_or_else(|| format!("col-{}", index + 1 + offset))
    };
    let of_another = match &base {
        Some(base) => rows_of_another(table, |index, test| {
            let rate = |arm: &str| rates.get(&(arm.to_owned(), test.to_owned()));
            Some(ratio(rate(&arm(index))?, rate(base)?)?.published)
        }),
        None => BTreeSet::new(),
    };
    for row in &table.rows {
        let rate = |arm: &str| rates.get(&(arm.to_owned(), row.test.clone())).cloned();
        let Some(base) = &base else {
            for (index, cell) in row.cells.iter().enumerate() {
                let arm = arm(index);
                let place = Place { line: row.line, row: &row.test, column: &arm };
                checked.add(place, cell, rate(&arm).as_ref(), reading);
            }
            continue;
        };
        let of_cell = |(index, cell): (usize, &String)| {
            let column = arm(index);
            let own = rate(&column);
            Ratio { line: row.line, row: row.test.clone(), column, cell: cell.clone(), own }
        };
        let ratios: Vec<Ratio> = row.cells.iter().enumerate().map(of_cell).collect();
        let place = Place { line: row.line, row: &row.test, column: base };
        let base = Base { place, figure: rate(base), of_source: None, is_in_table: false };
        if of_another.contains(&row.test) {
            // Another base may fit them by chance.
            checked.add_ratios_to(base.figure.as_ref(), &ratios, &ratio, reading);
            continue;
        }
        checked.add_ratios(base, &ratios, &ratio, reading);
    }
    let has_row = |row: &str| table.rows.iter().any(|one| one.test == row);
    let has_arm = |arm: &str| match table.columns.is_empty() {
        true => {
            base.is_some() || table.rows.iter().any(|row| column(arm).is_some_and(|at| at <= row.cells.len()))
        }
        false => named.as_deref() == Some(arm) || table.columns.iter().any(|column| column == arm),
    };
    checked.expect(rates.keys().map(|(arm, _)| arm.as_str()), has_arm);
    let of_arms = rates.keys().filter(|(arm, _)| has_arm(arm));
    checked.expect(of_arms.map(|(_, row)| row.as_str()), has_row);
    checked
}

/// The tests of rows whose figures are those of another row: exchanged with it, or copied from it.
fn rows_of_another(table: &RatesTable, computed: impl Fn(usize, &str) -> Option<String>) -> BTreeSet<String> {
    let pair = |row: &Row| -> (Vec<String>, Vec<Option<String>>) {
        (row.cells.clone(), (0..row.cells.len()).map(|index| computed(index, &row.test)).collect())
    };
    let pairs: Vec<_> = table.rows.iter().map(pair).collect();
    let is = |cells: &[String], computed: &[Option<String>]| {
        cells.len() == computed.len()
            && cells.iter().zip(computed).all(|(cell, computed)| computed.as_ref() == Some(cell))
    };
    let differ = |(cells, computed): &(Vec<String>, Vec<Option<String>>)| {
        cells.iter().zip(computed).filter(|(cell, computed)| computed.as_ref() != Some(*cell)).count()
    };
    let is_of = |one: &(Vec<String>, Vec<Option<String>>)| {
        differ(one) >= EXCHANGED_MIN
            && pairs.iter().any(|other| is(&one.0, &other.1) && is(&other.0, &one.1) && differ(other) > 0)
    };
    let is_copy = |one: &(Vec<String>, Vec<Option<String>>)| {
        let distinct: BTreeSet<&String> = one.0.iter().collect();
        let differs = differ(one) >= EXCHANGED_MIN && distinct.len() >= DISTINCT_MIN;
        differs && pairs.iter().any(|other| is(&one.0, &other.1))
    };
    let found = table.rows.iter().zip(&pairs).filter(|(_, pair)| is_of(pair) || is_copy(pair));
    found.map(|(row, _)| row.test.clone()).collect()
}

/// The arm that the ratios of all rows are relative to, if it is not the one that the table names.
fn base_that_fits(table: &RatesTable, rates: &Rates, named: &str) -> Option<String> {
    let arms: BTreeSet<&str> = rates.keys().map(|(arm, _)| arm.as_str()).collect();
    let rate = |arm: &str, test: &str| rates.get(&(arm.to_owned(), test.to_owned()));
    let has_source = |row: &Row, arm: &str| rate(arm, &row.test).is_some();
    let cells = |is_counted: &dyn Fn(&Row, &str, &str) -> bool| -> usize {
        let of_row = |row: &Row| {
            let cells = row.cells.iter().zip(&table.columns);
            cells.filter(|(cell, column)| is_counted(row, column, cell)).count()
        };
        table.rows.iter().map(of_row).sum()
    };
    let all = cells(&|row, column, _| has_source(row, column));
    let equal = |base: &str| {
        cells(&|row, column, cell| {
            let ratio = || ratio(rate(column, &row.test)?, rate(base, &row.test)?, decimals_of_ratios(table));
            ratio().is_some_and(|ratio| ratio.published == cell)
        })
    };
    let arms: Vec<&str> = arms.into_iter().collect();
    other_base(&arms, named, all, equal).map(str::to_owned)
}

/// 2 of `col-2`.
fn column(arm: &str) -> Option<usize> {
    arm.strip_prefix("col-")?.parse().ok()
}

fn base_of_unnamed(table: &RatesTable, rates: &Rates) -> Option<String> {
    let columns = table.rows.first()?.cells.len();
    let more = ("col-".to_owned() + &(columns + 1).to_string(), table.rows.first()?.test.clone());
    rates.contains_key(&more).then(|| "col-1".to_owned())
}

/// The decimals that most ratios have.
fn decimals_of_ratios(table: &RatesTable) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for cell in table.rows.iter().flat_map(|row| &row.cells) {
        if let Some((_, decimals)) = cell.split_once('.') {
            *counts.entry(decimals.len()).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(2, |(decimals, _)| decimals)
}

/// The quotient of rounded rates; measured, of the rates.
fn ratio(rate: &Computed, base: &Computed, digits: usize) -> Option<Computed> {
    let quotient = |a: &str, b: &str| Some(fixed(number(a)? / number(b)?, digits));
    let published = quotient(&rate.published, &base.published)?;
    let measured =
        |one: &Computed| one.truth.as_ref().map_or(one.published.clone(), |(truth, _)| truth.clone());
    let truth = quotient(&measured(rate), &measured(base))?;
    let quirk = [rate, base]
        .into_iter()
        .find_map(|one| one.truth.as_ref())
        .map_or(Quirk::RoundedRatios, |(_, quirk)| *quirk);
    Some(Computed { truth: (truth != published).then_some((truth, quirk)), published })
}

/// All rates that the files have. Tables without names of columns count theirs, if this one has none either.
fn rates(
    (texts, taken): (&[Text], Taken),
    raws: &[Raw],
    (table, path): (&RatesTable, &Path),
) -> Result<Rates> {
    let unnamed = table.columns.is_empty();
    let texts = figures(texts, taken, decimals(table));
    let (mut tables, mut steps) = (Figures::new(), Figures::new());
    for raw in raws {
        match raw.format {
            Format::StepMetrics => {
                let Some((_, test)) = TestName::of_file(&raw.name()) else { continue };
                let step = raw.read(metrics::parse_step)?;
                if let Some(rate) = step.cell("o/s").and_then(number) {
                    steps.add(raw.arm(), test.row(), Computed::exact(fixed(rate, 0)), &raw.path);
                }
            }
            Format::RatesTable => {
                let source = raw.read(parse_table)?;
                if source.relative_to.is_some()
                    || source.columns.is_empty() && (!unnamed || is_of_ratios(&source))
                {
                    continue;
                }
                for row in &source.rows {
                    for (index, cell) in row.cells.iter().enumerate() {
                        let name = if unnamed { None } else { source.columns.get(index).cloned() };
                        let arm = name.unwrap_or_else(|| format!("col-{}", index + 1));
                        tables.add(arm, row.test.clone(), Computed::exact(cell.clone()), &raw.path);
                    }
                }
            }
            _ => {}
        }
    }
    let is_column = |arm: &str| {
        unnamed
            || table.relative_to.as_deref() == Some(arm)
            || table.columns.iter().any(|column| column == arm)
    };
    let is_of_table = |arm: &str, test: &str| is_column(arm) && table.rows.iter().any(|row| row.test == test);
    // The texts come first; others are made of them, and figures of steps hold the same rates.
    let mut rates = texts.only(path, is_of_table)?;
    for others in [tables, steps] {
        let is_needed = |arm: &str, test: &str| {
            is_of_table(arm, test) && !rates.contains_key(&(arm.to_owned(), test.to_owned()))
        };
        for (place, rate) in others.only(path, is_needed)? {
            rates.entry(place).or_insert(rate);
        }
    }
    Ok(rates)
}

/// Whether all figures of a table without names have decimals, which rates have not.
fn is_of_ratios(table: &RatesTable) -> bool {
    table.rows.iter().flat_map(|row| &row.cells).all(|cell| cell.contains('.'))
}
