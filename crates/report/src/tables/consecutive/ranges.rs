//! Colours of a column of rates: the lowest quarter and the highest quarter of its range.
//!
//! Colours depend on values, not ranks. If even the lowest value is near the highest, nothing is coloured as
//! worst. Unranked values do not affect the range.

use crate::document::Tint;

/// Nothing is worst if the lowest value is at least this share of the highest.
const NEAR: f64 = 0.8;
/// Share of the range at either end.
const END: f64 = 0.25;

/// A value of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ranked {
    /// Comparable with the others.
    Value(f64),
    /// Not comparable with the others.
    Unranked,
    /// Not measured.
    Missing,
}

/// The colour of each value of a column in which more is better; none if all values are equal.
pub(crate) fn tints(column: &[Ranked]) -> Vec<Tint> {
    by_range(column, (Tint::Worst, Tint::Best))
}

/// The same for a column in which less is better.
pub(crate) fn tints_of_maxima(column: &[Ranked]) -> Vec<Tint> {
    by_range(column, (Tint::Best, Tint::Worst))
}

fn by_range(column: &[Ranked], (lowest, highest): (Tint, Tint)) -> Vec<Tint> {
    let values = || {
        column.iter().filter_map(|one| match one {
            Ranked::Value(value) => Some(*value),
            Ranked::Unranked | Ranked::Missing => None,
        })
    };
    let (min, max) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let gap = max - min;
    let shown = |tint: Tint| if tint == Tint::Worst && min >= NEAR * max { Tint::None } else { tint };
    let tint = |value: f64| match value {
        _ if gap <= 0.0 => Tint::None,
        low if low <= min + END * gap => shown(lowest),
        high if high >= max - END * gap => shown(highest),
        _ => Tint::None,
    };
    column
        .iter()
        .map(|one| match one {
            Ranked::Value(value) => tint(*value),
            Ranked::Unranked => Tint::Unranked,
            Ranked::Missing => Tint::None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ranked::{Missing, Unranked, Value};

    #[test]
    fn the_outer_quarters_of_the_range_are_coloured() {
        let found = tints(&[Value(100.0), Value(126.0), Value(149.0), Value(175.0), Value(200.0)]);
        assert_eq!(found, [Tint::Worst, Tint::None, Tint::None, Tint::Best, Tint::Best]);
    }

    #[test]
    fn nothing_is_worst_if_all_are_near_the_highest() {
        let near = tints(&[Value(80.0), Value(90.0), Value(100.0)]);
        assert_eq!(near, [Tint::None, Tint::None, Tint::Best]);
        assert_eq!(tints(&[Value(79.9), Value(100.0)]), [Tint::Worst, Tint::Best]);
    }

    #[test]
    fn the_largest_maxima_are_the_worst() {
        assert_eq!(tints_of_maxima(&[Value(1.0), Value(8.0)]), [Tint::Best, Tint::Worst]);
        assert_eq!(tints_of_maxima(&[Value(0.9), Value(1.0)]), [Tint::Best, Tint::None]);
    }

    #[test]
    fn unranked_values_do_not_affect_the_range() {
        let found = tints(&[Value(100.0), Unranked, Value(200.0), Missing]);
        assert_eq!(found, [Tint::Worst, Tint::Unranked, Tint::Best, Tint::None]);
        // A system that is fast because it missed its writes does not make the others slow.
        assert_eq!(tints(&[Value(100.0), Value(100.0), Unranked])[..2], [Tint::None, Tint::None]);
    }

    #[test]
    fn one_value_and_equal_values_have_no_colour() {
        assert_eq!(tints(&[Value(5.0)]), [Tint::None]);
        assert_eq!(tints(&[Value(5.0), Value(5.0)]), [Tint::None, Tint::None]);
        assert_eq!(tints(&[]), []);
    }
}
