//! Student's t, and derivatives of the log-gamma function for fitting the prior.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::digamma;

/// Above this, t and the normal distribution agree to six digits at the tails used here.
const DF_NORMAL: f64 = 1e6;
/// Maximum Newton steps of the inverse of trigamma; four suffice from its initial value.
const STEPS_MAX: usize = 50;

/// Probability that |T| exceeds |`t`| with `df` degrees of freedom.
pub(crate) fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    if df > DF_NORMAL {
        return erfc(t.abs() / std::f64::consts::SQRT_2);
    }
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// The value that t exceeds with probability `p` (below one half) with `df` degrees of freedom; infinite for
/// `df` 0.
pub fn t_upper(p: f64, df: f64) -> f64 {
    if p <= 0.0 || df <= 0.0 {
        return f64::INFINITY;
    }
    if df > DF_NORMAL {
        return std::f64::consts::SQRT_2 * erfc_inv(2.0 * p);
    }
    StudentsT::new(0.0, 1.0, df).map_or(f64::INFINITY, |t| -t.inverse_cdf(p))
}

/// The `p` quantile of the chi-square distribution with `df` degrees of freedom.
pub(crate) fn chi_square_lower(p: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(0.0, |chi_square| chi_square.inverse_cdf(p))
}

/// Expected value of ln(X / `df`) for a chi-square variable X with `df` degrees of freedom.
pub(crate) fn mean_ln_chi_square(df: f64) -> f64 {
    if df.is_infinite() { 0.0 } else { digamma(df / 2.0) - (df / 2.0).ln() }
}

/// Second derivative of ln gamma, for x > 0: recurrence up to 10, then the asymptotic series (Abramowitz and
/// Stegun 1964, 6.4.6 and 6.4.12).
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

/// Third derivative of ln gamma, for x > 0, by the same method.
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

/// The x with trigamma(x) = `y` > 0, by Newton's method on 1/trigamma (Smyth 2004, appendix).
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

    /// Two-sided reference values, including tails: R's `qt(1 - p, df)`.
    #[test]
    fn t_matches_reference_values() {
        let reference = [
            (0.025, 1.0, 12.7062),
            (0.025, 2.0, 4.30265),
            (0.005, 5.0, 4.03214),
            (0.0005, 10.0, 4.58689),
            (0.0005, 4.0, 8.61030),
            (0.05, 30.0, 1.69726),
            (0.025, f64::INFINITY, 1.95996),
            (0.0005, f64::INFINITY, 3.29053),
        ];
        for (p, df, t) in reference {
            assert!((t_upper(p, df) / t - 1.0).abs() < 2e-5, "{p} {df}: {} for {t}", t_upper(p, df));
            assert!((t_two_sided(t, df) / (2.0 * p) - 1.0).abs() < 2e-4, "{p} {df}");
        }
    }

    proptest! {
        /// Decisions compare both t with a quantile and p with alpha, so these must agree, also in the far
        /// tails.
        #[test]
        fn quantile_and_probability_agree(ln_p in -14.0..-1.0f64, df in 1.0..200.0f64) {
            let p = ln_p.exp();
            let back = t_two_sided(t_upper(p / 2.0, df), df);
            prop_assert!((back / p - 1.0).abs() < 1e-4, "{} for {}", back, p);
        }
    }

    #[test]
    fn trigamma_matches_reference_values() {
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
