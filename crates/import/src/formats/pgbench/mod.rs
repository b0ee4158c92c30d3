//! pgbench, 9.6 to 18: its final text with or without progress, logs of transactions, aggregated logs.

mod headings;
mod log;
mod text;

pub use log::{LOGGED, Threads, parse_aggregate, parse_log, thread_of};
pub use text::{CONNECTION_MS, DURATION, RATE_WITH_CONNECTIONS, THREADS, error_of, parse};
