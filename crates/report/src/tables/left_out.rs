//! Options of a config that a build does not support, those that it took with another value, and options that rqps
//! always sets, so that versions with the same config never differ silently.
//!
//! | column | means |
//! | --- | --- |
//! | `option`, `value` | as in the config, or as set by rqps |
//! | `reason` | why it was left out, and the later name under which it is set |
//! | `from`, `to` | the config's value, and the one that the build took instead |
//! | `dbms` | the variant |

use rqps_explain::{is_in_config, renamed::set_as};
use rqps_model::LeftOut;
use rqps_store::Arm;

use crate::comparison::Comparison;
use crate::document::{Block, Cell, Column, Table};

/// Why an option was left out, and under which later name it is set.
fn reason(arm: &Arm, left: &LeftOut) -> String {
    match set_as(arm, &left.option) {
        Some(name) => format!("{}; set as {name}", left.reason),
        None => left.reason.clone(),
    }
}

/// An option that was left out, with its value if that is a part of a list whose rest is set.
pub(crate) fn name(arm: &Arm, left: &LeftOut) -> String {
    let is_managed = arm.managed.iter().any(|managed| managed.name == left.option);
    match is_in_config(&arm.config_text, &left.option) && !is_managed {
        true => format!("{} = {}", left.option, left.value),
        false => left.option.clone(),
    }
}

/// The table of options left out, of those that builds adjusted, and the table of options that rqps sets.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    let columns = ["option", "value", "reason", "dbms"].map(Column::words).to_vec();
    let mut left_out = Table::new("left_out", "Options left out", columns, 1);
    let columns = ["option", "from", "to", "dbms"].map(Column::words).to_vec();
    let title = format!("Options adjusted by the {}", comparison.base.run.terms().program);
    let mut adjusted = Table::new("adjusted", title, columns, 1);
    let columns = ["option", "value", "dbms"].map(Column::words).to_vec();
    let mut managed = Table::new("managed", "Options set by rqps", columns, 1);
    for compared in comparison.all_arms() {
        let label = || Cell::words(compared.label());
        for option in &compared.arm.left_out {
            let (table, last) = match &option.taken {
                Some(taken) => (&mut adjusted, taken.clone()),
                None => (&mut left_out, reason(compared.arm, option)),
            };
            let cells = [&option.option, &option.value, &last].map(|text| Cell::words(&**text));
            table.row(cells.into_iter().chain([label()]).collect());
        }
        for option in &compared.arm.managed {
            managed.row(vec![Cell::words(&*option.name), Cell::words(&*option.value), label()]);
        }
    }
    let mut arms = comparison.all_arms().into_iter().map(|compared| compared.arm);
    let is_known = arms.any(|arm| !arm.settings.is_empty() || !arm.managed.is_empty());
    let none = || {
        let text = match is_known {
            true => "No options left out: every build supports all options of its config.",
            false => "Which options builds leave out is not known: none of them was started.",
        };
        Block::Text(text.to_owned())
    };
    let left_out = std::iter::once(left_out.block().unwrap_or_else(none));
    left_out.chain(adjusted.block()).chain(managed.block()).collect()
}
