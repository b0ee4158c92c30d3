//! The group-sequential test: what the blocks show at each look, and what stands at the end.
//!
//! Three statements can be shown: that the ratio is not 1, that it is beyond the minimum effect of interest, that it is
//! within it. Each has its own error, spent over the looks in shares (union bound: nothing has to be assumed of how
//! looks depend on each other). What a look has shown stands whatever later looks show, so the errors hold for any rule
//! of stopping, also for none; that later blocks do not bear a decision out is said by a tag.

use crate::distribution::{t_two_sided, t_upper};
use crate::metric::Direction;
use crate::pairs::{Scale, Votes, mean, variance};
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
    /// This metric's share of the detector's.
    pub(crate) alpha: f64,
    pub(crate) tost_alpha: f64,
    pub(crate) mei: f64,
    pub(crate) scale: Scale,
    /// Of rare events, how the windows of each block differ: a change has to show in them too, and `same` stands only
    /// as long as it holds.
    pub(crate) votes: Option<&'a [Votes]>,
}

impl Question<'_> {
    /// Contrasts of the changes by the minimum effect of interest, down and up.
    pub(crate) fn band(&self) -> (f64, f64) {
        (self.scale.of_share(-self.mei), self.scale.of_share(self.mei))
    }

    /// Probability that windows of this look differ so clearly by chance; 0 where they are not asked.
    fn p_windows(&self, look: &Look, direction: Direction) -> f64 {
        self.votes.map_or(0.0, |votes| signs::two_sided(&votes[..look.blocks], direction))
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
        let p_windows = question.p_windows(look, Direction::of(estimate.mean));
        shown.p_seq = shown.p_seq.min(estimate.p().max(p_windows) / look.spend);
        let reach = estimate.reach(question.alpha * look.spend / 2.0);
        if p_windows <= question.alpha * look.spend {
            shifts[0] |= estimate.mean + reach < 0.0;
            shifts[1] |= estimate.mean - reach > 0.0;
            shown.beyond |= estimate.mean + reach < low || estimate.mean - reach > high;
        }
        let tost = estimate.reach(question.tost_alpha * look.spend);
        let stands = shown.within && question.votes.is_none();
        shown.within = stands || (estimate.mean + tost < high && estimate.mean - tost > low);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;
    use crate::sim::Rng;

    fn question(rules: &Rules) -> Question<'_> {
        let Rules { looks, alpha, tost_alpha, .. } = rules;
        let votes = None;
        Question { looks, alpha: *alpha, tost_alpha: *tost_alpha, mei: 0.02, scale: Scale::Log, votes }
    }

    fn known(block_sd: f64, df: f64) -> Vec<Spread> {
        vec![Spread { variance: block_sd * block_sd, df, ..Spread::UNKNOWN }; 5]
    }

    fn draw(rng: &mut Rng, ratio: f64, block_sd: f64) -> Vec<f64> {
        rng.normals(18).into_iter().map(|z| ratio.ln() + block_sd * z).collect()
    }

    /// One comparison, stopped at its first decision: (called, same, blocks).
    fn stopped(contrasts: &[f64], spreads: &[Spread], question: &Question) -> (bool, bool, usize) {
        for look in question.looks {
            let shown = walk(&contrasts[..look.blocks], spreads, question);
            if shown.within || shown.shift.is_some() {
                return (!shown.within, shown.within, look.blocks);
            }
        }
        (false, false, 18)
    }

    /// The operating points with tests whose sd differs by 30 %: shares of calls and of `same`, and blocks used.
    /// A wrong sign, an error not spent, no `same`, or windows taken for blocks move at least one of them.
    #[test]
    fn operating_points_are_as_designed() {
        // (block sd, true ratio, called, same, blocks)
        let designed = [
            (0.005, 1.00, 0.000, 1.000, 3.1),
            (0.005, 0.98, 0.995, 0.005, 4.5),
            (0.005, 0.95, 1.000, 0.000, 3.0),
            (0.010, 1.00, 0.000, 0.998, 5.9),
            (0.010, 0.98, 0.972, 0.028, 9.7),
            (0.010, 0.97, 0.999, 0.001, 6.0),
            (0.010, 0.95, 1.000, 0.000, 3.4),
            (0.016, 1.00, 0.000, 0.952, 10.8),
            (0.016, 0.98, 0.760, 0.020, 15.0),
            (0.016, 0.97, 0.973, 0.001, 10.2),
            (0.016, 0.95, 1.000, 0.000, 5.7),
        ];
        let rules = Rules::default();
        let question = question(&rules);
        let draws = 4000;
        for (block_sd, ratio, called, same, blocks) in designed {
            let mut rng = Rng::new(11);
            let spreads = known(block_sd, 6.0);
            let mut sum = (0, 0, 0);
            for _ in 0..draws {
                let sd = block_sd * (0.3 * rng.normal()).exp();
                let one = stopped(&draw(&mut rng, ratio, sd), &spreads, &question);
                sum = (sum.0 + usize::from(one.0), sum.1 + usize::from(one.1), sum.2 + one.2);
            }
            let mean_of = |count: usize| count as f64 / f64::from(draws);
            let found = (mean_of(sum.0), mean_of(sum.1), mean_of(sum.2));
            let place = format!("sd {block_sd}, ratio {ratio}: {found:?} for {:?}", (called, same, blocks));
            let error = 4.0 * (called * (1.0 - called) / f64::from(draws)).sqrt() + 0.0015;
            assert!((found.0 - called).abs() < error, "calls: {place}");
            assert!((found.1 - same).abs() < 0.015, "same: {place}");
            assert!(found.2 < blocks + 0.15 && found.2 > blocks - 0.8, "blocks: {place}");
        }
    }

    /// Errors hold without any stopping, with the spread as it is: a p value below x comes with probability x at most,
    /// and not far below it; and so with `same` just at the band's ends.
    #[test]
    fn errors_are_what_they_say() {
        let rules = Rules::default();
        let question = question(&rules);
        let spreads = known(0.01, 6.0);
        let mut rng = Rng::new(5);
        let draws = 30_000;
        let mut draw_at = |contrast: f64| {
            let sd = 0.01 / rng.mean_square(6.0).sqrt();
            let contrasts: Vec<f64> = rng.normals(18).into_iter().map(|z| contrast + sd * z).collect();
            walk(&contrasts, &spreads, &question)
        };
        let nulls: Vec<f64> = (0..draws).map(|_| draw_at(0.0).p_seq).collect();
        for x in [0.05, 0.01, 0.001] {
            let share = nulls.iter().filter(|p| **p <= x).count() as f64 / f64::from(draws);
            let error = 4.0 * (x / f64::from(draws)).sqrt();
            assert!(share < x + error && share > 0.4 * x - error, "p <= {x}: {share}");
        }
        let (low, high) = question.band();
        for end in [low, high] {
            let share = (0..draws).filter(|_| draw_at(end).within).count() as f64 / f64::from(draws);
            assert!(share < 0.055 && share > 0.02, "same at the band's end: {share}");
        }
    }

    /// Four in five are found of a change that is said to be found in four of five.
    #[test]
    fn the_detectable_change_is_detected() {
        let rules = Rules::default();
        let question = question(&rules);
        let (block_sd, blocks) = (0.01, 8);
        let spread = known(block_sd, 6.0)[2];
        let mut rng = Rng::new(6);
        let draws = 20_000;
        let mut found = 0u32;
        for _ in 0..draws {
            let sd = block_sd / rng.mean_square(6.0).sqrt();
            let noise: Vec<f64> = rng.normals(blocks).into_iter().map(|z| sd * z).collect();
            let now = Estimate::of(&noise, &spread);
            let tail = question.alpha * question.looks[2].spend / 2.0;
            let change = now.reach(tail) + now.reach(0.2);
            found += u32::from(now.mean + change > now.reach(tail));
        }
        let share = f64::from(found) / f64::from(draws);
        assert!((share - 0.8).abs() < 0.015, "{share}");
    }

    /// `((t_a + t_b) s / g)²` by hand: for a mean of 0 the look at 5 blocks does at an sd of 1.3 %, 8 at 1.4 %; half
    /// way to the band takes most; what no look can show is said to be so.
    #[test]
    fn predictions_are_the_formula_s() {
        let rules = Rules::default();
        let question = question(&rules);
        let at = |mean: f64, block_sd: f64| {
            let spread = Spread { variance: block_sd * block_sd, df: f64::INFINITY, ..Spread::UNKNOWN };
            let now =
                Estimate { blocks: 3, mean, variance: f64::NAN, moderated: spread.variance, df: spread.df };
            predict(&now, &spread, &question).unwrap()
        };
        // Normal quantiles: 2.432 for 0.0075, 0.842 for 0.2: (3.274 s / 0.0198)² is 2.2 for 0.9 %, 4.62 for 1.3 %.
        assert_eq!(at(0.0, 0.009), (2, true));
        assert_eq!(at(0.0, 0.013), (2, true));
        assert_eq!(at(0.0, 0.014), (5, true));
        assert_eq!(at(-0.03, 0.009), (2, true));
        // At 5 blocks it takes 8.3 of them, at 8 with 2.326 for 0.01 it takes 7.8.
        assert_eq!(at(-0.01, 0.009), (5, true));
        let (blocks, suffices) = at(0.0, 0.05);
        assert!(!suffices && blocks > 15, "{blocks}");
    }

    /// What a look has shown stands; that later blocks do not bear it out is said.
    #[test]
    fn decisions_stand_and_doubts_are_said() {
        let rules = Rules::default();
        let question = question(&rules);
        let spreads = known(0.005, 20.0);
        let mut blocks = vec![-0.05, -0.051, -0.049];
        let first = walk(&blocks, &spreads, &question);
        assert_eq!((first.shift, first.beyond, first.disagree), (Some(Direction::Down), true, false));
        blocks.extend([-0.001; 2]);
        let second = walk(&blocks, &spreads, &question);
        assert!(second.beyond && second.p_seq <= first.p_seq && !second.disagree);
        blocks.extend([0.05, 0.05, 0.05]);
        let third = walk(&blocks, &spreads, &question);
        assert!(third.beyond && third.disagree, "{third:?}");
        let mut same = vec![0.001, -0.001, 0.0];
        assert!(walk(&same, &spreads, &question).within);
        same.extend([0.09, 0.09]);
        let left = walk(&same, &spreads, &question);
        assert!(left.within && left.disagree, "{left:?}");
    }
}
