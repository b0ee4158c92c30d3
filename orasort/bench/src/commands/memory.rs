//! `memory`: how much a sort needs beyond its keys, read from the kernel.

use crate::algorithms::{Algorithm, Input};
use crate::check::Reference;
use crate::cost::Meter;
use crate::sets::Set;
use crate::table::{Table, figure};
use anyhow::{Context, Result};
use std::fs;

/// A line of this process's `status`, in bytes.
fn status_bytes(field: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("can't read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).context("no such field in status")?;
    let kib: u64 =
        line.trim_matches(|c: char| !c.is_ascii_digit()).parse().context("a field is no number")?;
    Ok(kib * 1024)
}

/// A row per set: for each algorithm the greatest resident memory of a sort less that before, bytes per key. What a
/// sort returns counts, a copy of the slices that it sorts in place does not.
///
/// # Errors
/// When a set can't be made or the kernel does not tell.
pub fn table(sets: &[Set], seed: u64, keys: usize, algorithms: &[Algorithm]) -> Result<Table> {
    let names = algorithms.iter().map(|algorithm| algorithm.name);
    let mut table = Table::new(["bytes/key"].into_iter().chain(names));
    let mut meter = Meter::new();
    for set in sets {
        let data = set.make(seed, keys)?;
        let reference = Reference::new(&data);
        let input = Input::new(&data, reference.arrived());
        let mut row = vec![set.name.to_owned()];
        for algorithm in algorithms {
            // What the allocator keeps is given back first: it would hide what the sort takes.
            fs::write("/proc/self/clear_refs", "5").context("can't reset the peak of resident memory")?;
            let before = status_bytes("VmRSS:")?;
            let in_place = match algorithm.run(&input, &mut meter) {
                None => {
                    row.push("–".to_owned());
                    continue;
                }
                Some((crate::check::Output::Keys(keys), _)) => size_of_val(keys.as_slice()),
                Some(_) => 0,
            };
            let grown = status_bytes("VmHWM:")?.saturating_sub(before).saturating_sub(in_place as u64);
            row.push(figure(grown as f64 / data.len().max(1) as f64));
        }
        table.push(row);
    }
    Ok(table)
}
