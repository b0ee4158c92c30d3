//! Problems during the run: invalid steps, repeated steps, notes.
//!
//! | column | means |
//! | --- | --- |
//! | `what` | `invalid`: the result is not used; `repeated`: an earlier attempt was interrupted |
//! | `why` | the reason, or the attempt that completed it |
//! | `dbms`, `step` | the variant and the step (or the kind of action, where it has none) |

use rqps_store::{ActionRecord, Outcome, PROFILE_KIND};

use crate::document::{Block, Cell, Column, Table};
use crate::number;
use crate::sides::Sides;

/// The table and the notes; nothing if there were no problems.
pub(crate) fn blocks(sides: &Sides<'_>) -> Vec<Block> {
    let columns = ["what", "why", "dbms", "step"].map(Column::words).to_vec();
    let mut table = Table::new("remarks", "Invalid and repeated steps", columns, 2);
    for side in &sides.all {
        for action in side.run.actions.iter().filter(|action| action.arm == side.arm.name) {
            for (what, why) in remarks(action) {
                let step = if action.step.is_empty() { &action.kind } else { &action.step };
                table.row(vec![
                    Cell::words(what),
                    Cell::words(why),
                    Cell::words(side.label()),
                    Cell::words(&**step),
                ]);
            }
        }
    }
    let mut blocks = Vec::new();
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    let notes = notes(sides);
    if !notes.is_empty() {
        blocks.extend([Block::Text("Notes:".to_owned()), Block::Items(notes)]);
    }
    blocks
}

fn remarks(action: &ActionRecord) -> Vec<(&'static str, String)> {
    let mut remarks = Vec::new();
    if action.outcome == Outcome::Invalid {
        remarks.push(("invalid", action.note.clone().unwrap_or_else(|| "no reason given".to_owned())));
    }
    // A profile is only repeated on request.
    if action.attempt > 1 && action.kind != PROFILE_KIND {
        remarks.push(("repeated", format!("attempt {} completed it", action.attempt)));
    }
    remarks
}

fn notes(sides: &Sides<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for run in sides.runs() {
        notes.extend(run.notes.iter().map(|note| {
            let arm = note.arm.as_ref().map(|arm| format!("{arm}: ")).unwrap_or_default();
            format!("{} {arm}{}", number::utc(note.at_ms), note.text)
        }));
    }
    notes
}
