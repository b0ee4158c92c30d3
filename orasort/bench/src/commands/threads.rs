//! `threads`: the same sort with one thread and with two, by the time that passes.

use crate::check::{Output, Reference};
use crate::cost::Meter;
use crate::sets::Set;
use crate::table::{Table, figure, ratio};
use anyhow::{Result, ensure};
use std::num::NonZeroUsize;

/// A row per set. The time of several threads needs cores that nothing else uses.
///
/// # Errors
/// When a set can't be made or a result is wrong.
pub fn table(sets: &[Set], seed: u64, keys: usize, rounds: usize) -> Result<Table> {
    let mut table = Table::new(["ns that pass/key", "1 thread", "2 threads", "faster by"]);
    let mut meter = Meter::new();
    for set in sets {
        let data = set.make(seed, keys)?;
        let reference = Reference::new(&data);
        let mut least = [u64::MAX; 2];
        for _ in 0..rounds {
            for (least, threads) in
                least.iter_mut().zip([NonZeroUsize::MIN, NonZeroUsize::MIN.saturating_add(1)])
            {
                let mut slices = reference.arrived().to_vec();
                let ((), cost) = meter.measure(|| orasort::par_sort_unstable(&mut slices, threads));
                *least = (*least).min(cost.elapsed_ns);
                let fault = reference.fault_of(&Output::Keys(slices));
                ensure!(fault.is_none(), "{threads} threads on {}: {fault:?}", set.name);
            }
        }
        let ns = least.map(|least| least as f64 / data.len().max(1) as f64);
        table.push([set.name.to_owned(), figure(ns[0]), figure(ns[1]), ratio(ns[0] / ns[1])]);
    }
    Ok(table)
}
