//! One file for each table: what it shows, and what its columns mean.

pub(crate) mod absolute;
pub(crate) mod arms;
pub(crate) mod arrivals;
pub(crate) mod blocks;
pub(crate) mod chain;
pub(crate) mod connections;
pub(crate) mod consecutive;
pub(crate) mod costs;
pub(crate) mod counters;
pub(crate) mod disturbed;
pub(crate) mod evidence;
pub(crate) mod fingerprints;
pub(crate) mod footnotes;
pub(crate) mod headline;
pub(crate) mod host;
pub(crate) mod latency;
pub(crate) mod left_out;
pub(crate) mod loads;
pub(crate) mod metrics;
pub(crate) mod plans;
pub(crate) mod rates;
pub(crate) mod relative;
pub(crate) mod remarks;
pub(crate) mod settles;
pub(crate) mod state_dependent;
pub(crate) mod trust;
pub(crate) mod variance;
pub(crate) mod verdicts;

use crate::document::{Block, Table};
use crate::error::Result;
use crate::sides::{Sides, StepKind, TestStep};

/// The tables of all tests of a kind that have one.
fn of_each_test(
    sides: &Sides<'_>,
    which: StepKind,
    of_test: impl Fn(&Sides<'_>, &TestStep) -> Result<Option<Table>>,
) -> Result<Vec<Block>> {
    let tables = sides.steps(which).iter().map(|step| of_test(sides, step)).collect::<Result<Vec<_>>>()?;
    Ok(tables.into_iter().flatten().map(Block::Table).collect())
}
