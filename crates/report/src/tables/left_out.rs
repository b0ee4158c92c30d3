//! Options of a config that a build does not support, and options that rqps sets regardless of the config, so that two
//! versions under the same config never differ silently.
//!
//! | column | means |
//! | --- | --- |
//! | `option`, `value` | what the config asks for, or what rqps sets |
//! | `reason` | why it was left out |
//! | `dbms` | the variant |

use crate::document::{Block, Cell, Column, Table};
use crate::sides::Sides;

/// The table of options left out, and the table of options that rqps sets.
pub(crate) fn blocks(sides: &Sides<'_>) -> Vec<Block> {
    let columns = ["option", "value", "reason", "dbms"].map(Column::words).to_vec();
    let mut left_out = Table::new("left_out", "Options left out", columns, 1);
    let columns = ["option", "value", "dbms"].map(Column::words).to_vec();
    let mut managed = Table::new("managed", "Options set by rqps", columns, 1);
    for side in sides.base_first() {
        let label = || Cell::words(side.label());
        for option in &side.arm.left_out {
            let cells = [&option.option, &option.value, &option.reason].map(|text| Cell::words(&**text));
            left_out.row(cells.into_iter().chain([label()]).collect());
        }
        for option in &side.arm.managed {
            managed.row(vec![Cell::words(&*option.name), Cell::words(&*option.value), label()]);
        }
    }
    let mut blocks = Vec::new();
    blocks.push(match left_out.rows.is_empty() {
        true => {
            Block::Text("No options left out: every build supports all options of its config.".to_owned())
        }
        false => Block::Table(left_out),
    });
    if !managed.rows.is_empty() {
        blocks.push(Block::Table(managed));
    }
    blocks
}
