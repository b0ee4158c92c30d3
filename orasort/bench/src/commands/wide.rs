//! `wide`: many sets at one size, beside the best of the peers and the two sorts of std; where the sort loses most
//! stands first.

use crate::algorithms::{Algorithm, Input, Side};
use crate::check::Reference;
use crate::cost::Meter;
use crate::data::DataSet;
use crate::sets::Set;
use crate::table::{Table, figure, geometric_mean, ratio};
use anyhow::{Result, ensure};

/// The algorithm whose time the ratios take, or another one for sets whose keys have one width.
const OURS: &str = "sort_unstable";
const OURS_OF_WIDTH: &str = "sort_arrays";

/// At least so many keys are sorted in all, in arrays of one size.
const KEYS_MIN: usize = 100_000;

struct Row {
    set: Set,
    keys: usize,
    /// ns a key: ours, the best peer, std's sorts.
    ours: f64,
    peer: (&'static str, f64),
    unstable: f64,
    stable: f64,
}

/// Sorts arrays of `size` keys with all algorithms in turn, `rounds` times.
fn measure(set: Set, seed: u64, size: usize, rounds: usize, algorithms: &[Algorithm]) -> Result<Row> {
    let data = set.make(seed, size.max(KEYS_MIN))?;
    let all = data.keys();
    let parts: Vec<DataSet> = all.chunks(size).map(|keys| keys.iter().copied().collect()).collect();
    let mut least = vec![f64::INFINITY; algorithms.len()];
    let mut meter = Meter::default();
    // Whole rounds of small arrays, one algorithm after the other: each finds the caches as the one before left them.
    let references: Vec<Reference<'_>> = parts.iter().map(Reference::new).collect();
    let inputs: Vec<Input<'_>> = parts
        .iter()
        .zip(&references)
        .map(|(part, reference)| Input::new(part, reference.arrived()))
        .collect();
    for _ in 0..rounds {
        for (algorithm, least) in algorithms.iter().zip(&mut least) {
            let mut cpu_ns = 0;
            for (input, reference) in inputs.iter().zip(&references) {
                let Some((output, cost)) = algorithm.run(input, &mut meter) else {
                    cpu_ns = u64::MAX;
                    break;
                };
                let fault = reference.fault_of(&output);
                ensure!(fault.is_none(), "{} on {}: {}", algorithm.name, set.name, fault.unwrap_or_default());
                cpu_ns += cost.cpu_ns;
            }
            if cpu_ns < u64::MAX {
                *least = least.min(cpu_ns as f64 / all.len().max(1) as f64);
            }
        }
    }
    let of = |name: &str| {
        let place = algorithms.iter().position(|algorithm| algorithm.name == name);
        place.map_or(f64::INFINITY, |place| least[place])
    };
    // What has keys of a compiled-in width is held against what has them too, and against the rest.
    let (ours, ours_of_width) = (of(OURS), of(OURS_OF_WIDTH));
    let ours = if ours_of_width.is_finite() { ours.min(ours_of_width) } else { ours };
    let peers = algorithms.iter().zip(&least).filter(|(algorithm, _)| algorithm.side == Side::Peer);
    let peers = peers.filter(|(algorithm, _)| !algorithm.name.ends_with("owned"));
    let peer = peers.map(|(algorithm, ns)| (algorithm.name, *ns)).min_by(|a, b| a.1.total_cmp(&b.1));
    Ok(Row {
        set,
        keys: all.len(),
        ours,
        peer: peer.unwrap_or(("", f64::INFINITY)),
        unstable: of("std-unstable"),
        stable: of("std-stable"),
    })
}

/// The table, and the means of the sets that were tuned on and of those held out.
///
/// # Errors
/// When a set can't be made or a result is wrong.
pub fn table(sets: &[Set], seed: u64, size: usize, rounds: usize, algorithms: &[Algorithm]) -> Result<Table> {
    let mut rows = Vec::new();
    for set in sets {
        eprint!("{} ", set.name);
        rows.push(measure(*set, seed, size, rounds, algorithms)?);
    }
    eprintln!();
    rows.sort_by(|a, b| (a.peer.1 / a.ours).total_cmp(&(b.peer.1 / b.ours)));
    let heads = ["set", "keys", "ns/key", "best peer", "its ns/key", "by it", "by unstable", "by stable"];
    let mut table = Table::new(heads);
    for row in &rows {
        let mark = if row.set.held_out() { " (held out)" } else { "" };
        table.push([
            format!("{}{mark}", row.set.name),
            row.keys.to_string(),
            figure(row.ours),
            row.peer.0.to_owned(),
            figure(row.peer.1),
            ratio(row.peer.1 / row.ours),
            ratio(row.unstable / row.ours),
            ratio(row.stable / row.ours),
        ]);
    }
    for (name, held_out) in [("geometric mean, tuned", false), ("geometric mean, held out", true)] {
        let chosen: Vec<&Row> = rows.iter().filter(|row| row.set.held_out() == held_out).collect();
        let mean = |by: fn(&Row) -> f64| {
            let values: Vec<f64> = chosen.iter().map(|row| by(row) / row.ours).collect();
            geometric_mean(&values).map_or(String::new(), ratio)
        };
        let means = [mean(|row| row.peer.1), mean(|row| row.unstable), mean(|row| row.stable)];
        let blank = [name.to_owned(), chosen.len().to_string()].into_iter().chain(vec![String::new(); 3]);
        table.push(blank.chain(means));
    }
    Ok(table)
}
