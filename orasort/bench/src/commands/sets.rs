//! `sets`: shows what shape the keys of each set have. `dump`: writes them to a file.

use crate::sets::{Set, choose};
use crate::table::{Table, figure};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// A row per set.
///
/// # Errors
/// When a set can't be made.
pub fn show(sets: &[Set], seed: u64, keys: usize) -> Result<Table> {
    let mut table = Table::new(["set", "keys", "bytes/key", "common/key", "equal", "about"]);
    for set in sets {
        let shape = set.make(seed, keys)?.statistics();
        let percent = format!("{:.1} %", 100.0 * shape.duplicates);
        let (length, common) = (figure(shape.length_bytes), figure(shape.common_bytes));
        table.push([set.name, &shape.keys.to_string(), &length, &common, &percent, set.about]);
    }
    Ok(table)
}

/// Writes a set to a file, as [`DataSet::write`](crate::data::DataSet::write) says.
///
/// # Errors
/// When there is no such set or the file can't be written.
pub fn dump(name: &str, seed: u64, keys: usize, file: &Path) -> Result<()> {
    let chosen = choose(name)?;
    let [set] = chosen.as_slice() else {
        bail!("a file takes one set, and {name} is {} sets", chosen.len());
    };
    set.make(seed, keys)?.write(file).with_context(|| format!("can't write {}", file.display()))
}
