//! Student's t, and the derivatives of the logarithm of the gamma function that the prior is fitted with.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::digamma;

/// Beyond this the normal distribution is the same to six digits at the tails that are used here.
const DF_NORMAL: f64 = 1e6;
/// Newton steps of the inverse of trigamma; four are enough from where it starts.
const STEPS_MAX: usize = 50;

/// Probability that |t| with `df` degrees of freedom exceeds `t` in either direction.
pub(crate) fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    if df > DF_NORMAL {
        return erfc(t.abs() / std::f64::consts::SQRT_2);
    }
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// The t that is exceeded with probability `p` (below one half), with `df` degrees of freedom; infinite without any.
pub fn t_upper(p: f64, df: f64) -> f64 {
    if p <= 0.0 || df <= 0.0 {
        return f64::INFINITY;
    }
    if df > DF_NORMAL {
        return std::f64::consts::SQRT_2 * erfc_inv(2.0 * p);
    }
    StudentsT::new(0.0, 1.0, df).map_or(f64::INFINITY, |t| -t.inverse_cdf(p))
}

/// The value that a chi-square variable with `df` degrees of freedom stays below with probability `p`.
pub(crate) fn chi_square_lower(p: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(0.0, |its| its.inverse_cdf(p))
}

/// Mean of ln of a chi-square variable over its degrees of freedom `df`.
pub(crate) fn mean_ln_chi_square(df: f64) -> f64 {
    if df.is_infinite() { 0.0 } else { digamma(df / 2.0) - (df / 2.0).ln() }
}

/// Second derivative of ln gamma, for x > 0: recurrence up to 10, then the asymptotic series
/// (Abramowitz and Stegun 1964, 6.4.6 and 6.4.12).
pub(crate) fn trigamma(x: f64) -> f64 {
    let mut x = x;
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0))));
    sum + (1.0 + 0.5 / x + tail) / x
}

/// Third derivative of ln gamma, for x > 0, by the same means.
fn tetragamma(x: f64) -> f64 {
    let mut x = x;
    let mut sum = 0.0;
    while x < 10.0 {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum - y * (1.0 + 1.0 / x + y * (0.5 - y * (1.0 / 6.0 - y * (1.0 / 6.0 - y * 0.3))))
}

/// The x at which trigamma is `y` > 0, by Newton's method on 1/trigamma (Smyth 2004, appendix).
pub(crate) fn trigamma_inverse(y: f64) -> f64 {
    if y > 1e7 {
        return 1.0 / y.sqrt();
    }
    if y < 1e-6 {
        return 1.0 / y;
    }
    let mut x = 0.5 + 1.0 / y;
    for _ in 0..STEPS_MAX {
        let here = trigamma(x);
        let step = here * (1.0 - here / y) / tetragamma(x);
        x += step;
        if (-step / x).abs() < 1e-10 {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two-sided tables of t, tails included: R's `qt(1 - p, df)`.
    #[test]
    fn t_is_as_printed() {
        let printed = [
            (0.025, 1.0, 12.7062),
            (0.025, 2.0, 4.30265),
            (0.005, 5.0, 4.03214),
            (0.0005, 10.0, 4.58689),
            (0.0005, 4.0, 8.61030),
            (0.05, 30.0, 1.69726),
            (0.025, f64::INFINITY, 1.95996),
            (0.0005, f64::INFINITY, 3.29053),
        ];
        for (p, df, t) in printed {
            assert!((t_upper(p, df) / t - 1.0).abs() < 2e-5, "{p} {df}: {} for {t}", t_upper(p, df));
            assert!((t_two_sided(t, df) / (2.0 * p) - 1.0).abs() < 2e-4, "{p} {df}");
        }
    }

    proptest! {
        /// Decisions compare t with a quantile, p with alpha: both have to agree, far tails included.
        #[test]
        fn quantile_and_probability_agree(ln_p in -14.0..-1.0f64, df in 1.0..200.0f64) {
            let p = ln_p.exp();
            let back = t_two_sided(t_upper(p / 2.0, df), df);
            prop_assert!((back / p - 1.0).abs() < 1e-4, "{} for {}", back, p);
        }
    }

    #[test]
    fn trigamma_is_as_printed() {
        let pi2 = std::f64::consts::PI.powi(2);
        for (x, y) in
            [(1.0, pi2 / 6.0), (0.5, pi2 / 2.0), (2.0, pi2 / 6.0 - 1.0), (10.0, 0.105_166_335_681_686)]
        {
            assert!((trigamma(x) / y - 1.0).abs() < 1e-10, "{x}: {}", trigamma(x));
            assert!((trigamma_inverse(y) / x - 1.0).abs() < 1e-8, "{y}: {}", trigamma_inverse(y));
        }
        for x in [1e-5, 0.02, 3.0, 77.0, 3e6] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-6, "{x}");
        }
    }
}
