//! The group-sequential test: what the blocks show at each look, and what stands at the end.
//!
//! Three statements can be shown: that the ratio is not 1, that it is beyond the minimum effect of interest, that it is
//! within it. Each has its own error, spent over the looks in shares (union bound: nothing has to be assumed of how
//! looks depend on each other). What a look has shown stands whatever later looks show, so the errors hold for any rule
//! of stopping, also for none; that later blocks do not bear a decision out is said by a tag.

use crate::direction::Direction;
use crate::distribution::{t_two_sided, t_upper};
use crate::exact::{self, Exact, ROUNDING, chance};
use crate::pairs::{Pairs, Scale, Votes, mean, variance};
use crate::prior::Spread;
use crate::rules::Look;
use crate::signs;

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
    pub(crate) alpha: f64,
    pub(crate) tost_alpha: f64,
    /// What matters, as a share of base.
    pub(crate) mei: f64,
    /// What matters at any rate, in units of the metric; for exact comparisons.
    pub(crate) least: f64,
    pub(crate) kind: Kind<'a>,
}

/// What is asked besides Student's t.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// Nothing, as long as blocks vary.
    Continuous,
    /// Whether events of one size would do.
    Counter,
    /// Of rare events, how the windows of each block differ: a change has to show in them too, and `same` stands only
    /// as long as it holds.
    Rare(&'a [Votes]),
}

impl Question<'_> {
    /// Contrasts of the changes by the minimum effect of interest, down and up.
    pub(crate) fn band(&self, scale: Scale) -> (f64, f64) {
        (scale.of_share(-self.mei), scale.of_share(self.mei))
    }

    fn is_rare(&self) -> bool {
        matches!(self.kind, Kind::Rare(_))
    }

    /// The least p value that this look's blocks can give, whatever t says.
    fn p_least(&self, data: &Data<'_>, look: &Look, estimate: &Estimate) -> f64 {
        let direction = Direction::of(estimate.mean);
        let is_constant = estimate.variance <= ROUNDING * ROUNDING;
        match self.kind {
            Kind::Rare(votes) => signs::two_sided(&votes[..look.blocks], direction),
            Kind::Continuous if !is_constant => 0.0,
            Kind::Continuous | Kind::Counter => chance(data.pairs, data.control, look.blocks, direction),
        }
    }
}

/// The blocks, and what is known of their noise at each look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data<'a> {
    pub(crate) pairs: &'a Pairs,
    pub(crate) control: Option<&'a Pairs>,
    pub(crate) spreads: &'a [Spread],
}

impl Data<'_> {
    /// What an exact comparison of the first `blocks` blocks says, where the counter is one for it. That base and
    /// control had no stall in some blocks is no proof that they have none.
    pub(crate) fn exact(&self, blocks: usize, question: &Question) -> Option<Exact> {
        let matters = (question.mei, question.least);
        (!question.is_rare()).then(|| exact::compare(self.pairs, self.control, blocks, matters)).flatten()
    }
}

/// What stands after all looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shown {
    /// The ratio is not 1, and which side of it.
    pub(crate) shift: Option<Direction>,
    /// It is beyond the minimum effect of interest.
    pub(crate) beyond: bool,
    pub(crate) within: bool,
    pub(crate) p_seq: f64,
    /// The last look does not bear out what stands.
    pub(crate) disagree: bool,
}

impl Shown {
    pub(crate) const NOTHING: Shown =
        Shown { shift: None, beyond: false, within: false, p_seq: 1.0, disagree: false };
}

#[derive(Debug, Clone, Copy)]
struct Sight {
    p: f64,
    shift: Option<Direction>,
    beyond: bool,
    within: bool,
    /// The mean contrast and how far it reaches, as `same` sees it.
    mean: f64,
    tost: f64,
    band: (f64, f64),
}

fn see_exactly(data: &Data<'_>, look: &Look, question: &Question, exact: Exact) -> Sight {
    let band = question.band(Scale::Log);
    let (direction, beyond) = match exact {
        Exact::Equal => {
            return Sight { p: 1.0, shift: None, beyond: false, within: true, mean: 0.0, tost: 0.0, band };
        }
        Exact::Tiny(direction) => (direction, false),
        Exact::Beyond(direction) => (direction, true),
    };
    let p = chance(data.pairs, data.control, look.blocks, direction);
    let is_called = p <= question.alpha * look.spend;
    let mean = data.pairs.mean_ln_ratio(look.blocks);
    let shift = is_called.then_some(direction);
    Sight { p, shift, beyond: beyond && is_called, within: !beyond, mean, tost: 0.0, band }
}

/// None where base is 0 throughout: there is no ratio to speak of.
fn see(data: &Data<'_>, look: &Look, spread: &Spread, question: &Question) -> Option<Sight> {
    let scale = data.pairs.scale(look.blocks);
    let (low, high) = question.band(scale);
    let estimate = Estimate::of(&data.pairs.contrasts(scale, look.blocks)?, spread);
    let p_least = question.p_least(data, look, &estimate);
    let may_call = p_least <= question.alpha * look.spend;
    let reach = estimate.reach(question.alpha * look.spend / 2.0);
    let (least, most) = (estimate.mean - reach, estimate.mean + reach);
    let tost = estimate.reach(question.tost_alpha * look.spend);
    let shift = match (most < 0.0, least > 0.0) {
        (true, _) => Some(Direction::Down),
        (_, true) => Some(Direction::Up),
        _ => None,
    };
    Some(Sight {
        p: estimate.p().max(p_least),
        shift: shift.filter(|_| may_call),
        beyond: may_call && (most < low || least > high),
        within: estimate.mean + tost < high && estimate.mean - tost > low,
        mean: estimate.mean,
        tost,
        band: (low, high),
    })
}

/// Goes through the looks that the blocks reach; `spreads` has one entry per look.
pub(crate) fn walk(data: &Data<'_>, question: &Question) -> Shown {
    let mut shown = Shown::NOTHING;
    let mut shifts = [false; 2];
    let mut last = None;
    let looks = question.looks.iter().zip(data.spreads);
    for (look, spread) in looks.take_while(|(look, _)| look.blocks <= data.pairs.len()) {
        let sight = match data.exact(look.blocks, question) {
            Some(exact) => Some(see_exactly(data, look, question, exact)),
            None => see(data, look, spread, question),
        };
        let Some(sight) = sight else {
            continue;
        };
        shown.p_seq = shown.p_seq.min(sight.p / look.spend);
        shifts[0] |= sight.shift == Some(Direction::Down);
        shifts[1] |= sight.shift == Some(Direction::Up);
        shown.beyond |= sight.beyond;
        shown.within = sight.within || (shown.within && !question.is_rare());
        last = Some(sight);
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
    if let Some(Sight { mean, tost, band: (low, high), .. }) = last {
        let faded = shown.shift.is_some_and(|shift| match shift {
            Direction::Down => mean + tost >= 0.0,
            Direction::Up => mean - tost <= 0.0,
        });
        let left = shown.within && !(low..=high).contains(&mean);
        shown.disagree = faded || left || (shown.beyond && shown.within);
    }
    shown
}

/// Further blocks after which a counter that differs in all blocks in one direction can be called. None: the looks do
/// not suffice.
pub(crate) fn until_chance_is_small(
    data: &Data<'_>,
    direction: Direction,
    question: &Question,
) -> Option<usize> {
    let now = data.pairs.len();
    let one = chance(data.pairs, data.control, now, direction) / 2.0;
    let mut ahead = question.looks.iter().filter(|look| look.blocks > now);
    // As probable in each further block as on average in those that there are.
    let enough =
        |look: &&Look| 2.0 * one.powf(look.blocks as f64 / now as f64) <= question.alpha * look.spend;
    ahead.find(enough).map(|look| look.blocks - now)
}

/// Further blocks after which something is shown with 80 % probability if the ratio is what it seems, and whether the
/// looks suffice for it. None where the variance is not known.
///
/// Blocks needed are `((t_a + t_b) s / g)²`, with g the distance to what has to be excluded: 1 for a change, the nearer
/// end of the band for `same`.
pub(crate) fn predict(
    now: &Estimate,
    spread: &Spread,
    scale: Scale,
    question: &Question,
) -> Option<(usize, bool)> {
    if !(now.moderated > 0.0 && now.df > 0.0) {
        return None;
    }
    let (low, high) = question.band(scale);
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

#[cfg(test)]
#[path = "looks_tests.rs"]
mod tests;
