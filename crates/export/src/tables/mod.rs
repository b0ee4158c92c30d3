//! All tables, in the order of the document: what was compared, what happened, what was measured, what it says.

mod details;
mod journal;
mod latency;
mod profiles;
mod subjects;
mod variance;
mod verdicts;
mod windows;

use crate::error::{Error, Result};
use crate::table::Table;

pub static ALL: [&Table; 27] = [
    &subjects::RUNS,
    &subjects::HOST,
    &subjects::ARMS,
    &subjects::SETTINGS,
    &subjects::STEPS,
    &verdicts::VERDICTS,
    &variance::VARIANCE,
    &windows::WINDOWS,
    &windows::COUNTS,
    &windows::CLIENTS,
    &windows::CONNECTIONS,
    &windows::LOADS,
    &windows::SETTLES,
    &details::METRICS,
    &details::COUNTERS,
    &details::SERIES,
    &latency::LATENCIES,
    &latency::LATENCY_BUCKETS,
    &details::PLANS,
    &details::FINGERPRINTS,
    &profiles::PROFILES,
    &profiles::STACKS,
    &journal::BLOCKS,
    &journal::BLOCK_ARMS,
    &journal::CANARIES,
    &journal::ACTIONS,
    &journal::NOTES,
];

/// The table of that name.
///
/// # Errors
/// When there is none.
pub fn table(name: &str) -> Result<&'static Table> {
    let found = ALL.into_iter().find(|table| table.name == name);
    found.ok_or_else(|| Error::UnknownTable {
        name: name.to_owned(),
        known: ALL.map(|table| table.name).join(", "),
    })
}

/// The table that verdicts are made for.
pub(crate) const WITH_VERDICTS: &str = verdicts::VERDICTS.name;
/// The table that reads files beside the database.
pub(crate) const WITH_STACKS: &str = profiles::STACKS.name;
