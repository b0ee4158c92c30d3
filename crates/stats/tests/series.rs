//! Versions one after the other: one cause is one arrival.

use rqps_stats::series::{Arrival, Step, TestSteps, arrivals};
use rqps_stats::{Direction, Metric};

/// Two tests with the same change between the same versions are one arrival; a different signature, size or pair of
/// versions is another one, so that no pair has what only versions further apart show.
#[test]
fn one_cause_is_one_arrival() {
    let step = |arrivals: &[usize], ratio: f64| Step {
        arrivals: arrivals.to_vec(),
        ratio,
        interval: (f64::NAN, f64::NAN),
    };
    let test = |name: &str, metrics: Vec<(Metric, Vec<Step>)>| TestSteps { test: name.to_owned(), metrics };
    let slower = |rate: &[usize]| {
        vec![(Metric::Rate, vec![step(rate, 0.95)]), (Metric::Instructions, vec![step(&[3], 1.04)])]
    };
    let tests = [
        test("a", slower(&[3])),
        test("b", slower(&[3])),
        test("c", slower(&[2, 3])),
        test("d", vec![(Metric::Rate, vec![step(&[3], 0.95), step(&[5], 0.9)])]),
        test("e", Vec::new()),
        test("f", vec![(Metric::Instructions, vec![step(&[6], 1.08)])]),
        test("g", vec![(Metric::Instructions, vec![step(&[6], 2.0)])]),
        test("h", vec![(Metric::Instructions, vec![step(&[6], 1.01)])]),
        // Between the sizes of two others.
        test("i", vec![(Metric::Instructions, vec![step(&[6], 1.03)])]),
    ];
    let (rate, instructions) = ((Metric::Rate, Direction::Down), (Metric::Instructions, Direction::Up));
    let arrival = |versions: &[usize], signature: &[(Metric, Direction)], tests: &[&str]| Arrival {
        versions: versions.to_vec(),
        signature: signature.iter().copied().collect(),
        tests: tests.iter().map(|test| (*test).to_owned()).collect(),
    };
    let expected = [
        arrival(&[2, 3], &[rate], &["c"]),
        arrival(&[3], &[rate, instructions], &["a", "b"]),
        arrival(&[3], &[instructions], &["c"]),
        arrival(&[3], &[rate], &["d"]),
        arrival(&[5], &[rate], &["d"]),
        arrival(&[6], &[instructions], &["f", "h", "i"]),
        arrival(&[6], &[instructions], &["g"]),
    ];
    assert_eq!(arrivals(&tests), expected);
}
