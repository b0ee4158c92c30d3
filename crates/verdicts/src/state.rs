//! Checks that arms start from equal data, by comparing the states that their loads left.
//!
//! A state is a fingerprint of the tables: pages, how many of them are all-visible, sizes, a hash of the
//! statistics. Loads of one arm must agree, and those of base with those of the control. What another build
//! or other statements make of the same rows is part of the measurement, but every page must be all-visible
//! on every arm.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use rqps_store::Run;

use crate::data::{arm_index, base_of};
use crate::error::Result;

/// Fingerprint keys of a table, without their prefix, that are state; others count operations on it.
const STATE_KEYS: [&str; 7] =
    ["pages", "all_visible_pages", "heap_bytes", "data_bytes", "index_bytes", "dead_rows", "statistics"];
/// Fingerprint keys of the server that are state.
const SERVER_KEYS: [&str; 1] = ["wal_files"];

/// Sizes this far apart, as a share of the largest table's, are alike: rows that several connections load at once lie
/// on a few pages more or less each time.
const ALIKE_MAX: f64 = 0.001;

type State = BTreeMap<String, String>;

/// How an arm's data differ from what they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnlikeData {
    /// Pages of a table are not all-visible.
    NotAllVisible {
        table: String,
        /// Pages that are not.
        pages: u64,
        /// All pages.
        of: u64,
    },
    /// Loads of this arm, or of base and its control, differ.
    LoadsDiffer {
        /// Fingerprint key: `table.sbtest1.index_bytes`.
        key: String,
        /// The different values, sorted.
        values: Vec<String>,
    },
}

/// The first difference found for each arm, by index in [`Run::arms`].
pub(crate) fn unlike_data(run: &Run) -> Result<BTreeMap<usize, UnlikeData>> {
    let mut states: BTreeMap<u32, State> = BTreeMap::new();
    // Numbers of the actions that made each arm's data.
    let mut loads: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for block_arm in run.blocks.iter().flat_map(|block| &block.arms) {
        let (Some(arm), Some(seq)) = (arm_index(run, &block_arm.arm), block_arm.data_seq) else {
            continue;
        };
        loads.entry(arm).or_default().insert(seq);
        if let Entry::Vacant(entry) = states.entry(seq) {
            entry.insert(run.fingerprint(seq)?.into_iter().filter(|(key, _)| is_state(key)).collect());
        }
    }
    let base = base_of(run);
    let mut unlike = BTreeMap::new();
    for (arm, own) in &loads {
        let of_base = loads.get(&base).filter(|_| run.arms[*arm].control);
        let must_agree: Vec<&State> =
            own.iter().chain(of_base.into_iter().flatten()).filter_map(|seq| states.get(seq)).collect();
        let mut own = own.iter().filter_map(|seq| states.get(seq));
        if let Some(found) = own.find_map(not_visible).or_else(|| differing(&must_agree)) {
            unlike.insert(*arm, found);
        }
    }
    Ok(unlike)
}

fn is_state(key: &str) -> bool {
    let table_key = key.strip_prefix("table.").and_then(|rest| rest.rsplit_once('.'));
    table_key.is_some_and(|(_, field)| STATE_KEYS.contains(&field)) || SERVER_KEYS.contains(&key)
}

/// The first table of the state with pages that are not all-visible.
fn not_visible(state: &State) -> Option<UnlikeData> {
    state.iter().find_map(|(key, visible)| {
        let table = key.strip_prefix("table.")?.strip_suffix(".all_visible_pages")?;
        let of: u64 = state.get(&format!("table.{table}.pages"))?.parse().ok()?;
        let pages = of.saturating_sub(visible.parse().ok()?);
        (pages > 0).then(|| UnlikeData::NotAllVisible { table: table.to_owned(), pages, of })
    })
}

/// The first key whose values differ between the states: sizes, then statistics. Where sizes are alike but not equal,
/// rows lie in another order, which statistics tell as well.
fn differing(states: &[&State]) -> Option<UnlikeData> {
    let keys: BTreeSet<&String> = states.iter().flat_map(|state| state.keys()).collect();
    let (statistics, sizes): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|key| key.ends_with(".statistics"));
    let differing = |key: &&String| {
        let values = states.iter().map(|state| state.get(*key).map_or("-", String::as_str));
        let values: BTreeSet<String> = values.map(str::to_owned).collect();
        (values.len() > 1).then(|| ((*key).clone(), values.into_iter().collect::<Vec<_>>()))
    };
    let mut found: Vec<_> = sizes.iter().filter_map(differing).collect();
    let is_one_order = found.is_empty();
    found.retain(|(key, values)| !are_alike(values, largest(states, key)));
    if is_one_order {
        found.extend(statistics.iter().filter_map(differing));
    }
    found.into_iter().next().map(|(key, values)| UnlikeData::LoadsDiffer { key, values })
}

/// The largest value of a key's field, of all tables.
fn largest(states: &[&State], key: &str) -> f64 {
    let field = |key: &str| key.rsplit_once('.').map(|(_, field)| field.to_owned());
    let of_field =
        states.iter().flat_map(|state| state.iter()).filter(|(other, _)| field(other) == field(key));
    of_field.filter_map(|(_, value)| value.parse().ok()).fold(0.0, f64::max)
}

/// Whether all values are numbers at most [`ALIKE_MAX`] of the largest apart.
fn are_alike(values: &[String], largest: f64) -> bool {
    let Some(numbers) = values.iter().map(|value| value.parse().ok()).collect::<Option<Vec<f64>>>() else {
        return false;
    };
    let (least, most) = numbers
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), number| (least.min(*number), most.max(*number)));
    most - least <= ALIKE_MAX * largest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(visible: &str, index_bytes: &str) -> State {
        let figures = [("pages", "10"), ("all_visible_pages", visible), ("index_bytes", index_bytes)];
        figures.map(|(key, value)| (format!("table.sbtest1.{key}"), value.to_owned())).into()
    }

    #[test]
    fn sizes_are_state_and_counts_of_vacuums_are_not() {
        assert!(is_state("table.sbtest1.all_visible_pages") && is_state("wal_files"));
        assert!(!is_state("table.sbtest1.vacuums") && !is_state("xid_age") && !is_state("setting.pages"));
    }

    #[test]
    fn differences_are_named_with_their_figures() {
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

    #[test]
    fn rows_loaded_in_another_order_are_alike() {
        let with = |index_bytes, statistics: &str| {
            let mut state = state("10", index_bytes);
            state.insert("table.sbtest1.statistics".to_owned(), statistics.to_owned());
            state
        };
        assert_eq!(differing(&[&with("100000", "a"), &with("100099", "b")]), None);
        let small = |bytes: &str| {
            let mut state = with("100000", "a");
            state.insert("table.tiny.index_bytes".to_owned(), bytes.to_owned());
            state
        };
        assert_eq!(
            differing(&[&small("20"), &small("40")]),
            None,
            "it matters as little as in a large table"
        );
        let differs = |left: State, right: State| differing(&[&left, &right]).is_some();
        assert!(differs(with("100000", "a"), with("100102", "a")));
        assert!(differs(with("100000", "a"), with("100000", "b")), "the same order has the same statistics");
    }
}
