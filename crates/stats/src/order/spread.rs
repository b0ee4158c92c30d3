//! The spread of a figure over orders of steps, beside its noise within an order.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// A test's ratio over several orders. Standard deviations are of its logarithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    pub orders: usize,
    /// Geometric mean of the ratio, and the lowest and the highest mean of an order.
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    /// Of a pass.
    pub noise_sd: f64,
    /// Between orders, without the noise.
    pub order_sd: f64,
    /// Probability that noise alone spreads the orders this much: one-way analysis of variance.
    pub p: f64,
}

impl Spread {
    /// From the logarithms of each order's passes; `None` with fewer than two orders of two passes. Orders with other
    /// numbers of passes than the first are left out.
    pub fn of(orders: &[Vec<f64>]) -> Option<Self> {
        let passes = orders.first()?.len();
        let orders: Vec<&Vec<f64>> = orders.iter().filter(|one| one.len() == passes).collect();
        if orders.len() < 2 || passes < 2 {
            return None;
        }
        let means: Vec<f64> = orders.iter().map(|passes| super::mean(passes)).collect();
        let within = (orders.len() * (passes - 1)) as f64;
        let between = (orders.len() - 1) as f64;
        let noise = orders.iter().map(|passes| squares(passes)).sum::<f64>() / within;
        let variance = squares(&means) / between;
        let of_noise = noise / passes as f64;
        let f = FisherSnedecor::new(between, within).ok()?;
        let extreme = |pick: fn(f64, f64) -> f64| means.iter().copied().reduce(pick).map(f64::exp);
        Some(Spread {
            orders: orders.len(),
            mean: super::mean(&means).exp(),
            low: extreme(f64::min)?,
            high: extreme(f64::max)?,
            noise_sd: noise.sqrt(),
            order_sd: (variance - of_noise).max(0.0).sqrt(),
            p: if of_noise > 0.0 { f.sf(variance / of_noise) } else { 1.0 },
        })
    }
}

fn squares(values: &[f64]) -> f64 {
    let mean = super::mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    fn drawn(rng: &mut Rng, order_sd: f64) -> Vec<Vec<f64>> {
        let order = |rng: &mut Rng| {
            let level = order_sd * rng.normal();
            rng.normals(2).into_iter().map(|z| level + 0.02 * z).collect()
        };
        (0..8).map(|_| order(rng)).collect()
    }

    #[test]
    fn orders_are_told_from_noise() {
        let mut rng = Rng::new(7);
        let mut called = |order_sd: f64| {
            let is_called = |_: &usize| Spread::of(&drawn(&mut rng, order_sd)).unwrap().p < 0.01;
            (0..1000).filter(is_called).count()
        };
        let (nulls, true_ones) = (called(0.0), called(0.08));
        assert!(nulls <= 20, "{nulls} of 1000 false");
        assert!(true_ones >= 950, "{true_ones} of 1000 found");
    }

    #[test]
    fn the_two_spreads_are_estimated_apart() {
        let mut rng = Rng::new(8);
        let all: Vec<Spread> = (0..2000).map(|_| Spread::of(&drawn(&mut rng, 0.06)).unwrap()).collect();
        let mean =
            |of: fn(&Spread) -> f64| all.iter().map(|one| of(one).powi(2)).sum::<f64>() / all.len() as f64;
        assert!((mean(|one| one.noise_sd).sqrt() / 0.02 - 1.0).abs() < 0.03);
        assert!((mean(|one| one.order_sd).sqrt() / 0.06 - 1.0).abs() < 0.03);
    }
}
