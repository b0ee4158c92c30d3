//! Figures of RocksDB that findings use: its tickers, and what windows compute from them.

use crate::context::Context;
use crate::decompose::BACKGROUND_RATE;
use crate::entry::{Entry, Per, waiting, work};
use crate::figures::{CACHES, Cell};
use crate::model::{Cause, Shows};
use rqps_stats::Metric;

const TICKERS: &str = "tickers";

/// Metric: bytes that the process read from storage.
const READ_BYTES: &str = "server_read_bytes";

/// More levels than a tree has.
const LEVELS_MAX: u32 = 16;

/// Fewer misses do not tell what one reads.
const MISSES_MIN: f64 = 100.0;

/// RocksDB's default size of a block.
const BLOCK_BYTES: f64 = 4096.0;

/// Compactions whose reads are at most this share of all are neglected.
const COMPACTIONS_MAX: f64 = 0.1;

pub(super) static ENTRIES: [Entry; 12] = [
    BLOCKS,
    DATA_BLOCKS,
    OPENS,
    MISSES,
    READS_OF_MISSES,
    READS,
    work(Cause::Wal, "bytes of write-ahead log", "bytes", 16.0)
        .phrase("writes {} bytes of write-ahead log")
        .judged(Metric::WalBytes, |cell| cell.metric("server_wal_bytes")),
    work(Cause::Compaction, "bytes written by flushes", "bytes", 16.0)
        .phrase("flushes {} bytes")
        .showing(&Shows::Flushes)
        .value(flushed),
    COMPACTED.above(16.0),
    COMPACTION_CPU.above(0.1),
    SKIPPED,
    STALLED.above(0.05),
];

/// Beside a background writer, which keeps its rate whatever the clients do: what it causes is compared by the
/// second, since for each operation of faster clients there is less of it. Its log and flushes are its rate, so they
/// are left out, and lookups in the block cache where compactions make many of them. What takes less than 5 % of a CPU,
/// or writes less than 20 MB in a second, is no cause of their rate.
static BESIDE_WRITER: [Entry; 10] = [
    BLOCKS.value(|cell| of_clients(cell, cell.metric("server_blocks_touched"))),
    DATA_BLOCKS.value(|cell| of_clients(cell, data_blocks(cell))),
    OPENS,
    MISSES.value(|cell| of_clients(cell, misses(cell))).at_most(|cell| of_clients(cell, all_misses(cell))),
    READS_OF_MISSES,
    READS,
    COMPACTED.per(Per::Second).above(20e6),
    COMPACTION_CPU.per(Per::Second).above(50_000.0),
    SKIPPED,
    STALLED.per(Per::Second).above(10_000.0),
];

/// Those of the test.
pub(super) fn entries(cx: &Context<'_>) -> &'static [Entry] {
    if has_writer(cx) { &BESIDE_WRITER } else { &ENTRIES }
}

/// Whether a background writer of the engine puts beside the clients.
pub(crate) fn has_writer(cx: &Context<'_>) -> bool {
    let rate = |cell: Cell<'_>| cell.metric(BACKGROUND_RATE);
    [false, true].into_iter().any(|of_arm| cx.figures.total(of_arm, rate).is_some())
}

/// Answers of filters, of which releases count different ones.
pub(crate) fn filtered(cell: Cell<'_>) -> Option<f64> {
    let counts = ["useful", "full.positive", "prefix.checked"]
        .map(|name| cell.counter(TICKERS, "", &format!("bloom.filter.{name}")));
    counts.into_iter().flatten().reduce(|sum, count| sum + count)
}

/// Bytes that flushes wrote.
pub(crate) fn flushed(cell: Cell<'_>) -> Option<f64> {
    cell.metric("flushed_bytes")
}

/// Bytes that compactions wrote.
pub(crate) fn compacted(cell: Cell<'_>) -> Option<f64> {
    cell.metric("compaction_written_bytes")
}

/// Bytes that compactions had still to write at the end of the step, and not at its begin: work that is postponed is
/// not less work.
fn postponed(cell: Cell<'_>) -> f64 {
    let pending = |when: &str| cell.metric(&format!("pending_compaction_bytes_{when}")).unwrap_or(0.0);
    (pending("after") - pending("before")).max(0.0)
}

/// Bytes below level 0 when the step began: compactions had arranged them.
pub(crate) fn had_levels(cell: Cell<'_>) -> Option<f64> {
    let levels = (1..LEVELS_MAX).filter_map(|level| cell.metric(&format!("lsm_level{level}_bytes_before")));
    Some(levels.sum())
}

const BLOCKS: Entry = work(Cause::BlocksTouched, "blocks looked up in the block cache", "blocks", 0.1)
    .phrase("looks up {} blocks in the block cache")
    .judged(Metric::Blocks, |cell| cell.metric("server_blocks_touched"));
/// Apart from all blocks: without filters there are fewer lookups of their blocks and more of data.
const DATA_BLOCKS: Entry =
    work(Cause::BlocksTouched, "data blocks looked up in the block cache", "blocks", 0.1)
        .phrase("looks up {} data blocks in the block cache")
        .showing(&Shows::DataBlocks)
        .value(data_blocks);
const OPENS: Entry = work(Cause::BufferMisses, "table files opened", "files", 0.005)
    .phrase("opens {} table files")
    .value(|cell| cell.counter(TICKERS, "", "no.file.opens"));
const MISSES: Entry = work(Cause::BufferMisses, "block cache misses", "blocks", 0.02)
    .phrase("misses {} blocks in the filled block cache")
    .value(misses)
    .at_most(all_misses);
const READS: Entry = waiting(Cause::Reads, "bytes read from storage", "bytes", 800.0)
    .phrase("reads {} bytes from storage beside those that fill the block cache")
    .showing(&Shows::StorageReads)
    .value(|cell| Some((cell.metric(READ_BYTES)? - filling(cell)?).max(0.0)))
    .at_most(|cell| cell.metric(READ_BYTES));
const READS_OF_MISSES: Entry =
    waiting(Cause::Reads, "bytes read from storage for a block cache miss", "bytes/miss", 100.0)
        .phrase("reads {} bytes from storage for each block that misses the block cache")
        .per(Per::Itself)
        .value(read_for_a_miss);
const COMPACTED: Entry = work(Cause::Compaction, "bytes written by compactions", "bytes", 0.0)
    .phrase("writes {} bytes in compactions")
    .value(compacted)
    .at_most(|cell| Some(compacted(cell)? + postponed(cell)));
const COMPACTION_CPU: Entry = work(Cause::Compaction, "CPU time of compactions", "us", 0.0)
    .phrase("spends {} us of CPU in compactions")
    .cpu_time(|cell| cell.metric("compaction_cpu_us"));
const SKIPPED: Entry = work(Cause::Rows, "entries that iterators skip", "entries", 0.1)
    .phrase("skips {} entries in iterators")
    .value(|cell| cell.counter(TICKERS, "", "number.iter.skip"));
const STALLED: Entry = waiting(Cause::WriteStall, "time in write stalls", "us", 0.0)
    .phrase("stalls writes for {} us")
    .value(|cell| cell.metric("engine_stall_us"));

/// Blocks that were not in the block cache, without those that filled it: each window begins with an empty cache, so an
/// arm that does fewer operations in the same time has more of them per operation. The operations that filled it are
/// counted, so once the cache is full an operation misses more, but never more than [`all_misses`] tells: while it
/// fills, more is missed than later.
pub(super) fn misses(cell: Cell<'_>) -> Option<f64> {
    let misses = all_misses(cell)?;
    let put = put(cell)?;
    Some(if put > 0.0 { misses * (1.0 - filling(cell)? / put) } else { misses })
}

fn data_blocks(cell: Cell<'_>) -> Option<f64> {
    let count = |what: &str| cell.counter(TICKERS, "", &format!("block.cache.data.{what}"));
    Some(count("hit")? + count("miss")?)
}

/// Lookups, or `None` where compactions may have made many of them: they look up each block that they read.
fn of_clients(cell: Cell<'_>, lookups: Option<f64>) -> Option<f64> {
    let by_compactions = cell.metric("compaction_read_bytes").unwrap_or(0.0) / BLOCK_BYTES;
    lookups.filter(|lookups| by_compactions <= COMPACTIONS_MAX * lookups)
}

fn all_misses(cell: Cell<'_>) -> Option<f64> {
    cell.counter(TICKERS, "", "block.cache.miss")
}

/// What a miss reads from storage, and not from the kernel's page cache. `None` where there are no misses, or
/// compactions may have read it.
fn read_for_a_miss(cell: Cell<'_>) -> Option<f64> {
    let misses = all_misses(cell).filter(|misses| *misses >= MISSES_MIN)?;
    let read = cell.metric(READ_BYTES)?;
    let by_compactions = cell.metric("compaction_read_bytes").unwrap_or(0.0);
    (by_compactions <= COMPACTIONS_MAX * read).then(|| read / misses)
}

/// Bytes that were put into the block cache.
fn put(cell: Cell<'_>) -> Option<f64> {
    cell.counter(TICKERS, "", "block.cache.bytes.write")
}

/// Those of them that found room in it.
fn filling(cell: Cell<'_>) -> Option<f64> {
    Some(put(cell)?.min(cell.metric(CACHES)?))
}
