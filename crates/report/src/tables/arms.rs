//! What was compared.
//!
//! | column | means |
//! | --- | --- |
//! | `version` | version of the build |
//! | `build` | start of the hash of its program files |
//! | `origin` | where the build came from |
//! | `config` | start of the hash of the config's content; the config's name is in `dbms` |
//! | `left out` | options of the config that the build does not know; they are listed apart |
//! | `role` | base, candidate, or control: the base measured again |
//! | `dbms` | the variant |

use crate::document::{Cell, Column, Table};
use crate::sides::Sides;

/// Characters of a hash that are shown.
const HASH_CHARS: usize = 12;

/// One row for each arm, base first, and what each server says of itself.
pub(crate) fn table(sides: &Sides<'_>) -> Table {
    let columns =
        ["version", "build", "origin", "config", "left out", "role", "dbms"].map(Column::words).to_vec();
    let mut table = Table::new("arms", "Compared", columns, 1);
    for side in sides.base_first() {
        let arm = side.arm;
        let hash = |hash: &str| Cell::words(hash.chars().take(HASH_CHARS).collect::<String>());
        table.row(vec![
            Cell::words(&*arm.build_version),
            hash(&arm.build_hash),
            Cell::words(&*arm.build_origin),
            hash(&arm.config_hash),
            Cell::words(arm.left_out.len().to_string()),
            Cell::words(if arm.control { "control" } else { arm.role.key() }),
            Cell::words(side.label()),
        ]);
        table.footnotes.push(format!("{}: {}", side.label(), arm.build_version_text));
    }
    table
}
