//! The engine's counters, read from the texts in which RocksDB reports them.

use crate::database::Database;
use crate::error::Result;
use crate::protocol::{Counter, Shape};

pub(crate) const TICKERS: &str = "tickers";
const HISTOGRAMS: &str = "histograms";
const STATS: &str = "rocksdb.stats";

/// Columns of the line `Sum` of `rocksdb.stats`, by their headings.
const SUM_COLUMNS: [(&str, &str); 5] = [
    ("Comp(sec)", "compaction_s"),
    ("CompMergeCPU(sec)", "compaction_cpu_s"),
    ("Comp(cnt)", "compactions"),
    ("Read(GB)", "compaction_read_gb"),
    ("Write(GB)", "write_gb"),
];

/// Numbers elsewhere in `rocksdb.stats`: the start of their line, what precedes the number, our name.
const NUMBERS: [(&str, &str, &str); 4] = [
    ("Cumulative writes:", "ingest:", "ingest_gb"),
    ("Cumulative compaction:", "Cumulative compaction:", "compaction_write_gb"),
    ("Flush(GB):", "cumulative", "flush_gb"),
    ("Cumulative WAL:", "written:", "wal_gb"),
];

/// All counters of a database.
pub(crate) fn read(database: &Database) -> Result<Vec<Counter>> {
    let mut counters = Vec::new();
    if let Some(text) = database.statistics() {
        counters.extend(text.lines().flat_map(parse_statistic));
    }
    if let Some(text) = database.property("rocksdb.stats")? {
        counters.extend(parse_stats(&text));
    }
    Ok(counters)
}

/// All counters in what db_bench prints: its statistics, and `rocksdb.stats`.
pub(crate) fn parse(text: &str) -> Vec<Counter> {
    text.lines().flat_map(parse_statistic).chain(parse_stats(text)).collect()
}

fn counter(group: &str, name: String, value: f64) -> Counter {
    Counter { group: group.to_owned(), name, value }
}

/// A line `rocksdb.block.cache.miss COUNT : 7`, or of a histogram `… P50 : … COUNT : 7 SUM : 40`.
fn parse_statistic(line: &str) -> Vec<Counter> {
    let mut words = line.split_whitespace();
    let Some(name) = words.next().and_then(|name| name.strip_prefix("rocksdb.")) else {
        return Vec::new();
    };
    let words: Vec<&str> = words.collect();
    let value = |label: &str| {
        let at = words.iter().position(|word| *word == label)?;
        words.get(at + 2)?.parse::<f64>().ok()
    };
    match (value("COUNT"), value("SUM")) {
        (Some(count), Some(sum)) => vec![
            counter(HISTOGRAMS, format!("{name}.count"), count),
            counter(HISTOGRAMS, format!("{name}.sum"), sum),
        ],
        (Some(count), None) => vec![counter(TICKERS, name.to_owned(), count)],
        _ => Vec::new(),
    }
}

/// What `rocksdb.stats` has whether or not statistics are kept. Its figures are rounded to some MB.
fn parse_stats(text: &str) -> Vec<Counter> {
    let mut counters = Vec::new();
    let heading: Vec<&str> = text
        .lines()
        .find(|line| line.trim_start().starts_with("Level "))
        .map(|line| line.split_whitespace().collect())
        .unwrap_or_default();
    let sum: Vec<&str> = text
        .lines()
        .find(|line| line.trim_start().starts_with("Sum "))
        .map(|line| line.split_whitespace().collect())
        .unwrap_or_default();
    // The size has its unit as a word of its own.
    let columns = heading.iter().position(|column| *column == "Size").map(|size| (size, sum.len()));
    if let Some((size, columns)) = columns.filter(|(_, columns)| *columns > heading.len()) {
        for (label, name) in SUM_COLUMNS {
            let at = heading.iter().position(|column| *column == label);
            let at = at.map(|at| if at > size { at + columns - heading.len() } else { at });
            if let Some(value) = at.and_then(|at| sum.get(at)?.parse().ok()) {
                counters.push(counter(STATS, name.to_owned(), value));
            }
        }
    }
    for (start, before, name) in NUMBERS {
        let line = text.lines().find(|line| line.starts_with(start));
        let rest = line.and_then(|line| line.split_once(before)).map(|(_, rest)| rest);
        if let Some(value) = rest.and_then(gigabytes) {
            counters.push(counter(STATS, name.to_owned(), value));
        }
    }
    if let Some(seconds) =
        text.lines().find_map(|line| stall_seconds(line.strip_prefix("Cumulative stall:")?))
    {
        counters.push(counter(STATS, "stall_s".to_owned(), seconds));
    }
    if let Some(stalls) = text.lines().find_map(stalls) {
        counters.push(counter(STATS, "stalls".to_owned(), stalls));
    }
    counters
}

/// `1.25 GB, …` in GB; without a unit, the number.
fn gigabytes(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let number: f64 = words.next()?.trim_end_matches(',').parse().ok()?;
    Some(match words.next().map(|unit| unit.trim_end_matches(',')) {
        Some("MB") => number / 1024.0,
        Some("TB") => number * 1024.0,
        _ => number,
    })
}

/// ` 00:01:02.345 H:M:S, …`.
fn stall_seconds(text: &str) -> Option<f64> {
    let clock = text.split_whitespace().next()?;
    clock.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))
}

/// The number of stalls, by all causes: `Stalls(count): 0 level0_slowdown, …` up to 8.x, then `Write Stall (count):
/// cause: 0, …, total-delays: 0, total-stops: 0`.
fn stalls(line: &str) -> Option<f64> {
    if let Some(rest) = line.strip_prefix("Stalls(count):") {
        // Causes with compaction are part of those without.
        let is_cause = |part: &&str| !part.contains("_with_compaction") && !part.contains("interval");
        let counts = rest.split(',').filter(is_cause);
        return Some(counts.filter_map(|part| part.split_whitespace().next()?.parse::<f64>().ok()).sum());
    }
    let rest = line.strip_prefix("Write Stall (count):")?;
    let totals = rest.split(',').filter_map(|part| part.split_once(": "));
    let totals = totals.filter(|(name, _)| name.trim().starts_with("total-"));
    totals.map(|(_, count)| count.trim().parse::<f64>().ok()).sum()
}

/// The LSM tree as it is now.
pub(crate) fn shape(database: &Database) -> Result<Shape> {
    let number = |name: &str| database.number(&format!("rocksdb.{name}"));
    Ok(Shape {
        levels: database.levels(),
        memtable_bytes: number("cur-size-all-mem-tables")?,
        pending_compaction_bytes: number("estimate-pending-compaction-bytes")?,
        running_compactions: number("num-running-compactions")?,
        running_flushes: number("num-running-flushes")?,
        is_pending: number("compaction-pending")? + number("mem-table-flush-pending")? > 0,
        block_cache_bytes: number("block-cache-usage")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(counters: &[Counter], name: &str) -> Option<f64> {
        counters.iter().find(|counter| counter.name == name).map(|counter| counter.value)
    }

    #[test]
    fn tickers_and_histograms_are_told_apart() {
        let ticker = parse_statistic("rocksdb.block.cache.miss COUNT : 7");
        assert_eq!(ticker, [counter(TICKERS, "block.cache.miss".to_owned(), 7.0)]);
        let line = "rocksdb.db.get.micros P50 : 0.5 P95 : 1.9 P99 : 2 P100 : 9 COUNT : 10 SUM : 12";
        let histogram = parse_statistic(line);
        assert_eq!((histogram[0].value, histogram[1].value), (10.0, 12.0));
        assert_eq!(histogram[1].name, "db.get.micros.sum");
    }

    #[test]
    fn stats_of_old_and_new_releases_are_read() {
        let new = [
            "Level Files Size Score Read(GB) Rn(GB) Write(GB) W-Amp Comp(sec) CompMergeCPU(sec) Comp(cnt)",
            "------",
            "  L0 2/0 24.00 MB 0.5 0.0 0.0 0.9 1.0 21.10 20.00 60",
            " Sum 27/0 85.35 MB 0.0 1.2 0.3 2.1 2.6 31.50 29.25 69",
            "Flush(GB): cumulative 0.812, interval 0.812",
            "Cumulative compaction: 2.10 GB write, 53.02 MB/s write",
            "Write Stall (count): cf-l0-file-count-limit-delays: 4, total-delays: 5, total-stops: 2",
            "Cumulative writes: 2000K writes, 2000K keys, ingest: 820.00 MB, 9.0 MB/s",
            "Cumulative stall: 00:01:2.500 H:M:S, 12.1 percent",
        ]
        .join("\n");
        let counters = parse_stats(&new);
        assert_eq!(value(&counters, "compaction_s"), Some(31.5));
        assert_eq!(value(&counters, "compaction_cpu_s"), Some(29.25));
        assert_eq!(value(&counters, "compactions"), Some(69.0));
        assert_eq!(value(&counters, "compaction_read_gb"), Some(1.2));
        assert_eq!(value(&counters, "flush_gb"), Some(0.812));
        assert_eq!(value(&counters, "ingest_gb"), Some(820.0 / 1024.0));
        assert_eq!(value(&counters, "stalls"), Some(7.0));
        assert_eq!(value(&counters, "stall_s"), Some(62.5));
        let old = "Stalls(count): 3 level0_slowdown, 2 level0_slowdown_with_compaction, 1 memtable_compaction, interval 4 total count\n";
        assert_eq!(value(&parse_stats(old), "stalls"), Some(4.0));
    }
}
