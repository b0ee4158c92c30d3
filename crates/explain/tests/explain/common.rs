//! Judges and explains made-up runs.

use rqps_explain::{Cause, ExplainRequest, Explanation, Finding, explain};
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Extra, Observed, Spec, write_run};
use rqps_verdicts::{judge_run, rules_of};

/// Writes the run, judges it and explains one test of one arm.
pub fn explained(spec: &Spec, test: &str, arm: usize) -> Explanation {
    explained_after(spec, test, arm, |_| ())
}

/// The same after a change of the run.
pub fn explained_after(spec: &Spec, test: &str, arm: usize, change: impl Fn(&mut Run)) -> Explanation {
    let results = tempfile::tempdir().unwrap();
    let mut run: Run = RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap();
    change(&mut run);
    let judged = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
    let asked = ExplainRequest { tests: vec![test.to_owned()], arms: vec![arm], base: None };
    let mut found = explain(&run, Some(&judged), &asked).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// One figure per query, the same on base and control.
pub fn figure(test: &'static str, what: Observed, base: f64, arm: f64) -> [Extra; 3] {
    [(0, base), (1, base), (2, arm)].map(|(arm, per_query)| Extra { arm, test, what, per_query })
}

/// CPU time of a query: 180 us of the session on base and `session_us` on the arm, 40 us of the client on both.
pub fn cpu_times(test: &'static str, session_us: f64) -> [[Extra; 3]; 2] {
    [
        figure(test, Observed::SessionCpuUs, 180.0, session_us),
        figure(test, Observed::Metric("client_cpu_us"), 40.0, 40.0),
    ]
}

/// Table blocks of a query that are found in the buffers, with 3 index blocks on both arms and no misses.
pub fn blocks(test: &'static str, base: f64, arm: f64) -> Vec<[Extra; 3]> {
    let columns = [
        ("heap_blks_hit", base, arm),
        ("heap_blks_read", 0.0, 0.0),
        ("idx_blks_hit", 3.0, 3.0),
        ("idx_blks_read", 0.0, 0.0),
    ];
    let counter = |column| Observed::Counter("pg_statio_all_tables", "all", column);
    columns.map(|(column, base, arm)| figure(test, counter(column), base, arm)).to_vec()
}

pub fn finding(found: &Explanation, cause: Cause) -> Option<&Finding> {
    found.findings.iter().find(|finding| finding.cause == cause)
}

pub fn first(found: &Explanation) -> &Finding {
    found.findings.first().unwrap_or_else(|| panic!("{found:?}"))
}

/// How many findings name it.
pub fn names(found: &Explanation, what: &str) -> usize {
    found.findings.iter().filter(|finding| finding.sentence.contains(what)).count()
}
