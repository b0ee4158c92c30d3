//! Sorts a million keys on one thread and on all, and shows that both give the same.
//!
//! `cargo run --release -p rqps-orasort --features parallel --example parallel`

use orasort::{Options, Sorter};
use std::num::NonZeroUsize;
use std::time::Instant;

const KEYS: u64 = 1_000_000;

fn main() {
    let key = |number: u64| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        format!("https://example.org/{:03}/article/{mixed:08x}", mixed % 500)
    };
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut sorter = Sorter::new();
    let mut timed = |threads: NonZeroUsize| {
        let start = Instant::now();
        let rows = sorter.par_argsort_with(&keys, Options::default(), threads);
        println!("{threads} threads: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
        rows
    };
    // The first sort finds the sorter without memory.
    let rows = timed(NonZeroUsize::MIN);
    assert_eq!(rows, timed(NonZeroUsize::MIN));
    assert_eq!(rows, timed(threads));
    assert!(rows.is_sorted_by_key(|row| (&keys[*row as usize], *row)));
}
