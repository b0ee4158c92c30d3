//! The options of `[db_bench]`: the size of the database, how long steps take, what is kept and limited.

use std::ops::RangeInclusive;

use rqps_plan::Problems;
use rqps_plan::limits;
use rqps_plan::reader::Section;
use serde::Serialize;

use crate::insert_benchmark::Memory;

pub(super) const DB_BENCH_KEYS: [&str; 7] = [
    "keys",
    "value_bytes",
    "compression_ratio",
    "seconds",
    "background_bytes_per_second",
    "statistics",
    "server_memory",
];

const KEYS: RangeInclusive<u64> = 1_000..=10_000_000_000;
/// Up to what RocksDB still keeps beside keys.
const VALUE_BYTES: RangeInclusive<u64> = 1..=1 << 20;
/// A value that compresses to less would be a constant.
const COMPRESSION_RATIO: RangeInclusive<f64> = 0.01..=1.0;
const BACKGROUND_BYTES: RangeInclusive<u64> = 1_000..=10_000_000_000;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DbBenchOptions {
    pub keys: u64,
    pub value_bytes: u64,
    /// Size of a value after compression, as a share.
    pub compression_ratio: f64,
    /// Seconds of a step that is not done after a number of operations.
    pub seconds: u32,
    /// Rate of the background writer.
    pub background_bytes_per_second: u64,
    /// Whether RocksDB keeps its statistics.
    pub statistics: bool,
    /// Limit on the memory of the engine process, page cache of its files included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_memory: Option<Memory>,
}

impl Default for DbBenchOptions {
    fn default() -> Self {
        Self {
            keys: 20_000_000,
            value_bytes: 400,
            compression_ratio: 0.5,
            seconds: 1800,
            background_bytes_per_second: 2 << 20,
            statistics: true,
            server_memory: None,
        }
    }
}

pub(super) fn read(section: Option<&Section<'_>>, problems: &Problems<'_>) -> DbBenchOptions {
    let default = DbBenchOptions::default();
    let Some(section) = section else {
        return default;
    };
    section.check_keys(&DB_BENCH_KEYS, |key| match key {
        "clients" | "driver" | "steps" | "settle_seconds_max" => Some("[workload]".to_owned()),
        _ => None,
    });
    let number = |key, range, default| section.integer(key, range).map_or(default, |found| found.value);
    let memory = section.text("server_memory").and_then(|found| match found.value.parse::<Memory>() {
        Ok(memory) => Some(memory),
        Err(what) => {
            let remedy = "Write an amount such as \"512MiB\" or \"16GiB\".";
            problems.error(&found.at, section.place_of("server_memory"), what, remedy);
            None
        }
    });
    DbBenchOptions {
        keys: number("keys", KEYS, default.keys),
        value_bytes: number("value_bytes", VALUE_BYTES, default.value_bytes),
        compression_ratio: section
            .number("compression_ratio", COMPRESSION_RATIO)
            .map_or(default.compression_ratio, |found| found.value),
        seconds: number("seconds", limits::WINDOW_SECONDS, default.seconds.into()) as u32,
        background_bytes_per_second: number(
            "background_bytes_per_second",
            BACKGROUND_BYTES,
            default.background_bytes_per_second,
        ),
        statistics: section.boolean("statistics").map_or(default.statistics, |found| found.value),
        server_memory: memory,
    }
}
