//! Changes beyond any noise, where blocks are too few to tell what theirs is.
//!
//! Three blocks of a test that learns nothing from others leave two degrees of freedom. Student's t then asks that the
//! blocks agree to a thirtieth of the change or better, however large it is. But noise is not unknown altogether: it
//! has a ceiling. So a share of every error, [`SHARE`], goes to a second test, whose variance is moderated towards that
//! of blocks which differ by [`SD`], as if [`DF`] contrasts had shown it. It can show changes of several times from the
//! first look on. It errs no more often than stated where contrasts of equal arms have a standard deviation of up to
//! 0.5, which simulations check (`tests/operating.rs`).

use crate::distribution::{t_two_sided, t_upper};
use crate::pairs::Scale;

/// Standard deviation of contrasts, as a logarithm of the ratio.
const SD: f64 = 0.3;
/// Degrees of freedom with which it is known.
const DF: f64 = 8.0;
/// Share of an error that this test has.
pub(crate) const SHARE: f64 = 0.05;

/// Whether noise has a ceiling: that of logarithms of ratios between means of many events.
pub(crate) fn holds(scale: Scale, is_rare: bool) -> bool {
    scale == Scale::Log && !is_rare
}

/// The second test, of so many contrasts with this sample variance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ceiling {
    /// Standard error of the mean.
    error: f64,
    df: f64,
}

impl Ceiling {
    /// `None` for a single contrast, which has no variance.
    pub(crate) fn of(blocks: usize, variance: f64) -> Option<Ceiling> {
        let own = blocks.checked_sub(1).filter(|own| *own > 0)? as f64;
        let df = DF + own;
        let moderated = (DF * SD * SD + own * variance) / df;
        Some(Ceiling { error: (moderated / blocks as f64).sqrt(), df })
    }

    /// Half width of an interval that misses on either side with probability `tail`.
    pub(crate) fn half_width(&self, tail: f64) -> f64 {
        t_upper(tail, self.df) * self.error
    }

    pub(crate) fn p(&self, mean: f64) -> f64 {
        t_two_sided(mean / self.error, self.df)
    }
}
