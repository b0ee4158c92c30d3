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
    let ended = bench.call(&["import", &arguments[0], "--as", "fio"]).expect(2);
    assert!(ended.stderr.contains("no test of fio"), "{}", ended.stderr);
    let ended = bench.call(&["import", &arguments[0], &arguments[1], "--name", "patch"]).expect(0);
    assert!(ended.stdout.contains("REGRESSION select-only: 8.0 % slower"), "{}", ended.stdout);
    assert!(ended.stderr.contains("imported into"), "{}", ended.stderr);
    let ended = bench.call(&["show", "patch", "--published"]).expect(0);
    assert!(ended.stdout.contains("0.400") && ended.stdout.contains("run-1.log:"), "{}", ended.stdout);
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

#[test]
fn a_site_is_made_of_the_runs_that_can_be_read_and_again_of_the_same_bytes() {
    let bench = Bench::new();
    let csv = bench.path().join("rates.csv");
    let rows = (1..=5).flat_map(|repeat| ["16.1,100", "17.1,90"].map(|arm| (repeat, arm)));
    let rows: String = rows
        .map(|(repeat, arm)| {
            let (version, rate) = arm.split_once(',').unwrap();
            format!("pg{},scan,{repeat},{rate}.{repeat}\n", version.replace('.', ""))
        })
        .collect();
    fs::write(&csv, format!("arm,test,repeat,rate\n{rows}")).unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "made"]).expect(0);
    let site = bench.path().join("site");
    let site_path = site.display().to_string();
    let first = bench.call(&["site", &site_path]).expect(0);
    assert!(first.stderr.contains("1 run in"), "{}", first.stderr);
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("1 of 1 test"), "{index}");

    fs::create_dir(bench.results().join("broken")).unwrap();
    fs::write(bench.results().join("broken/run.db"), "no database").unwrap();
    let again = bench.call(&["site", &site_path]).expect(3);
    assert!(
        again.stderr.contains("left out: ") && again.stderr.contains("broken/run.db"),
        "{}",
        again.stderr
    );
    assert!(again.stderr.contains("0 files written"), "{}", again.stderr);
    let only_broken = bench.call(&["site", &site_path, "broken"]).expect(2);
    assert!(only_broken.stderr.contains("is unchanged"), "{}", only_broken.stderr);
    assert_eq!(fs::read_to_string(site.join("index.html")).unwrap(), index);
}

#[test]
fn too_few_repeats_can_detect_nothing() {
    let bench = Bench::new();
    let csv = bench.path().join("rates.csv");
    fs::write(&csv, "arm,test,repeat,rate\na,x,1,100\na,x,2,101\nb,x,1,90\nb,x,2,91\n").unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "two"]).expect(0);
    let shown = bench.call(&["show", "two", "--section", "verdicts", "--format", "json"]).expect(0).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let row = &shown["tables"][0]["rows"][0];
    assert_eq!((&row["rate_verdict"], &row["rate_blocks"]), (&"inconclusive".into(), &2.0.into()), "{row}");
    assert!(row["rate_could_show"].is_null(), "{row}");
}
