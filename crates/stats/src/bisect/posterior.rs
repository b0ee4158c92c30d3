//! The probability of every place of one step and of every pair of places of two steps, given the measured blocks.
//!
//! A level is the logarithm of a version's figure over that of the first version. Steps change it for all later
//! versions, every build has an offset of its own, and every block its noise:
//!
//! `block = sum of the steps before the version + offset of the version - offset of the first + noise`
//!
//! Offsets are normal, and sizes have a moment prior (Johnson and Rossell 2010): normal times the squared size, so
//! that a second step of no size is ruled out by few blocks. Both are integrated out in closed form, the noise over a
//! grid. Steps between the same two measured versions have the same likelihood.

use super::{Measured, Rules, noise_variance};

/// Standard deviations of a block's noise, as multiples of the one measured: from 0.4 to 9.3.
const NOISE_FACTOR_MIN: f64 = 0.4;
const NOISE_FACTOR: f64 = 1.3;
const NOISES: i32 = 13;
/// Counted instructions may not vary at all.
const NOISE_SD_MIN: f64 = 1e-5;

/// The first version's offset and at most two sizes.
type Vector = [f64; 3];
type Matrix = [Vector; 3];

/// Probabilities of all hypotheses; they add up to 1.
pub(super) struct Posterior {
    /// By place: the only step is there.
    pub one: Vec<f64>,
    /// By place: the probability that the first, or the second, of two steps is there.
    pub first: Vec<f64>,
    pub second: Vec<f64>,
    /// Probability of two steps.
    two: f64,
    /// By place: its prior weight, and the number of measured versions before it.
    weights: Vec<f64>,
    gaps: Vec<usize>,
    /// By two gaps, the first not later: probability of a pair of places, divided by their weights.
    pairs: Vec<Vec<f64>>,
    /// By the same: the levels after one step, and after each of two.
    level_of_one: Vec<f64>,
    levels_of_two: Vec<Vec<[f64; 2]>>,
}

/// The data under one standard deviation of the noise.
struct Weighted<'a> {
    rules: &'a Rules,
    /// Scale of the sizes' prior.
    size_variance: f64,
    /// By gap: sums over the measured versions after it.
    weight: Vec<f64>,
    weighted: Vec<f64>,
    /// What all hypotheses have in common.
    log_common: f64,
}

/// The likelihood of steps over all noises, and their sizes.
struct Weighed {
    log_likelihood: f64,
    sizes: [f64; 2],
}

impl Weighed {
    fn new(noises: &[Weighted<'_>], steps: &[usize]) -> Self {
        let solved: Vec<Solved> = noises.iter().map(|noise| noise.solved(steps)).collect();
        let highest = solved.iter().map(|one| one.log_likelihood).fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut sizes) = (0.0, [0.0; 2]);
        for one in &solved {
            let p = (one.log_likelihood - highest).exp();
            sum += p;
            sizes = [sizes[0] + p * one.mean[1], sizes[1] + p * one.mean[2]];
        }
        Weighed { log_likelihood: highest + sum.ln(), sizes: sizes.map(|size| size / sum) }
    }
}

/// Posterior mean and covariance of the first version's offset and the sizes.
struct Solved {
    mean: Vector,
    covariance: Matrix,
    log_likelihood: f64,
}

impl Posterior {
    pub fn new(weights: &[f64], measured: &[Measured], rules: &Rules) -> Posterior {
        let noises = noises(measured, rules);
        let count = measured.len() + 1;
        let singles: Vec<Weighed> = (0..count).map(|gap| Weighed::new(&noises, &[gap])).collect();
        let pairs: Vec<Vec<Weighed>> = (0..count)
            .map(|first| {
                (0..count).map(|second| Weighed::new(&noises, &[first.min(second), second])).collect()
            })
            .collect();
        let all = singles.iter().chain(pairs.iter().flatten());
        let highest = all.map(|one| one.log_likelihood).fold(f64::MIN, f64::max);
        let total: f64 = weights.iter().sum();
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        let pair_total = (total * total - squares) / 2.0;
        let prior = if weights.len() > 1 { rules.two_steps_prior } else { 0.0 };
        let gaps: Vec<usize> = (0..weights.len()).map(|place| gap(place, measured)).collect();
        let scaled = |one: &Weighed| (one.log_likelihood - highest).exp();
        let one = weights.iter().zip(&gaps);
        let mut posterior = Posterior {
            one: one.map(|(weight, gap)| (1.0 - prior) * weight / total * scaled(&singles[*gap])).collect(),
            first: vec![0.0; weights.len()],
            second: vec![0.0; weights.len()],
            two: 0.0,
            weights: weights.to_vec(),
            gaps,
            pairs: pairs
                .iter()
                .map(|row| {
                    row.iter().map(|one| scaled(one) * prior / pair_total.max(f64::MIN_POSITIVE)).collect()
                })
                .collect(),
            level_of_one: singles.iter().map(|one| one.sizes[0]).collect(),
            levels_of_two: pairs
                .iter()
                .map(|row| row.iter().map(|one| [one.sizes[0], one.sizes[0] + one.sizes[1]]).collect())
                .collect(),
        };
        posterior.normalise();
        posterior
    }

    fn normalise(&mut self) {
        for i in 0..self.one.len() {
            for j in i + 1..self.one.len() {
                let p = self.pair(i, j);
                self.first[i] += p;
                self.second[j] += p;
                self.two += p;
            }
        }
        let sum: f64 = self.one.iter().sum::<f64>() + self.two;
        let all = [&mut self.one, &mut self.first, &mut self.second].into_iter().flatten();
        all.chain(self.pairs.iter_mut().flatten()).chain([&mut self.two]).for_each(|p| *p /= sum);
    }

    /// By version: how much the hypotheses differ in its level, as variance.
    pub fn spread(&self) -> Vec<f64> {
        // Changes of the sums from each version to the next.
        let (mut level, mut square) = (vec![0.0; self.one.len() + 1], vec![0.0; self.one.len() + 1]);
        let mut add = |place: usize, p: f64, before: f64, after: f64| {
            level[place + 1] += p * (after - before);
            square[place + 1] += p * (after.powi(2) - before.powi(2));
        };
        for (place, p) in self.one.iter().enumerate() {
            add(place, *p, 0.0, self.level_of_one[self.gaps[place]]);
        }
        for i in 0..self.one.len() {
            for j in i + 1..self.one.len() {
                let (p, [first, second]) = (self.pair(i, j), self.levels_of_two[self.gaps[i]][self.gaps[j]]);
                add(i, p, 0.0, first);
                add(j, p, first, second);
            }
        }
        let (mut mean, mut mean_square) = (0.0, 0.0);
        let changes = level.iter().zip(&square);
        changes
            .map(|(level, square)| {
                mean += level;
                mean_square += square;
                mean_square - f64::powi(mean, 2)
            })
            .collect()
    }

    /// Probability of two steps, at these places; the first is smaller.
    pub fn pair(&self, first: usize, second: usize) -> f64 {
        self.pairs[self.gaps[first]][self.gaps[second]] * self.weights[first] * self.weights[second]
    }
}

/// Sizes of steps at these places: mean and standard deviation of each, with the noise that fits best.
pub(super) fn sizes(places: &[usize], measured: &[Measured], rules: &Rules) -> Vec<(f64, f64)> {
    let gaps: Vec<usize> = places.iter().map(|place| gap(*place, measured)).collect();
    let solved = noises(measured, rules).into_iter().map(|noise| noise.solved(&gaps));
    let best = solved.max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood));
    let of = |at: usize, best: &Solved| (best.mean[at], best.covariance[at][at].sqrt());
    (1..=places.len()).map(|at| best.as_ref().map_or((0.0, f64::INFINITY), |best| of(at, best))).collect()
}

/// The number of measured versions before a place.
fn gap(place: usize, measured: &[Measured]) -> usize {
    measured.iter().filter(|one| one.version <= place).count()
}

fn noises<'a>(measured: &[Measured], rules: &'a Rules) -> Vec<Weighted<'a>> {
    let sd = noise_variance(measured).sqrt().max(NOISE_SD_MIN);
    let sds = (0..NOISES).map(|at| sd * NOISE_FACTOR_MIN * NOISE_FACTOR.powi(at));
    sds.map(|sd| Weighted::new(measured, sd, rules)).collect()
}

impl<'a> Weighted<'a> {
    fn new(measured: &[Measured], noise_sd: f64, rules: &'a Rules) -> Self {
        let levels: Vec<(f64, f64)> =
            measured.iter().map(|one| (one.blocks.len() as f64, super::mean(&one.blocks))).collect();
        let free: f64 = levels.iter().map(|(blocks, _)| blocks - 1.0).sum();
        let within = noise_variance(measured) * free;
        let scale = levels.iter().map(|(_, level)| level.abs()).fold(rules.smallest_size, f64::max);
        let (mut weight, mut weighted) = (vec![0.0; levels.len() + 1], vec![0.0; levels.len() + 1]);
        let mut log_common = -free * noise_sd.ln() - within / (2.0 * noise_sd.powi(2));
        for (at, (blocks, level)) in levels.iter().enumerate().rev() {
            let variance = rules.build_sd.powi(2) + noise_sd.powi(2) / blocks;
            weight[at] = weight[at + 1] + 1.0 / variance;
            weighted[at] = weighted[at + 1] + level / variance;
            log_common -= 0.5 * (variance.ln() + level.powi(2) / variance);
        }
        // The moment prior is highest at sizes of the largest level.
        Weighted { rules, size_variance: scale.powi(2) / 2.0, weight, weighted, log_common }
    }

    /// Steps by their gap, in order; at most two.
    fn solved(&self, steps: &[usize]) -> Solved {
        // A size without a step keeps its prior, which changes nothing.
        let (mut precision, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        precision[0][0] = self.weight[0] + 1.0 / self.rules.build_sd.powi(2);
        precision[1][1] = 1.0 / self.size_variance;
        precision[2][2] = 1.0 / self.size_variance;
        right[0] = -self.weighted[0];
        for (i, first) in steps.iter().enumerate() {
            precision[0][i + 1] = -self.weight[*first];
            precision[i + 1][0] = -self.weight[*first];
            for (j, second) in steps.iter().enumerate() {
                precision[i + 1][j + 1] += self.weight[*first.max(second)];
            }
            right[i + 1] = self.weighted[*first];
        }
        let (covariance, log_determinant) = inverse(&precision);
        let mean = covariance.map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum::<f64>());
        let explained: f64 = mean.iter().zip(&right).map(|(a, b)| a * b).sum();
        let log_prior = self.rules.build_sd.powi(2).ln() + 2.0 * self.size_variance.ln();
        let moment = match steps.len() {
            1 => mean[1].powi(2) + covariance[1][1],
            _ => {
                let (a, b, ab) = (covariance[1][1], covariance[2][2], covariance[1][2]);
                let squares = (mean[1].powi(2) + a) * (mean[2].powi(2) + b);
                squares + 2.0 * ab.powi(2) + 4.0 * mean[1] * mean[2] * ab
            }
        };
        let log_moment = (moment / self.size_variance.powi(steps.len() as i32)).ln();
        let log_likelihood = self.log_common - 0.5 * (log_prior + log_determinant - explained) + log_moment;
        Solved { mean, covariance, log_likelihood }
    }
}

/// Inverse of a positive definite matrix by Gauss and Jordan, and the logarithm of its determinant.
fn inverse(matrix: &Matrix) -> (Matrix, f64) {
    let (mut left, mut inverse, mut log_determinant) = (*matrix, [[0.0; 3]; 3], 0.0);
    for (at, row) in inverse.iter_mut().enumerate() {
        row[at] = 1.0;
    }
    for pivot in 0..3 {
        let by = left[pivot][pivot];
        log_determinant += by.ln();
        left[pivot] = left[pivot].map(|value| value / by);
        inverse[pivot] = inverse[pivot].map(|value| value / by);
        let (of_left, of_inverse) = (left[pivot], inverse[pivot]);
        for row in (0..3).filter(|row| *row != pivot) {
            let times = left[row][pivot];
            let less = |from: Vector, what: Vector| std::array::from_fn(|at| from[at] - times * what[at]);
            left[row] = less(left[row], of_left);
            inverse[row] = less(inverse[row], of_inverse);
        }
    }
    (inverse, log_determinant)
}
