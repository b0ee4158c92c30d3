//! The group-sequential test: what the blocks show at each look, and what stands at the end.
//!
//! Three statements can be shown: that the ratio is not 1, that it is beyond the minimum effect of interest, that it is
//! within it. Each has its own error, spent over the looks in shares (union bound: nothing has to be assumed of how
//! looks depend on each other). What a look has shown stands whatever later looks show, so the errors hold for any rule
//! of stopping, also for none; that later blocks do not bear a decision out is said by a tag.

use crate::distribution::{t_two_sided, t_upper};
use crate::metric::Direction;
use crate::pairs::{Scale, mean, variance};
use crate::prior::Spread;
use crate::rules::Look;

/// Mean contrast with what is known of its error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) blocks: usize,
    pub(crate) mean: f64,
    /// Sample variance of one block; NaN for one block.
    pub(crate) variance: f64,
    pub(crate) moderated: f64,
    pub(crate) df: f64,
}

impl Estimate {
    /// Of contrasts, at least one.
    pub(crate) fn of(contrasts: &[f64], spread: &Spread) -> Estimate {
        let blocks = contrasts.len();
        let variance = variance(contrasts);
        let (moderated, df) = match blocks {
            1 => spread.moderate(0.0, 0.0),
            _ => spread.moderate(variance, blocks as f64 - 1.0),
        };
        Estimate { blocks, mean: mean(contrasts), variance, moderated, df }
    }

    /// Standard error of the mean.
    pub(crate) fn error(&self) -> f64 {
        (self.moderated / self.blocks as f64).sqrt()
    }

    /// Half the width of an interval that misses by either end with probability `tail`.
    pub(crate) fn reach(&self, tail: f64) -> f64 {
        t_upper(tail, self.df) * self.error()
    }

    fn p(&self) -> f64 {
        if self.mean == 0.0 { 1.0 } else { t_two_sided(self.mean / self.error(), self.df) }
    }
}

/// What is tested, and at which errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) looks: &'a [Look],
    /// This metric's share of the detector's.
    pub(crate) alpha: f64,
    pub(crate) tost_alpha: f64,
    pub(crate) mei: f64,
    pub(crate) scale: Scale,
}

impl Question<'_> {
    /// Contrasts of the changes by the minimum effect of interest, down and up.
    pub(crate) fn band(&self) -> (f64, f64) {
        (self.scale.of_share(-self.mei), self.scale.of_share(self.mei))
    }
}

/// What stands after all looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shown {
    /// The ratio is not 1, and which side of it.
    pub(crate) shift: Option<Direction>,
    /// It is beyond the minimum effect of interest.
    pub(crate) beyond: bool,
    /// It is within it.
    pub(crate) within: bool,
    pub(crate) p_seq: f64,
    /// The last look does not bear out what stands.
    pub(crate) disagree: bool,
}

impl Shown {
    pub(crate) const NOTHING: Shown =
        Shown { shift: None, beyond: false, within: false, p_seq: 1.0, disagree: false };
}

/// Goes through the looks that `contrasts` reach; `spreads` has one entry per look.
pub(crate) fn walk(contrasts: &[f64], spreads: &[Spread], question: &Question) -> Shown {
    let (low, high) = question.band();
    let mut shown = Shown::NOTHING;
    let mut shifts = [false; 2];
    let mut last = None;
    let reached = question.looks.iter().zip(spreads).take_while(|(look, _)| look.blocks <= contrasts.len());
    for (look, spread) in reached {
        let estimate = Estimate::of(&contrasts[..look.blocks], spread);
        shown.p_seq = shown.p_seq.min(estimate.p() / look.spend);
        let reach = estimate.reach(question.alpha * look.spend / 2.0);
        shifts[0] |= estimate.mean + reach < 0.0;
        shifts[1] |= estimate.mean - reach > 0.0;
        shown.beyond |= estimate.mean + reach < low || estimate.mean - reach > high;
        let tost = estimate.reach(question.tost_alpha * look.spend);
        shown.within |= estimate.mean + tost < high && estimate.mean - tost > low;
        last = Some((estimate, tost));
    }
    shown.shift = match shifts {
        [true, false] => Some(Direction::Down),
        [false, true] => Some(Direction::Up),
        _ => None,
    };
    if shifts == [true, true] {
        // Both sides of 1: blocks are not alike, and nothing can be said of their mean.
        return Shown { shift: None, beyond: false, disagree: true, ..shown };
    }
    if let Some((estimate, tost)) = last {
        let faded = shown.shift.is_some_and(|shift| match shift {
            Direction::Down => estimate.mean + tost >= 0.0,
            Direction::Up => estimate.mean - tost <= 0.0,
        });
        let left = shown.within && !(low..=high).contains(&estimate.mean);
        shown.disagree = faded || left || (shown.beyond && shown.within);
    }
    shown
}

/// Further blocks after which something is shown with 80 % probability if the ratio is what it seems, and whether the
/// looks suffice for it. None where the variance is not known.
///
/// Blocks needed are `((t_a + t_b) s / g)²`, with g the distance to what has to be excluded: 1 for a change, the nearer
/// end of the band for `same`.
pub(crate) fn predict(now: &Estimate, spread: &Spread, question: &Question) -> Option<(usize, bool)> {
    if !(now.moderated > 0.0 && now.df > 0.0) {
        return None;
    }
    let (low, high) = question.band();
    let to_band = (high - now.mean).min(now.mean - low);
    let needed = |look: &Look, blocks: usize| {
        let df = spread.df_with(blocks as f64 - 1.0);
        let power = t_upper(0.2, df);
        let for_distance = |tail: f64, distance: f64| {
            if distance <= 0.0 {
                return f64::INFINITY;
            }
            ((t_upper(tail, df) + power) / distance).powi(2) * now.moderated
        };
        let for_change = for_distance(question.alpha * look.spend / 2.0, now.mean.abs());
        for_change.min(for_distance(question.tost_alpha * look.spend, to_band)).ceil() as usize
    };
    let ahead = question.looks.iter().filter(|look| look.blocks > now.blocks);
    for look in ahead {
        if needed(look, look.blocks) <= look.blocks {
            return Some((look.blocks - now.blocks, true));
        }
    }
    let last = question.looks.last()?;
    let total = needed(last, last.blocks).max(last.blocks + 1);
    Some((total.saturating_sub(now.blocks).max(1), false))
}
