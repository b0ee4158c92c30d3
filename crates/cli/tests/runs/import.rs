//! `import`: results of other programs get verdicts in one command, or nothing is left of them.

use crate::bench::Bench;
use std::fs;
use std::path::Path;

/// What pgbench 15 prints at the end, at so many transactions per second.
fn pgbench(tps: f64) -> String {
    format!(
        "pgbench (15.18 (Debian 15.18-0+deb12u1), server 16.15)\ntransaction type: <builtin: select only>\n\
         scaling factor: 10\nquery mode: simple\nnumber of clients: 4\nnumber of threads: 1\n\
         maximum number of tries: 1\nduration: 60 s\n\
         number of transactions actually processed: {:.0}\nnumber of failed transactions: 0 (0.000%)\n\
         latency average = 0.400 ms\ninitial connection time = 3.000 ms\ntps = {tps:.6} (without initial connection time)\n",
        tps * 60.0
    )
}

fn write(directory: &Path, mean: f64, factors: [f64; 5]) {
    fs::create_dir_all(directory).unwrap();
    for (number, factor) in (1..).zip(factors) {
        fs::write(directory.join(format!("run-{number}.log")), pgbench(mean * factor)).unwrap();
    }
}

#[test]
fn files_of_pgbench_get_a_verdict_in_one_command() {
    let bench = Bench::new();
    let results = bench.results();
    let (old, new) = (results.join("../old"), results.join("../new"));
    write(&old, 10_000.0, [1.0, 1.004, 0.997, 1.002, 0.999]);
    write(&new, 9_200.0, [0.998, 1.0, 1.003, 0.999, 1.001]);
    let arguments =
        [("base", &old), ("head", &new)].map(|(arm, path)| format!("{arm}={}/*.log", path.display()));
    let ended = bench.call(&["import", &arguments[0], &arguments[1], "--name", "patch"]).expect(0);
    assert!(ended.stdout.contains("REGRESSION select-only: 8.0 % slower"), "{}", ended.stdout);
    assert!(ended.stderr.contains("imported into"), "{}", ended.stderr);
    // The gate judges it like a run of our own.
    let ended = bench.call(&["gate", "patch"]).expect(1);
    assert!(ended.stdout.contains("select-only"), "{}", ended.stdout);
    bench.call(&["report", "patch", "--html"]).expect(0);
    bench.call(&["export", "patch", "--to", &results.join("../flat").display().to_string()]).expect(0);
    let ended = bench.call(&["resume", "patch"]).expect(2);
    assert!(ended.stderr.contains("imported"), "{}", ended.stderr);
}

#[test]
fn nothing_is_left_of_an_import_that_fails() {
    let bench = Bench::new();
    let old = bench.results().join("../old");
    write(&old, 10_000.0, [1.0, 1.001, 1.0, 0.999, 1.002]);
    fs::write(old.join("run-3.log"), "pgbench (15.18)\ntransaction type: <builtin: select only>\n").unwrap();
    let ended = bench.call(&["import", &old.display().to_string()]).expect(2);
    assert!(
        ended.stderr.contains("run-3.log, line 2") && ended.stderr.contains("cut off"),
        "{}",
        ended.stderr
    );
    assert!(bench.folders().is_empty());
    assert!(!bench.results().exists() || fs::read_dir(bench.results()).unwrap().next().is_none());
}
