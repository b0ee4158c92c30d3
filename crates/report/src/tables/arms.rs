//! The arms that were compared.
//!
//! | column | means |
//! | --- | --- |
//! | `version` | version of the build |
//! | `build` | start of the hash of its program files |
//! | `origin` | where the build came from |
//! | `config` | start of the hash of the config's content; the config's name is in `dbms` |
//! | `left out` | options of the config that the build does not support; a table of its own lists them |
//! | `role` | base, candidate, or control: the base measured again |
//! | `dbms` | the variant |

use rqps_model::short_hash;
use rqps_store::Arm;

use crate::comparison::{ComparedArm, Comparison};
use crate::document::{Cell, Column, Figure, Table};

/// One row per arm, base first; the footnotes have each server's own version string.
pub(crate) fn table(comparison: &Comparison<'_>) -> Table {
    let hash = |hash: &str| Cell::words(short_hash(hash));
    let role = |arm: &Arm| if arm.control { "control" } else { arm.role.key() };
    let figures: [Figure<'_, ComparedArm<'_>>; 7] = [
        (Column::words("version"), &|compared| Cell::words(&*compared.arm.build_version)),
        (Column::words("build"), &|compared| hash(&compared.arm.build_hash)),
        (Column::words("origin"), &|compared| Cell::words(&*compared.arm.build_origin)),
        (Column::words("config"), &|compared| hash(&compared.arm.config_hash)),
        (Column::words("left out"), &|compared| {
            let left_out = || compared.arm.left_out.iter().filter(|left| left.taken.is_none()).count();
            let known = (!compared.run.meta.is_imported()).then(|| left_out().to_string());
            Cell::words(known.unwrap_or_default())
        }),
        (Column::words("role"), &|compared| Cell::words(role(compared.arm))),
        (Column::words("dbms"), &|compared| Cell::words(compared.label())),
    ];
    let mut table = Table::of_figures("arms", "Compared", &figures, 1, comparison.all_arms());
    let version =
        |compared: &ComparedArm<'_>| format!("{}: {}", compared.label(), compared.arm.build_version_text);
    table.footnotes = comparison.all_arms().iter().map(version).collect();
    table
}
