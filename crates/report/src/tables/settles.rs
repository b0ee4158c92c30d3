//! The settle steps: duration, exit conditions, and whether they were reached.
//!
//! | column | means |
//! | --- | --- |
//! | `seconds` | duration of the step |
//! | `cap` | its time limit, seconds |
//! | `reached` | `yes` if all exit conditions held at the end, `capped` if the time limit ended it |
//! | `condition` | an exit condition |
//! | `before`, `after` | its value before the step and at the end |
//! | `target` | its upper limit |
//! | `dbms`, `step` | the variant and the step |

use rqps_model::{Settle, SettleCondition};
use rqps_store::Recorded;

use crate::comparison::{ComparedArm, Comparison};
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::number;

/// One row per exit condition of each settle, arm by arm.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    type Condition<'a> = (ComparedArm<'a>, &'a Recorded<Settle>, &'a SettleCondition);
    let seconds = |us: u64, decimals| Cell::fixed(Some(us as f64 / 1e6), decimals);
    let reached = |reached: bool| Cell::words(if reached { "yes" } else { "capped" });
    let number = |value: f64| Cell::number(value, number::significant(value, 6));
    let figures: [Figure<'_, Condition<'_>>; 9] = [
        (Column::number("seconds", "seconds"), &|(_, settle, _)| seconds(settle.result.elapsed_us, 1)),
        (Column::number("cap", "cap_s"), &|(_, settle, _)| seconds(settle.result.cap_us, 0)),
        (Column::words("reached"), &|(_, settle, _)| reached(settle.result.reached)),
        (Column::number("before", "before"), &|(.., condition)| number(condition.before)),
        (Column::number("after", "after"), &|(.., condition)| number(condition.after)),
        (Column::number("target", "target"), &|(.., condition)| number(condition.target)),
        (Column::words("condition"), &|(.., condition)| Cell::words(&*condition.name)),
        (Column::words("dbms"), &|(arm, ..)| Cell::words(arm.label())),
        (Column::words("step"), &|(_, settle, _)| Cell::words(&*settle.action.step)),
    ];
    let mut rows = Vec::new();
    for arm in comparison.base_first() {
        for settle in arm.settles() {
            rows.extend(settle.result.conditions.iter().map(|condition| (arm, settle, condition)));
        }
    }
    Table::of_figures("settles", "Settle", &figures, 2, rows).block().into_iter().collect()
}
