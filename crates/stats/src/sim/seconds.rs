//! Rates second by second, as a server gives them: a model for everything that reads series.

use super::Rng;

/// Seconds over which the machine's drift forgets.
const DRIFT_S: f64 = 1200.0;
const STALL_S: usize = 10;
/// What a stall leaves of the rate, as a logarithm.
const STALL_LN: f64 = -1.0;

/// The logarithm of a second's rate is the sum of a draw per restart, a slow drift of the machine (Ornstein-Uhlenbeck,
/// 20 minutes), autoregressive noise, and rare stalls of ten seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds {
    /// Standard deviation from restart to restart.
    pub restart_sd: f64,
    /// Standard deviation of the drift.
    pub drift_sd: f64,
    /// Standard deviation of one second.
    pub second_sd: f64,
    /// Correlation of a second's noise with the next one's.
    pub phi: f64,
    /// Stalls per second.
    pub stall_rate: f64,
}

impl Seconds {
    pub const QUIET: Seconds =
        Seconds { restart_sd: 0.004, drift_sd: 0.005, second_sd: 0.01, phi: 0.5, stall_rate: 0.0 };
    pub const NOISY: Seconds =
        Seconds { restart_sd: 0.01, drift_sd: 0.01, second_sd: 0.02, phi: 0.7, stall_rate: 1.0 / 1800.0 };

    /// Rates of `seconds` after one restart, around `rate` per second.
    pub fn draw(&self, rng: &mut Rng, rate: f64, seconds: usize) -> Vec<f64> {
        let restart = self.restart_sd * rng.normal();
        let keep = (-1.0 / DRIFT_S).exp();
        let mut drift = self.drift_sd * rng.normal();
        let mut noise = self.second_sd * rng.normal();
        let mut stalled = 0;
        let mut second = |_| {
            drift = keep * drift + (1.0 - keep * keep).sqrt() * self.drift_sd * rng.normal();
            noise = self.phi * noise + (1.0 - self.phi * self.phi).sqrt() * self.second_sd * rng.normal();
            stalled = if rng.uniform() < self.stall_rate { STALL_S } else { stalled.saturating_sub(1) };
            let stall = if stalled > 0 { STALL_LN } else { 0.0 };
            rate * (restart + drift + noise + stall).exp()
        };
        (0..seconds).map(&mut second).collect()
    }
}
