//! Random numbers that depend only on the seed, on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

#[derive(Debug, Clone)]
pub struct Rng {
    source: Xoshiro256PlusPlus,
    /// The polar method makes two values at a time.
    spare: Option<f64>,
}

impl Rng {
    /// Seeds a generator.
    pub fn new(seed: u64) -> Rng {
        Rng { source: Xoshiro256PlusPlus::seed_from_u64(seed), spare: None }
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.source.next_u64() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A uniform integer below `bound` > 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound - 1)
    }

    /// Standard normal (Marsaglia and Bray 1964, polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }

    /// A chi-square variable over its degrees of freedom `df` > 0; 1 if they are infinite (Marsaglia and
    /// Tsang 2000).
    pub fn mean_square(&mut self, df: f64) -> f64 {
        if df.is_infinite() {
            return 1.0;
        }
        let shape = df / 2.0;
        // The method needs a shape of at least 1; a power of a uniform variable converts back to a smaller
        // one.
        let boost = if shape < 1.0 { (1.0 - self.uniform()).powf(1.0 / shape) } else { 1.0 };
        let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            let u = 1.0 - self.uniform();
            if v > 0.0 && u.ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return boost * d * v / shape;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means and variances of the draws, within four standard errors.
    #[test]
    fn draws_have_their_moments() {
        let mut rng = Rng::new(1);
        let count = 100_000;
        let moments =
            |draws: Vec<f64>| (rqps_model::sample::mean(&draws), rqps_model::sample::variance(&draws));
        let (mean, variance) = moments(rng.normals(count));
        assert!(mean.abs() < 0.013 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        for df in [1.0, 6.0, 40.5] {
            let (mean, variance) = moments((0..count).map(|_| rng.mean_square(df)).collect());
            assert!((mean - 1.0).abs() < 0.02, "{df}: {mean}");
            assert!((variance * df / 2.0 - 1.0).abs() < 0.12, "{df}: {variance}");
        }
    }
}
