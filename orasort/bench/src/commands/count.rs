//! `count`: instructions and cache misses per key. The processor's own counters where it shows them, else those of
//! valgrind's cachegrind: a process for each algorithm, less a process that only prepares the keys.

use crate::algorithms::{Algorithm, Input};
use crate::cost::Meter;
use crate::data::DataSet;
use crate::sets::Set;
use crate::table::{Table, figure};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// The caches that cachegrind imitates: the same on every host. 48 KiB and 32 MiB, lines of 64 bytes.
const CACHES: [&str; 2] = ["--D1=49152,12,64", "--LL=33554432,16,64"];

/// What cachegrind counted of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    instructions: u64,
    first_misses: u64,
    last_misses: u64,
}

/// Prepares the keys of a file and sorts them once, or not at all.
///
/// # Errors
/// When the file can't be read or the algorithm can't sort such keys.
pub fn once(file: &Path, algorithm: &Algorithm, only_prepare: bool) -> Result<()> {
    let data = DataSet::read(file).with_context(|| format!("can't read {}", file.display()))?;
    let keys = data.keys();
    let input = if algorithm.name.starts_with("arrow") {
        Input::new(&data, &keys)
    } else {
        Input::plain(&data, &keys)
    };
    if only_prepare {
        std::hint::black_box(&input);
        return Ok(());
    }
    let sorted = algorithm.run(&input, &mut Meter::default());
    ensure!(sorted.is_some(), "{} can't sort such keys", algorithm.name);
    Ok(())
}

/// Counts with cachegrind what `once` does.
fn cachegrind(file: &Path, algorithm: &Algorithm, only_prepare: bool) -> Result<Counted> {
    let program = std::env::current_exe().context("can't find this program")?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]).args(CACHES);
    command.arg(program).arg("once").arg(file).arg(algorithm.name);
    if only_prepare {
        command.arg("--only-prepare");
    }
    let output = command.output().context("can't start valgrind: the package of that name has it")?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{} under valgrind: {log}", algorithm.name);
    }
    let count = |name: &str| count_in(&log, name);
    let counted = || {
        Some(Counted {
            instructions: count("I refs:")?,
            first_misses: count("D1 misses:")?,
            last_misses: count("LLd misses:")?,
        })
    };
    counted().with_context(|| format!("valgrind did not say what it counted: {log}"))
}

/// A figure of cachegrind's log: `==7== D1  misses:  47,356  ( 18,538 rd   +  28,818 wr)` has `D1 misses:` 47356.
fn count_in(log: &str, name: &str) -> Option<u64> {
    let words = log.lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
    let mut named = words.filter(|words| words.len() > 2 && words[..2].join(" ") == name);
    named.next()?[2].replace(',', "").parse().ok()
}

/// A row per set and algorithm. `jobs` processes run at the same time.
///
/// # Errors
/// When a set can't be made, there is no valgrind, or a process fails.
pub fn table(sets: &[Set], seed: u64, keys: usize, algorithms: &[Algorithm], jobs: usize) -> Result<Table> {
    let mut table = Table::new(["set", "algorithm", "instructions/key", "D1 misses/key", "LL misses/key"]);
    let folder = tempfile::tempdir().context("can't make a directory for keys")?;
    for set in sets {
        let data = set.make(seed, keys)?;
        let file = folder.path().join(set.name);
        data.write(&file).with_context(|| format!("can't write {}", file.display()))?;
        let chosen: Vec<&Algorithm> = algorithms.iter().filter(|algorithm| algorithm.takes(&data)).collect();
        let open = Mutex::new(chosen.iter().flat_map(|algorithm| [(*algorithm, true), (*algorithm, false)]));
        let next = || open.lock().ok().and_then(|mut open| open.next());
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs.max(1) {
                scope.spawn(|| {
                    while let Some((algorithm, only_prepare)) = next() {
                        let counted = cachegrind(&file, algorithm, only_prepare);
                        if let Ok(mut done) = done.lock() {
                            done.push((algorithm.name, only_prepare, counted));
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_default();
        for algorithm in chosen {
            let mut take = |wanted: bool| {
                let place =
                    done.iter().position(|(name, only, _)| *name == algorithm.name && *only == wanted);
                place.map_or(Ok(Counted::default()), |place| done.swap_remove(place).2)
            };
            let (before, all) = (take(true)?, take(false)?);
            let per_key =
                |all: u64, before: u64| all.saturating_sub(before) as f64 / data.len().max(1) as f64;
            table.push([
                set.name.to_owned(),
                algorithm.name.to_owned(),
                figure(per_key(all.instructions, before.instructions)),
                format!("{:.2}", per_key(all.first_misses, before.first_misses)),
                format!("{:.2}", per_key(all.last_misses, before.last_misses)),
            ]);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_cachegrind_is_understood() {
        let log = "==7== I   refs:      1,940,864\n==7== I1  misses:        3,506\n==7== \n\
                   ==7== D1  misses:       47,356  ( 18,538 rd   +  28,818 wr)\n\
                   ==7== LLd misses:            0  (      0 rd   +       0 wr)\n";
        let counts = ["I refs:", "D1 misses:", "LLd misses:", "LL misses:"].map(|name| count_in(log, name));
        assert_eq!(counts, [Some(1_940_864), Some(47_356), Some(0), None]);
    }
}
