//! Problems during the run: invalid steps, repeated steps, notes.
//!
//! | column | means |
//! | --- | --- |
//! | `what` | `invalid`: the result is not used; `repeated`: an earlier attempt was interrupted |
//! | `why` | the reason, or the attempt that completed it |
//! | `dbms`, `step` | the variant and the step (or the kind of action if it has no step) |
//! | `block` | of a run of blocks, the one that it was in |

use rqps_store::{ActionRecord, Outcome, PROFILE_KIND, Run};

use crate::comparison::Comparison;
use crate::document::{Block, Cell, Column, Table};
use crate::number;
use crate::tables::{certificate, footnotes};

/// The table and the notes; empty if there were no problems.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    let has_blocks = comparison.runs().iter().any(|run| !run.blocks.is_empty());
    let block_column = has_blocks.then(|| Column::number("block", "block"));
    let columns =
        ["what", "why", "dbms", "step"].map(Column::words).into_iter().chain(block_column).collect();
    let mut table = Table::new("remarks", "Invalid and repeated steps", columns, 2);
    for compared in &comparison.arms {
        for action in compared.run.actions.iter().filter(|action| action.arm == compared.arm.name) {
            for (what, why) in remarks(action) {
                let step = if action.step.is_empty() { &action.kind } else { &action.step };
                let mut row = vec![
                    Cell::words(what),
                    Cell::words(why),
                    Cell::words(compared.label()),
                    Cell::words(&**step),
                ];
                if has_blocks {
                    row.push(block_of(compared.run, action).map_or_else(Cell::missing, Cell::count));
                }
                table.row(row);
            }
        }
    }
    let mut blocks: Vec<Block> = table.block().into_iter().collect();
    let of_host = certificate::remarks(comparison);
    if !of_host.is_empty() {
        blocks.extend([Block::Text("Host:".to_owned()), Block::Items(of_host)]);
    }
    let notes = notes(comparison);
    if !notes.is_empty() {
        blocks.extend([Block::Text("Notes:".to_owned()), Block::Items(notes)]);
    }
    blocks
}

fn block_of(run: &Run, action: &ActionRecord) -> Option<u64> {
    let window = run.windows.iter().find(|window| window.action.seq == action.seq)?;
    Some(u64::from(window.placement?.block))
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

fn notes(comparison: &Comparison<'_>) -> Vec<String> {
    let notes = comparison.runs().into_iter().flat_map(|run| &run.notes);
    let notes = notes.map(|note| {
        let arm = note.arm.as_ref().map(|arm| format!("{arm}: ")).unwrap_or_default();
        format!("{} {arm}{}", number::utc(note.at_ms), note.text)
    });
    // Of a sequence the table of rates has them.
    let options =
        if footnotes::has_blocks(comparison) { footnotes::of_options(comparison) } else { Vec::new() };
    notes.chain(options).collect()
}
