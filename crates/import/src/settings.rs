//! What tells results of one test apart: its range, and the settings it ran with. Results that differ in these are
//! different tests.

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::clipped;

use crate::grouped::grouped;
use crate::names::TestName;
use crate::placed::{Found, Placed};

/// What may differ between results of one test, which are not compared then: a value's name, in words, and the value
/// that goes without saying.
const SETTINGS: [(&str, &str, &str); 38] = [
    ("scale", "scale", ""),
    ("warehouses", "warehouses", ""),
    ("tables", "tables", ""),
    ("table_size", "table size", ""),
    ("records", "records", ""),
    ("entries", "entries", ""),
    ("key_bytes", "key size", ""),
    ("value_bytes", "value size", ""),
    ("compression", "compression", ""),
    ("workload", "workload", ""),
    ("rand_type", "distribution", ""),
    ("mode", "query mode", ""),
    ("isolation", "isolation level", ""),
    (PARTITION_METHOD, "partition method", NONE),
    (PARTITIONS, "partitions", NONE),
    ("tries_max", "maximum number of tries", "1"),
    (CONNECTIONS, "connections", KEPT),
    ("rw", "access pattern", ""),
    ("bs", "block size", ""),
    ("ioengine", "I/O engine", ""),
    ("iodepth", "I/O depth", ""),
    ("direct", "direct I/O", ""),
    ("fsync", "fsync", ""),
    ("fdatasync", "fdatasync", ""),
    ("total_size", "total size", ""),
    ("operation", "operation", ""),
    ("scope", "memory scope", ""),
    ("primes_max", "prime limit", ""),
    ("files", "files", ""),
    ("file_size", "file size", ""),
    ("io_mode", "I/O mode", ""),
    ("open_flags", "open flags", ""),
    ("mixed_reads", "reads per write", ""),
    ("merged", "merged requests", ""),
    ("fsync_requests", "requests per fsync", ""),
    ("fsync_end", "fsync at the end", ""),
    ("fsync_all", "fsync after each write", ""),
    (CLIENTS, "clients", ""),
];
pub const PARTITION_METHOD: &str = "partition_method";
pub const PARTITIONS: &str = "partitions";
/// Whether clients keep their connections, or make one for each transaction.
pub const CONNECTIONS: &str = "connections";
pub const KEPT: &str = "kept";
pub const NONE: &str = "none";
const CLIENTS: &str = "clients";
/// Of all values of a setting.
const VALUES_CHARS_MAX: usize = 100;
/// What clients are called where they are jobs of fio.
const JOBS: &str = "jobs";

pub fn setting_name(key: &str) -> &'static str {
    let names = SETTINGS.iter().chain(&[(JOBS, JOBS, "")]);
    names.into_iter().find(|(name, ..)| *name == key).map_or("another setting", |(_, words, _)| words)
}

/// The setting's name in a result's test.
fn key_of(key: &'static str, found: &Found) -> &'static str {
    let noun = found.measurement.work.as_ref().map(|work| work.unit.client_noun());
    if key == CLIENTS && noun == Some("job") { JOBS } else { key }
}

/// The settings that results tell, in words, each with all its values. Clients have a place of their own.
pub fn told(results: &[Placed]) -> Vec<(&'static str, String)> {
    let told = |(key, words, usual): (&'static str, &'static str, &'static str)| {
        let values = results.iter().flat_map(|one| &one.values).filter(|(_, value)| value.name == key);
        let values: BTreeSet<&str> = values.filter_map(|(_, value)| value.published.as_deref()).collect();
        let values: Vec<&str> = values.into_iter().collect();
        (!values.is_empty() && values != [usual])
            .then(|| (words, clipped(&values.join(", "), VALUES_CHARS_MAX)))
    };
    SETTINGS.into_iter().filter_map(told).collect()
}

/// A test in the settings it ran with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Case {
    pub name: TestName,
    /// Whether the range is a part of the name: there are others, or rqps' own test has it.
    shows_range: bool,
    /// Settings in which results of the test differ.
    pub settings: Vec<(&'static str, String)>,
}

impl Case {
    /// The case of each result.
    pub fn of_all(found: &[Found]) -> Vec<Self> {
        let ranges: BTreeMap<&str, BTreeSet<Option<u32>>> =
            grouped(found.iter().map(|one| (&*one.test.test, one.test.range)));
        let shows_range =
            |name: &TestName| name.has_ranges() || ranges.get(&*name.test).is_some_and(|all| all.len() > 1);
        let cases = found.iter().zip(settings(found)).map(|(one, settings)| Self {
            name: one.test.clone(),
            shows_range: shows_range(&one.test),
            settings,
        });
        cases.collect()
    }

    fn suffix(&self) -> String {
        self.settings.iter().map(|(key, value)| format!("_{key}={value}")).collect()
    }

    /// The test's name in rqps: `read-only_range=10_clients=8`.
    pub fn test(&self) -> String {
        let range = self.name.range.filter(|_| self.shows_range);
        let range = range.map(|range| format!("_range={range}")).unwrap_or_default();
        format!("{}{range}{}", self.name.test, self.suffix())
    }

    /// The step's name in rqps.
    pub fn step(&self) -> String {
        let phase = if self.name.phase.is_empty() { String::new() } else { format!(".{}", self.name.phase) };
        format!("{}{phase}", self.test())
    }

    /// The name in published tables, which has the range always.
    pub fn row(&self) -> String {
        format!("{}{}", self.name.row(), self.suffix())
    }
}

/// The settings of each result in which results of its test differ. One that a file does not tell is no difference.
fn settings(found: &[Found]) -> Vec<Vec<(&'static str, String)>> {
    let of = |found: &Found, key: &str| match key {
        CLIENTS => found.measurement.clients.map(|clients| clients.to_string()),
        key => found.measurement.values.iter().find(|value| value.name == key)?.published.clone(),
    };
    let rows: Vec<String> = found.iter().map(|found| found.test.row()).collect();
    let mut all = vec![Vec::new(); found.len()];
    for (key, ..) in SETTINGS {
        let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (found, row) in found.iter().zip(&rows) {
            if let Some(value) = of(found, key) {
                known.entry(row).or_default().insert(value);
            }
        }
        for ((settings, found), row) in all.iter_mut().zip(found).zip(&rows) {
            let differs = known.get(row.as_str()).is_some_and(|values| values.len() > 1);
            if let Some(value) = of(found, key).filter(|_| differs) {
                settings.push((key_of(key, found), value));
            }
        }
    }
    all
}
