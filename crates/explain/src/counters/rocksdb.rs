//! Figures of RocksDB that findings use: its tickers, and what windows compute from them.

use crate::entry::{Entry, waiting, work};
use crate::figures::{CACHES, Cell};
use crate::model::{Cause, Shows};
use rqps_stats::Metric;

const TICKERS: &str = "tickers";

pub(super) static ENTRIES: [Entry; 9] = [
    work(Cause::HeapBlocks, "blocks looked up in the block cache", "blocks", 0.1)
        .phrase("looks up {} blocks in the block cache")
        .judged(Metric::Blocks, |cell| cell.metric("server_blocks_touched")),
    work(Cause::BufferMisses, "block cache misses", "blocks", 0.02)
        .phrase("misses {} blocks in the block cache")
        .value(misses),
    waiting(Cause::Reads, "bytes read from storage", "bytes", 800.0)
        .phrase("reads {} bytes from storage")
        .showing(&Shows::StorageReads)
        .value(|cell| Some((cell.metric("server_read_bytes")? - filling(cell)?).max(0.0))),
    work(Cause::Wal, "bytes of write-ahead log", "bytes", 16.0)
        .phrase("writes {} bytes of write-ahead log")
        .judged(Metric::WalBytes, |cell| cell.metric("server_wal_bytes")),
    work(Cause::Compaction, "bytes written by flushes", "bytes", 16.0)
        .phrase("flushes {} bytes")
        .value(|cell| cell.metric("flushed_bytes")),
    work(Cause::Compaction, "bytes written by compactions", "bytes", 16.0)
        .phrase("writes {} bytes in compactions")
        .value(|cell| cell.metric("compaction_written_bytes")),
    work(Cause::Compaction, "CPU time of compactions", "us", 0.1)
        .phrase("spends {} us of CPU in compactions")
        .value(|cell| cell.metric("compaction_cpu_us")),
    work(Cause::Rows, "entries that iterators skip", "entries", 0.1)
        .phrase("skips {} entries in iterators")
        .value(|cell| cell.counter(TICKERS, "", "number.iter.skip")),
    waiting(Cause::WriteStall, "time in write stalls", "us", 0.05)
        .phrase("stalls writes for {} us")
        .value(|cell| cell.metric("engine_stall_us")),
];

/// Blocks that were not in the block cache, without those that filled it: each window begins with an empty cache, so an
/// arm that does fewer operations in the same time has more of them per operation.
pub(super) fn misses(cell: Cell<'_>) -> Option<f64> {
    let misses = cell.counter(TICKERS, "", "block.cache.miss")?;
    let put = put(cell)?;
    Some(if put > 0.0 { misses * (1.0 - filling(cell)? / put) } else { misses })
}

/// Bytes that were put into the block cache.
fn put(cell: Cell<'_>) -> Option<f64> {
    cell.counter(TICKERS, "", "block.cache.bytes.write")
}

/// Those of them that found room in it.
fn filling(cell: Cell<'_>) -> Option<f64> {
    Some(put(cell)?.min(cell.metric(CACHES)?))
}
