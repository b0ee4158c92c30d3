//! Whether a window is usable: change points in its series.

use crate::cuts::cuts_back_from;
use rqps_model::sample::{mean, variance};

/// Shortest stretch that counts as a level; a shorter one is a stall, not a state.
const SEGMENT_MIN_S: usize = 5;
/// Shortest series that can be called steady.
const SERIES_MIN_S: usize = 4 * SEGMENT_MIN_S;
/// Maximum correlation between seconds that is assumed: beyond it a series has too few independent seconds.
const PHI_MAX: f64 = 0.95;
/// Share of the differences that noise is estimated from, and the mean square of a standard normal variable
/// trimmed to that share.
const TRIM_KEEP: f64 = 0.9;
const TRIM_MEAN_SQUARE: f64 = 0.6230;

/// Result of the search for change points in a series of rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Steady {
    /// Whether the last half has no change point. False for a series of fewer than 20 seconds.
    pub steady: bool,
    /// Seconds at which the level changes, ascending.
    pub cuts: Vec<usize>,
}

/// Finds changes of level in a series with one value per second.
///
/// Levels minimize the sum of squares plus a penalty, by PELT (Killick, Fearnhead and Eckley 2012). The
/// penalty is that of the modified BIC, `3 ln n` (Zhang and Siegmund 2007), in units of the long-run
/// variance: neighbouring seconds are correlated, and every slow swing would otherwise have a change point.
pub fn is_steady(rates: &[f64]) -> Steady {
    let variance = long_run_variance(rates);
    let penalty = 3.0 * (rates.len().max(2) as f64).ln() * variance;
    let cuts = if rates.len() < SERIES_MIN_S || variance <= 0.0 { Vec::new() } else { pelt(rates, penalty) };
    let in_last_half = cuts.iter().any(|cut| 2 * cut >= rates.len());
    Steady { steady: rates.len() >= SERIES_MIN_S && !in_last_half, cuts }
}

/// Variance of a sum of many seconds, per second. Assumes autoregressive noise of order 1.
///
/// Estimated from differences over one and two seconds without the largest tenth, so that changes of level do
/// not count as noise: their variances are `2 v (1 - phi)` and `2 v (1 - phi²)` (after Chakar, Lebarbier,
/// Levy-Leduc and Robin 2017).
fn long_run_variance(series: &[f64]) -> f64 {
    let spread = |lag: usize| {
        let mut squares: Vec<f64> =
            series.windows(lag + 1).map(|part| (part[lag] - part[0]).powi(2)).collect();
        squares.sort_by(f64::total_cmp);
        squares.truncate((squares.len() as f64 * TRIM_KEEP).ceil() as usize);
        mean(&squares) / TRIM_MEAN_SQUARE
    };
    let (one, two) = (spread(1), spread(2));
    if one.is_nan() || two.is_nan() || one <= 0.0 {
        // Most seconds equal the previous one: a quantized series, such as a clock's.
        return if series.len() < 2 { 0.0 } else { variance(series) };
    }
    let phi = (two / one - 1.0).clamp(0.0, PHI_MAX);
    let variance = one / (2.0 * (1.0 - phi));
    variance * (1.0 + phi) / (1.0 - phi)
}

/// Change points with the least sum of squares plus `penalty` per change. Starts that can no longer be
/// optimal are pruned.
fn pelt(series: &[f64], penalty: f64) -> Vec<usize> {
    let centre = mean(series);
    let mut sums = vec![(0.0, 0.0)];
    let mut sum = (0.0, 0.0);
    for value in series {
        sum = (sum.0 + (value - centre), sum.1 + (value - centre).powi(2));
        sums.push(sum);
    }
    let cost = |from: usize, until: usize| {
        let (total, squares) = (sums[until].0 - sums[from].0, sums[until].1 - sums[from].1);
        squares - total * total / (until - from) as f64
    };
    let length = series.len();
    let mut best = vec![f64::INFINITY; length + 1];
    let mut previous = vec![0; length + 1];
    best[0] = -penalty;
    let mut starts = vec![0];
    for until in SEGMENT_MIN_S..=length {
        for &from in &starts {
            let total = best[from] + cost(from, until) + penalty;
            if total < best[until] {
                (best[until], previous[until]) = (total, from);
            }
        }
        // From the next second on, a segment may begin at `start`: starts that lose to it there can never win
        // later.
        let start = until + 1 - SEGMENT_MIN_S;
        starts.retain(|from| from + SEGMENT_MIN_S > start || best[*from] + cost(*from, start) < best[start]);
        starts.push(start);
        starts.retain(|from| best[*from].is_finite());
    }
    cuts_back_from(length, &previous)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;
    use rqps_model::sample::squares;

    /// Rates around 5000 per second with autoregressive noise.
    fn noisy_rates(rng: &mut Rng, sd: f64, phi: f64, seconds: usize) -> Vec<f64> {
        let mut noise = sd * rng.normal();
        let mut rate = |_| {
            noise = phi * noise + (1.0 - phi * phi).sqrt() * sd * rng.normal();
            5000.0 * noise.exp()
        };
        (0..seconds).map(&mut rate).collect()
    }

    /// Minimum cost without pruning, trying every last segment.
    fn unpruned(series: &[f64], penalty: f64) -> f64 {
        let cost = |from: usize, until: usize| squares(&series[from..until]);
        let mut best = vec![f64::INFINITY; series.len() + 1];
        best[0] = -penalty;
        for until in SEGMENT_MIN_S..=series.len() {
            let options = (0..=until - SEGMENT_MIN_S).map(|from| best[from] + cost(from, until) + penalty);
            best[until] = options.fold(f64::INFINITY, f64::min);
        }
        best[series.len()]
    }

    #[test]
    fn pruning_keeps_the_optimum() {
        let mut rng = Rng::new(4);
        for round in 0..50 {
            let mut level = 0.0;
            let series: Vec<f64> = (0..60)
                .map(|_| {
                    level += if rng.uniform() < 0.08 { 3.0 * rng.normal() } else { 0.0 };
                    level + rng.normal()
                })
                .collect();
            let penalty = 4.0;
            let cuts = pelt(&series, penalty);
            let bounds: Vec<usize> = [0].into_iter().chain(cuts).chain([60]).collect();
            let cost = |pair: &[usize]| squares(&series[pair[0]..pair[1]]) + penalty;
            let total = bounds.windows(2).map(cost).sum::<f64>() - penalty;
            assert!((total - unpruned(&series, penalty)).abs() < 1e-9, "round {round}: {bounds:?}");
        }
    }

    /// Correlated noise is not a change of level; with a penalty for independent seconds nine of ten such
    /// series would have one.
    #[test]
    fn correlated_noise_is_steady() {
        let mut rng = Rng::new(2);
        let mut unsteady = |seconds| {
            let series = |_| is_steady(&noisy_rates(&mut rng, 0.02, 0.7, seconds));
            (0..200).map(series).filter(|found| !found.steady).count()
        };
        let (short, long) = (unsteady(60), unsteady(600));
        assert!(short <= 10 && long <= 10, "{short} and {long} of 200");
    }

    /// A warm-up in the first half leaves a window usable, a change in the last half does not.
    #[test]
    fn changes_are_found_where_they_are() {
        let mut rng = Rng::new(3);
        let with_step = |rng: &mut Rng, at: usize| {
            let mut series = noisy_rates(rng, 0.01, 0.5, 120);
            series[..at].iter_mut().for_each(|rate| *rate *= 0.9);
            is_steady(&series)
        };
        let early = with_step(&mut rng, 30);
        assert!(
            early.steady && early.cuts.iter().all(|cut| cut.abs_diff(30) <= 1) && early.cuts.len() == 1,
            "{early:?}"
        );
        let late = with_step(&mut rng, 80);
        assert!(!late.steady && late.cuts.last().is_some_and(|cut| cut.abs_diff(80) <= 1), "{late:?}");
        assert!(!is_steady(&[1.0; 10]).steady, "ten seconds show nothing");
        assert!(is_steady(&[1.0; 100]).steady);
    }
}
