//! Adjacent versions: each arm relative to the one before it by version, of the same DBMS; equal versions are in the
//! plan's order. The control is no version.
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | rQPS of a variant relative to the one before it, both named in the line `col-N : …`, which says so if their configs differ |
//! | `test` | the test; alphabetical within its group |

use rqps_model::Dbms;

use crate::comparison::{ComparedArm, Comparison, Pair, StepKind};
use crate::document::{Column, Table};
use crate::tables::footnotes;
use crate::tables::relative::ratios;

/// The table; None with fewer than three arms, where it would repeat the relative one, or if no DBMS has two versions.
pub(crate) fn table(comparison: &Comparison<'_>) -> Option<Table> {
    let mut arms: Vec<ComparedArm<'_>> =
        comparison.arms.iter().filter(|compared| !compared.arm.control).copied().collect();
    if arms.len() < 3 {
        return None;
    }
    arms.sort_by_cached_key(|compared| {
        let dbms = compared.arm.dbms.parse::<Dbms>();
        let version = dbms.map_or(0, |dbms| dbms.version_num(&compared.arm.build_version));
        (compared.arm.dbms.clone(), version)
    });
    let adjacent = arms.windows(2).filter(|two| two[0].arm.dbms == two[1].arm.dbms);
    let pairs: Vec<Pair<'_>> = adjacent.map(|two| Pair { base: two[0], arm: two[1] }).collect();
    // Configs of one version are in the relative table.
    if pairs.iter().all(|pair| pair.base.arm.build_version == pair.arm.arm.build_version) {
        return None;
    }
    let columns = pairs.iter().enumerate().map(|(index, pair)| {
        let key = format!("{} / {}", pair.arm.reference(), pair.base.reference());
        let configs = [pair.base, pair.arm].map(|one| &one.arm.config_name);
        let unlike = if configs[0] == configs[1] { "" } else { ", with another config" };
        let stands_for = format!("{} relative to {}{unlike}", pair.arm.label(), pair.base.label());
        Column::numbered(index, key, stands_for)
    });
    let steps = comparison.steps(StepKind::Tests);
    let mut table = ratios(comparison, "chain", "Adjacent versions", &pairs, columns.collect(), &steps);
    if footnotes::has_blocks(comparison) {
        let note = "quotients of rQPS; verdicts on adjacent versions, in section arrivals, are of the ratios of blocks";
        table.footnotes.push(note.to_owned());
    }
    Some(table)
}
