//! Noisy bisection: finds the version that brought a change, or the two that brought one each, from blocks that
//! measure versions against the first one.
//!
//! Versions are numbered from 0, the first; place `p` is between the versions `p` and `p + 1`. Nothing is ever ruled
//! out: each block changes the probabilities of all places, so that the search returns to a place when it was wrong.

mod posterior;
#[cfg(test)]
mod simulated;

use posterior::{Posterior, sizes};
use rqps_model::sample::{mean, squares};
use std::collections::BTreeSet;

/// What the search assumes and when it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Probability with which the answer holds.
    pub probability: f64,
    /// Standard deviation of the logarithm of builds that do the same: their code lies elsewhere in memory.
    pub build_sd: f64,
    /// Smallest scale of the sizes of steps; else it is the largest measured level.
    pub smallest_size: f64,
    /// Probability of two steps before anything is measured.
    pub two_steps_prior: f64,
    /// Limits of the blocks of one measurement.
    pub blocks_min: usize,
    pub blocks_max: usize,
    /// Most blocks of one version; a build's own offset cannot be averaged out.
    pub blocks_per_version_max: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            probability: 0.95,
            build_sd: 0.0025,
            smallest_size: 0.01,
            two_steps_prior: 0.25,
            blocks_min: 3,
            blocks_max: 12,
            blocks_per_version_max: 48,
        }
    }
}

/// All blocks of one version: logarithms of its figure over that of the first version.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// At least 1.
    pub version: usize,
    pub blocks: Vec<f64>,
}

/// What is known of a row of versions.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// By place: how probable a step is there compared with other places, before anything is measured.
    pub weights: &'a [f64],
    /// By version, each once.
    pub measured: &'a [Measured],
    /// Versions that cannot be measured.
    pub skipped: &'a BTreeSet<usize>,
}

/// A measurement to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    pub version: usize,
    pub blocks: usize,
}

/// A step, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The places it may be at, in order.
    pub places: Vec<usize>,
    /// Figure after over figure before, at the most probable place.
    pub ratio: f64,
    /// Its 95 % interval.
    pub low: f64,
    pub high: f64,
}

/// What the measurements say.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// One or two, in order.
    pub steps: Vec<Step>,
    /// Probability that a step is among these places, for two steps each among its own.
    pub probability: f64,
    /// Probability of two steps, between which a version can be measured, instead of one.
    pub two_steps: f64,
    /// Whether the probabilities suffice and no version that can be measured separates the places.
    pub is_settled: bool,
    /// What to measure next; None if it is settled, or if no version can tell more.
    pub next: Option<Ask>,
}

/// Standard deviations from the middle of a 95 % interval to its ends.
const NORMAL_95: f64 = 1.96;
/// Levels are this many standard errors apart after one measurement, so that 2 % of the measurements mislead.
const ERRORS_APART: f64 = 4.0;
/// The same for the versions beside a step that was found: a third of it differs by three errors of the difference.
const ERRORS_CONFIRMED: f64 = 12.0;
/// A version's level is known if its standard error is below this share of the offsets of builds.
const KNOWN_SHARE: f64 = 0.5;

impl Course<'_> {
    /// The most probable answer, and what to measure next if it is not settled.
    pub fn answer(&self, rules: &Rules) -> Answer {
        let measured = self.ordered();
        let posterior = Posterior::new(self.weights, &measured, rules);
        let two_steps = self.seen_apart(&posterior);
        let (places, probability) = if two_steps > 0.5 {
            self.two_steps(&posterior, rules)
        } else {
            let (places, probability) = self.one_step(&posterior, rules);
            (vec![places], probability)
        };
        let likely = |places: &Vec<usize>, p: &[f64]| {
            places.iter().copied().max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap_or(0)
        };
        let best: Vec<usize> = match places.as_slice() {
            [one] => vec![likely(one, &posterior.one)],
            both => {
                let marginals = [&posterior.first, &posterior.second];
                both.iter().zip(marginals).map(|(places, p)| likely(places, p)).collect()
            }
        };
        let step = |(places, (mean, sd)): (Vec<usize>, (f64, f64))| {
            let half = NORMAL_95 * sd;
            Step { places, ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
        };
        let is_number_known = two_steps.max(1.0 - two_steps) >= rules.probability;
        let is_found = !measured.is_empty()
            && is_number_known
            && probability >= rules.probability
            && !places.iter().any(|set| self.separable(set));
        let to_confirm = if is_found { self.confirmation(&places, &measured, rules) } else { None };
        let is_settled = is_found && to_confirm.is_none();
        Answer {
            steps: places.into_iter().zip(sizes(&best, &measured, rules)).map(step).collect(),
            probability,
            two_steps,
            is_settled,
            next: match is_found {
                true => to_confirm,
                false => self.next(&posterior, &measured, rules),
            },
        }
    }

    /// The measurement that a found step still needs: a second step elsewhere shows in the versions beside the first
    /// one and in the last, if these are known well enough.
    fn confirmation(&self, places: &[Vec<usize>], measured: &[Measured], rules: &Rules) -> Option<Ask> {
        let [places] = places else { return None };
        let last = self.weights.len();
        let needed = blocks_needed(measured, ERRORS_CONFIRMED, rules.blocks_per_version_max, rules);
        let sides = [*places.first()?, places.last()? + 1, last];
        let lacking = |version: usize| {
            let known = measured.iter().find(|one| one.version == version);
            needed.saturating_sub(known.map_or(0, |one| one.blocks.len()))
        };
        let can_be = |version: &usize| *version > 0 && !self.skipped.contains(version);
        let version = sides.into_iter().filter(can_be).max_by_key(|version| lacking(*version))?;
        let blocks = lacking(version).min(rules.blocks_max);
        (blocks > 0).then(|| Ask { version, blocks: blocks.max(rules.blocks_min) })
    }

    /// The next measurement; None if no version is left that can tell more. The last version comes first: its level
    /// says what is looked for. Else it is the version in whose level the hypotheses differ most.
    fn next(&self, posterior: &Posterior, measured: &[Measured], rules: &Rules) -> Option<Ask> {
        let last = self.weights.len();
        let blocks_of = |version: usize| {
            measured.iter().find(|one| one.version == version).map_or(0, |one| one.blocks.len())
        };
        if blocks_of(last) < rules.blocks_min {
            return Some(Ask { version: last, blocks: rules.blocks_min });
        }
        let spread = posterior.spread();
        // What a build's own offset hides, more of its blocks don't show.
        let variance = noise_variance(measured);
        let is_known = |version: usize| {
            let blocks = blocks_of(version);
            blocks >= rules.blocks_min && (variance / blocks as f64).sqrt() < rules.build_sd * KNOWN_SHARE
        };
        let can_be = |version: &usize| {
            let has_most = blocks_of(*version) >= rules.blocks_per_version_max;
            !self.skipped.contains(version) && !has_most && !is_known(*version)
        };
        let best = (1..=last).filter(can_be).max_by(|a, b| spread[*a].total_cmp(&spread[*b]));
        let blocks = blocks_needed(measured, ERRORS_APART, rules.blocks_max, rules);
        best.map(|version| Ask { version, blocks })
    }

    fn ordered(&self) -> Vec<Measured> {
        let mut measured: Vec<Measured> =
            self.measured.iter().filter(|one| !one.blocks.is_empty()).cloned().collect();
        measured.sort_by_key(|one| one.version);
        measured
    }

    /// The smallest set of places that holds a step with the probability of the rules, without a place that looks like
    /// one in it left out.
    fn one_step(&self, posterior: &Posterior, rules: &Rules) -> (Vec<usize>, f64) {
        let Posterior { one, first, second, .. } = posterior;
        let holds: Vec<f64> = (0..one.len()).map(|p| one[p] + first[p] + second[p]).collect();
        let (mut set, mut probability) = (BTreeSet::new(), 0.0);
        for most_probable in by_probability(&holds) {
            if probability >= rules.probability {
                break;
            }
            for place in self.alike(most_probable) {
                // Pairs with a place in the set are counted already.
                let counted = |other: &usize| posterior.pair(place.min(*other), place.max(*other));
                if !set.contains(&place) {
                    probability += holds[place] - set.iter().map(counted).sum::<f64>();
                    set.insert(place);
                }
            }
        }
        (set.into_iter().collect(), probability.min(1.0))
    }

    /// The smallest set of places for each of two steps.
    fn two_steps(&self, posterior: &Posterior, rules: &Rules) -> (Vec<Vec<usize>>, f64) {
        // Each may miss half of what both may miss.
        let share = (1.0 + rules.probability) / 2.0;
        let set = |p: &[f64]| {
            let all: f64 = p.iter().sum();
            let (mut set, mut sum) = (Vec::new(), 0.0);
            for place in by_probability(p) {
                set.push(place);
                sum += p[place];
                if sum >= share * all {
                    break;
                }
            }
            set.sort_unstable();
            set
        };
        let sets = vec![set(&posterior.first), set(&posterior.second)];
        let pairs = sets[0].iter().flat_map(|i| sets[1].iter().map(move |j| (*i, *j)));
        let probability = pairs.filter(|(i, j)| i < j).map(|(i, j)| posterior.pair(i, j)).sum::<f64>();
        (sets, probability)
    }

    /// The places around this one without a version between them that can be measured.
    fn alike(&self, place: usize) -> std::ops::RangeInclusive<usize> {
        let first = (1..=place).rev().find(|version| !self.skipped.contains(version)).unwrap_or(0);
        let last = (place + 1..self.weights.len()).find(|version| !self.skipped.contains(version));
        first..=last.unwrap_or(self.weights.len()) - 1
    }

    /// The probability of two steps with a version between them that can be measured: others look like one.
    fn seen_apart(&self, posterior: &Posterior) -> f64 {
        let places = self.weights.len();
        let pairs = (0..places).flat_map(|i| (i + 1..places).map(move |j| (i, j)));
        pairs.filter(|(i, j)| self.separable(&[*i, *j])).map(|(i, j)| posterior.pair(i, j)).sum()
    }

    /// Whether a version that can be measured lies between two of these places.
    fn separable(&self, places: &[usize]) -> bool {
        let between = places.first().zip(places.last()).map_or(0..0, |(first, last)| first + 1..last + 1);
        between.into_iter().any(|version| !self.skipped.contains(&version))
    }
}

/// Measurements from here to the answer if noise is small: that of the last version, halving, and one more.
pub fn steps_expected(places: usize) -> usize {
    2 + (places.max(1) as f64).log2().ceil() as usize
}

/// Blocks that tell the last version's level from the first's.
fn blocks_needed(measured: &[Measured], errors_apart: f64, blocks_max: usize, rules: &Rules) -> usize {
    let level = measured.last().map_or(0.0, |one| mean(&one.blocks).abs()).max(rules.smallest_size);
    let variance = noise_variance(measured);
    let needed = (errors_apart.powi(2) * variance / level.powi(2)).ceil();
    (needed.min(blocks_max as f64) as usize).clamp(rules.blocks_min, blocks_max)
}

/// Variance of the blocks of one version, over all versions; 0 if none has two.
fn noise_variance(measured: &[Measured]) -> f64 {
    let free: usize = measured.iter().map(|one| one.blocks.len().saturating_sub(1)).sum();
    measured.iter().map(|one| squares(&one.blocks)).sum::<f64>() / free.max(1) as f64
}

/// Indices, the most probable first.
fn by_probability(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    order
}
