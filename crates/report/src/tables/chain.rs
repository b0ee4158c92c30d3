//! The chain of adjacent versions: each arm relative to the arm before it in the plan's order.
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | rQPS of a variant relative to the one before it, as the line `col-N : …` says |
//! | `test` | the test; alphabetical in its group |

use crate::document::{Column, Table};
use crate::sides::{Sides, StepKind};
use crate::tables::relative::{Pair, ratios};

/// The table; none with fewer than three arms, where it would repeat the relative one.
pub(crate) fn table(sides: &Sides<'_>) -> Option<Table> {
    if sides.all.len() < 3 {
        return None;
    }
    let pairs: Vec<Pair<'_>> =
        sides.all.windows(2).map(|adjacent| Pair { base: adjacent[0], side: adjacent[1] }).collect();
    let columns = pairs.iter().enumerate().map(|(index, pair)| {
        let key = format!("{} / {}", pair.side.reference(), pair.base.reference());
        let (side, base) = (pair.side.label(), pair.base.label());
        Column::numbered(index, key, format!("{side} relative to {base}"))
    });
    let steps = sides.steps(StepKind::Tests);
    Some(ratios(sides, "chain", "Adjacent versions", &pairs, columns.collect(), &steps))
}
