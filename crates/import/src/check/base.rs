//! Ratios that have one base figure in common. If that is wrong, all of them are: then it is named, once, and they are
//! judged on the figure that they are ratios to.

use super::{Checked, Computed, Difference, Place, Reading};
use crate::model::{Printed, number};
use crate::printf::fixed;

/// Fewest ratios that show a base to be wrong: one alone may be wrong itself.
const RATIOS_MIN: usize = 2;

/// One ratio in so many may be wrong itself beside a wrong base; more if that is so far off that none fits by chance.
const ODD_ONE_IN: usize = 4;
const FAR: f64 = 0.1;

/// What ratios are relative to.
pub(crate) struct Base<'a> {
    /// Its line in the table, or that of its first ratio; its row and column.
    pub place: Place<'a>,
    /// As the ratios should have it; `None`: its source is missing.
    pub figure: Option<Computed>,
    /// The figure if the table has it wrong.
    pub of_source: Option<String>,
    /// Whether the figure is one of the table's own cells.
    pub is_in_table: bool,
}

/// A cell that is a ratio.
pub(crate) struct Ratio {
    pub line: u32,
    pub row: String,
    pub column: String,
    /// As the table has it.
    pub cell: String,
    /// What is divided by base; `None`: its source is missing.
    pub own: Option<Computed>,
}

/// A figure over base.
type Quotient<'a> = &'a dyn Fn(&Computed, &Computed) -> Option<Computed>;

impl Checked {
    pub(crate) fn add_ratios(
        &mut self,
        base: Base<'_>,
        ratios: &[Ratio],
        quotient: Quotient<'_>,
        reading: Reading,
    ) {
        let of = |figure: &Computed| -> Vec<Option<Computed>> {
            ratios.iter().map(|ratio| quotient(ratio.own.as_ref()?, figure)).collect()
        };
        let given = base.figure.as_ref().map_or_else(|| vec![None; ratios.len()], of);
        let other = base.figure.as_ref().and_then(|figure| {
            let of_source = base.of_source.as_deref().map(|text| (text.to_owned(), text.to_owned()));
            let implied = || implied(ratios, &figure.published);
            of_source
                .into_iter()
                .chain(implied())
                .map(|(value, text)| (of(&Computed::exact(value)), text))
                .find(|(computed, _)| fits_better(ratios, computed, &given))
        });
        let computed = match other {
            Some((computed, text)) => {
                self.add_base(&base, text, ratios.len());
                computed
            }
            None => given,
        };
        self.add_each(ratios, &computed, reading);
    }

    /// The same, whatever other base may fit.
    pub(crate) fn add_ratios_to(
        &mut self,
        base: Option<&Computed>,
        ratios: &[Ratio],
        quotient: Quotient<'_>,
        reading: Reading,
    ) {
        let of = |ratio: &Ratio| quotient(ratio.own.as_ref()?, base?);
        self.add_each(ratios, &ratios.iter().map(of).collect::<Vec<_>>(), reading);
    }

    fn add_each(&mut self, ratios: &[Ratio], computed: &[Option<Computed>], reading: Reading) {
        for (ratio, computed) in ratios.iter().zip(computed) {
            let place = Place { line: ratio.line, row: &ratio.row, column: &ratio.column };
            self.add(place, &ratio.cell, computed.as_ref(), reading);
        }
    }

    /// Names a wrong base, unless it is among the differences already.
    fn add_base(&mut self, base: &Base<'_>, fitting: String, ratios: usize) {
        let Place { line, row, column } = base.place;
        if let Some(known) =
            self.differences.iter_mut().find(|one| one.line == line && one.row == row && one.column == column)
        {
            known.ratios = ratios;
            return;
        }
        let given = base.figure.as_ref().map(|figure| figure.published.clone()).unwrap_or_default();
        let (published, computed) = if base.is_in_table { (given, fitting) } else { (fitting, given) };
        self.cells += 1;
        self.differences.push(Difference {
            line,
            row: row.to_owned(),
            column: column.to_owned(),
            published,
            computed,
            quirk: None,
            ratios,
        });
    }
}

/// Which of the bases the ratios are relative to, if it is not the `named` one: with it most of all cells are right,
/// and fewer than half with the named one. `equal` counts the right cells with a base.
pub(crate) fn other_base<T: Copy + PartialEq>(
    bases: &[T],
    named: T,
    cells: usize,
    equal: impl Fn(T) -> usize,
) -> Option<T> {
    let of_named = equal(named);
    if 2 * of_named >= cells {
        return None;
    }
    let others = bases.iter().filter(|base| **base != named).map(|base| (equal(*base), *base));
    let (most, best) = others.max_by_key(|(equal, _)| *equal)?;
    (2 * most > cells && most >= of_named + RATIOS_MIN).then_some(best)
}

fn equal(ratios: &[Ratio], computed: &[Option<Computed>]) -> usize {
    let is_equal = |(ratio, computed): &(&Ratio, &Option<Computed>)| {
        computed.as_ref().is_some_and(|computed| computed.published == ratio.cell)
    };
    ratios.iter().zip(computed).filter(is_equal).count()
}

/// Whether another base makes ratios right that are wrong with the given one, so that all were wrong by one factor. Of
/// rounded ratios of their own more than half may fit it by chance.
fn fits_better(ratios: &[Ratio], other: &[Option<Computed>], given: &[Option<Computed>]) -> bool {
    let (fitting, before) = (equal(ratios, other), equal(ratios, given));
    let known = given.iter().flatten().count();
    let is_far = || {
        let pair = given.iter().flatten().zip(other.iter().flatten()).next();
        let ratio =
            pair.and_then(|(given, other)| Some(number(&given.published)? / number(&other.published)?));
        ratio.is_some_and(|ratio| ratio.ln().abs() > FAR)
    };
    let are_most = known.saturating_sub(fitting) <= known / ODD_ONE_IN || 2 * fitting > known && is_far();
    fitting >= before + RATIOS_MIN && are_most
}

/// The base that most ratios are relative to, as a number, and as a range with the decimals of `printed`.
fn implied(ratios: &[Ratio], printed: &str) -> Option<(String, String)> {
    let ranges: Vec<(f64, f64)> = ratios.iter().filter_map(range).collect();
    let around = |range: &(f64, f64)| {
        let at = range.0;
        ranges.iter().copied().filter(move |(low, high)| *low <= at && at < *high)
    };
    let best = ranges.iter().max_by_key(|range| around(range).count())?;
    let low = around(best).map(|(low, _)| low).fold(0.0, f64::max);
    let high = around(best).map(|(_, high)| high).fold(f64::INFINITY, f64::min);
    let middle = (low + high) / 2.0;
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (from, to) = (fixed(low, decimals), fixed(high, decimals));
    let text = if from == to { from } else { format!("{from} to {to}") };
    middle.is_finite().then(|| (format!("{middle}"), text))
}

/// The figures that a ratio may be relative to, since it is rounded.
fn range(ratio: &Ratio) -> Option<(f64, f64)> {
    let own = number(&ratio.own.as_ref()?.published)?;
    let Printed { value, half } = Printed::of(&ratio.cell)?;
    (own > 0.0 && value > half).then(|| (own / (value + half), own / (value - half)))
}
