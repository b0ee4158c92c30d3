//! The whole method on simulated reports: how often it calls what is not there, how often it finds what is, and how
//! many blocks it takes. What it learns about noise it learns from the same reports.

use rqps_stats::sim::{Blocks, Rng};
use rqps_stats::{Archive, Class, Experiment, Metric, Rules, Tag, judge};

const REPORT: Blocks = Blocks {
    tests: 32,
    metric: Metric::Rate,
    ratios: Vec::new(),
    control: true,
    block_sd: 0.01,
    spread_df: 6.0,
};

/// Sums over reports.
#[derive(Debug, Default)]
struct Sums {
    verdicts: usize,
    changes: usize,
    regressions: usize,
    same: usize,
    confirmed: usize,
    blocks: usize,
    tests: usize,
}

/// Runs reports with stopping and counts what they say of the arm.
fn reports(model: &Blocks, arm: usize, count: usize, seed: u64) -> Sums {
    let mut rng = Rng::new(seed);
    let mut sums = Sums::default();
    for _ in 0..count {
        let outcome = model.run(&mut rng, &Rules::default(), &Archive::default()).expect("rules are right");
        for verdict in outcome.judgement.verdicts.iter().filter(|verdict| verdict.arm == arm) {
            sums.verdicts += 1;
            sums.changes += usize::from(verdict.class.is_change());
            sums.regressions += usize::from(verdict.class.is_regression());
            sums.same += usize::from(verdict.class == Class::Same);
            sums.confirmed += usize::from(verdict.confirmed);
        }
        sums.blocks += outcome.blocks.iter().sum::<usize>();
        sums.tests += outcome.blocks.len();
    }
    sums
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// One false change in a thousand verdicts at most, over quiet and noisy tests, alike and unlike ones.
#[test]
fn nulls_are_left_alone() {
    let mut all = Sums::default();
    for (place, block_sd) in [0.003, 0.005, 0.01, 0.016, 0.03].into_iter().enumerate() {
        for (spread_df, seed) in [(6.0, 10), (f64::INFINITY, 20)] {
            let model = Blocks { ratios: vec![1.0], control: false, block_sd, spread_df, ..REPORT };
            let sums = reports(&model, 1, 90, seed + place as u64);
            all.verdicts += sums.verdicts;
            all.changes += sums.changes;
        }
    }
    // At a rate of 0.1 % there are more than 46 with a probability of 0.1 %; a rate of 0.2 % has fewer with 7 %.
    assert!(all.verdicts == 28_800 && all.changes <= 46, "{all:?}");
}

/// Changes of 2, 3 and 5 % are found as often, and with as few blocks, as where the spread of noise is known, although
/// a report of 32 tests has to learn it. What is missing at a quiet 2 % is `same`, which it nearly is.
/// (ratio, block sd, found at least, blocks at most)
#[test]
fn changes_are_found() {
    let designed = [
        (0.98, 0.005, 0.980, 4.5),
        (0.98, 0.010, 0.955, 9.0),
        (0.98, 0.016, 0.800, 14.7),
        (0.97, 0.010, 0.990, 6.0),
        (0.97, 0.016, 0.975, 10.0),
        (0.95, 0.010, 0.998, 3.9),
        (0.95, 0.016, 0.995, 5.7),
    ];
    for (ratio, block_sd, found, blocks) in designed {
        let model = Blocks { ratios: vec![ratio], control: false, block_sd, spread_df: 20.0, ..REPORT };
        let sums = reports(&model, 1, 30, 7);
        assert!(share(sums.regressions, sums.verdicts) >= found, "{ratio} at {block_sd}: {sums:?}");
        assert!(share(sums.blocks, sums.tests) <= blocks, "{ratio} at {block_sd}: {sums:?}");
        assert_eq!(sums.changes, sums.regressions, "{ratio} at {block_sd}: {sums:?}");
    }
}

/// Faster arms are improvements, and cheaper ones; dearer ones are regressions.
#[test]
fn sides_are_right() {
    for (metric, ratio, regression) in
        [(Metric::Rate, 1.05, false), (Metric::CpuUs, 1.05, true), (Metric::CpuUs, 0.95, false)]
    {
        let model = Blocks { metric, ratios: vec![1.0, ratio], block_sd: 0.005, ..REPORT };
        let sums = reports(&model, 2, 1, 3);
        assert_eq!(sums.changes, 32, "{metric} {ratio}: {sums:?}");
        assert_eq!(sums.regressions, if regression { 32 } else { 0 }, "{metric} {ratio}: {sums:?}");
        assert_eq!(sums.confirmed, 32, "{metric} {ratio}: {sums:?}");
        assert_eq!(reports(&model, 1, 1, 3).changes, 0, "the control is base again");
    }
}

/// Several noisy costs make no more false calls than one: with an `alpha` of 5 %, all looks, and no stopping.
#[test]
fn costs_share_their_error() {
    let mut rng = Rng::new(8);
    let rules = Rules { alpha: 0.05, ..Rules::default() };
    let noisy = [Metric::Instructions, Metric::CpuUs, Metric::Blocks, Metric::Fsyncs];
    let model = Blocks { ratios: vec![1.0, 1.0], block_sd: 0.03, ..REPORT };
    let (mut called, mut low_p, mut all) = (0, 0, 0);
    for _ in 0..40 {
        let one = |metric| Blocks { metric, ..model.clone() }.draw(&mut rng, 18);
        let mut parts: Vec<Experiment> = noisy.into_iter().map(one).collect();
        let mut experiment = parts.remove(0);
        for (place, test) in experiment.tests.iter_mut().enumerate() {
            test.metrics.extend(parts.iter().map(|part| part.tests[place].metrics[0].clone()));
        }
        for verdict in judge(&experiment, &rules, &Archive::default()).expect("data is right").verdicts {
            all += 1;
            let shifted =
                |one: &rqps_stats::MetricVerdict| one.class.is_change() || one.tags.contains(&Tag::TinyShift);
            called += usize::from(verdict.metrics.iter().any(shifted));
            low_p += usize::from(verdict.p_seq <= 0.05);
        }
    }
    assert_eq!(all, 40 * 32 * 2);
    assert!(share(called, all) < 0.065 && share(called, all) > 0.02, "{called} of {all} called");
    assert!(share(low_p, all) < 0.065 && share(low_p, all) > 0.02, "{low_p} of {all} at p <= 0.05");
}

/// What was decided at a look is found again when other arms of the test have had their further blocks.
#[test]
fn decisions_are_found_again_with_more_blocks() {
    let mut rng = Rng::new(4);
    let rules = Rules::default();
    let model = Blocks { ratios: vec![1.0, 0.98], ..REPORT };
    for _ in 0..20 {
        let all = model.draw(&mut rng, 12);
        let at = |blocks: usize| {
            let mut part = all.clone();
            part.tests.iter_mut().for_each(|test| test.metrics[0].blocks.truncate(blocks));
            judge(&part, &rules, &Archive::default()).expect("data is right").verdicts
        };
        for (early, late) in at(5).iter().zip(at(12)) {
            let refined = early.class.is_regression() && late.class.is_regression();
            let size_known = early.class.is_change() && late.tags.contains(&Tag::TinyShift);
            let stands = early.class == late.class || refined || size_known;
            assert!(!early.class.is_decided() || stands, "{early:?} became {late:?}");
        }
    }
}
