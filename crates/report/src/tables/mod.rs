//! One file per table: its content and the meaning of its columns.

pub(crate) mod absolute;
pub(crate) mod answer;
pub(crate) mod arms;
pub(crate) mod arrivals;
pub(crate) mod blocks;
pub(crate) mod certificate;
pub(crate) mod chain;
pub(crate) mod conditions;
pub(crate) mod connections;
pub(crate) mod consecutive;
pub(crate) mod costs;
pub(crate) mod counters;
pub(crate) mod disturbed;
pub(crate) mod doubts;
pub(crate) mod evidence;
pub(crate) mod fingerprints;
pub(crate) mod footnotes;
pub(crate) mod headline;
pub(crate) mod host;
pub(crate) mod latency;
pub(crate) mod left_out;
pub(crate) mod loads;
pub(crate) mod lsm;
pub(crate) mod metrics;
pub(crate) mod plans;
pub(crate) mod published;
pub(crate) mod rates;
pub(crate) mod relative;
pub(crate) mod remarks;
pub(crate) mod settles;
pub(crate) mod state_dependent;
pub(crate) mod syncs;
pub(crate) mod transactions;
pub(crate) mod trust;
pub(crate) mod two_runs;
pub(crate) mod undecided;
pub(crate) mod unpaired;
pub(crate) mod variance;
pub(crate) mod verdicts;

use crate::comparison::{Comparison, StepKind, TestStep};
use crate::document::{Block, Table};
use crate::error::Result;

/// The tables of all tests that have one.
fn for_each_test(
    comparison: &Comparison<'_>,
    which: StepKind,
    table: impl Fn(&Comparison<'_>, &TestStep) -> Result<Option<Table>>,
) -> Result<Vec<Block>> {
    let tables =
        comparison.steps(which).iter().map(|step| table(comparison, step)).collect::<Result<Vec<_>>>()?;
    Ok(tables.into_iter().flatten().map(Block::Table).collect())
}
