//! `rqps order` on real servers: stopped after a run, continued, and printed.

use crate::bench::Bench;
use serde_json::Value;
use std::fs;

/// What is found depends on the machine's noise, so only the way there is checked here; `rqps-stats` has the answers.
#[test]
fn a_search_continues_where_it_stopped() {
    let bench = Bench::new();
    let workload = "steps = [\"update-index\", \"point-query\"]\n[test.update-index]\nevents = 500\n\
                    [test.point-query]\nevents = 500\n";
    let plan = bench.plan("", workload, &["18", "18"]).display().to_string();
    let order = ["order", &plan, "--test", "point-query", "--budget", "1s", "--json"];
    let first = bench.call(&order);
    assert_eq!(first.code(), Some(4), "{first:?}");
    assert!(
        first.stderr.contains("run 1: point-query in its place") && !first.stderr.contains("run 2:"),
        "{first:?}"
    );
    let found: Value = serde_json::from_str(&first.stdout).unwrap();
    assert!(
        found["arms"][0]["alone"].is_null() && found["arms"][0]["in_place"]["ratio"].is_number(),
        "{found:#}"
    );
    let second = bench.call(&order);
    assert!(second.stderr.contains("run 2: point-query alone"), "{second:?}");
    let found: Value = serde_json::from_str(&second.stdout).unwrap();
    assert!(found["arms"][0]["alone"]["ratio"].is_number(), "{found:#}");
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0, "data directories are left");
}

#[test]
fn plans_without_an_order_are_refused() {
    let bench = Bench::new();
    let refused = |plan: &str, test: &str| bench.call(&["order", plan, "--test", test]).expect(2).stderr;
    assert!(refused("verdicts", "scan").contains("order needs protocol = \"sequence\""));
    assert!(refused("insert-mini", "l.i0").contains("build on each other"));
    let unknown = refused("small-server", "scam");
    assert!(unknown.contains("no step `scam` in this plan") && unknown.contains("scan"), "{unknown}");
    assert!(refused("small-server", "point-query.warm").contains("is the plan's first test"));
    assert!(bench.call(&["order", "small-server"]).expect(2).stderr.contains("--shuffle 8"));
    assert!(!bench.results().exists(), "nothing was measured");
}
