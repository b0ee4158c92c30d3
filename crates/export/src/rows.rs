//! Sources of rows: nearly every table is a database view of the same name, a few need code.

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

/// The table that verdicts are made for.
pub(crate) const WITH_VERDICTS: &str = "verdicts";
/// The table that reads files beside the database.
pub(crate) const WITH_STACKS: &str = "stacks";

/// Takes a row without its beginning, the name of the run.
type Sink<'s> = dyn FnMut(Vec<Cell>) -> Result<()> + 's;

/// A run, and its verdicts where it has some and a table wants them.
pub(crate) struct Source<'a> {
    pub run: &'a Run,
    pub judged: Option<RunVerdicts>,
}

impl Source<'_> {
    /// Hands over the rows of a table.
    pub fn rows(&self, table: &'static Table, sink: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
        let (run, name) = (self.run, self.run.folder.name());
        let mut own = |cells: Vec<Cell>| sink(table.row(&name, cells)?.into());
        match table.name {
            WITH_VERDICTS => self.judged.iter().try_for_each(|judged| verdicts::rows(run, judged, &mut own)),
            WITH_STACKS => stacks::rows(run, &mut own),
            "variance" => variance::rows(run, &mut own),
            "latencies" => latency::percentiles(run, &mut own),
            "latency_buckets" => latency::buckets(run, &mut own),
            // A database does not know where it is.
            "runs" => run.flat("runs", |mut cells| {
                cells.push(run.folder.path().to_string_lossy().into_owned().into());
                own(cells)
            }),
            view => run.flat(view, own),
        }
    }
}

/// First cells of the rows of an observation, by the number of its action.
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
