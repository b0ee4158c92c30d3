//! Sources of rows: most tables are database views of the same name, a few need code.

mod block_ratios;
mod latency;
mod stacks;
mod variance;
mod verdicts;

use std::collections::BTreeMap;

use rqps_store::{Cell, Run};
use rqps_verdicts::RunVerdicts;

use crate::error::Result;
use crate::table::Table;
use crate::write::Row;

pub(crate) use stacks::has_stacks;

/// The tables that need verdicts.
pub(crate) const WITH_VERDICTS: [&str; 2] = ["verdicts", "block_ratios"];
/// The table that reads files next to the database.
pub(crate) const WITH_STACKS: &str = "stacks";

/// Receives a row without its first cell, the run's name.
type Sink<'s> = dyn FnMut(Vec<Cell>) -> Result<()> + 's;

/// A run, with its verdicts if it has any and a table needs them.
pub(crate) struct Source<'a> {
    pub run: &'a Run,
    pub judged: Option<RunVerdicts>,
}

impl Source<'_> {
    /// Passes the rows of a table to `sink`.
    pub fn rows(&self, table: &'static Table, sink: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
        let (run, name) = (self.run, self.run.folder.name());
        let mut put = |cells: Vec<Cell>| sink(table.row(&name, cells)?.into());
        match table.name {
            "verdicts" => self.judged.iter().try_for_each(|judged| verdicts::rows(run, judged, &mut put)),
            "block_ratios" => {
                self.judged.iter().try_for_each(|judged| block_ratios::rows(run, judged, &mut put))
            }
            WITH_STACKS => stacks::rows(run, &mut put),
            "variance" => variance::rows(run, &mut put),
            "latencies" => latency::percentiles(run, &mut put),
            "latency_buckets" => latency::buckets(run, &mut put),
            // The path is not in the database.
            "runs" => run.flat("runs", |mut cells| {
                cells.push(run.folder.path().to_string_lossy().into_owned().into());
                put(cells)
            }),
            view => run.flat(view, put),
        }
    }
}

/// The first cells of an observation's rows, by the number of its action.
fn places(run: &Run) -> Result<BTreeMap<u32, Vec<Cell>>> {
    let mut places = BTreeMap::new();
    run.flat("places", |cells| {
        if let Some(Cell::Integer(seq)) = cells.first() {
            places.insert(*seq as u32, cells);
        }
        Result::Ok(())
    })?;
    Ok(places)
}
