//! The group-sequential test: what the blocks show at each look, and the conclusion after all looks.
//!
//! Three statements can be shown: the ratio is not 1, it is beyond the minimum effect of interest, or it is
//! within it. Each has its own error, divided over the looks (union bound: no assumption about the dependence
//! of looks). What a look has shown is kept whatever later looks show, so the errors hold for any stopping
//! rule, or none. A tag marks decisions that later blocks do not support.

use crate::ceiling::{self, Ceiling};
use crate::direction::Direction;
use crate::distribution::{t_two_sided, t_upper};
use crate::exact::{self, Exact, ROUNDING, chance};
use crate::host_share::HostShare;
use crate::pairs::{Pairs, Scale, Votes};
use crate::prior::Spread;
use crate::rules::Look;
use crate::signs;
use rqps_model::sample::{mean, variance};

/// Of the logarithm of a p value that is found by search: 0.1 %.
const P_PRECISION: f64 = 1e-3;

/// Mean contrast with its estimated error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) blocks: usize,
    pub(crate) mean: f64,
    /// Sample variance of the blocks; NaN for a single block.
    pub(crate) variance: f64,
    pub(crate) moderated: f64,
    pub(crate) df: f64,
    shared: HostShare,
    /// For changes beyond any noise, if the noise of these contrasts has a ceiling.
    ceiling: Option<Ceiling>,
}

impl Estimate {
    /// Needs at least one contrast. With a ceiling if their noise has one.
    pub(crate) fn of(contrasts: &[f64], spread: &Spread, has_ceiling: bool) -> Estimate {
        let blocks = contrasts.len();
        let variance = variance(contrasts);
        let (moderated, df) = match blocks {
            1 => spread.moderate(0.0, 0.0),
            _ => spread.moderate(variance, blocks as f64 - 1.0),
        };
        let (mean, shared) = (mean(contrasts), spread.shared);
        let ceiling = (has_ceiling && shared.share == 0.0).then(|| Ceiling::of(blocks, variance));
        Estimate { blocks, mean, variance, moderated, df, shared, ceiling: ceiling.flatten() }
    }

    /// Standard error of the mean.
    pub(crate) fn error(&self) -> f64 {
        (self.moderated / self.blocks as f64).sqrt()
    }

    /// Half width of an interval that misses on either side with probability `tail`.
    pub(crate) fn half_width(&self, tail: f64) -> f64 {
        let Some(ceiling) = self.ceiling else {
            return self.quantile(tail) * self.error();
        };
        let by_noise = self.quantile(tail * (1.0 - ceiling::SHARE)) * self.error();
        by_noise.min(ceiling.half_width(tail * ceiling::SHARE))
    }

    /// Standard errors that are exceeded on either side with probability `tail`.
    fn quantile(&self, tail: f64) -> f64 {
        let HostShare { share, df } = self.shared;
        let rest = t_upper(tail, self.df);
        if share == 0.0 {
            return rest;
        }
        (share * t_upper(tail, df).powi(2) + (1.0 - share) * rest.powi(2)).sqrt()
    }

    fn p(&self) -> f64 {
        if self.mean == 0.0 {
            return 1.0;
        }
        let t = self.mean / self.error();
        let rest = t_two_sided(t, self.df);
        if let Some(ceiling) = self.ceiling {
            return (rest / (1.0 - ceiling::SHARE)).min(ceiling.p(self.mean) / ceiling::SHARE).min(1.0);
        }
        if self.shared.share == 0.0 {
            return rest;
        }
        // Between the values of the two parts; by halving the interval of its logarithm.
        let shared = t_two_sided(t, self.shared.df);
        let (mut low, mut high) = (rest.min(shared).max(f64::MIN_POSITIVE).ln(), rest.max(shared).ln());
        while high - low > P_PRECISION {
            let middle = (low + high) / 2.0;
            if self.quantile(middle.exp() / 2.0) > t.abs() { low = middle } else { high = middle }
        }
        high.exp().min(1.0)
    }
}

/// The hypotheses and their errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) looks: &'a [Look],
    /// Only the last look that is reached counts.
    pub(crate) at_once: bool,
    pub(crate) alpha: f64,
    pub(crate) tost_alpha: f64,
    /// Minimum effect of interest, as a share of base.
    pub(crate) mei: f64,
    /// Smallest difference that matters, in units of the metric; for exact comparisons.
    pub(crate) min_difference: f64,
    pub(crate) kind: Kind<'a>,
}

/// Tests in addition to Student's t.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// None, unless blocks do not vary.
    Continuous,
    /// Whether events of one size would explain the difference.
    Counter,
    /// For rare events, how the windows of each block differ: a change has to show in them too, and `same`
    /// lasts only while it holds.
    Rare(&'a [Votes]),
}

impl Question<'_> {
    /// Contrasts of changes by the minimum effect of interest, down and up.
    pub(crate) fn band(&self, scale: Scale) -> (f64, f64) {
        (scale.of_share(-self.mei), scale.of_share(self.mei))
    }

    fn is_rare(&self) -> bool {
        matches!(self.kind, Kind::Rare(_))
    }

    fn is_of_counts(&self) -> bool {
        matches!(self.kind, Kind::Counter)
    }

    /// Lower bound of the p value from this look's blocks, independent of t.
    fn p_min(&self, data: &Data<'_>, look: &Look, estimate: &Estimate) -> f64 {
        let direction = Direction::of(estimate.mean);
        let is_constant = estimate.variance <= ROUNDING * ROUNDING;
        match self.kind {
            Kind::Rare(votes) => signs::two_sided(&votes[..look.blocks], direction),
            Kind::Continuous if !is_constant => 0.0,
            Kind::Continuous | Kind::Counter => chance(data.pairs, data.control, look.blocks, direction),
        }
    }
}

/// The blocks, and the spread of their noise at each look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data<'a> {
    pub(crate) pairs: &'a Pairs,
    pub(crate) control: Option<&'a Pairs>,
    pub(crate) spreads: &'a [Spread],
}

impl Data<'_> {
    /// The result of an exact comparison of the first `blocks` blocks, if the metric allows one. Rare events
    /// are excluded: base and control without a stall in some blocks do not prove that they have none.
    pub(crate) fn exact(&self, blocks: usize, question: &Question) -> Option<Exact> {
        let matters = (question.mei, question.min_difference);
        (!question.is_rare()).then(|| exact::compare(self.pairs, self.control, blocks, matters)).flatten()
    }
}

/// The conclusion after all looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shown {
    /// The direction, if the ratio is not 1.
    pub(crate) shift: Option<Direction>,
    /// The ratio is beyond the minimum effect of interest.
    pub(crate) beyond: bool,
    pub(crate) within: bool,
    /// At the last look a count is beyond the minimum effect of interest but for the limit of what so few blocks can
    /// prove of one.
    pub(crate) few_blocks: Option<Direction>,
    pub(crate) p_seq: f64,
    /// The last look does not support the conclusion.
    pub(crate) disagree: bool,
}

impl Shown {
    pub(crate) const NOTHING: Shown =
        Shown { shift: None, beyond: false, within: false, few_blocks: None, p_seq: 1.0, disagree: false };
}

#[derive(Debug, Clone, Copy)]
struct LookResult {
    p: f64,
    shift: Option<Direction>,
    beyond: bool,
    within: bool,
    few_blocks: Option<Direction>,
    /// The mean contrast and its half width for the test of `same`.
    mean: f64,
    tost: f64,
    band: (f64, f64),
}

fn at_look_exact(data: &Data<'_>, look: &Look, question: &Question, exact: Exact) -> LookResult {
    let band = question.band(Scale::Log);
    let (direction, beyond) = match exact {
        Exact::Equal => {
            return LookResult {
                p: 1.0,
                shift: None,
                beyond: false,
                within: true,
                few_blocks: None,
                mean: 0.0,
                tost: 0.0,
                band,
            };
        }
        Exact::Tiny(direction) => (direction, false),
        Exact::Beyond(direction) => (direction, true),
    };
    let p = chance(data.pairs, data.control, look.blocks, direction);
    let is_significant = p <= question.alpha * look.spend;
    let mean = data.pairs.mean_ln_ratio(look.blocks);
    let shift = is_significant.then_some(direction);
    let few_blocks = (beyond && !is_significant && question.is_of_counts()).then_some(direction);
    LookResult {
        p,
        shift,
        beyond: beyond && is_significant,
        within: !beyond,
        few_blocks,
        mean,
        tost: 0.0,
        band,
    }
}

/// None if base is 0 throughout, so that there is no ratio.
fn at_look(data: &Data<'_>, look: &Look, spread: &Spread, question: &Question) -> Option<LookResult> {
    let scale = data.pairs.scale(look.blocks);
    let (low, high) = question.band(scale);
    let contrasts = data.pairs.contrasts(scale, look.blocks)?;
    let estimate = Estimate::of(&contrasts, spread, ceiling::holds(scale, question.is_rare()));
    let p_min = question.p_min(data, look, &estimate);
    let may_be_significant = p_min <= question.alpha * look.spend;
    let half_width = estimate.half_width(question.alpha * look.spend / 2.0);
    let (low_end, high_end) = (estimate.mean - half_width, estimate.mean + half_width);
    let tost = estimate.half_width(question.tost_alpha * look.spend);
    let shift = match (high_end < 0.0, low_end > 0.0) {
        (true, _) => Some(Direction::Down),
        (_, true) => Some(Direction::Up),
        _ => None,
    };
    let beyond = high_end < low || low_end > high;
    Some(LookResult {
        p: estimate.p().max(p_min),
        shift: shift.filter(|_| may_be_significant),
        beyond: may_be_significant && beyond,
        few_blocks: shift.filter(|_| beyond && !may_be_significant && question.is_of_counts()),
        within: estimate.mean + tost < high && estimate.mean - tost > low,
        mean: estimate.mean,
        tost,
        band: (low, high),
    })
}

/// Evaluates all looks that the blocks reach, or the last of them. `spreads` has one entry per look.
pub(crate) fn walk(data: &Data<'_>, question: &Question) -> Shown {
    let mut shown = Shown::NOTHING;
    let mut shifts = [false; 2];
    let mut last = None;
    let reached = question.looks.iter().take_while(|look| look.blocks <= data.pairs.len()).count();
    let from = if question.at_once { reached.saturating_sub(1) } else { 0 };
    for (look, spread) in question.looks.iter().zip(data.spreads).take(reached).skip(from) {
        let result = match data.exact(look.blocks, question) {
            Some(exact) => Some(at_look_exact(data, look, question, exact)),
            None => at_look(data, look, spread, question),
        };
        let Some(result) = result else {
            continue;
        };
        shown.p_seq = shown.p_seq.min(result.p / look.spend);
        shifts[0] |= result.shift == Some(Direction::Down);
        shifts[1] |= result.shift == Some(Direction::Up);
        shown.beyond |= result.beyond;
        shown.within = result.within || (shown.within && !question.is_rare());
        shown.few_blocks = result.few_blocks;
        last = Some(result);
    }
    shown.shift = match shifts {
        [true, false] => Some(Direction::Down),
        [false, true] => Some(Direction::Up),
        _ => None,
    };
    if shifts == [true, true] {
        // Changes in both directions: blocks are not comparable, so nothing follows for their mean.
        return Shown { shift: None, beyond: false, disagree: true, ..shown };
    }
    if let Some(LookResult { mean, tost, band: (low, high), .. }) = last {
        let faded = shown.shift.is_some_and(|shift| match shift {
            Direction::Down => mean + tost >= 0.0,
            Direction::Up => mean - tost <= 0.0,
        });
        let left = shown.within && !(low..=high).contains(&mean);
        shown.disagree = faded || left || (shown.beyond && shown.within);
    }
    shown
}

/// Further blocks until a counter that differs in the same direction in all blocks is significant. None if
/// the looks do not suffice.
pub(crate) fn blocks_until_significant(
    data: &Data<'_>,
    direction: Direction,
    question: &Question,
) -> Option<usize> {
    let now = data.pairs.len();
    let one = chance(data.pairs, data.control, now, direction) / 2.0;
    let mut ahead = question.looks.iter().filter(|look| look.blocks > now);
    // Assumes the average probability of the existing blocks for each further block.
    let enough =
        |look: &&Look| 2.0 * one.powf(look.blocks as f64 / now as f64) <= question.alpha * look.spend;
    ahead.find(enough).map(|look| look.blocks - now)
}

/// Further blocks after which, with 80 % probability, something is shown if the ratio is as estimated, and
/// whether the looks suffice for it. None if the variance is unknown.
///
/// Blocks needed are `((t_a + t_b) s / g)²`, where g is the distance to the value to exclude: 1 for a change,
/// the nearer end of the band for `same`.
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
    let is_beyond_noise = |look: &Look| {
        let at_look = Ceiling::of(look.blocks, now.variance).filter(|_| now.ceiling.is_some());
        let width = |tail: f64| at_look.map_or(f64::INFINITY, |ceiling| ceiling.half_width(tail));
        width(question.alpha * look.spend * ceiling::SHARE / 2.0) + width(0.2) < now.mean.abs()
    };
    let ahead = question.looks.iter().filter(|look| look.blocks > now.blocks);
    for look in ahead {
        if needed(look, look.blocks) <= look.blocks || is_beyond_noise(look) {
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
