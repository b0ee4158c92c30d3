//! `rqps bisect` on real servers: stopped after its first measurement, continued, and printed again.

use crate::bench::{Bench, exact_version};
use std::fs;

/// Postgres 17 looks up a list of keys in one pass over the index, so a query of hot-points takes about half the
/// instructions, which are counted: on a busy machine even half the CPU time can be noise. Between these two versions
/// there is one place, so that the number of measurements, and of downloads, does not depend on noise.
#[test]
fn a_change_is_found_in_the_version_that_brought_it() {
    let bench = Bench::new();
    let good = format!("postgres-{}", exact_version("16"));
    let plan = bench.plan_text(&format!(
        "base = \"a\"\nprotocol = \"isolated\"\n[workload]\nrows = 1_000\n[isolated]\nwindow_seconds = 0.1\nblocks_max = 8\n\
         [verdict]\nrates = false\n\
         [[arm]]\nname = \"a\"\nbuild = \"{good}\"\nconfig = \"./small.conf\"\n"
    ));
    let plan = plan.display().to_string();
    let bisect =
        ["bisect", "--good", &good, "--bad", "postgres-17.0", "--test", "hot-points", "--plan", &plan];
    let first = bench.call(&[&bisect[..], &["--budget", "1s"]].concat());
    assert!(
        first.stderr.contains("measurement 1: 17.0") && !first.stderr.contains("measurement 2:"),
        "{first:?}"
    );
    let second = bench.call(&bisect).expect(0);
    assert!(!second.stderr.contains("measurement 1:"), "{}", second.stderr);
    let found =
        second.stdout.contains("hot-points: 17.0 (after 16.") && second.stdout.contains("fewer instructions");
    assert!(found, "{}", second.stdout);
    let third = bench.call(&[&bisect[..], &["--json"]].concat()).expect(0);
    assert!(!third.stderr.contains("\nmeasurement"), "{}", third.stderr);
    let answer: serde_json::Value = serde_json::from_str(&third.stdout).unwrap();
    let test = &answer["tests"][0];
    assert_eq!(test["steps"][0]["places"][0]["version"], "17.0", "{answer:#}");
    assert!(test["settled"] == true && test["metric"] == "instructions", "{answer:#}");
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0, "data directories are left");
}

#[test]
fn mistakes_are_named_before_anything_is_measured() {
    let bench = Bench::new();
    let refused = |good: &str, bad: &str| {
        bench.call(&["bisect", "--good", good, "--bad", bad, "--test", "scan"]).expect(2).stderr
    };
    assert!(refused("/usr/lib/pg", "postgres-17").contains("not a published version"));
    assert!(refused("mysql-9.7", "mysql-8.0.31").contains("--good names the older"));
    assert!(refused("mysql-8.0.31", "mysql-9.9").contains("--bad: no published version 9.9"));
    assert!(refused("mysql-9.7", "mysql-9.7").contains("--good and --bad both mean 9.7"));
    assert!(refused("REL_16", "HEAD").contains("--source"));
    let unpublished = refused("postgres-16", "postgres-17.99");
    assert!(unpublished.contains("--bad: ") && !unpublished.contains("needs "), "{unpublished}");
    assert!(!bench.results().exists(), "nothing was measured");
}
