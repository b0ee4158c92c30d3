//! `rqps series` on real servers: a link, whose figures are printed again without measuring.

use crate::bench::{Bench, exact_version};
use std::fs;

/// Postgres 17 looks up a list of keys in one pass over the index, so a query of hot-points takes about half the CPU
/// time: far more than noise.
#[test]
fn a_link_is_measured_once() {
    let bench = Bench::new();
    let anchor = exact_version("16");
    let plan = bench.plan_text(&format!(
        "base = \"a\"\nprotocol = \"isolated\"\ncertificate = false\n[workload]\nrows = 1_000\n[isolated]\n\
         window_seconds = 0.1\nblocks_max = 3\ncount_instructions = false\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{anchor}\"\nconfig = \"./small.conf\"\n"
    ));
    let plan = plan.display().to_string();
    let versions = format!("17.0,{anchor}");
    let series = ["series", "postgres", &versions, "--tests", "hot-points", "--plan", &plan];
    let first = bench.call(&series).expect(0);
    assert!(first.stderr.contains(&format!("17.0 after {anchor}, 1 link to go")), "{}", first.stderr);
    assert!(first.stdout.contains(&format!("17.0 after {anchor}: ")), "{}", first.stdout);
    let csv = bench.call(&[&series[..], &["--format", "csv"]].concat()).expect(0);
    assert!(!csv.stderr.contains("to go"), "{}", csv.stderr);
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = csv.stdout.lines().map(cells).collect();
    let column = |key: &str| rows[0].iter().position(|one| one == key).unwrap();
    let last = rows.iter().find(|row| row[column("version")] == "17.0").unwrap();
    assert!(last[column("cost_ratio")].parse::<f64>().unwrap() < 0.8, "{}", csv.stdout);
    assert_eq!(last[column("blocks")], "3");
    let folders: Vec<_> =
        fs::read_dir(bench.results()).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(folders.len() == 1 && folders[0].join("series.html").is_file(), "{folders:?}");
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0, "data directories are left");
}

#[test]
fn mistakes_are_named_before_anything_is_measured() {
    let bench = Bench::new();
    let refused = |arguments: &[&str]| bench.call(&[&["series"], arguments].concat()).expect(2).stderr;
    assert!(refused(&["postgres", "18..17"]).contains("the older version comes first"));
    assert!(refused(&["oracle", "18"]).contains("oracle"));
    assert!(refused(&["postgres", "17.x"]).contains("VERSIONS"));
    assert!(refused(&["postgres", "16,18", "--html", "/no/folder/x.html"]).contains("no folder /no/folder"));
    let unpublished = refused(&["postgres", "16,17.99,18"]);
    assert!(unpublished.contains("VERSIONS: 17.99: ") && !unpublished.contains("skipping"), "{unpublished}");
    assert!(!bench.results().exists(), "nothing was measured");
}
