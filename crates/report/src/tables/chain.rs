//! Adjacent versions: each arm relative to the one before it by version; equal versions are in the plan's order.
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | rQPS of a variant relative to the one before it, both named in the line `col-N : …` |
//! | `test` | the test; alphabetical within its group |

use rqps_model::Dbms;

use crate::comparison::{Comparison, Pair, StepKind};
use crate::document::{Column, Table};
use crate::tables::relative::ratios;

/// The table; None with fewer than three arms, where it would repeat the relative one.
pub(crate) fn table(comparison: &Comparison<'_>) -> Option<Table> {
    if comparison.arms.len() < 3 {
        return None;
    }
    let mut arms = comparison.arms.clone();
    arms.sort_by_cached_key(|compared| {
        let dbms = compared.arm.dbms.parse::<Dbms>();
        dbms.map_or(0, |dbms| dbms.version_num(&compared.arm.build_version))
    });
    let pairs: Vec<Pair<'_>> =
        arms.windows(2).map(|adjacent| Pair { base: adjacent[0], arm: adjacent[1] }).collect();
    let columns = pairs.iter().enumerate().map(|(index, pair)| {
        let key = format!("{} / {}", pair.arm.reference(), pair.base.reference());
        let stands_for = format!("{} relative to {}", pair.arm.label(), pair.base.label());
        Column::numbered(index, key, stands_for)
    });
    let steps = comparison.steps(StepKind::Tests);
    Some(ratios(comparison, "chain", "Adjacent versions", &pairs, columns.collect(), &steps))
}
