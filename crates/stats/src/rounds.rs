//! Rounds of a window in which arms took turns. Two arms' turns within some milliseconds of each other form a
//! pair; a window's figure is the location of the log ratios of its pairs.
//!
//! Turns get interrupted, so the tails are heavy: the location is a mean without the extreme fifth at either
//! end. Neighbouring rounds are correlated, so the error is computed from batches that are longer than the
//! correlation: winsorized values (Tukey and McLaughlin 1963), averaged over batches (Conway 1963; Law and
//! Kelton, Simulation Modeling and Analysis, 9.5.3).

use rqps_model::sample::{mean, variance};

/// Share of the rounds that is trimmed at either end.
const TRIMMED: f64 = 0.2;
/// Number of batches if there are enough rounds.
const BATCHES: usize = 20;
/// Minimum rounds per batch, to exceed the correlation of neighbours.
const ROUNDS_PER_BATCH_MIN: usize = 4;

/// Location of a window's rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Location {
    pub mean: f64,
    /// Standard error of the mean within the window; `None` for too few rounds. It does not include what is
    /// constant between two starts of a server, which only blocks show.
    pub error: Option<f64>,
    pub rounds: usize,
}

/// The trimmed mean of values in chronological order; `None` if there are none.
pub fn location(values: &[f64]) -> Option<Location> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * TRIMMED) as usize;
    let kept = sorted.get(cut..sorted.len() - cut)?;
    let (first, last) = (kept.first()?, kept.last()?);
    let mean = mean(kept);
    let winsorized: Vec<f64> = values.iter().map(|value| value.clamp(*first, *last)).collect();
    Some(Location { mean, error: error(&winsorized), rounds: values.len() })
}

/// Standard error of a trimmed mean, from its winsorized values in chronological order.
fn error(winsorized: &[f64]) -> Option<f64> {
    let batches = BATCHES.min(winsorized.len() / ROUNDS_PER_BATCH_MIN);
    if batches < 2 {
        return None;
    }
    let rounds = winsorized.len() / batches;
    let means: Vec<f64> = winsorized.chunks_exact(rounds).take(batches).map(mean).collect();
    let of_mean = variance(&means) / batches as f64;
    Some(of_mean.sqrt() / (1.0 - 2.0 * TRIMMED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    /// Windows of rounds with a true location of 0: the RMS of their means, and of their errors.
    fn windows(rounds: usize, mut round: impl FnMut(&mut Rng) -> f64) -> (f64, f64) {
        let mut rng = Rng::new(11);
        let found: Vec<Location> = (0..600)
            .map(|_| location(&(0..rounds).map(|_| round(&mut rng)).collect::<Vec<f64>>()).unwrap())
            .collect();
        let squares = |of: fn(&Location) -> f64| {
            (found.iter().map(|one| of(one).powi(2)).sum::<f64>() / found.len() as f64).sqrt()
        };
        (squares(|one| one.mean), squares(|one| one.error.unwrap()))
    }

    #[test]
    fn error_matches_the_spread_of_means() {
        let (spread, error) = windows(200, Rng::normal);
        assert!((error / spread - 1.0).abs() < 0.1, "independent: {error} {spread}");
        let mut level = 0.0;
        let (spread, error) = windows(200, |rng| {
            level = 0.5 * level + rng.normal();
            level
        });
        assert!((error / spread - 1.0).abs() < 0.15, "correlated: {error} {spread}");
        let (trimmed, error) = windows(200, |rng| {
            let is_interrupted = rng.normal() > 1.3;
            rng.normal() + if is_interrupted { 20.0 * rng.normal() } else { 0.0 }
        });
        assert!(trimmed < 0.13 && (error / trimmed - 1.0).abs() < 0.15, "interrupted: {error} {trimmed}");
    }

    #[test]
    fn few_rounds_have_a_mean_but_no_error() {
        assert_eq!(location(&[]), None);
        assert_eq!(location(&[2.0]), Some(Location { mean: 2.0, error: None, rounds: 1 }));
        let five = location(&[1.0, 2.0, 3.0, 2.0, 1e9]).unwrap();
        assert!((five.mean - 7.0 / 3.0).abs() < 1e-12, "{five:?}");
    }
}
