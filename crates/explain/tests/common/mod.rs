//! Made-up runs, judged and explained.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use rqps_explain::{Asked, Explanation, explain};
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Extra, Observed, Spec, write_run};
use rqps_verdicts::{judge_run, rules_of};

/// Writes the run, judges it and explains one test of one arm.
pub fn explained(spec: &Spec, test: &str, arm: usize) -> Explanation {
    let results = tempfile::tempdir().unwrap();
    let run: Run = RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap();
    let judged = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
    let asked = Asked { tests: vec![test.to_owned()], arms: vec![arm], base: None };
    let mut found = explain(&run, Some(&judged), &asked).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// The same figure on base, control and arm but for the arm's own value.
pub fn figure(test: &'static str, what: Observed, base: f64, arm: f64) -> [Extra; 3] {
    [(0, base), (1, base), (2, arm)].map(|(arm, per_query)| Extra { arm, test, what, per_query })
}
