//! Single verdicts on data made for the case.

use rqps_stats::{
    BlockData, Class, Detector, Experiment, InvalidData, Judgement, Metric, MetricData, Rules, Tag, TestData,
    Verdict, judge,
};

const REGRESSION: Class = Class::Regression { proven: true };
const IMPROVEMENT: Class = Class::Improvement { proven: true };

/// A metric from one row of values per block, one value per arm; a negative value: not measured.
fn metric<Row: AsRef<[f64]>>(metric: Metric, rows: &[Row]) -> MetricData {
    let block = |(number, row): (usize, &Row)| BlockData {
        block: number as u32 + 1,
        values: row.as_ref().iter().map(|value| (*value >= 0.0).then_some(*value)).collect(),
        ln: row.as_ref().iter().map(|value| (*value > 0.0).then(|| value.ln())).collect(),
        errors: Vec::new(),
    };
    MetricData { metric, blocks: rows.iter().enumerate().map(block).collect(), windows: Vec::new() }
}

fn test(name: &str, metrics: Vec<MetricData>) -> TestData {
    TestData { name: name.to_owned(), group: "point".to_owned(), starts: name.to_owned(), metrics }
}

fn judged(arms: usize, control: Option<usize>, tests: Vec<TestData>) -> Judgement {
    let experiment = Experiment { arms, base: 0, control, tests };
    judge(&experiment, &Rules::default()).expect("data is right")
}

/// The verdicts on the last arm of a single test with base, control and candidate.
fn all(metrics: Vec<MetricData>) -> Vec<Verdict> {
    let judgement = judged(3, Some(1), vec![test("t", metrics)]);
    judgement.verdicts.into_iter().filter(|verdict| verdict.arm == 2).collect()
}

/// The verdict on it, if it is the only metric.
fn one(data: MetricData) -> Verdict {
    let mut all = all(vec![data]);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The verdict on a candidate, without a control.
fn without_control(data: MetricData) -> Verdict {
    judged(2, None, vec![test("t", vec![data])]).verdicts.remove(0)
}

/// Three arms with equal base and control; the factors are candidate over base, block by block.
fn exact(counter: Metric, factors: &[f64]) -> MetricData {
    let rows: Vec<[f64; 3]> = factors.iter().map(|factor| [400.0, 400.0, 400.0 * factor]).collect();
    metric(counter, &rows)
}

/// Rates with contrasts mean - sd, mean, mean + sd.
fn three_blocks(mean: f64, sd: f64) -> MetricData {
    let rows = [-1.0, 0.0, 1.0].map(|place| [1000.0, 1000.0 * (mean + sd * place).exp()]);
    metric(Metric::Rate, &rows)
}

#[test]
fn exact_counters_are_compared_exactly() {
    let class = |factors: &[f64]| {
        let verdict = one(exact(Metric::WalBytes, factors));
        (verdict.class, verdict.tags)
    };
    assert_eq!(class(&[1.0; 3]), (Class::Same, vec![Tag::Exact]));
    assert_eq!(class(&[1.01, 1.02, 1.01, 1.02, 1.01]), (REGRESSION, vec![Tag::Exact]));
    assert_eq!(class(&[0.99, 0.98, 0.99, 0.98, 0.99]), (IMPROVEMENT, vec![Tag::Exact]));
    let tiny = [1.001, 1.002, 1.001, 1.002, 1.001];
    assert_eq!(class(&tiny), (Class::Same, vec![Tag::TinyShift, Tag::Exact]));
    assert_eq!(
        class(&tiny[..3]),
        (Class::Same, vec![Tag::Exact]),
        "small in all three, whether chance or not"
    );
    assert_eq!(class(&[1.0, 1.0]).0, Class::Inconclusive, "no decision before the first look");
    assert_eq!(class(&[1.01, 0.99, 1.01]).0, Class::Inconclusive, "both ways is no change");
    let (inconsistent, tags) = class(&[1.01, 0.99, 1.0]);
    assert!(
        inconsistent == Class::Inconclusive && !tags.contains(&Tag::Exact),
        "left to the estimator: {tags:?}"
    );
    let rounded = one(exact(Metric::Rows, &[1.0 + 1e-13, 1.0, 1.0 - 1e-13]));
    assert_eq!(rounded.class, Class::Same, "the rounding of a mean is no difference");
    let control_of_it = judged(3, Some(1), vec![test("t", vec![exact(Metric::Rows, &[1.5; 3])])]);
    assert_eq!(control_of_it.verdicts[0].class, Class::Same);
    assert!(control_of_it.verdicts[0].is_control && !control_of_it.verdicts[1].is_control);
}

/// An event of one size may be in three blocks of the arm and in none of base's and the control's: 2 (4/27)^3
/// is 0.65 %, which is not significant. Five blocks are: 0.014 %, at a look that has 0.015 %.
#[test]
fn certainty_of_a_counter_is_limited_by_its_blocks() {
    let three = one(exact(Metric::WalBytes, &[1.5; 3]));
    assert_eq!((three.class, three.blocks_to_resolve), (Class::Inconclusive, Some(2)));
    assert_eq!(three.tags, [Tag::Exact, Tag::Likely, Tag::FewBlocks]);
    assert!((three.p_seq - 2.0 * (4.0f64 / 27.0).powi(3) / 0.1).abs() < 1e-12, "{}", three.p_seq);
    let five = one(exact(Metric::WalBytes, &[1.5; 5]));
    assert!(five.class == REGRESSION && (five.low - 1.5).abs() < 1e-12 && five.low == five.high, "{five:?}");
    assert!(five.p_seq > 0.0 && five.confidence < 1.0, "{five:?}");
    // A look's decision is kept if the control differs in a later block.
    let rows: Vec<[f64; 3]> = (0..8).map(|block| [4.0, if block < 5 { 4.0 } else { 5.0 }, 6.0]).collect();
    assert_eq!(one(metric(Metric::WalBytes, &rows)).class, REGRESSION);
}

/// A count is as likely to have changed whatever other tests did, and if its control is not exactly like base. What
/// is within its noise is no more likely for being a count.
#[test]
fn a_count_that_differs_in_all_of_few_blocks_is_suspect() {
    let rows = |factors: [f64; 3]| {
        [[400.0, 400.1], [401.0, 401.0], [400.5, 400.4]]
            .iter()
            .zip(factors)
            .map(|([base, control], factor)| [*base, *control, base * factor])
            .collect::<Vec<_>>()
    };
    let unchanged = (0..9).map(|n| test(&format!("same{n}"), vec![exact(Metric::Blocks, &[1.0; 3])]));
    let judge = |data: MetricData| {
        let tests = std::iter::once(test("t", vec![data])).chain(unchanged.clone()).collect();
        let all = judged(3, Some(1), tests).verdicts;
        all.into_iter().find(|one| one.test == "t" && !one.is_control).unwrap()
    };
    for clear in [exact(Metric::Blocks, &[500.0; 3]), metric(Metric::Blocks, &rows([0.2982, 0.298, 0.2983]))]
    {
        let verdict = judge(clear);
        assert!(verdict.q_value > 0.1 && verdict.class == Class::Inconclusive, "{verdict:?}");
        assert!(verdict.tags.ends_with(&[Tag::Likely, Tag::FewBlocks]), "{verdict:?}");
    }
    let exact = judge(exact(Metric::Blocks, &[500.0; 3]));
    let blocks = judge(metric(Metric::Blocks, &rows([0.2982, 0.298, 0.2983])));
    assert_eq!(
        (exact.blocks_to_resolve, blocks.blocks_to_resolve),
        (Some(2), Some(5)),
        "with and without control"
    );
    let noisy = judge(metric(Metric::Blocks, &rows([1.1, 1.3, 1.2])));
    assert!(!noisy.tags.contains(&Tag::FewBlocks), "{noisy:?}");
}

/// Three blocks with equal contrasts have no variance, but prove no more for that, whatever the metric.
#[test]
fn equal_contrasts_prove_nothing() {
    for measured in [Metric::Rate, Metric::Instructions, Metric::CpuUs, Metric::Fsyncs] {
        // The control differs from base, so the counter is not exact.
        let rows = [[1000.0, 1003.0, 1100.0], [1000.0, 1001.0, 1100.0], [1000.0, 998.0, 1100.0]];
        let verdict = one(metric(measured, &rows));
        assert_eq!(verdict.class, Class::Inconclusive, "{verdict:?}");
        assert!(verdict.p_seq > 0.05, "{verdict:?}");
        assert!(verdict.low.is_nan() && verdict.high.is_nan(), "no interval without width: {verdict:?}");
    }
}

#[test]
fn only_constant_contrasts_are_exact_without_a_control() {
    let class = |rows: &[&[f64]]| {
        let verdict = without_control(metric(Metric::Fsyncs, rows));
        (verdict.class, verdict.tags.contains(&Tag::Exact))
    };
    let (two, four): (&[f64], &[f64]) = (&[2.0, 3.0], &[4.0, 6.0]);
    assert_eq!(class(&[two, two, four]), (Class::Inconclusive, true), "it may be chance");
    assert_eq!(class(&[two, two, four, two, two, four, two, four]), (REGRESSION, true));
    assert!(!class(&[two, &[2.0, 3.1], four]).1);
}

/// Fsyncs of a server's background work are periodic. 0.0096 and 0.0108 per operation do not differ by what
/// matters, on whichever side of a limit they are; nor does 0.002 from 0.
#[test]
fn background_fsyncs_are_no_change() {
    let verdict = |base: f64, arm: f64| one(metric(Metric::Fsyncs, &[[base, base, arm]; 8]));
    for (base, arm) in [(0.0096, 0.0108), (0.0108, 0.0096), (0.0, 0.002), (0.002, 0.0)] {
        let verdict = verdict(base, arm);
        assert_eq!(verdict.class, Class::Same, "{base} and {arm}: {verdict:?}");
    }
    assert_eq!(verdict(0.0096, 0.03).class, REGRESSION, "an operation's own");
    assert_eq!(verdict(0.0, 0.03).class, REGRESSION);
    assert_eq!(verdict(1.0, 1.02).class, REGRESSION, "and a fiftieth of a commit's");
    let noisy: Vec<[f64; 3]> = (0..8)
        .map(|block| {
            let noise = 0.0002 * f64::from(block % 3);
            [0.0094 + noise, 0.0098 - noise, 0.0106 + noise]
        })
        .collect();
    assert_eq!(one(metric(Metric::Fsyncs, &noisy)).class, Class::Same);
}

#[test]
fn costs_from_and_to_zero_have_a_verdict() {
    let from = one(metric(Metric::WalBytes, &[[0.0, 0.0, 8.0]; 5]));
    assert_eq!((from.class, from.ratio), (REGRESSION, f64::INFINITY));
    assert!(from.tags.contains(&Tag::FromZero), "{:?}", from.tags);
    let to = one(metric(Metric::WalBytes, &[[8.0, 8.0, 0.0]; 5]));
    assert_eq!((to.class, to.ratio), (IMPROVEMENT, 0.0));
    let never = one(metric(Metric::WalBytes, &[[0.0, 0.0, 0.0]; 3]));
    assert_eq!((never.class, never.ratio), (Class::Same, 1.0));
    // The control is 0 in some blocks only: neither an exact comparison nor a logarithm is possible.
    let rows: Vec<[f64; 3]> = (0..8)
        .map(|block| [f64::from(block % 2), f64::from(block % 3 % 2), 30.0 + f64::from(block % 2)])
        .collect();
    let noisy = one(metric(Metric::WalBytes, &rows));
    assert_eq!(noisy.class, REGRESSION);
    assert!(noisy.tags.contains(&Tag::Zeros) && (noisy.ratio - 61.0).abs() < 1e-9, "{noisy:?}");
}

/// The cost is based on instructions, or on CPU time if those are not counted; every other metric has its own
/// verdict.
#[test]
fn each_metric_has_its_own_verdict() {
    let noise = [0.9999, 1.0001, 1.0, 1.0002, 0.9998, 1.0, 1.0001, 0.9999];
    let noisy = |counter: Metric, factor: f64| {
        let rows = noise.map(|noise: f64| [5000.0, 5000.0 * (2.0 - noise), 5000.0 * factor * noise]);
        metric(counter, &rows)
    };
    let verdicts = |metrics: Vec<MetricData>| -> Vec<(Detector, Metric, Class)> {
        all(metrics).into_iter().map(|one| (one.detector, one.metric, one.class)).collect()
    };
    // A newer server, update of an index: everything that matters improved, and 9.7 % more blocks were
    // touched.
    let metrics = || {
        vec![
            exact(Metric::Blocks, &[1.097; 8]),
            noisy(Metric::CpuUs, 0.66),
            noisy(Metric::Instructions, 0.88),
            noisy(Metric::WalBytes, 0.22),
        ]
    };
    let expected = [
        (Detector::Cost, Metric::Instructions, IMPROVEMENT),
        (Detector::Cpu, Metric::CpuUs, IMPROVEMENT),
        (Detector::Wal, Metric::WalBytes, IMPROVEMENT),
        (Detector::Blocks, Metric::Blocks, REGRESSION),
    ];
    assert_eq!(verdicts(metrics()), expected);
    assert!(
        all(metrics()).iter().all(|one| !one.is_mixed()),
        "the cost of touched blocks is in the other metrics"
    );
    assert_eq!(
        verdicts(vec![noisy(Metric::CpuUs, 1.05)]),
        [(Detector::Cost, Metric::CpuUs, REGRESSION)],
        "instructions are not counted"
    );
    // Fewer instructions with more CPU time, or less log with more instructions, are a trade-off.
    let verdicts = all(vec![
        noisy(Metric::Instructions, 1.05),
        noisy(Metric::WalBytes, 0.8),
        exact(Metric::Rows, &[0.5; 8]),
    ]);
    assert_eq!((verdicts[0].class, verdicts[0].opposed_by.as_slice()), (REGRESSION, &[Metric::WalBytes][..]));
    assert_eq!(verdicts[1].opposed_by, [Metric::Instructions]);
    assert!(verdicts[0].tags.contains(&Tag::Mixed) && !verdicts[2].is_mixed(), "{verdicts:?}");
    // More instructions at a higher rate are, too; fewer do not make up for a lower one.
    let traded = |rate, cost| all(vec![noisy(Metric::Rate, rate), noisy(Metric::Instructions, cost)]);
    assert_eq!(traded(1.3, 1.05)[1].opposed_by, [Metric::Rate]);
    let slower = traded(0.7, 0.95);
    assert!(slower[0].class == REGRESSION && slower.iter().all(|one| !one.is_mixed()), "{slower:?}");
    // Further metrics do not change the error of the cost.
    let alone = one(noisy(Metric::Instructions, 1.003));
    let with_cpu = all(vec![noisy(Metric::Instructions, 1.003), noisy(Metric::CpuUs, 1.0)]).remove(0);
    assert_eq!(alone, with_cpu);
}

/// A change with p just below 0.001 is not significant among 32 verdicts; four of them are.
#[test]
fn significance_depends_on_all_verdicts() {
    let report = |changed: usize| {
        // t is 4.6 with 26 degrees of freedom: p is 0.000085 at the first look, 0.00085 over all.
        let tests = (0..32).map(|number| {
            let mean = if number < changed { -0.0345 } else { 0.0 };
            test(&format!("t{number}"), vec![three_blocks(mean, 0.01)])
        });
        judged(2, None, tests.collect()).verdicts
    };
    let single = report(1);
    assert_eq!(single[0].class, Class::Inconclusive);
    assert!((single[0].p_seq - 0.00085).abs() < 0.0001, "{}", single[0].p_seq);
    assert!(single[0].tags.ends_with(&[Tag::Likely, Tag::NotSignificant]), "{:?}", single[0]);
    let four = report(4);
    assert!(four[..4].iter().all(|verdict| verdict.class.is_change()), "{:?}", four[0]);
    let figures = &four[0];
    assert!((figures.confidence - (1.0 - 0.01 * 4.0 / 32.0)).abs() < 1e-12, "{}", figures.confidence);
    assert!(figures.high < 1.0, "a significant change's interval excludes 1");
    assert!(four[4].low < 1.0 && four[4].high > 1.0);
}

/// Blocks between looks are not used until the next look; before the first look there is no verdict.
#[test]
fn only_blocks_with_both_arms_count() {
    let far = [100.0, 50.0];
    let rows: [&[f64]; 7] =
        [&far, &[-1.0, 50.0], &[100.0, 50.1], &[100.0, -1.0], &[100.0, 49.9], &[100.0, 90.0], &[-1.0, -1.0]];
    let judge_first = |count: usize| without_control(metric(Metric::Rate, &rows[..count]));
    let two = judge_first(4);
    assert_eq!((two.class, two.blocks, two.looks_reached), (Class::Inconclusive, 2, 0));
    assert!(two.blocks_to_resolve.is_some());
    let four = judge_first(7);
    let figures = &four;
    assert_eq!((four.class, figures.blocks, figures.blocks_measured), (REGRESSION, 3, 4));
    assert!((figures.ratio - 0.5).abs() < 1e-4, "the fourth block waits for its look: {}", figures.ratio);
    let none = without_control(metric(Metric::Rate, &[&[100.0, -1.0]]));
    assert!(none.class == Class::Inconclusive && none.ratio.is_nan());
}

/// By hand: t with 2 degrees of freedom is 99.9925 at 0.00005 and 1.0607 at 0.2, the standard error is 0.01 / sqrt(3).
#[test]
fn detectable_change_follows_the_formula() {
    let verdict = without_control(three_blocks(0.0, 0.01));
    let figures = &verdict;
    // Of t with 2 degrees of freedom, at 4.75e-5 and 0.19: changes beyond any noise have a share of each error.
    let expected = 1.0 - (-(102.5925f64 + 1.1175) * 0.01 / 3f64.sqrt()).exp();
    assert!((figures.mde80 - expected).abs() < 1e-4, "{} for {expected}", figures.mde80);
    assert!((figures.block_sd - 0.01).abs() < 1e-9 && (figures.moderated_sd - 0.01).abs() < 1e-9);
}

/// However well noise is known, a single outlier does not make a change.
#[test]
fn single_outlier_is_no_change() {
    let quiet = |number: usize| {
        let lns = [1e-3, -1e-3, 5e-4, -5e-4, 0.0];
        let rows: Vec<[f64; 2]> = lns.iter().map(|ln: &f64| [100.0, 100.0 * ln.exp()]).collect();
        test(&format!("quiet-{number}"), vec![metric(Metric::Rate, &rows)])
    };
    for lns in [vec![0.0, 0.0, -0.4], vec![0.0, 0.001, -0.001, 0.0, -5.0]] {
        let rows: Vec<[f64; 2]> = lns.iter().map(|ln: &f64| [100.0, 100.0 * ln.exp()]).collect();
        let far = test("t", vec![metric(Metric::Rate, &rows)]);
        let tests = std::iter::once(far).chain((0..500).map(quiet)).collect();
        let experiment = Experiment { arms: 2, base: 0, control: None, tests };
        let verdict = judge(&experiment, &Rules::default()).unwrap().verdicts.remove(0);
        assert!(verdict.test == "t" && !verdict.class.is_change(), "{verdict:?}");
    }
}

/// Groups with enough tests have their own estimate of noise.
#[test]
fn groups_have_their_own_noise() {
    let group = |name: &'static str, sd: f64| {
        (0..9).map(move |number| TestData {
            name: format!("{name}-{number}"),
            group: name.to_owned(),
            starts: format!("{name}-{number}"),
            metrics: vec![three_blocks(0.0, sd * (1.0 + 0.1 * f64::from(number)))],
        })
    };
    let alone = judged(2, None, group("quiet", 0.002).collect());
    let both = judged(2, None, group("quiet", 0.002).chain(group("noisy", 0.04)).collect());
    let quiet = &both.verdicts[0];
    assert_eq!(quiet.moderated_sd, alone.verdicts[0].moderated_sd, "the noisy group changes nothing");
    assert_eq!(quiet.class, Class::Same);
    assert!(quiet.moderated_sd < 0.005, "{quiet:?}");
}

#[test]
fn bimodal_blocks_and_outliers_are_tagged() {
    let verdict = |lns: &[f64]| {
        let rows: Vec<[f64; 2]> = lns.iter().map(|ln| [100.0, 100.0 * ln.exp()]).collect();
        let data = metric(Metric::Rate, &rows);
        without_control(data)
    };
    let two = verdict(&[0.0, 0.05, 0.001, 0.049, -0.001, 0.05, 0.0, 0.051]);
    assert!(two.tags.contains(&Tag::Bimodal) && !two.tags.contains(&Tag::OutlierBlock), "{:?}", two.tags);
    let far = verdict(&[0.001, 0.002, -0.001, 0.3, 0.0, -0.002, 0.001, 0.0]);
    assert!(far.tags.contains(&Tag::OutlierBlock), "{:?}", far.tags);
    let figures = &far;
    assert!(figures.ratio > 1.03 && (figures.huber_ratio - 1.0).abs() < 0.003, "{figures:?}");
}

#[test]
fn inconsistent_data_is_rejected() {
    let good = || Experiment {
        arms: 2,
        base: 0,
        control: None,
        tests: vec![test("t", vec![three_blocks(0.0, 0.01)])],
    };
    let error =
        |experiment: Experiment| judge(&experiment, &Rules::default()).expect_err("it is wrong").to_string();
    assert!(error(Experiment { base: 2, ..good() }).contains("base is arm 2"));
    assert!(error(Experiment { control: Some(0), ..good() }).contains("both arm 0"));
    assert!(
        error(Experiment { arms: 3, ..good() })
            .contains("test t, metric rate, block 1: 2 entries for 3 arms")
    );
    let mut twice = good();
    twice.tests[0].metrics[0].blocks[1].block = 1;
    assert!(error(twice).contains("block 1: given twice"));
    let mut not_finite = good();
    not_finite.tests[0].metrics[0].blocks[0].values[1] = Some(f64::NAN);
    assert!(error(not_finite).contains("block 1: the value NaN"));
    let rules = Rules { alpha: 0.0, ..Rules::default() };
    assert!(matches!(judge(&good(), &rules), Err(InvalidData::Rules(_))));
}
