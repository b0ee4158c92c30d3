//! `early`: how soon the first rows come, against the whole sort; and the first k rows against a bounded heap.

use crate::check::Reference;
use crate::cost::Meter;
use crate::sets::Set;
use crate::table::{Table, figure};
use anyhow::{Result, ensure};
use orasort::Arena;
use std::collections::BinaryHeap;

/// How many rows a consumer takes that stops early.
const LIMIT: usize = 1000;

/// A key in the bounded heap, with its first bytes beside it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cached<'a> {
    prefix: u64,
    key: &'a [u8],
    row: u32,
}

/// The rows of the least `k` keys, in order: the usual way of a `LIMIT`.
fn bounded_heap(keys: &[&[u8]], k: usize) -> Vec<u32> {
    let mut heap: BinaryHeap<Cached> = BinaryHeap::with_capacity(k + 1);
    for (row, key) in keys.iter().enumerate() {
        let mut bytes = [0; 8];
        let length = key.len().min(8);
        bytes[..length].copy_from_slice(&key[..length]);
        let entry = Cached { prefix: u64::from_be_bytes(bytes), key, row: row as u32 };
        if heap.len() < k {
            heap.push(entry);
        } else if let Some(mut greatest) = heap.peek_mut()
            && entry < *greatest
        {
            *greatest = entry;
        }
    }
    heap.into_sorted_vec().into_iter().map(|entry| entry.row).collect()
}

/// A row per set: CPU time until so many rows are there, in ms and as a share of the own full sort.
///
/// # Errors
/// When a set can't be made or a result is wrong.
pub fn table(sets: &[Set], seed: u64, keys: usize, rounds: usize) -> Result<Table> {
    let heads = ["ms", "row 1", "row 1000", "1 %", "10 %", "all rows", "argsort", "std", "row 1 by argsort"];
    let rest = ["10 % by argsort", "row 1: std by ours", "top 1000", "heap 1000", "top by heap"];
    let mut table = Table::new(heads.into_iter().chain(rest));
    let mut meter = Meter::new();
    for set in sets {
        let data = set.make(seed, keys)?;
        let reference = Reference::new(&data);
        let arena = Arena { bytes: data.bytes(), offsets: data.offsets() };
        let mut least = [u64::MAX; 9];
        for _ in 0..rounds {
            let mut times = Vec::new();
            for wanted in [1, LIMIT, data.len() / 100, data.len() / 10, data.len()] {
                let (rows, cost) =
                    meter.measure(|| orasort::sorted(&arena).take(wanted).collect::<Vec<u32>>());
                let fault =
                    reference.fault_of_rows(rows.iter().map(|row| *row as usize), wanted.min(data.len()));
                ensure!(fault.is_none(), "the first {wanted} rows of {}: {fault:?}", set.name);
                times.push(cost);
            }
            times.push(meter.measure(|| orasort::argsort(&arena)).1);
            let mut slices = reference.arrived().to_vec();
            times.push(meter.measure(|| slices.sort_unstable()).1);
            let (top, cost) = meter.measure(|| orasort::top_k(&arena, LIMIT));
            times.push(cost);
            let (heap, cost) = meter.measure(|| bounded_heap(reference.arrived(), LIMIT));
            times.push(cost);
            for rows in [&top, &heap] {
                let rows = rows.iter().map(|row| *row as usize);
                let fault = reference.fault_of_rows(rows, LIMIT.min(data.len()));
                ensure!(fault.is_none(), "the first {LIMIT} rows of {}: {fault:?}", set.name);
            }
            least.iter_mut().zip(times).for_each(|(least, cost)| *least = (*least).min(cost.cpu_ns));
        }
        table.push(row(set.name, least));
    }
    Ok(table)
}

fn row(name: &str, least: [u64; 9]) -> Vec<String> {
    let ms = |place: usize| figure(least[place] as f64 / 1e6);
    let share = |part: usize, whole: usize| least[part] as f64 / least[whole].max(1) as f64;
    let percent = |part, whole| format!("{:.0} %", 100.0 * share(part, whole));
    let mut row = vec![name.to_owned()];
    row.extend((0..7).map(ms));
    row.extend([percent(0, 5), percent(3, 5), format!("{:.1}x", share(6, 0))]);
    row.extend([ms(7), ms(8), format!("{:.2}", share(7, 8))]);
    row
}
