//! The blocks of a run: their status, the canaries before and after, and where each arm ran.
//!
//! | column | means |
//! | --- | --- |
//! | `block` | its number |
//! | `status` | `done`: its windows are results; `void`: they are not; `running`: it is being measured; `no result`: base or all others have none |
//! | `seconds` | its length |
//! | `tests` | how many it measured |
//! | `spin_ns`, `memory_ns`, `fsync_us` | canaries before and after: time of one step of a fixed loop, of one load from memory, of one write to the disk |
//! | `arms` | in start order: arm, side (directory and socket), CPUs |
//! | `why` | the reason for its status, and other notes |

use rqps_store::{Block as RunBlock, BlockStatus, Moment, Run};
use rqps_verdicts::Measured;

use crate::comparison::Comparison;
use crate::document::{Block, Cell, Column, Table};
use crate::number;
use crate::words;

/// A table per run that has blocks.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    let with_blocks = comparison.runs().into_iter().filter(|run| !run.blocks.is_empty());
    with_blocks.map(|run| Block::Table(table(run))).collect()
}

fn table(run: &Run) -> Table {
    let mut canaries: Vec<&str> = Vec::new();
    for canary in &run.canaries {
        if !canaries.contains(&canary.name.as_str()) {
            canaries.push(&canary.name);
        }
    }
    let mut columns =
        vec![Column::number("block", "block"), Column::words("status"), Column::number("seconds", "seconds")];
    columns.push(Column::number("tests", "tests"));
    for name in &canaries {
        columns.push(Column::number(*name, format!("{name}_before")));
        columns.push(Column::number("after", format!("{name}_after")));
    }
    columns.extend(["arms", "why"].map(Column::words));
    let mut table = Table::new("blocks", format!("Blocks of {}", run.folder.name()), columns, 0);
    let measured = Measured::of(run);
    for block in &run.blocks {
        let is_ended = block.status == BlockStatus::Done && !run.meta.is_imported();
        let without = if is_ended { measured.without(block.number) } else { Vec::new() };
        let status = match is_ended && !measured.is_done(block.number) {
            true => "no result",
            false => block.status.key(),
        };
        let without = (!without.is_empty()).then(|| format!("no result of {}", without.join(", ")));
        let why: Vec<String> = block.note.iter().cloned().chain(without).collect();
        let seconds = block.finished_at_ms.map(|end| (end - block.started_at_ms) as f64 / 1e3);
        let mut cells = vec![
            Cell::count(u64::from(block.number)),
            Cell::words(status),
            Cell::fixed(seconds, 0),
            Cell::count(block.tests.len() as u64),
        ];
        for name in &canaries {
            cells.push(canary(run, block.number, name, Moment::Before));
            cells.push(canary(run, block.number, name, Moment::After));
        }
        cells.push(Cell::words(arms(block)));
        cells.push(Cell::words(why.join("; ")));
        table.row(cells);
    }
    if !canaries.is_empty() {
        table.footnotes.push(words::canaries(&canaries));
    }
    table
}

fn canary(run: &Run, block: u32, name: &str, moment: Moment) -> Cell {
    let mut canaries = run.canaries.iter();
    let found = canaries.find(|one| one.block == block && one.name == name && one.moment == moment);
    Cell::printed(found.map(|canary| canary.value), |value| number::significant(value, 3))
}

fn arms(block: &RunBlock) -> String {
    let mut arms: Vec<_> = block.arms.iter().collect();
    arms.sort_by_key(|arm| arm.start_position);
    arms.iter()
        .map(|arm| format!("{} ({}, cpu {})", arm.arm, arm.side, arm.cpus))
        .collect::<Vec<_>>()
        .join(" ")
}
