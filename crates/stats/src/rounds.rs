//! Rounds of a window in which arms took turns. Two arms' turns within some milliseconds of each other form a
//! pair; a window's figure is the location of the log ratios of its pairs.
//!
//! Turns get interrupted, so the tails are heavy: the location is a mean without the extreme fifth at either
//! end. That holds for turns that are interrupted alike. Those of an arm that takes many times as long for the same
//! work are interrupted more often than most of the others are, so for them the quotients are those of totals.
//! Neighbouring rounds are correlated, so the error is computed from batches that are longer than the
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

/// Two arms' turns in a round, each with the two amounts whose quotient is its figure.
pub type Round = [(f64, f64); 2];

/// Logarithm of the ratio between the arms' quotients of totals over rounds in chronological order; `None` if there are
/// none.
pub fn of_totals(rounds: &[Round]) -> Option<Location> {
    let ln_quotient = |rounds: &[Round], arm: usize| -> f64 {
        let total =
            |amount: fn(&(f64, f64)) -> f64| rounds.iter().map(|round| amount(&round[arm])).sum::<f64>();
        (total(|turn| turn.0) / total(|turn| turn.1)).ln()
    };
    let ln_ratio = |rounds: &[Round]| ln_quotient(rounds, 0) - ln_quotient(rounds, 1);
    if rounds.is_empty() {
        return None;
    }
    let of_mean = in_batches(rounds, ln_ratio).map(|ratios| variance(&ratios) / ratios.len() as f64);
    Some(Location { mean: ln_ratio(rounds), error: of_mean.map(f64::sqrt), rounds: rounds.len() })
}

/// A figure of each batch of rounds; `None` for too few of them.
fn in_batches<T>(rounds: &[T], of: impl Fn(&[T]) -> f64) -> Option<Vec<f64>> {
    let batches = BATCHES.min(rounds.len() / ROUNDS_PER_BATCH_MIN);
    (batches >= 2).then(|| rounds.chunks_exact(rounds.len() / batches).take(batches).map(of).collect())
}

/// Standard error of a trimmed mean, from its winsorized values in chronological order.
fn error(winsorized: &[f64]) -> Option<f64> {
    let means = in_batches(winsorized, mean)?;
    let of_mean = variance(&means) / means.len() as f64;
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

    /// Another program takes the CPU for 5 ms, 100 times a second of work: turns of 1 ms mostly escape it, of 100 ms
    /// none does. The true ratio is 1/100.
    #[test]
    fn totals_are_right_where_one_arm_is_interrupted_more() {
        let mut rng = Rng::new(17);
        let mut turn = |ms: f64| {
            let steps = (ms * 10.0) as usize;
            let interrupts = (0..steps).filter(|_| rng.uniform() < 0.01).count();
            (1.0, ms + 5.0 * interrupts as f64)
        };
        let rounds: Vec<Round> = (0..4000).map(|_| [turn(100.0), turn(1.0)]).collect();
        let lns: Vec<f64> = rounds.iter().map(|[own, base]| (base.1 / own.1).ln()).collect();
        let (trimmed, totals) = (location(&lns).unwrap(), of_totals(&rounds).unwrap());
        assert!(trimmed.mean < (1.0f64 / 100.0).ln() - 0.2, "too slow: {trimmed:?}");
        let error = totals.error.unwrap();
        assert!((totals.mean - (1.0f64 / 100.0).ln()).abs() < 3.0 * error && error < 0.05, "{totals:?}");
    }

    #[test]
    fn few_rounds_have_a_mean_but_no_error() {
        assert_eq!((location(&[]), of_totals(&[])), (None, None));
        assert_eq!(location(&[2.0]), Some(Location { mean: 2.0, error: None, rounds: 1 }));
        let five = location(&[1.0, 2.0, 3.0, 2.0, 1e9]).unwrap();
        assert!((five.mean - 7.0 / 3.0).abs() < 1e-12, "{five:?}");
    }
}
