//! Errors, power and predictions of the sequential test.

use super::*;
use crate::rules::Rules;
use crate::sim::Rng;
use proptest::prelude::*;

fn question(rules: &Rules) -> Question<'_> {
    let Rules { looks, alpha, tost_alpha, .. } = rules;
    let kind = Kind::Continuous;
    Question {
        looks,
        at_once: false,
        alpha: *alpha,
        tost_alpha: *tost_alpha,
        mei: 0.02,
        min_difference: 0.0,
        kind,
    }
}

fn walk(contrasts: &[f64], spreads: &[Spread], question: &Question) -> Shown {
    let rows: Vec<(f64, f64)> = contrasts.iter().map(|ln| (1.0, ln.exp())).collect();
    let pairs = Pairs::made(&rows);
    super::walk(&Data { pairs: &pairs, control: None, spreads }, question)
}

fn known(block_sd: f64, df: f64) -> Vec<Spread> {
    vec![Spread { variance: block_sd * block_sd, df, ..Spread::UNKNOWN }; 5]
}

fn draw(rng: &mut Rng, ratio: f64, block_sd: f64) -> Vec<f64> {
    rng.normals(18).into_iter().map(|z| ratio.ln() + block_sd * z).collect()
}

/// One comparison, stopped at its first decision: (changed, same, blocks).
fn stopped(contrasts: &[f64], spreads: &[Spread], question: &Question) -> (bool, bool, usize) {
    for look in question.looks {
        let shown = walk(&contrasts[..look.blocks], spreads, question);
        if shown.within || shown.shift.is_some() {
            return (!shown.within, shown.within, look.blocks);
        }
    }
    (false, false, 18)
}

/// Operating points for tests whose sd varies by 30 %: shares of changes and of `same`, and blocks used. A
/// wrong sign, an unspent error, a missing `same`, or windows treated as blocks change at least one of them.
#[test]
fn operating_points_are_as_designed() {
    // (block sd, true ratio, changed, same, blocks)
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
    for (block_sd, ratio, changed, same, blocks) in designed {
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
        let place = format!("sd {block_sd}, ratio {ratio}: {found:?} for {:?}", (changed, same, blocks));
        let error = 4.0 * (changed * (1.0 - changed) / f64::from(draws)).sqrt() + 0.0015;
        assert!((found.0 - changed).abs() < error, "calls: {place}");
        assert!((found.1 - same).abs() < 0.015, "same: {place}");
        assert!(found.2 < blocks + 0.15 && found.2 > blocks - 0.8, "blocks: {place}");
    }
}

/// Errors hold without stopping, for the spread as specified: a p value below x occurs with probability x at
/// most, and not much less; likewise for `same` at the ends of the band.
#[test]
fn errors_hold() {
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
    let (low, high) = question.band(Scale::Log);
    for end in [low, high] {
        let share = (0..draws).filter(|_| draw_at(end).within).count() as f64 / f64::from(draws);
        assert!(share < 0.055 && share > 0.02, "same at the band's end: {share}");
    }
}

/// A change of the size that is detectable at 80 % is detected four times in five.
#[test]
fn detectable_change_has_80_percent_power() {
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
        let now = Estimate::of(&noise, &spread, true);
        let tail = question.alpha * question.looks[2].spend / 2.0;
        let change = now.half_width(tail) + now.half_width(0.2);
        found += u32::from(now.mean + change > now.half_width(tail));
    }
    let share = f64::from(found) / f64::from(draws);
    assert!((share - 0.8).abs() < 0.015, "{share}");
}

/// `((t_a + t_b) s / g)²` by hand: for a mean of 0 the look at 5 blocks suffices for an sd of 1.3 %, the one
/// at 8 for 1.4 %. A mean halfway to the band takes the most blocks. If no look suffices, that is reported.
#[test]
fn predictions_follow_the_formula() {
    let rules = Rules::default();
    let question = question(&rules);
    let at = |mean: f64, block_sd: f64| {
        let spread = Spread { variance: block_sd * block_sd, df: f64::INFINITY, ..Spread::UNKNOWN };
        let now = Estimate {
            blocks: 3,
            mean,
            variance: f64::NAN,
            moderated: spread.variance,
            df: spread.df,
            shared: spread.shared,
            ceiling: None,
        };
        predict(&now, &spread, Scale::Log, &question).unwrap()
    };
    // Normal quantiles: 2.432 for 0.0075, 0.842 for 0.2: (3.274 s / 0.0198)² is 2.2 for 0.9 %, 4.62 for 1.3 %.
    assert_eq!(at(0.0, 0.009), (2, true));
    assert_eq!(at(0.0, 0.013), (2, true));
    assert_eq!(at(0.0, 0.014), (5, true));
    assert_eq!(at(-0.03, 0.009), (2, true));
    // 5 blocks would need 8.3; 8 blocks, with 2.326 for 0.01, need 7.8.
    assert_eq!(at(-0.01, 0.009), (5, true));
    let (blocks, suffices) = at(0.0, 0.05);
    assert!(!suffices && blocks > 15, "{blocks}");
}

proptest! {
    /// With more noise about the same mean, more blocks are never fewer, nor do they suffice where less noise was too
    /// much.
    #[test]
    fn more_noise_never_takes_fewer_blocks(
        mean in -0.1..0.1f64,
        sds in (1e-4..0.5f64, 1e-4..0.5f64),
        spread in (1e-4..0.2f64, 0.5..40.0f64),
    ) {
        let rules = Rules::default();
        let question = question(&rules);
        let (sd, df) = spread;
        let spread = Spread { variance: sd * sd, df, ..Spread::UNKNOWN };
        let needed = |sd: f64| {
            let now = Estimate::of(&[mean - sd, mean, mean + sd], &spread, true);
            let (blocks, suffices) = predict(&now, &spread, Scale::Log, &question).unwrap();
            (!suffices, blocks)
        };
        prop_assert!(needed(sds.0.min(sds.1)) <= needed(sds.0.max(sds.1)));
    }
}

/// Decisions are kept; a tag marks those that later blocks do not support.
#[test]
fn decisions_are_kept_and_disagreement_is_marked() {
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

/// The p value is the error whose interval ends at 0, whichever test shows the change.
#[test]
fn p_and_interval_agree_beyond_noise() {
    for noise in [0.01, 0.2] {
        for mean in [0.05, 0.5, 3.0] {
            let estimate = Estimate::of(&[mean - noise, mean, mean + noise], &Spread::UNKNOWN, true);
            let p = estimate.p();
            assert!(
                p == 1.0 || (estimate.half_width(p / 2.0) / mean - 1.0).abs() < 1e-3,
                "{mean}, {noise}: {p}"
            );
        }
    }
}

/// The same if tests have something in common.
#[test]
fn p_and_interval_agree_over_hosts() {
    let spread =
        Spread { shared: HostShare { share: 0.3, df: 2.0 }, variance: 1e-4, df: 12.0, ..Spread::UNKNOWN };
    for mean in [0.005, 0.03, 0.2] {
        let estimate = Estimate::of(&[mean - 0.01, mean, mean + 0.01], &spread, true);
        let p = estimate.p();
        assert!((estimate.half_width(p / 2.0) / mean - 1.0).abs() < 1e-2, "{mean}: {p}");
        // Wider than if nothing were shared, and narrower than if all were.
        let of = |share| Estimate { shared: HostShare { share, df: 2.0 }, ..estimate }.half_width(0.001);
        assert!(of(0.0) < of(0.3) && of(0.3) < of(1.0));
    }
}
