//! `sort`: all algorithms on each set back to back, in one process on one core; the least of several rounds.

use crate::algorithms::{Algorithm, Input, Side};
use crate::check::Reference;
use crate::cost::{Cost, Meter};
use crate::sets::{Group, Set};
use crate::table::{Table, figure, geometric_mean, ratio};
use anyhow::{Result, ensure};

/// The algorithm of ours whose time the ratios take: fresh memory, as the peers have it.
const OURS: &str = "sort_unstable";
/// The older crate of the same idea, in place and by row.
const OLDER: [&str; 2] = ["orasort-0.1-mut", "orasort-0.1"];

/// What was measured of one set.
#[derive(Clone, Debug)]
pub struct Measured {
    set: Set,
    keys: usize,
    /// In the order of the algorithms; none where one can't sort such keys.
    costs: Vec<Option<Cost>>,
}

/// Sorts a set with all algorithms in turn, `rounds` times, and checks every result.
///
/// # Errors
/// When the set can't be made or a result is wrong.
pub fn measure(
    set: Set,
    seed: u64,
    keys: usize,
    rounds: usize,
    algorithms: &[Algorithm],
) -> Result<Measured> {
    let data = set.make(seed, keys)?;
    let reference = Reference::new(&data);
    let input = Input::new(&data, reference.arrived());
    let mut meter = Meter::new();
    let mut costs = vec![None; algorithms.len()];
    for _ in 0..rounds {
        for (algorithm, least) in algorithms.iter().zip(&mut costs) {
            let Some((output, cost)) = algorithm.run(&input, &mut meter) else {
                continue;
            };
            let fault = reference.fault_of(&output);
            ensure!(fault.is_none(), "{} on {}: {}", algorithm.name, set.name, fault.unwrap_or_default());
            *least = Some(least.map_or(cost, |least: Cost| least.min(cost)));
        }
    }
    Ok(Measured { set, keys: data.len().max(1), costs })
}

impl Measured {
    /// CPU time of a key, ns.
    fn ns(&self, place: usize) -> Option<f64> {
        Some(self.costs[place]?.cpu_ns as f64 / self.keys as f64)
    }

    /// The least time among the algorithms of which something holds, with the name.
    fn best<'n>(&self, among: &'n [Algorithm], holds: impl Fn(&Algorithm) -> bool) -> Option<(&'n str, f64)> {
        let chosen = among.iter().enumerate().filter(|(_, algorithm)| holds(algorithm));
        let timed = chosen.filter_map(|(place, algorithm)| Some((algorithm.name, self.ns(place)?)));
        timed.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

/// One column of ratios: others' time by ours.
struct Ratios {
    head: &'static str,
    values: Vec<f64>,
}

/// The table of times with ratios, and the geometric means of the unsorted sets below.
#[must_use]
pub fn times(measured: &[Measured], algorithms: &[Algorithm]) -> Table {
    let names = algorithms.iter().map(|algorithm| algorithm.name);
    let mut ratios = ["vs std", "vs best", "vs 0.1"].map(|head| Ratios { head, values: Vec::new() });
    let heads = ratios.iter().map(|column| column.head);
    let mut table = Table::new(["ns/key"].into_iter().chain(names).chain(["best peer"]).chain(heads));
    for one in measured {
        let mut row = vec![one.set.name.to_owned()];
        row.extend((0..algorithms.len()).map(|place| one.ns(place).map_or("–".to_owned(), figure)));
        let best = one.best(algorithms, |algorithm| algorithm.side == Side::Peer);
        row.push(best.map_or("", |(name, _)| name).to_owned());
        let ours = one.best(algorithms, |algorithm| algorithm.name == OURS);
        let others = [
            one.best(algorithms, |algorithm| algorithm.name == "std-unstable"),
            best,
            one.best(algorithms, |algorithm| OLDER.contains(&algorithm.name)),
        ];
        for (column, other) in ratios.iter_mut().zip(others) {
            let times = other.zip(ours).map(|((_, other), (_, ours))| other / ours);
            row.push(times.map_or(String::new(), ratio));
            column.values.extend(times.filter(|_| one.set.group == Group::Unsorted));
        }
        table.push(row);
    }
    let mut means = vec!["geometric mean of the unsorted".to_owned()];
    means.resize(algorithms.len() + 2, String::new());
    means.extend(ratios.iter().map(|column| geometric_mean(&column.values).map_or(String::new(), ratio)));
    table.push(means);
    table
}

/// Instructions and cache misses per key, where the processor counts.
#[must_use]
pub fn counts(measured: &[Measured], algorithms: &[Algorithm]) -> Table {
    let names = algorithms.iter().map(|algorithm| algorithm.name);
    let mut table = Table::new(["instructions, misses of the last cache / key"].into_iter().chain(names));
    for one in measured {
        let cell = |cost: &Option<Cost>| {
            let per_key = |count: Option<u64>| count.map(|count| count as f64 / one.keys as f64);
            let (instructions, misses) =
                (per_key(cost.as_ref()?.instructions)?, per_key(cost.as_ref()?.cache_misses)?);
            Some(format!("{}, {misses:.2}", figure(instructions)))
        };
        let cells = one.costs.iter().map(|cost| cell(cost).unwrap_or("–".to_owned()));
        table.push([one.set.name.to_owned()].into_iter().chain(cells));
    }
    table
}
