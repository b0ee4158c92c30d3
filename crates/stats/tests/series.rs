//! Versions one after the other: one cause is one arrival.

use rqps_stats::series::{Step, TestSteps, arrivals};
use rqps_stats::{Direction, Metric};

/// Two tests with the same change are one arrival; a different signature or version is another one.
#[test]
fn one_cause_is_one_arrival() {
    let step = |arrivals: &[usize], ratio: f64| Step {
        arrivals: arrivals.to_vec(),
        ratio,
        interval: (f64::NAN, f64::NAN),
    };
    let test = |name: &str, metrics: Vec<(Metric, Vec<Step>)>| TestSteps { test: name.to_owned(), metrics };
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
