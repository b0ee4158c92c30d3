//! Shares of verdicts that have blocks in common, with valid intervals.
//!
//! There are two intervals, since neither suffices alone. The bootstrap resamples whole blocks and weights a
//! verdict by how often its blocks were drawn (bootstrap of a U statistic, Arcones and Giné 1992); it gives
//! nothing if there are no hits, and is omitted if a look's draws have most blocks in common. Clopper-Pearson
//! assumes as many tries as can be independent: disjoint sets of blocks, times pairs of test and arm.

use crate::pairing::{Look, Sample};
use crate::truth::CONFIDENCE;
use rqps_stats::Detector;
use rqps_stats::counts::clopper_pearson;
use rqps_stats::sim::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Number of bootstrap resamples.
const BOOTSTRAPS: usize = 1000;
/// Seed of the bootstrap: the same run gives the same report.
const SEED: u64 = 1;

/// A share with its base and intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Verdicts that were counted.
    pub hits: usize,
    pub tries: usize,
    /// How many of the tries can be independent at most.
    pub independent: usize,
    /// Lower end of the Clopper-Pearson interval for the independent tries.
    pub low: f64,
    pub high: f64,
    pub bootstrap: Option<(f64, f64)>,
}

impl Share {
    /// Counts the verdicts of a look that are `wanted`, and those among them that are a `hit`. `blocks` is
    /// the total number of blocks. None if no verdict is wanted. If arms take turns as base, one comparison
    /// per test follows from the others.
    pub fn count(
        look: &Look,
        blocks: usize,
        wanted: impl Fn(&Sample) -> bool,
        hit: impl Fn(&Sample) -> bool,
    ) -> Option<Share> {
        let mut by_draw: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut cells = BTreeSet::new();
        for sample in look.samples.iter().filter(|sample| wanted(sample)) {
            let (hits, tries) = by_draw.entry(sample.draw).or_default();
            *hits += usize::from(hit(sample));
            *tries += 1;
            cells.insert((sample.test, sample.arm, sample.detector));
        }
        let (hits, tries) = by_draw.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if tries == 0 {
            return None;
        }
        let are_bases = cells.iter().any(|(_, arm, _)| look.bases.contains(arm));
        let places: BTreeSet<(usize, Detector)> =
            cells.iter().map(|(test, _, detector)| (*test, *detector)).collect();
        let comparisons = cells.len() - if are_bases { places.len() } else { 0 };
        let independent = tries.min(comparisons.max(1) * (blocks / look.blocks).max(1));
        let scaled = (hits as f64 * independent as f64 / tries as f64).round() as u64;
        let (low, high) = clopper_pearson(scaled, independent as u64, CONFIDENCE);
        let bootstrap = (2 * look.blocks <= blocks).then(|| bootstrap(look, &by_draw)).flatten();
        Some(Share { hits, tries, independent, low, high, bootstrap })
    }

    pub fn share(&self) -> f64 {
        self.hits as f64 / self.tries as f64
    }
}

fn bootstrap(look: &Look, by_draw: &BTreeMap<usize, (usize, usize)>) -> Option<(f64, f64)> {
    let numbers: Vec<u32> =
        look.draws.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut rng = Rng::new(SEED);
    let mut shares = Vec::with_capacity(BOOTSTRAPS);
    for _ in 0..BOOTSTRAPS {
        let mut times: BTreeMap<u32, f64> = BTreeMap::new();
        for _ in 0..numbers.len() {
            *times.entry(numbers[rng.below(numbers.len())]).or_default() += 1.0;
        }
        let (mut hits, mut tries) = (0.0, 0.0);
        for (draw, counted) in by_draw {
            let weight: f64 =
                look.draws[*draw].iter().map(|block| times.get(block).copied().unwrap_or(0.0)).product();
            hits += weight * counted.0 as f64;
            tries += weight * counted.1 as f64;
        }
        if tries > 0.0 {
            shares.push(hits / tries);
        }
    }
    shares.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let at = |p: f64| shares.get((shares.len() as f64 * p) as usize).copied();
    Some((at(tail)?, at(1.0 - tail)?))
}
