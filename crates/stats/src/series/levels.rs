//! Levels over consecutive versions: means, cuts, and their distribution under the null.

use crate::cuts::cuts_back_from;
use crate::sim::Rng;
use rqps_model::sample::{mean, squares};

/// Simulated nulls beyond the quantile: enough to estimate it within a tenth of its size.
const TAIL_DRAWS: f64 = 30.0;
const ARRIVAL_DRAWS: usize = 1_000;

/// Means of versions over blocks, with the residual variance.
pub(super) struct Row {
    pub(super) means: Vec<f64>,
    pub(super) blocks: f64,
    /// Variance of one version in one block, without block effects.
    pub(super) variance: f64,
    pub(super) df: f64,
}

impl Row {
    /// Needs at least two complete blocks.
    pub(super) fn of(rows: &[Vec<f64>]) -> Row {
        let arms = rows[0].len();
        let centred: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| {
                let centre = mean(row);
                row.iter().map(|value| value - centre).collect()
            })
            .collect();
        let of_arm = |arm: usize| mean(&centred.iter().map(|row| row[arm]).collect::<Vec<f64>>());
        let means: Vec<f64> = (0..arms).map(of_arm).collect();
        let df = ((arms - 1) * (rows.len() - 1)) as f64;
        let residual = |row: &Vec<f64>| squares_to(row, &means);
        let variance = centred.iter().map(residual).sum::<f64>() / df;
        Row { means, blocks: rows.len() as f64, variance, df }
    }

    /// Means in units of their standard error; `None` if there is no noise.
    pub(super) fn scaled(&self) -> Option<Vec<f64>> {
        let error = (self.variance / self.blocks).sqrt();
        // Rounding errors of equal blocks are below this.
        (error > 1e-12).then(|| self.means.iter().map(|level| level / error).collect())
    }
}

pub(super) fn squares_to(values: &[f64], levels: &[f64]) -> f64 {
    values.iter().zip(levels).map(|(value, level)| (value - level).powi(2)).sum()
}

/// The level at each place, given the cuts.
pub(super) fn fit(values: &[f64], cuts: &[usize]) -> Vec<f64> {
    let ends = cuts.iter().copied().chain([values.len()]);
    let levels = std::iter::once(0).chain(cuts.iter().copied()).zip(ends);
    levels.flat_map(|(from, until)| vec![mean(&values[from..until]); until - from]).collect()
}

pub(super) fn slope(values: &[f64]) -> Vec<f64> {
    let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
    let (centre, level) = (mean(&places), mean(values));
    let product: f64 =
        places.iter().zip(values).map(|(place, value)| (place - centre) * (value - level)).sum();
    let rise = product / squares(&places);
    places.iter().map(|place| level + rise * (place - centre)).collect()
}

/// The cuts with the least sum of squares plus `penalty` per cut.
pub(super) fn segment(values: &[f64], penalty: f64) -> Vec<usize> {
    let length = values.len();
    let mut best = vec![f64::INFINITY; length + 1];
    let mut previous = vec![0; length + 1];
    best[0] = -penalty;
    for until in 1..=length {
        for from in 0..until {
            let total = best[from] + squares(&values[from..until]) + penalty;
            if total < best[until] {
                (best[until], previous[until]) = (total, from);
            }
        }
    }
    cuts_back_from(length, &previous)
}

/// The penalty per cut at which a share `alpha` of rows without a step get at least one: the quantile of the
/// largest saving per cut. The error of a row's own variance estimate is included.
pub(super) fn null_penalty(arms: usize, df: f64, alpha: f64, rng: &mut Rng) -> f64 {
    let draws = (TAIL_DRAWS / alpha).ceil() as usize;
    let mut saved: Vec<f64> =
        (0..draws).map(|_| most_saved_per_cut(&rng.normals(arms)) / rng.mean_square(df)).collect();
    saved.sort_by(f64::total_cmp);
    saved[((1.0 - alpha) * draws as f64) as usize]
}

/// The largest reduction of the sum of squares by any number of cuts, divided by their number.
fn most_saved_per_cut(values: &[f64]) -> f64 {
    let length = values.len();
    let all = squares(values);
    // Least sum of squares of the first `until` values in a given number of segments.
    let mut least: Vec<f64> = (0..=length).map(|until| squares(&values[..until.max(1)])).collect();
    let mut most: f64 = 0.0;
    for cuts in 1..length {
        let next = |until: usize| {
            let with_last = |from: usize| least[from] + squares(&values[from..until]);
            (cuts..until).map(with_last).fold(f64::INFINITY, f64::min)
        };
        let one_more: Vec<f64> = (0..=length).map(next).collect();
        most = most.max((all - one_more[length]) / cuts as f64);
        least = one_more;
    }
    most
}

/// The cuts of a stretch with one step that the data do not refute: those whose excess misfit over the best
/// cut is exceeded in more than a share `1 - confidence` of simulated rows with the step there.
pub(super) fn arrival_set(values: &[f64], df: f64, confidence: f64, rng: &mut Rng) -> Vec<usize> {
    let misfit = |values: &[f64], cut: usize| squares(&values[..cut]) + squares(&values[cut..]);
    let least =
        |values: &[f64]| (1..values.len()).map(|cut| misfit(values, cut)).fold(f64::INFINITY, f64::min);
    let best = least(values);
    let not_refuted = |cut: &usize| {
        let excess = misfit(values, *cut) - best;
        if excess <= 0.0 {
            return true;
        }
        let truth = fit(values, &[*cut]);
        let mut as_far = 0;
        for _ in 0..ARRIVAL_DRAWS {
            let drawn: Vec<f64> = truth.iter().map(|level| level + rng.normal()).collect();
            let drawn_excess = (misfit(&drawn, *cut) - least(&drawn)) / rng.mean_square(df);
            as_far += usize::from(drawn_excess >= excess);
        }
        as_far as f64 > (1.0 - confidence) * ARRIVAL_DRAWS as f64
    };
    (1..values.len()).filter(not_refuted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With two versions there is one cut to try, and the penalty is the square of t: 4.0321 with 5 degrees
    /// of freedom at 1 %.
    #[test]
    fn penalty_for_one_cut_is_t_squared() {
        let penalty = null_penalty(2, 5.0, 0.01, &mut Rng::new(1));
        assert!((penalty / 4.0321f64.powi(2) - 1.0).abs() < 0.12, "{penalty}");
        let more = null_penalty(7, 5.0, 0.01, &mut Rng::new(1));
        assert!(more > 1.5 * penalty, "six cuts to try: {more}");
    }
}
