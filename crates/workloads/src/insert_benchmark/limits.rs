//! Limits on the options of this benchmark.

use std::ops::RangeInclusive;

/// Rows of l.i0 per client. Keys are 64-bit integers. With fewer than 1,000 rows, the statements in flight
/// would be a large part of the queue.
pub(super) const LOAD_ROWS: RangeInclusive<u64> = 1_000..=100_000_000_000;
/// Rows of l.i1 and l.i2 together, per client: at least one statement of l.i2.
pub(super) const WRITE_ROWS: RangeInclusive<u64> = 5..=100_000_000_000;
/// The constant part of a settle's minimum time, in seconds.
pub(super) const SETTLE_SECONDS: RangeInclusive<u64> = 0..=86_400;
/// Upper limit of a settle's minimum time, in seconds, however many rows there are.
pub(super) const SETTLE_SECONDS_MAX: u64 = 1_200;
/// Partitions of a table.
pub(super) const PARTITIONS: RangeInclusive<u64> = 0..=1_000;
/// Number of rates in a plan.
pub(super) const RATES_MAX: usize = 50;
/// Limit on a server's memory, in bytes. No server starts with less than 32 MiB.
pub(super) const SERVER_MEMORY: RangeInclusive<u64> = 32 << 20..=64 << 40;
