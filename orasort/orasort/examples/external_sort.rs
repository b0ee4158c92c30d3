//! Sorts lines that need not fit into memory: standard input to standard output, as `LC_ALL=C sort -s` does.
//!
//! `cargo run -p rqps-orasort --features external --example external_sort -- 64 < in > out`, where 64 is the memory
//! limit in MiB. Without a number it sorts lines that it makes itself, with 1 MiB, and says what it did.

use orasort::external::{ExternalError, ExternalOptions, ExternalSorter, ExternalStats};
use orasort::{Options, Order};
use std::error::Error;
use std::io::{BufRead, BufWriter, Write};

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(memory_mib) => sort_lines(memory_mib.parse::<usize>()? << 20),
        None => {
            println!("{:?}", sort_made_lines()?);
            Ok(())
        }
    }
}

fn sorter(memory_bytes: usize) -> ExternalSorter {
    let sort = Options { order: Order::Ascending, stable: true };
    ExternalSorter::new(ExternalOptions { sort, ..ExternalOptions::new(memory_bytes) })
}

fn sort_lines(memory_bytes: usize) -> Result<(), Box<dyn Error>> {
    let mut sorter = sorter(memory_bytes);
    let (mut lines, mut line) = (std::io::stdin().lock(), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        sorter.push(line.strip_suffix(b"\n").unwrap_or(&line), b"")?;
        line.clear();
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut records = sorter.finish()?;
    while let Some(record) = records.next_record()? {
        out.write_all(record.key)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

/// A hundred thousand lines in 1 MiB.
fn sort_made_lines() -> Result<ExternalStats, ExternalError> {
    const LINES: u64 = 100_000;
    let mut sorter = sorter(1 << 20);
    for number in 0..LINES {
        let key = format!("https://example.org/section/{:06}", number * 7919 % LINES);
        sorter.push(key.as_bytes(), &number.to_le_bytes())?;
    }
    let mut records = sorter.finish()?;
    let mut next = 0;
    while let Some(record) = records.next_record()? {
        assert_eq!(record.key, format!("https://example.org/section/{next:06}").as_bytes());
        next += 1;
    }
    assert_eq!(next, LINES);
    drop(records);
    Ok(sorter.stats())
}
