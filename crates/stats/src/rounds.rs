//! Rounds of a window in which arms took turns: what two arms did within some milliseconds of each other is a pair, and
//! the pairs' logarithms of ratios are what a window's figure is made of.
//!
//! Single turns are interrupted, so the tails are heavy: the location is a mean from which the extreme fifth at either
//! end is left out. Neighbouring rounds are alike, so its error comes of batches that are longer than that lasts:
//! winsorized values (Tukey and McLaughlin 1963), summed over batches (Conway 1963; Law and Kelton, Simulation
//! Modeling and Analysis, 9.5.3).

/// Share of the rounds that is left out at either end.
const TRIMMED: f64 = 0.2;
/// Batches that an error comes of, where there are enough rounds.
const BATCHES: usize = 20;
/// Fewer rounds in each say nothing of how alike neighbours are.
const ROUNDS_PER_BATCH_MIN: usize = 4;

/// Where the rounds of a window lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Location {
    pub mean: f64,
    /// Standard error of the mean within the window; none of too few rounds. It knows nothing of what stays the same
    /// from one start of a server to its end: only blocks do.
    pub error: Option<f64>,
    pub rounds: usize,
}

/// The trimmed mean of values that follow each other in time; none of none.
pub fn location(values: &[f64]) -> Option<Location> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * TRIMMED) as usize;
    let kept = sorted.get(cut..sorted.len() - cut)?;
    let (first, last) = (kept.first()?, kept.last()?);
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    let held: Vec<f64> = values.iter().map(|value| value.clamp(*first, *last)).collect();
    Some(Location { mean, error: error(&held), rounds: values.len() })
}

/// Standard error of a trimmed mean, from its winsorized values in their order.
fn error(held: &[f64]) -> Option<f64> {
    let batches = BATCHES.min(held.len() / ROUNDS_PER_BATCH_MIN);
    if batches < 2 {
        return None;
    }
    let rounds = held.len() / batches;
    let means: Vec<f64> = held
        .chunks_exact(rounds)
        .take(batches)
        .map(|batch| batch.iter().sum::<f64>() / rounds as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / batches as f64;
    let squares: f64 = means.iter().map(|batch| (batch - mean).powi(2)).sum();
    let of_mean = squares / (batches - 1) as f64 / batches as f64;
    Some(of_mean.sqrt() / (1.0 - 2.0 * TRIMMED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    /// Windows of rounds whose true location is 0: how far their means lie apart, and the error that they tell.
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
    fn the_error_is_how_far_means_lie_apart() {
        let (apart, told) = windows(200, Rng::normal);
        assert!((told / apart - 1.0).abs() < 0.1, "independent: {told} {apart}");
        let mut level = 0.0;
        let (apart, told) = windows(200, |rng| {
            level = 0.5 * level + rng.normal();
            level
        });
        assert!((told / apart - 1.0).abs() < 0.15, "neighbours alike: {told} {apart}");
        let (trimmed, told) = windows(200, |rng| {
            let is_interrupted = rng.normal() > 1.3;
            rng.normal() + if is_interrupted { 20.0 * rng.normal() } else { 0.0 }
        });
        assert!(trimmed < 0.13 && (told / trimmed - 1.0).abs() < 0.15, "interrupted: {told} {trimmed}");
    }

    #[test]
    fn few_rounds_have_a_mean_and_no_error() {
        assert_eq!(location(&[]), None);
        assert_eq!(location(&[2.0]), Some(Location { mean: 2.0, error: None, rounds: 1 }));
        let five = location(&[1.0, 2.0, 3.0, 2.0, 1e9]).unwrap();
        assert!((five.mean - 7.0 / 3.0).abs() < 1e-12, "{five:?}");
    }
}
