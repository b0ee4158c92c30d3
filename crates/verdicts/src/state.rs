//! Whether arms start from like data: the states that their loads left, held against each other.
//!
//! A state is a fingerprint of the tables: pages and how many of them are all-visible, sizes, a hash of the statistics.
//! Loads of one arm must agree, and those of base with those of the control; what another build or other statements
//! make of the same rows is what is measured, but every page must be all-visible on every arm.

use std::collections::{BTreeMap, BTreeSet};

use rqps_store::Run;

use crate::data::base_of;
use crate::error::Result;

/// What of a table's fingerprint is state, by the end of its key; the rest counts what was done to it.
const STATE_KEYS: [&str; 7] =
    ["pages", "all_visible_pages", "heap_bytes", "data_bytes", "index_bytes", "dead_rows", "statistics"];
/// What of the server's is.
const SERVER_KEYS: [&str; 1] = ["wal_files"];

type State = BTreeMap<String, String>;

/// In what the data of an arm differ that should be alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnlikeData {
    /// Pages of a table are not all-visible.
    NotAllVisible {
        table: String,
        /// Pages that are not.
        pages: u64,
        of: u64,
    },
    /// Loads of this arm, or of base and its control, differ.
    LoadsDiffer {
        /// In this: `table.sbtest1.index_bytes`.
        key: String,
        /// The values, in order.
        values: Vec<String>,
    },
}

/// The first thing in which each arm's data are unlike what they should be, by index of [`Run::arms`].
pub(crate) fn unlike_data(run: &Run) -> Result<BTreeMap<usize, UnlikeData>> {
    let mut states: BTreeMap<u32, State> = BTreeMap::new();
    let mut of_arms: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for drawn in run.blocks.iter().flat_map(|block| &block.arms) {
        let arm = run.arms.iter().position(|arm| arm.name == drawn.arm);
        let (Some(arm), Some(seq)) = (arm, drawn.data_seq) else {
            continue;
        };
        of_arms.entry(arm).or_default().insert(seq);
        if let std::collections::btree_map::Entry::Vacant(vacant) = states.entry(seq) {
            vacant.insert(run.fingerprint(seq)?.into_iter().filter(|(key, _)| is_state(key)).collect());
        }
    }
    let base = base_of(run);
    let mut unlike = BTreeMap::new();
    for (arm, seqs) in &of_arms {
        let mut alike: BTreeSet<u32> = seqs.clone();
        if run.arms[*arm].control {
            alike.extend(of_arms.get(&base).into_iter().flatten());
        }
        let own: Vec<&State> = seqs.iter().filter_map(|seq| states.get(seq)).collect();
        let alike: Vec<&State> = alike.iter().filter_map(|seq| states.get(seq)).collect();
        if let Some(found) = own.iter().find_map(|state| not_visible(state)).or_else(|| differing(&alike)) {
            unlike.insert(*arm, found);
        }
    }
    Ok(unlike)
}

fn is_state(key: &str) -> bool {
    let of_table = key.strip_prefix("table.").and_then(|rest| rest.rsplit_once('.'));
    of_table.is_some_and(|(_, field)| STATE_KEYS.contains(&field)) || SERVER_KEYS.contains(&key)
}

fn not_visible(state: &State) -> Option<UnlikeData> {
    state.iter().find_map(|(key, visible)| {
        let table = key.strip_prefix("table.")?.strip_suffix(".all_visible_pages")?;
        let of: u64 = state.get(&format!("table.{table}.pages"))?.parse().ok()?;
        let pages = of.saturating_sub(visible.parse().ok()?);
        (pages > 0).then(|| UnlikeData::NotAllVisible { table: table.to_owned(), pages, of })
    })
}

fn differing(states: &[&State]) -> Option<UnlikeData> {
    let keys: BTreeSet<&String> = states.iter().flat_map(|state| state.keys()).collect();
    keys.into_iter().find_map(|key| {
        let values: BTreeSet<&str> =
            states.iter().map(|state| state.get(key).map_or("-", String::as_str)).collect();
        let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        (values.len() > 1).then(|| UnlikeData::LoadsDiffer { key: key.clone(), values })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(visible: &str, index_bytes: &str) -> State {
        let figures = [("pages", "10"), ("all_visible_pages", visible), ("index_bytes", index_bytes)];
        figures.map(|(key, value)| (format!("table.sbtest1.{key}"), value.to_owned())).into()
    }

    #[test]
    fn pages_and_sizes_are_state_and_counts_of_vacuums_are_not() {
        assert!(is_state("table.sbtest1.all_visible_pages") && is_state("wal_files"));
        assert!(!is_state("table.sbtest1.vacuums") && !is_state("xid_age") && !is_state("setting.pages"));
    }

    #[test]
    fn what_differs_is_named_with_its_figures() {
        let (good, bad) = (state("10", "80"), state("4", "80"));
        assert_eq!(not_visible(&good), None);
        let table = "sbtest1".to_owned();
        assert_eq!(not_visible(&bad), Some(UnlikeData::NotAllVisible { table, pages: 6, of: 10 }));
        assert_eq!(differing(&[&good, &good.clone()]), None);
        let other = state("10", "88");
        let key = "table.sbtest1.index_bytes".to_owned();
        let values = vec!["80".to_owned(), "88".to_owned()];
        assert_eq!(differing(&[&good, &other]), Some(UnlikeData::LoadsDiffer { key, values }));
    }
}
