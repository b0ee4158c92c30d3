//! Made-up runs of RocksDB in which arms differ in options or in their state: what is named, and what is not.

use crate::common::{self, figure, finding, first, names};
use rqps_explain::{Cause, Explanation, Finding, Word};
use rqps_verdicts::testing::{Observed, Spec};

const READS: &str = "point-query";

fn explained(spec: &Spec, test: &str) -> Explanation {
    common::explained(spec, test, 2)
}

/// Options of an engine, by the names that its releases give them.
#[test]
fn a_smaller_block_cache_is_named_with_the_misses_that_it_causes() {
    const CACHE: &str = "block_based_table_factory.block_cache.capacity";
    const FILTER: &str = "block_based_table_factory.filter_policy";
    let extra = [
        figure(READS, Observed::SessionCpuUs, 20.0, 60.0),
        figure(READS, Observed::Counter("tickers", "", "block.cache.miss"), 0.1, 0.9),
        figure(READS, Observed::Counter("tickers", "", "block.cache.bytes.write"), 819.2, 7372.8),
        figure(READS, Observed::Metric("compaction_written_bytes"), 100.0, 300.0),
    ];
    let spec = Spec {
        dbms: "rocksdb",
        arms: vec![("old", "10.10.1"), ("control", "10.10.1"), ("new", "10.10.1")],
        effects: vec![(2, READS, 0.4, 3.0)],
        extra: extra.into_iter().flatten().collect(),
        settings: vec![
            (0, CACHE, "33554432"),
            (2, CACHE, "1048576"),
            (0, FILTER, "bloomfilter:10:false"),
            (2, FILTER, "rocksdb.BuiltinBloomFilter"),
        ],
        ..Spec::default()
    };
    let found = explained(&spec, READS);
    let misses = finding(&found, Cause::BufferMisses).unwrap_or_else(|| panic!("{found:#?}"));
    let named = "block_cache.capacity (1048576, base 33554432)";
    assert!(misses.sentence.contains(named), "{found:#?}");
    assert_eq!(names(&found, FILTER), 0, "{found:#?}");
    let compacted = finding(&found, Cause::Compaction).unwrap_or_else(|| panic!("{found:#?}"));
    assert!(!compacted.sentence.contains(CACHE), "{found:#?}");
}

/// A rate limiter makes compactions late, not fewer.
#[test]
fn compactions_that_are_postponed_are_not_less_work() {
    let explained_with = |pending: f64| {
        let extra = [
            figure(READS, Observed::SessionCpuUs, 20.0, 20.0),
            figure(READS, Observed::Metric("compaction_written_bytes"), 1_100.0, 130.0),
            figure(READS, Observed::Metric("pending_compaction_bytes_after"), 0.0, pending),
        ];
        let spec = Spec {
            dbms: "rocksdb",
            arms: vec![("old", "10.10.1"), ("control", "10.10.1"), ("new", "10.10.1")],
            effects: vec![(2, READS, 0.3, 1.0)],
            extra: extra.into_iter().flatten().collect(),
            ..Spec::default()
        };
        explained(&spec, READS)
    };
    let less = explained_with(0.0);
    assert!(finding(&less, Cause::Compaction).is_some_and(|one| one.word == Word::LessWork), "{less:#?}");
    let postponed = explained_with(1_500.0);
    assert_eq!(finding(&postponed, Cause::Compaction), None, "{postponed:#?}");
}

/// Without a filter an operation looks up more blocks of data, and fewer in all: those of filters are not looked up.
#[test]
fn a_missing_filter_is_more_work_though_fewer_blocks_are_looked_up() {
    const FILTER: &str = "block_based_table_factory.filter_policy";
    let extra = [
        figure(READS, Observed::SessionCpuUs, 9.0, 12.0),
        figure(READS, Observed::Metric("server_blocks_touched"), 3.9, 3.6),
        figure(READS, Observed::Counter("tickers", "", "block.cache.data.hit"), 1.0, 1.8),
        figure(READS, Observed::Counter("tickers", "", "block.cache.data.miss"), 0.01, 0.05),
        figure(READS, Observed::Counter("tickers", "", "bloom.filter.useful"), 0.9, 0.0),
    ];
    let spec = Spec {
        dbms: "rocksdb",
        arms: vec![("old", "10.10.1"), ("control", "10.10.1"), ("new", "10.10.1")],
        effects: vec![(2, READS, 0.75, 1.3)],
        extra: extra.into_iter().flatten().collect(),
        settings: vec![(0, FILTER, "bloomfilter:10:false"), (2, FILTER, "nullptr")],
        ..Spec::default()
    };
    let found = explained(&spec, READS);
    let lookups: Vec<&Finding> =
        found.findings.iter().filter(|one| one.cause == Cause::BlocksTouched).collect();
    assert!(matches!(lookups[..], [one] if one.word == Word::MoreWork), "{found:#?}");
    let sentence = &first(&found).sentence;
    assert!(
        sentence.contains("1.85 data blocks") && sentence.contains("3.6 blocks (base: 3.9)"),
        "{found:#?}"
    );
    assert!(sentence.contains("filter_policy (nullptr"), "{found:#?}");
    assert_eq!(finding(&found, Cause::CpuTime), None, "{found:#?}");
}

/// Half as many operations, and the same misses in all: those that fill the cache at the beginning of a window.
/// Then the same with caches that hold a thousandth of what is put into them.
#[test]
fn misses_that_fill_an_empty_block_cache_are_no_cause() {
    let extra = || {
        let extra = [
            figure(READS, Observed::SessionCpuUs, 20.0, 40.0),
            figure(READS, Observed::Counter("tickers", "", "block.cache.miss"), 0.1, 0.2),
            figure(READS, Observed::Counter("tickers", "", "block.cache.bytes.write"), 819.2, 1638.4),
            figure(READS, Observed::Metric("server_read_bytes"), 819.2, 1638.4),
        ];
        extra.into_iter().flatten().collect()
    };
    let causes = |cache: &'static str| {
        let settings =
            (0..3).map(|arm| (arm, "block_based_table_factory.block_cache.capacity", cache)).collect();
        let arms = vec![("old", "10.10.1"), ("control", "10.10.1"), ("new", "10.10.1")];
        let effects = vec![(2, READS, 0.5, 1.0)];
        let spec = Spec { dbms: "rocksdb", arms, effects, extra: extra(), settings, ..Spec::default() };
        let found = explained(&spec, READS);
        let evidence: Vec<&str> =
            found.findings.iter().flat_map(|one| &one.evidence).map(|one| one.what.as_str()).collect();
        ["block cache misses", "bytes read from storage"].map(|figure| evidence.contains(&figure))
    };
    assert_eq!(causes("1073741824"), [false, false]);
    assert_eq!(causes("8192"), [true, true]);
}

/// An arm so slow, as with O_DIRECT, that most of its misses fill its cache: of its 0.5 misses an operation between
/// 0.22 and 0.5 are of a filled cache, of base's 0.4 between 0.36 and 0.4. What differs is where misses are read.
#[test]
fn misses_of_a_cache_that_is_hardly_filled_are_not_compared() {
    const CACHE: &str = "block_based_table_factory.block_cache.capacity";
    let puts = [1e5, 1e5 / 5.6];
    let extra = [
        figure(READS, Observed::SessionCpuUs, 20.0, 40.0),
        figure(READS, Observed::Counter("tickers", "", "block.cache.miss"), 0.4, 0.5),
        figure(READS, Observed::Counter("tickers", "", "block.cache.bytes.write"), puts[0], puts[1]),
        figure(READS, Observed::Metric("server_read_bytes"), 0.0, 2440.0),
    ];
    let spec = Spec {
        dbms: "rocksdb",
        arms: vec![("old", "10.10.1"), ("control", "10.10.1"), ("new", "10.10.1")],
        effects: vec![(2, READS, 0.25, 3.0)],
        extra: extra.into_iter().flatten().collect(),
        settings: (0..3).map(|arm| (arm, CACHE, "100000000")).collect(),
        ..Spec::default()
    };
    let found = explained(&spec, READS);
    assert_eq!(finding(&found, Cause::BufferMisses), None, "{found:#?}");
    assert_eq!(first(&found).cause, Cause::Reads, "{found:#?}");
    let sentence = &first(&found).sentence;
    assert!(sentence.contains("4,880 bytes from storage for each block that misses"), "{sentence}");
}

/// Beside a background writer: the same work by the second is more for each of fewer reads.
#[test]
fn what_a_background_writer_causes_is_no_work_of_slower_reads() {
    let spec = |compaction_us: f64, blocks: u32| {
        let extra = [
            figure(READS, Observed::SessionCpuUs, 20.0, 40.0),
            figure(READS, Observed::Metric("background_target_bytes_per_s"), 1.0, 1.0),
            figure(READS, Observed::Metric("server_wal_bytes"), 65.0, 130.0),
            figure(READS, Observed::Metric("flushed_bytes"), 60.0, 120.0),
            figure(READS, Observed::Metric("compaction_written_bytes"), 200.0, 400.0),
            figure(READS, Observed::Metric("compaction_cpu_us"), 50.0, compaction_us),
            figure(READS, Observed::Metric("server_role.flush_us"), 50.0, 100.0),
        ];
        Spec {
            dbms: "rocksdb",
            arms: vec![("old", "10.10.1"), ("control", "10.10.1"), ("new", "10.10.1")],
            effects: vec![(2, READS, 0.5, 1.0)],
            extra: extra.into_iter().flatten().collect(),
            blocks,
            ..Spec::default()
        }
    };
    let of_writer = [Cause::Wal, Cause::Compaction, Cause::Background];
    let found = explained(&spec(100.0, 5), READS);
    assert_eq!(of_writer.map(|cause| finding(&found, cause).is_some()), [false; 3], "{found:#?}");
    // In a single pass a busy host alone may take nearly twice the CPU time for the same work.
    let is_named = |us| finding(&explained(&spec(us, 1), READS), Cause::Compaction).is_some();
    assert_eq!([180.0, 55.0, 230.0].map(is_named), [false, false, true]);
    let found = explained(&spec(200.0, 5), READS);
    let compaction = finding(&found, Cause::Compaction).unwrap_or_else(|| panic!("{found:#?}"));
    assert!(compaction.sentence.contains("CPU in compactions per second, 100 % more"), "{found:#?}");
}

/// Settings are named only where what they act on happened: flushes without compactions, and neither.
#[test]
fn options_of_compactions_need_compactions() {
    let spec = |flushed: [f64; 2], compacted: [f64; 2]| {
        let extra = [
            figure(READS, Observed::SessionCpuUs, 20.0, 40.0),
            figure(READS, Observed::Metric("flushed_bytes"), flushed[0], flushed[1]),
            figure(READS, Observed::Metric("compaction_written_bytes"), compacted[0], compacted[1]),
            figure(READS, Observed::Counter("tickers", "", "block.cache.miss"), 0.1, 0.9),
            figure(READS, Observed::Counter("tickers", "", "block.cache.bytes.write"), 0.0, 0.0),
        ];
        let options =
            ["compaction_pri", "block_based_table_factory.prepopulate_block_cache", "write_buffer_size"];
        let settings = options.into_iter().flat_map(|name| [(0, name, "1"), (2, name, "2")]);
        let spec = Spec {
            dbms: "rocksdb",
            arms: vec![("old", "10.10.1"), ("control", "10.10.1"), ("new", "10.10.1")],
            effects: vec![(2, READS, 0.5, 2.0)],
            extra: extra.into_iter().flatten().collect(),
            settings: settings.collect(),
            ..Spec::default()
        };
        let found = explained(&spec, READS);
        options.map(|name| names(&found, name) > 0)
    };
    assert_eq!(spec([100.0, 300.0], [0.0, 0.0]), [false, true, true]);
    assert_eq!(spec([0.0, 0.0], [0.0, 0.0]), [false, false, true]);
    assert_eq!(spec([100.0, 100.0], [100.0, 300.0]), [true, true, true]);
}
