//! Draws secret doses.

use crate::dose::Dose;
use crate::error::{Error, Result};
use rqps_stats::sim::Rng;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The host's source of randomness.
const RANDOM: &str = "/dev/urandom";
/// Smallest and largest target slowdown of the reference test, as shares of its instructions.
const TARGETS: (f64, f64) = (0.005, 0.15);
/// Allowed number of arms without base and control: at least one without and one with a dose, at most what
/// fits into a plan.
pub const ARMS: std::ops::RangeInclusive<usize> = 2..=14;

/// An unpredictable number.
///
/// # Errors
/// Returns an error if the source of randomness cannot be read.
pub fn secret() -> Result<u128> {
    let path = Path::new(RANDOM);
    let mut bytes = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(Error::file("read", path))?;
    Ok(u128::from_ne_bytes(bytes))
}

/// `wanted` of the numbers from 0 to `count` (exclusive), in random order (Fisher and Yates).
pub(crate) fn random_subset(rng: &mut Rng, count: usize, wanted: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    for at in 0..wanted.min(count) {
        let other = at + rng.below(count - at);
        all.swap(at, other);
    }
    all.truncate(wanted);
    all
}

/// A log-uniform number between two positive ones.
fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(rng.uniform())
}

/// Doses for the arms, in random order: half of them have none, one has sleep, WAL and fsyncs if at least two
/// have a dose, the others have multiplications. `spins_per_share` is the number of multiplications per
/// message that doubles the reference test's instructions. The range of targets is divided into as many parts
/// as arms with multiplications; each part has one.
pub fn draw(arms: usize, spins_per_share: f64, rng: &mut Rng) -> Vec<Dose> {
    let dosed = arms / 2;
    let others = usize::from(dosed >= 2);
    let spins = dosed - others;
    let mut doses = vec![Dose::default(); arms - dosed];
    let (low, high) = TARGETS;
    let edge = |part: usize| low * (high / low).powf(part as f64 / spins as f64);
    for part in 0..spins {
        let share = between(rng, edge(part), edge(part + 1));
        doses.push(Dose::spin((share * spins_per_share).round().max(1.0) as u64));
    }
    if others > 0 {
        doses.push(Dose {
            spin: 0,
            sleep_us: between(rng, 1.0, 20.0) as u64,
            wal_bytes: between(rng, 50.0, 500.0) as u64,
            fsync_every: between(rng, 20.0, 50.0) as u64,
        });
    }
    random_subset(rng, arms, arms).into_iter().map(|at| doses[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_arms_have_no_dose_and_the_rest_cover_the_range() {
        let mut places = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let doses = draw(9, 100_000.0, &mut Rng::new(seed));
            assert_eq!(doses.iter().filter(|dose| dose.is_null()).count(), 5);
            let mut spins: Vec<u64> = doses.iter().map(|dose| dose.spin).filter(|spin| *spin > 0).collect();
            spins.sort_unstable();
            assert!(spins.len() == 3 && spins[0] >= 500 && spins[2] <= 15_000, "{spins:?}");
            assert!(spins[0] <= 1_554 && spins[2] >= 4_827, "a part without a dose: {spins:?}");
            places.extend(doses.iter().position(|dose| dose.wal_bytes > 0));
        }
        assert_eq!(places.len(), 9, "the position must not reveal a dose: {places:?}");
    }
}
