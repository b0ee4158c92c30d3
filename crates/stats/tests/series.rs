//! Consecutive versions: steps are found where they are, rows without one have none, and one cause is one
//! arrival.

use rqps_stats::series::{SeriesData, SeriesRules, Step, Steps, TestSteps, arrivals, steps};
use rqps_stats::sim::Rng;
use rqps_stats::{Direction, Metric};

/// Rows of `blocks` over versions with the true logarithms `truth`; the log ratio of two has an sd of
/// `block_sd` in a block.
fn rows(rng: &mut Rng, truth: &[f64], block_sd: f64, blocks: usize) -> Vec<Vec<Option<f64>>> {
    let mut block = |_| {
        let common = rng.normal();
        truth.iter().map(|level| Some(level + common + block_sd / 2f64.sqrt() * rng.normal())).collect()
    };
    (0..blocks).map(&mut block).collect()
}

/// Many tests with the same truth.
fn many(count: usize, truth: &[f64], seed: u64) -> Vec<Steps> {
    let mut rng = Rng::new(seed);
    let mut found = Vec::new();
    while found.len() < count {
        let data: Vec<SeriesData> = (0..32)
            .map(|number| SeriesData {
                test: number.to_string(),
                metrics: vec![(Metric::Rate, rows(&mut rng, truth, 0.01, 6))],
            })
            .collect();
        found
            .extend(steps(&data, &SeriesRules::default()).into_iter().map(|mut one| one.metrics.remove(0).1));
    }
    found
}

fn step_at(place: usize, size: f64) -> Vec<f64> {
    (0..7).map(|version| if version >= place { size } else { 0.0 }).collect()
}

/// Seven versions, six blocks, a block sd of 1 %.
#[test]
fn rows_without_a_step_have_none() {
    let found = many(3200, &[0.0; 7], 1);
    let any = found.iter().filter(|one| !one.steps.is_empty()).count();
    // At a rate of 0.3 % there are more than 20 with a probability of 0.1 %.
    assert!(any <= 20, "{any} of 3200");
}

/// The more metrics a test has, the stricter each step's test: at 5 %, four metrics, 640 tests.
#[test]
fn metrics_share_the_error_of_their_test() {
    let mut rng = Rng::new(6);
    let rules = SeriesRules { alpha: 0.05, ..SeriesRules::default() };
    let metrics = [Metric::Rate, Metric::Instructions, Metric::CpuUs, Metric::Blocks];
    let mut any = 0;
    for _ in 0..20 {
        let mut data = |number: usize| SeriesData {
            test: number.to_string(),
            metrics: metrics.map(|metric| (metric, rows(&mut rng, &[0.0; 5], 0.01, 4))).to_vec(),
        };
        let data: Vec<SeriesData> = (0..32).map(&mut data).collect();
        let has_step = |one: &TestSteps| one.metrics.iter().any(|(_, found)| !found.steps.is_empty());
        any += steps(&data, &rules).iter().filter(|one| has_step(one)).count();
    }
    assert!((10..=55).contains(&any), "{any} of 640");
}

#[test]
fn steps_are_found_in_the_right_version() {
    for (size, found_min, right_min) in [(0.01, 0.78, 0.84), (0.02, 0.995, 0.98), (-0.02, 0.995, 0.98)] {
        let place = 4;
        let found = many(320, &step_at(place, size), 2);
        let count = found.len() as f64;
        let first: Vec<&Step> = found.iter().filter_map(|one| one.steps.first()).collect();
        let share = |holds: fn(&Step, usize, f64) -> bool| {
            first.iter().filter(|step| holds(step, place, size)).count() as f64 / first.len() as f64
        };
        let place_text = format!("step {size}");
        assert!(first.len() as f64 / count > found_min, "{place_text}: found {} of {count}", first.len());
        assert!(share(|step, place, _| step.arrival == place) > right_min, "{place_text}: right version");
        assert!(share(|step, place, _| step.arrivals.contains(&place)) > 0.92, "{place_text}: arrival sets");
        assert!(
            share(|step, _, size| step.low.ln() < size && size < step.high.ln()) > 0.85,
            "{place_text}: sizes"
        );
        assert!(share(|step, _, size| (step.ratio > 1.0) == (size > 0.0)) > 0.98, "{place_text}: sides");
    }
}

#[test]
fn steps_and_slopes_are_distinguished() {
    let two = many(32, &[0.0, 0.0, 0.05, 0.05, 0.05, 0.02, 0.02], 3);
    let places: Vec<usize> = two[0].steps.iter().map(|step| step.arrival).collect();
    assert_eq!((places, two[0].drift), (vec![2, 5], false));
    assert!((two[0].levels[3] - 0.05).abs() < 0.01, "{:?}", two[0].levels);
    let slope: Vec<f64> = (0..7).map(|version| 0.02 * f64::from(version)).collect();
    let drift = many(32, &slope, 4).iter().filter(|one| one.drift).count();
    assert!(drift > 28, "{drift} of 32");
    assert_eq!(many(32, &step_at(4, 0.05), 5).iter().filter(|one| one.drift).count(), 0);
}

#[test]
fn exact_counters_and_short_rows_are_handled() {
    let steps_of = |rows: Vec<Vec<Option<f64>>>| {
        let data = SeriesData { test: "t".to_owned(), metrics: vec![(Metric::Rows, rows)] };
        steps(&[data], &SeriesRules::default()).remove(0).metrics.remove(0).1
    };
    let exact = steps_of(vec![vec![Some(1.0), Some(1.0), Some(1.5), Some(1.5)]; 3]);
    assert_eq!(exact.steps.len(), 1);
    assert_eq!((exact.steps[0].arrival, exact.steps[0].arrivals.as_slice()), (2, &[2][..]));
    assert!((exact.steps[0].ratio - 0.5f64.exp()).abs() < 1e-12);
    assert!(steps_of(vec![vec![Some(1.0), Some(2.0)]; 5]).steps.is_empty(), "two versions are no series");
    let lacking = steps_of(vec![vec![Some(1.0), None, Some(2.0)], vec![Some(1.0), Some(1.0), Some(2.0)]]);
    assert_eq!((lacking.blocks, lacking.steps.len()), (1, 0));
    assert!(steps_of(Vec::new()).steps.is_empty());
}

/// Two tests with the same change are one arrival; a different signature or version is another one.
#[test]
fn one_cause_is_one_arrival() {
    let step = |arrivals: &[usize], ratio: f64| Step {
        arrival: arrivals[0],
        arrivals: arrivals.to_vec(),
        ratio,
        low: ratio,
        high: ratio,
    };
    let found =
        |steps: Vec<Step>| Steps { blocks: 6, block_sd: 0.01, levels: Vec::new(), steps, drift: false };
    let test = |name: &str, metrics: Vec<(Metric, Vec<Step>)>| TestSteps {
        test: name.to_owned(),
        metrics: metrics.into_iter().map(|(metric, steps)| (metric, found(steps))).collect(),
    };
    let slower = |arrivals: &[usize]| {
        vec![(Metric::Rate, vec![step(arrivals, 0.95)]), (Metric::Instructions, vec![step(&[3], 1.04)])]
    };
    let tests = [
        test("a", slower(&[2, 3])),
        test("b", slower(&[3, 4])),
        test("c", vec![(Metric::Rate, vec![step(&[3], 0.95)])]),
        test("d", slower(&[3]).into_iter().map(|(metric, _)| (metric, vec![step(&[5], 0.9)])).collect()),
        test("e", Vec::new()),
    ];
    let arrivals = arrivals(&tests);
    let summary: Vec<(Vec<usize>, usize, Vec<&str>)> = arrivals
        .iter()
        .map(|one| {
            (one.versions.clone(), one.signature.len(), one.tests.iter().map(String::as_str).collect())
        })
        .collect();
    assert_eq!(
        summary,
        [(vec![3], 2, vec!["a", "b"]), (vec![3], 1, vec!["c"]), (vec![5], 2, vec!["d"])],
        "{arrivals:?}"
    );
    assert!(arrivals[0].signature.contains(&(Metric::Rate, Direction::Down)));
}
