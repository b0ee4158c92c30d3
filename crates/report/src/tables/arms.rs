//! What was compared.
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

use rqps_store::Arm;

use crate::document::{Cell, Column, Figure, Table};
use crate::sides::{Side, Sides};

/// Characters of a hash that are shown.
const HASH_CHARS: usize = 12;

/// One row for each arm, base first, and what each server says of itself.
pub(crate) fn table(sides: &Sides<'_>) -> Table {
    let hash = |hash: &str| Cell::words(hash.chars().take(HASH_CHARS).collect::<String>());
    let role = |arm: &Arm| if arm.control { "control" } else { arm.role.key() };
    let figures: [Figure<'_, Side<'_>>; 7] = [
        (Column::words("version"), &|side| Cell::words(&*side.arm.build_version)),
        (Column::words("build"), &|side| hash(&side.arm.build_hash)),
        (Column::words("origin"), &|side| Cell::words(&*side.arm.build_origin)),
        (Column::words("config"), &|side| hash(&side.arm.config_hash)),
        (Column::words("left out"), &|side| Cell::words(side.arm.left_out.len().to_string())),
        (Column::words("role"), &|side| Cell::words(role(side.arm))),
        (Column::words("dbms"), &|side| Cell::words(side.label())),
    ];
    let mut table = Table::of_figures("arms", "Compared", &figures, 1, sides.base_first());
    let version = |side: &Side<'_>| format!("{}: {}", side.label(), side.arm.build_version_text);
    table.footnotes = sides.base_first().iter().map(version).collect();
    table
}
