//! What plans of this benchmark are held to, with the reason where it is not obvious.

use std::ops::RangeInclusive;

/// Rows of l.i0 for a client. Keys are 64-bit integers. Below 1,000 rows the statements that are under way would be a
/// good part of the queue.
pub(super) const LOAD_ROWS: RangeInclusive<u64> = 1_000..=100_000_000_000;
/// Rows of l.i1 and l.i2 together for a client: at least one statement of l.i2.
pub(super) const WRITE_ROWS: RangeInclusive<u64> = 5..=100_000_000_000;
/// The constant part of a settle's least time in the Insert Benchmark, seconds.
pub(super) const SETTLE_SECONDS: RangeInclusive<u64> = 0..=86_400;
/// A settle of the Insert Benchmark need not last longer than this, however many rows there are, seconds.
pub(super) const SETTLE_SECONDS_MAX: u64 = 1_200;
/// Partitions of a table of the Insert Benchmark.
pub(super) const PARTITIONS: RangeInclusive<u64> = 0..=1_000;
/// Rates of query steps in one plan.
pub(super) const RATES_MAX: usize = 50;
/// What the memory of a server may be limited to, bytes: below 32 MiB no server starts.
pub(super) const SERVER_MEMORY: RangeInclusive<u64> = 32 << 20..=64 << 40;
