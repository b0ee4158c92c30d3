//! Zipf-distributed keys by rejection-inversion (Hörmann & Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", 1996). P(i) is proportional to `i^-exponent`; keys are not
//! scrambled, so hot keys are neighbours.

use rqps_model::random::Stream;

/// The exponent of the `update-zipf` test.
pub const EXPONENT: f64 = 0.8;

/// The distribution over `1..=n`.
#[derive(Debug, Clone, PartialEq)]
pub struct Zipf {
    n: f64,
    exponent: f64,
    /// H(1.5) - 1 and H(n + 0.5): the ends of the interval that is inverted.
    low: f64,
    high: f64,
    /// Width of the zone near the integer that is accepted without evaluating H.
    shortcut: f64,
}

impl Zipf {
    /// `exponent` must be positive and not 1.
    pub fn new(n: u64, exponent: f64) -> Self {
        let mut zipf = Self { n: n as f64, exponent, low: 0.0, high: 0.0, shortcut: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.n + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// How many keys there are.
    pub(crate) fn count(&self) -> u64 {
        self.n as u64
    }

    /// Draws a key in `1..=n`.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let u = self.high + stream.unit() * (self.low - self.high);
            let x = self.inverse(u);
            let key = (x + 0.5).floor().clamp(1.0, self.n);
            if key - x <= self.shortcut || u >= self.integral(key + 0.5) - self.density(key) {
                return key as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        (x.powf(power) - 1.0) / power
    }

    fn inverse(&self, y: f64) -> f64 {
        let power = 1.0 - self.exponent;
        (1.0 + power * y).powf(1.0 / power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact share of the first keys: the sum of i^-0.8 over them, divided by the sum over all.
    fn exact_share(first: u64, n: u64) -> f64 {
        let sum = |to: u64| (1..=to).map(|i| (i as f64).powf(-EXPONENT)).sum::<f64>();
        sum(first) / sum(n)
    }

    #[test]
    fn exact_shares_are_the_published_ones() {
        let n = 10_000_000;
        for (first, percent) in [(1, 0.825), (10, 2.94), (1000, 12.77), (n / 100, 37.6), (n / 10, 61.7)] {
            let share = exact_share(first, n) * 100.0;
            assert!((share / percent - 1.0).abs() < 0.002, "{first}: {share}");
        }
    }

    #[test]
    fn draws_follow_the_exact_shares() {
        for n in [1, 2, 10, 1_000, 10_000_000] {
            let zipf = Zipf::new(n, EXPONENT);
            let mut stream = Stream::new(&[42, n]);
            let draws = 400_000u32;
            let keys: Vec<u64> = (0..draws).map(|_| zipf.draw(&mut stream)).collect();
            assert!(keys.iter().all(|k| (1..=n).contains(k)));
            for first in [1, 10, 1000, n.div_ceil(100), n.div_ceil(10)] {
                if first > n {
                    continue;
                }
                let p = exact_share(first, n);
                let got = keys.iter().filter(|k| **k <= first).count() as f64 / f64::from(draws);
                let sigma = (p * (1.0 - p) / f64::from(draws)).sqrt();
                assert!((got - p).abs() <= 5.0 * sigma, "n={n} first={first}: {got} against {p}");
            }
        }
    }
}
