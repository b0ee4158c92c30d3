//! `small`: many small sorts one after the other, beside std: what a sort costs that has little to sort.

use crate::check::Reference;
use crate::cost::Meter;
use crate::sets::Set;
use crate::table::Table;
use anyhow::{Result, ensure};

/// How many keys are sorted in all, in arrays of one size.
const KEYS: usize = 200_000;
/// The sizes of arrays.
pub const SIZES: [usize; 9] = [20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/// For each set and size: this library's time by that of std's unstable sort.
///
/// # Errors
/// When a set can't be made or a result is wrong.
pub fn table(sets: &[Set], seed: u64, rounds: usize) -> Result<Table> {
    let heads = SIZES.iter().map(|size| format!("n = {size}"));
    let mut table =
        Table::new(["our time by std's".to_owned()].into_iter().chain(heads).chain(["worst".to_owned()]));
    let mut meter = Meter::new();
    for set in sets {
        let data = set.make(seed, KEYS)?;
        let reference = Reference::new(&data);
        let mut worst = 0.0f64;
        let mut row = vec![set.name.to_owned()];
        for size in SIZES {
            let mut least = [u64::MAX; 2];
            for _ in 0..rounds {
                let mut theirs = reference.arrived().to_vec();
                let mut ours = theirs.clone();
                let ((), cost) = meter.measure(|| theirs.chunks_mut(size).for_each(<[_]>::sort_unstable));
                least[0] = least[0].min(cost.cpu_ns);
                let ((), cost) = meter.measure(|| ours.chunks_mut(size).for_each(orasort::sort_unstable));
                least[1] = least[1].min(cost.cpu_ns);
                ensure!(ours == theirs, "{} in arrays of {size}: not as std sorts", set.name);
            }
            let share = least[1] as f64 / least[0].max(1) as f64;
            worst = worst.max(share);
            row.push(format!("{share:.2}"));
        }
        row.push(format!("{worst:.2}"));
        table.push(row);
    }
    Ok(table)
}
