//! The whole method on simulated reports: rates of false and true changes, and blocks used. Priors of noise
//! are fitted to the same reports.

use rqps_stats::sim::{Blocks, Rng};
use rqps_stats::{BlockData, Class, Experiment, Look, Metric, MetricData, Rules, Tag, TestData, judge};

const REPORT: Blocks = Blocks {
    tests: 32,
    metric: Metric::Rate,
    ratios: Vec::new(),
    control: true,
    block_sd: 0.01,
    spread_df: 6.0,
    of_start: 0.0,
};

/// Sums over reports.
#[derive(Debug, Default)]
struct Sums {
    verdicts: usize,
    changes: usize,
    regressions: usize,
    same: usize,
    significant: usize,
    blocks: usize,
    tests: usize,
}

/// Runs reports with stopping and counts the verdicts on the arm.
fn reports(model: &Blocks, arm: usize, count: usize, seed: u64) -> Sums {
    let mut rng = Rng::new(seed);
    let mut sums = Sums::default();
    for _ in 0..count {
        let outcome = model.run(&mut rng, &Rules::default()).expect("rules are right");
        for verdict in outcome.judgement.verdicts.iter().filter(|verdict| verdict.arm == arm) {
            sums.verdicts += 1;
            sums.changes += usize::from(verdict.class.is_change());
            sums.regressions += usize::from(verdict.class.is_regression());
            sums.same += usize::from(verdict.class == Class::Same);
            sums.significant += usize::from(verdict.class.is_change());
        }
        sums.blocks += outcome.blocks.iter().sum::<usize>();
        sums.tests += outcome.blocks.len();
    }
    sums
}

/// Changes of an arm and verdicts on it.
fn changes(data: &Experiment, arm: usize, rules: &Rules) -> (usize, usize) {
    let judgement = judge(data, rules).expect("data is right");
    let verdicts = || judgement.verdicts.iter().filter(|verdict| verdict.arm == arm);
    (verdicts().filter(|verdict| verdict.class.is_change()).count(), verdicts().count())
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// At most one false change in a thousand verdicts, over quiet and noisy tests, with equal and different
/// noise.
#[test]
fn nulls_are_not_called_changed() {
    let mut all = Sums::default();
    for (place, block_sd) in [0.003, 0.005, 0.01, 0.016, 0.03].into_iter().enumerate() {
        for (spread_df, seed) in [(6.0, 10), (f64::INFINITY, 20)] {
            let model = Blocks { ratios: vec![1.0], control: false, block_sd, spread_df, ..REPORT };
            let sums = reports(&model, 1, 90, seed + place as u64);
            all.verdicts += sums.verdicts;
            all.changes += sums.changes;
        }
    }
    // A rate of 0.1 % gives more than 46 with a probability of 0.1 %; a rate of 0.2 % gives fewer with 7 %.
    assert!(all.verdicts == 28_800 && all.changes <= 46, "{all:?}");
}

/// The same at the first look if tests share the starts of their servers: all of them contain the effects of
/// a start, so three similar starts make every test look quiet at once. With the look's share of the errors, and with
/// all of them, as where the plan ends there.
#[test]
fn shared_starts_give_no_false_changes_at_the_first_look() {
    let mut rng = Rng::new(31);
    let only = Rules { looks: vec![Look { blocks: 3, spend: 1.0 }], ..Rules::default() };
    // A rate of 0.01 % gives more than four with a probability of 0.3 %, one of 0.2 % fewer with 0.1 %; a rate of 0.1 %
    // more than twenty with 0.1 %.
    for (rules, most) in [(Rules::default(), 4), (only, 20)] {
        shared_starts_give_at_most(most, &rules, &mut rng);
    }
}

fn shared_starts_give_at_most(most: usize, rules: &Rules, rng: &mut Rng) {
    for control in [true, false] {
        for of_start in [0.5, 0.8, 1.0] {
            let ratios = if control { vec![1.0, 1.0] } else { vec![1.0] };
            let arm = ratios.len();
            let model = Blocks { ratios, control, of_start, spread_df: 20.0, ..REPORT };
            let (mut changed, mut all) = (0, 0);
            for _ in 0..300 {
                let (of_report, verdicts) = changes(&model.draw(rng, 3), arm, rules);
                changed += of_report;
                all += verdicts;
            }
            assert!(
                all == 9600 && changed <= most,
                "control {control}, of start {of_start}: {changed} of {all}"
            );
        }
    }
}

/// Over all looks, if tests share none, half or all of the noise: changes of 2 % are found at a block sd of 1
/// % with up to three more blocks, and nothing else is reported. (share, minimum found, maximum blocks, for
/// control and arm)
#[test]
fn shared_starts_are_compensated() {
    for (of_start, found, blocks) in [(0.0, 0.96, 9.0), (0.5, 0.93, 12.0), (1.0, 0.93, 12.5)] {
        let of_arm = |ratio| {
            let model = Blocks { ratios: vec![1.0, ratio], of_start, spread_df: 20.0, ..REPORT };
            reports(&model, 2, 30, 17)
        };
        let slower = of_arm(0.98);
        assert!(share(slower.regressions, slower.verdicts) >= found, "{of_start}: {slower:?}");
        assert!(share(slower.blocks, slower.tests) <= blocks, "{of_start}: {slower:?}");
        let alike = of_arm(1.0);
        // A rate of 0.1 % gives more with a probability of 0.3 %.
        assert!(alike.changes <= 4, "{of_start}: {alike:?}");
    }
}

/// A run that its plan ends at the first look, and that is given more time for what is open there, calls no more false
/// changes than is stated of all its looks, and finds what three blocks do not.
#[test]
fn a_run_that_goes_on_after_its_end_keeps_its_errors() {
    let mut rng = Rng::new(41);
    let mut run = |ratio, rules: &Rules| {
        let model = Blocks { ratios: vec![ratio], control: false, block_sd: 0.01, spread_df: 20.0, ..REPORT };
        let (mut at_end, mut later, mut all) = (0, 0, 0);
        for _ in 0..200 {
            let outcome = model.run(&mut rng, rules).expect("rules are right");
            let changed = |one: &&rqps_stats::Verdict| one.class.is_change();
            all += outcome.judgement.verdicts.len();
            for verdict in outcome.judgement.verdicts.iter().filter(changed) {
                *(if verdict.blocks == 3 { &mut at_end } else { &mut later }) += 1;
            }
        }
        (at_end, later, all)
    };
    // Errors as large as these show in few runs.
    let rules = Rules { alpha: 0.02, ..Rules::default() }.ending_after(3);
    let (at_end, later, all) = run(1.0, &rules);
    // A rate of 2 % gives more than 163 with a probability of 0.1 %.
    assert!(all == 6_400 && at_end + later <= 163, "{at_end} and {later} of {all}");
    let (at_end, later, all) = run(0.98, &Rules::default().ending_after(3));
    assert!(share(at_end, all) < 0.5 && share(at_end + later, all) > 0.9, "{at_end} and {later} of {all}");
}

/// Two tests, which learn nothing from each other, in three blocks: a change of eight times is found at a block sd of
/// 20 %, and equal arms are not called changed where blocks differ by up to 50 %.
#[test]
fn changes_beyond_any_noise_are_found_in_three_blocks() {
    let mut rng = Rng::new(43);
    let rules = Rules::default().ending_after(3);
    let mut run = |ratio: f64, block_sd: f64, reports: usize| {
        let ratios = vec![ratio];
        let model = Blocks { tests: 2, ratios, control: false, block_sd, spread_df: 20.0, ..REPORT };
        let (mut changed, mut all) = (0, 0);
        for _ in 0..reports {
            let (of_report, verdicts) = changes(&model.draw(&mut rng, 3), 1, &rules);
            changed += of_report;
            all += verdicts;
        }
        (changed, all)
    };
    for block_sd in [0.05, 0.15, 0.3, 0.5] {
        let (changed, all) = run(1.0, block_sd, 5_000);
        // A rate of 0.1 % gives more than 20 with a probability of 0.2 %.
        assert!(all == 10_000 && changed <= 20, "{block_sd}: {changed} of {all}");
    }
    for ratio in [8.0, 0.125] {
        let (changed, all) = run(ratio, 0.2, 500);
        assert!(share(changed, all) > 0.99, "{ratio}: {changed} of {all}");
    }
}

/// Counters whose blocks differ only by events of one size, equally probable in any arm's block: over all
/// looks they are called changed as rarely as anything else, with or without additional noise.
#[test]
fn rare_events_of_one_size_are_no_change() {
    let mut rng = Rng::new(5);
    let mut worst = Vec::new();
    for arms in [2, 3] {
        for probability in [0.2, 0.33, 0.5] {
            for noise in [0.0, 1e-6] {
                let mut changed = 0;
                for _ in 0..150 {
                    changed +=
                        changes(&counters(&mut rng, arms, probability, noise), arms - 1, &Rules::default()).0;
                }
                worst.push((changed, arms, probability, noise));
            }
        }
    }
    // Of 4,800 each: a rate of 0.1 % gives more than 12 with a probability of 0.2 %.
    assert!(worst.iter().all(|(changed, ..)| *changed <= 12), "{worst:?}");
}

/// Thirty-two tests of 18 blocks; an event is 1 % of the counter.
fn counters(rng: &mut Rng, arms: usize, probability: f64, noise: f64) -> Experiment {
    let mut block = |block: u32| {
        let mut value = || {
            let event = if rng.uniform() < probability { 0.01 } else { 0.0 };
            400.0 * (1.0 + event + noise * rng.normal())
        };
        let values: Vec<f64> = (0..arms).map(|_| value()).collect();
        BlockData {
            block,
            values: values.iter().copied().map(Some).collect(),
            ln: values.iter().map(|value| Some(value.ln())).collect(),
            errors: Vec::new(),
        }
    };
    let mut test = |number: usize| TestData {
        name: format!("test-{number}"),
        group: "simulated".to_owned(),
        starts: format!("starts-{number}"),
        metrics: vec![MetricData {
            metric: Metric::WalBytes,
            blocks: (0..18).map(&mut block).collect(),
            windows: Vec::new(),
        }],
    };
    let control = (arms > 2).then_some(1);
    Experiment { arms, base: 0, control, tests: (0..32).map(&mut test).collect() }
}

/// Changes of 2, 3 and 5 % are found as often, and with as few blocks, as with a known spread of noise,
/// although a report of 32 tests has to estimate it. What is missing at a quiet 2 % is `same`, which is
/// nearly true. (ratio, block sd, minimum found, maximum blocks)
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

/// Higher rates and lower costs are improvements; higher costs are regressions.
#[test]
fn directions_are_right() {
    for (metric, ratio, regression) in
        [(Metric::Rate, 1.05, false), (Metric::CpuUs, 1.05, true), (Metric::CpuUs, 0.95, false)]
    {
        let model = Blocks { metric, ratios: vec![1.0, ratio], block_sd: 0.005, ..REPORT };
        let sums = reports(&model, 2, 1, 3);
        assert_eq!(sums.changes, 32, "{metric} {ratio}: {sums:?}");
        assert_eq!(sums.regressions, if regression { 32 } else { 0 }, "{metric} {ratio}: {sums:?}");
        assert_eq!(sums.significant, 32, "{metric} {ratio}: {sums:?}");
        assert_eq!(reports(&model, 1, 1, 3).changes, 0, "the control measures base again");
    }
}

/// Estimated sizes of barely detectable changes are too large, but intervals hold.
#[test]
fn intervals_hold_if_sizes_are_too_large() {
    let mut rng = Rng::new(9);
    let model = Blocks { ratios: vec![0.98], control: false, block_sd: 0.03, spread_df: 20.0, ..REPORT };
    let (mut changed, mut size, mut missed) = (0, 0.0, 0);
    for _ in 0..60 {
        let judged = judge(&model.draw(&mut rng, 18), &Rules::default());
        for verdict in judged.expect("data is right").verdicts.iter().filter(|one| one.class.is_change()) {
            changed += 1;
            size += 1.0 - verdict.ratio;
            missed += usize::from(!(verdict.low..=verdict.high).contains(&0.98));
        }
    }
    let mean = size / changed as f64;
    assert!(
        changed > 60 && mean > 0.025,
        "{changed} changes of 2 % estimated as {mean}: METHOD.md overstates the bias"
    );
    assert!(share(missed, changed) <= 0.01, "{missed} of {changed}");
}

/// A look's decision is reproduced after other tests had further blocks: it is based on the blocks that
/// existed then.
#[test]
fn later_blocks_of_other_tests_change_nothing() {
    let mut rng = Rng::new(14);
    let rules = Rules::default();
    let model = Blocks { ratios: vec![1.0, 0.98], of_start: 0.3, ..REPORT };
    for _ in 0..20 {
        let all = model.draw(&mut rng, 12);
        // One test goes on to five blocks while the others stay at three; then the others get later ones.
        let at = |blocks_of_others: usize| {
            let mut part = all.clone();
            for (number, test) in part.tests.iter_mut().enumerate() {
                let blocks = &mut test.metrics[0].blocks;
                blocks.truncate(if number == 0 { 5 } else { blocks_of_others });
                blocks.iter_mut().skip(if number == 0 { 5 } else { 3 }).for_each(|block| block.block += 100);
            }
            let mut verdicts = judge(&part, &rules).expect("data is right").verdicts;
            verdicts.retain(|verdict| verdict.test == "test-0");
            verdicts
        };
        for (early, later) in at(3).iter().zip(&at(12)) {
            let figures =
                |one: &rqps_stats::Verdict| (one.class, one.ratio, one.p_seq, one.moderated_sd, one.df);
            assert_eq!(figures(early), figures(later));
        }
    }
}

/// A look's decision is reproduced after other arms of the test had further blocks.
#[test]
fn decisions_are_reproduced_with_more_blocks() {
    let mut rng = Rng::new(4);
    let rules = Rules::default();
    let model = Blocks { ratios: vec![1.0, 0.98], ..REPORT };
    for _ in 0..20 {
        let all = model.draw(&mut rng, 12);
        let at = |blocks: usize| {
            let mut part = all.clone();
            part.tests.iter_mut().for_each(|test| test.metrics[0].blocks.truncate(blocks));
            judge(&part, &rules).expect("data is right").verdicts
        };
        for (early, late) in at(5).iter().zip(at(12)) {
            let refined = early.class.is_regression() && late.class.is_regression();
            let size_known = early.class.is_change() && late.tags.contains(&Tag::TinyShift);
            let stands = early.class == late.class || refined || size_known;
            assert!(!early.class.is_decided() || stands, "{early:?} became {late:?}");
        }
    }
}

/// What was measured before anybody looked is judged once: no more false changes than with looks, and no `same` that
/// its last blocks contradict.
#[test]
fn blocks_that_were_there_before_are_judged_once() {
    let rules = Rules { at_once: true, ..Rules::default() };
    let (mut verdicts, mut changed) = (0, 0);
    for (place, blocks) in [3, 4, 5, 12, 15, 30].into_iter().enumerate() {
        for (spread_df, seed) in [(6.0, 70), (f64::INFINITY, 80)] {
            let model = Blocks { ratios: vec![1.0], control: false, spread_df, ..REPORT };
            let mut rng = Rng::new(seed + place as u64);
            for _ in 0..80 {
                let judged = judge(&model.draw(&mut rng, blocks), &rules).expect("data is right");
                verdicts += judged.verdicts.len();
                changed += judged.verdicts.iter().filter(|verdict| verdict.class.is_change()).count();
                assert!(judged.verdicts.iter().all(|verdict| verdict.blocks == blocks));
            }
        }
    }
    // A rate of 0.1 % gives more than 49 with a probability of 0.1 %.
    assert!(verdicts == 30_720 && changed <= 49, "{changed} of {verdicts}");

    // From the sixth of twelve repeats on, the arm is a fifth slower.
    let block = |number: u32| {
        let noise = f64::from(number * 7 % 5) * 0.001;
        let values = [1.0 + noise, if number < 5 { 1.0 } else { 0.8 }];
        BlockData {
            block: number,
            values: values.map(Some).to_vec(),
            ln: values.map(|one| Some(one.ln())).to_vec(),
            errors: Vec::new(),
        }
    };
    let late = Experiment {
        arms: 2,
        base: 0,
        control: None,
        tests: vec![TestData {
            name: "late".into(),
            group: "read".into(),
            starts: "late".into(),
            metrics: vec![MetricData {
                metric: Metric::Rate,
                blocks: (0..12).map(block).collect(),
                windows: Vec::new(),
            }],
        }],
    };
    let class = |rules: &Rules| judge(&late, rules).expect("data is right").verdicts[0].class;
    assert_eq!(class(&Rules::default()), Class::Same, "the first five decided it");
    assert_ne!(class(&rules), Class::Same);
}

/// Where half of the tests are many times noisier than the others, the spread of noise is no chi-square, and the noisy
/// ones are moderated too much: the documented limit is 0.3 % of all verdicts, not 0.1 %.
#[test]
fn tests_of_unlike_noise_give_more_false_changes_within_the_documented_limit() {
    let rules = Rules { at_once: true, ..Rules::default() };
    let mut rng = Rng::new(90);
    let (mut verdicts, mut changed) = (0, 0);
    for noisier in [3.0, 5.0, 20.0] {
        for (tests, count) in [(3, 400), (13, 100)] {
            for _ in 0..count {
                let model =
                    |block_sd| Blocks { tests, ratios: vec![1.0], control: false, block_sd, ..REPORT };
                let mut data = model(0.01).draw(&mut rng, 3);
                let noisy = model(0.01 * noisier).draw(&mut rng, 3).tests;
                let renamed = |test: TestData| TestData { name: format!("noisy {}", test.name), ..test };
                data.tests.extend(noisy.into_iter().map(renamed));
                let judged = judge(&data, &rules).expect("data is right");
                verdicts += judged.verdicts.len();
                changed += judged.verdicts.iter().filter(|verdict| verdict.class.is_change()).count();
            }
        }
    }
    // A rate of 0.3 % gives more than 67 with a probability of 0.1 %.
    assert!(verdicts == 15_000 && changed <= 67, "{changed} of {verdicts}");
}

/// How a test's windows tell its noise: the standard error within a block that they give, from the block's true one.
type Told = fn(&mut Rng, f64) -> f64;

/// A report of tests whose blocks have these standard deviations, with errors within blocks as told.
fn report_of(
    rng: &mut Rng,
    block_sds: &[f64],
    (ratio, blocks): (f64, usize),
    told: Option<Told>,
) -> Experiment {
    let mut all = Experiment { arms: 2, base: 0, control: None, tests: Vec::new() };
    for (number, block_sd) in block_sds.iter().enumerate() {
        let model = Blocks { tests: 1, ratios: vec![ratio], control: false, block_sd: *block_sd, ..REPORT };
        let mut test = model.draw(rng, blocks).tests.remove(0);
        test.name = format!("test-{number}");
        test.starts = test.name.clone();
        if let Some(told) = told {
            for block in &mut test.metrics[0].blocks {
                block.errors = vec![Some(0.0), Some(told(rng, *block_sd))];
            }
        }
        all.tests.push(test);
    }
    all
}

/// Standard deviations of blocks from 0.3 to 3 %, evenly on the scale of logarithms.
fn unlike_sds(tests: usize) -> Vec<f64> {
    (0..tests).map(|number| 0.003 * 10_f64.powf(number as f64 / (tests - 1) as f64)).collect()
}

/// Where windows tell how noisy a test is, three blocks find more changes of 5 % among tests of unlike noise, and no
/// more of what is not there; where they tell something else, or leave out what a start adds, they do no harm.
#[test]
fn windows_tell_how_noisy_a_test_is() {
    let only = Rules { looks: vec![Look { blocks: 3, spend: 1.0 }], ..Rules::default() };
    let told: [(&str, Option<Told>); 5] = [
        ("nothing", None),
        ("half of it", Some(|_, sd| 0.5 * sd)),
        ("each block its own", Some(|rng, sd| sd * (0.5 * rng.normal()).exp())),
        ("another noise", Some(|rng, _| 0.01 * (0.7 * rng.normal()).exp())),
        // Starts add 0.8 %: of a quiet test windows tell next to nothing.
        ("all but a start", Some(|_, sd| (sd * sd - 0.008_f64.powi(2)).max(1e-8).sqrt())),
    ];
    // Of few tests, the documented 0.3 % of unlike noise gives more than 46 with a probability of 0.1 %; of many, 0.1 %
    // gives more than 21.
    for (tests, most) in [(4, 46), (8, 46), (32, 21)] {
        let mut found = Vec::new();
        for (what, told) in told {
            let mut rng = Rng::new(101);
            let (mut changed, mut detected) = (0, 0);
            for _ in 0..9_600 / tests {
                let mut of =
                    |ratio| changes(&report_of(&mut rng, &unlike_sds(tests), (ratio, 3), told), 1, &only).0;
                changed += of(1.0);
                detected += of(0.95);
            }
            found.push((what, changed, detected));
        }
        assert!(found.iter().all(|(_, changed, _)| *changed <= most), "{found:?}");
        let gained = |at: usize| found[at].2 as f64 / found[0].2 as f64;
        assert!(gained(1) > 1.05 && gained(2) > 1.1 && gained(4) > 1.1, "{found:?}");
        // Few tests can't tell that windows tell nothing.
        assert!(gained(3) > 0.92, "noise of something else costs power: {found:?}");
    }
}

/// Later blocks have more windows of reading tests, so their contrasts vary less: no more false changes for that.
#[test]
fn quieter_later_blocks_give_no_more_false_changes() {
    let mut rng = Rng::new(103);
    let (mut verdicts, mut changed) = (0, 0);
    for _ in 0..300 {
        let mut data = report_of(&mut rng, &unlike_sds(32), (1.0, 12), None);
        let quiet = report_of(
            &mut rng,
            &unlike_sds(32).iter().map(|sd| 0.4 * sd).collect::<Vec<_>>(),
            (1.0, 12),
            None,
        );
        for (test, quiet) in data.tests.iter_mut().zip(quiet.tests) {
            test.metrics[0].blocks.truncate(3);
            test.metrics[0].blocks.extend(quiet.metrics[0].blocks[3..].iter().cloned());
        }
        let (of_report, all) = changes(&data, 1, &Rules::default());
        (changed, verdicts) = (changed + of_report, verdicts + all);
    }
    // A rate of 0.1 % gives more than 21 with a probability of 0.1 %.
    assert!(verdicts == 9_600 && changed <= 21, "{changed} of {verdicts}");
}
