//! Rounds of a window in which arms took turns. Two arms' turns within some milliseconds of each other form a
//! pair; a window's figure is the location of the log ratios of its pairs.
//!
//! Turns get interrupted, so the tails are heavy: the location is a mean without the extreme fifth at either
//! end. For times that holds if both turns of a pair last equally long. Another program that comes along every few
//! milliseconds hits an arm that takes twice as long for the same work twice as often, and the location moves. So
//! [`times`] compares each turn of the slower arm with as many turns of the faster one, of neighbouring rounds, as last
//! as long: what is interrupted alike is again equally likely at both ends. Between two whole numbers of turns it
//! interpolates. Neighbouring rounds differ in their events, and a host in its speed; both show in the CPU time of the
//! sessions, by which a round's times are divided first.
//!
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
    trimmed(values.to_vec()).map(Estimate::location)
}

/// How long two arms' turns of a round took for the same work.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    pub own: f64,
    pub base: f64,
    /// CPU time of the sessions for that work, the geometric mean of both arms; the same in all rounds if unknown.
    pub cpu: f64,
}

/// How often the times of turns are compared anew, with as many turns of the faster arm as the last comparison tells.
const COMPARISONS: usize = 5;
/// Change of the logarithm of the ratio below which it is final.
const SETTLED: f64 = 1e-5;

/// Logarithm of the ratio of own to base's times over rounds in chronological order; `None` if there are none.
pub fn times(rounds: &[Round]) -> Option<Location> {
    let own: Vec<f64> = rounds.iter().map(|round| round.own / round.cpu).collect();
    let base: Vec<f64> = rounds.iter().map(|round| round.base / round.cpu).collect();
    let mut found = against(&own, &base, 1)?;
    for _ in 0..COMPARISONS {
        let last = found.mean;
        found = supposing(&own, &base, last)?;
        if (found.mean - last).abs() < SETTLED {
            break;
        }
    }
    Some(found.location())
}

/// A trimmed mean, and winsorized values in chronological order whose mean has its error, once divided by the share
/// that is kept.
struct Estimate {
    mean: f64,
    winsorized: Vec<f64>,
}

impl Estimate {
    fn location(self) -> Location {
        Location { mean: self.mean, error: error(&self.winsorized), rounds: self.winsorized.len() }
    }
}

fn trimmed(mut values: Vec<f64>) -> Option<Estimate> {
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * TRIMMED) as usize;
    let kept = sorted.get(cut..sorted.len() - cut)?;
    let (first, last) = (kept.first()?, kept.last()?);
    values.iter_mut().for_each(|value| *value = value.clamp(*first, *last));
    Some(Estimate { mean: mean(kept), winsorized: values })
}

/// Logarithm of the ratio of own to base's times, with as many turns of the faster arm as it is by this supposed
/// logarithm.
fn supposing(own: &[f64], base: &[f64], supposed: f64) -> Option<Estimate> {
    if supposed < 0.0 {
        let inverse = supposing(base, own, -supposed)?;
        return Some(Estimate { mean: -inverse.mean, ..inverse });
    }
    let turns = supposed.exp();
    let (fewer, more) = (against(own, base, turns as usize)?, against(own, base, turns as usize + 1)?);
    let between = |fewer: f64, more: f64| fewer + turns.fract() * (more - fewer);
    let pairs = fewer.winsorized.iter().zip(&more.winsorized);
    let winsorized = pairs.map(|(fewer, more)| between(*fewer, *more)).collect();
    Some(Estimate { mean: between(fewer.mean, more.mean), winsorized })
}

/// Logarithm of the ratio of own to base's times, each of own turns compared with so many of base's.
fn against(own: &[f64], base: &[f64], turns: usize) -> Option<Estimate> {
    let means = running_means(base, turns);
    let mut found = trimmed(own.iter().zip(&means).map(|(own, mean)| (own / mean).ln()).collect())?;
    // Running means hardly vary between batches that are shorter than they. So what each of base's turns adds to them
    // is counted at its own round: with the share that is kept, since trimmed rounds don't pass it on.
    for (value, (base, mean)) in found.winsorized.iter_mut().zip(base.iter().zip(&means)) {
        *value += (1.0 - 2.0 * TRIMMED) * (1.0 - base / mean);
    }
    Some(found)
}

/// The mean of so many values around each value; at either end, of the first or the last ones.
fn running_means(values: &[f64], width: usize) -> Vec<f64> {
    let width = width.clamp(1, values.len().max(1));
    if width == 1 {
        return values.to_vec();
    }
    let first = |at: usize| at.saturating_sub(width / 2).min(values.len() - width);
    let mut sum: f64 = values[..width].iter().sum();
    let mut means = Vec::with_capacity(values.len());
    for at in 0..values.len() {
        if at > 0 && first(at) > first(at - 1) {
            sum += values[first(at) + width - 1] - values[first(at - 1)];
        }
        means.push(sum / width as f64);
    }
    means
}

/// Standard error of a trimmed mean, from its winsorized values in chronological order; `None` for too few of them.
fn error(winsorized: &[f64]) -> Option<f64> {
    let batches = BATCHES.min(winsorized.len() / ROUNDS_PER_BATCH_MIN);
    if batches < 2 {
        return None;
    }
    let means: Vec<f64> =
        winsorized.chunks_exact(winsorized.len() / batches).take(batches).map(mean).collect();
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

    const WINDOWS: usize = 40;

    /// A host in whose rounds one arm takes as many times as long as the other, whose turns of 5 ms.
    struct Host {
        times: f64,
        rounds: usize,
        /// Interruptions per millisecond.
        rate: f64,
        /// Standard deviation of the logarithm of a round's work.
        work: f64,
    }

    impl Host {
        /// What other programs add to a turn: 10 ms on average each time.
        fn interrupted(&self, rng: &mut Rng, ms: f64) -> f64 {
            let exponential = |rng: &mut Rng| -(1.0 - rng.uniform()).ln();
            let (mut at, mut added) = (exponential(rng) / self.rate, 0.0);
            while at < ms {
                added += 10.0 * exponential(rng);
                at += exponential(rng) / self.rate;
            }
            added
        }

        fn rounds(&self, rng: &mut Rng) -> Vec<Round> {
            let mut speed = 0.0;
            let turn = |rng: &mut Rng, ms: f64| {
                let ms = ms * (0.03 * rng.normal()).exp();
                ms + self.interrupted(rng, ms)
            };
            let round = |_| {
                speed = 0.95 * speed + 0.025 * rng.normal();
                let ms = 5.0 * (speed + self.work * rng.normal()).exp();
                let cpu = ms * (0.02 * rng.normal()).exp();
                Round { own: turn(rng, ms * self.times), base: turn(rng, ms), cpu }
            };
            (0..self.rounds).map(round).collect()
        }

        /// Of many windows: the mean deviation from the truth of an estimate, its standard deviation, and the RMS of
        /// its errors.
        fn deviations(&self, estimate: impl Fn(&[Round]) -> Location) -> (f64, f64, f64) {
            let mut rng = Rng::new(17);
            let found: Vec<Location> = (0..WINDOWS).map(|_| estimate(&self.rounds(&mut rng))).collect();
            let means: Vec<f64> = found.iter().map(|one| one.mean - self.times.ln()).collect();
            let squares = found.iter().map(|one| one.error.unwrap().powi(2));
            (mean(&means), variance(&means).sqrt(), (squares.sum::<f64>() / WINDOWS as f64).sqrt())
        }
    }

    fn pairs(rounds: &[Round]) -> Location {
        location(&rounds.iter().map(|round| (round.own / round.base).ln()).collect::<Vec<f64>>()).unwrap()
    }

    #[test]
    fn interruptions_do_not_move_ratios_of_times() {
        for (rate, work) in [(0.0005, 0.3), (0.03, 0.3), (0.1, 0.05)] {
            for times_base in [1.02, 1.5, 4.1, 80.0] {
                let rounds = if times_base > 10.0 { 60 } else { 400 };
                let host = Host { times: times_base, rounds, rate, work };
                let (bias, spread, error) = host.deviations(|rounds| times(rounds).unwrap());
                let of_pairs = host.deviations(pairs);
                let found = format!("{rate} {work} {times_base}: {bias} {spread} {error} {of_pairs:?}");
                assert!(bias.abs() < 0.001 + 0.5 * spread, "{found}");
                assert!((error / spread).ln().abs() < 0.35, "{found}");
                assert!(
                    times_base > 1.02 || spread < 1.05 * of_pairs.1,
                    "no loss where turns are alike: {found}"
                );
                assert!(
                    times_base < 1.5 || rate < 0.1 || of_pairs.0 > 0.05,
                    "pairs are interrupted unlike: {found}"
                );
            }
        }
    }

    #[test]
    fn the_inverse_ratio_has_the_same_error() {
        let host = Host { times: 3.3, rounds: 100, rate: 0.03, work: 0.1 };
        let rounds = host.rounds(&mut Rng::new(5));
        let swapped = |round: &Round| Round { own: round.base, base: round.own, ..*round };
        let inverse = times(&rounds.iter().map(swapped).collect::<Vec<Round>>()).unwrap();
        let found = times(&rounds).unwrap();
        assert!(found.mean > 1.0 && (found.mean + inverse.mean).abs() < 1e-12, "{found:?} {inverse:?}");
        assert_eq!(found.error, inverse.error);
    }

    #[test]
    fn few_rounds_have_a_mean_but_no_error() {
        assert_eq!((location(&[]), times(&[])), (None, None));
        let one = Round { own: 4.5, base: 1.0, cpu: 1.0 };
        assert_eq!(times(&[one]), Some(Location { mean: 4.5f64.ln(), error: None, rounds: 1 }));
        assert_eq!(location(&[2.0]), Some(Location { mean: 2.0, error: None, rounds: 1 }));
        let five = location(&[1.0, 2.0, 3.0, 2.0, 1e9]).unwrap();
        assert!((five.mean - 7.0 / 3.0).abs() < 1e-12, "{five:?}");
    }
}
