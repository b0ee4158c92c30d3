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

/// Lines of ten steps of the Insert Benchmark, of which only rates are known, on one arm.
fn inserts(arm: &str, rate: f64) -> String {
    let columns =
        "ips\tqps\trps\trmbps\twps\twmbps\trpq\trkbpq\twpi\twkbpi\tcsps\tcpups\tcspq\tcpupq\tp50\tp99\ttag";
    let line = |step: u32| {
        let rate = rate + f64::from(step);
        let (rows, queries) = if step < 4 { (rate, 0.0) } else { (100.0, rate) };
        format!(
            "{rows:.0}\t{queries:.0}\t0.0\t0.0\t0.0\t0.0\t0.000\t0.000\t0.000\t0.000\t{:.0}\t25.0\t2.000\t{:.0}\t{rate:.0}\t100\t20m.{arm}\n",
            rate * 2.0,
            25.0 * 4e4 / rate
        )
    };
    format!("{columns}\n{}", (0..10).map(line).collect::<String>())
}

#[test]
fn what_no_file_tells_is_not_invented() {
    let bench = Bench::new();
    let files = bench.path().join("files");
    fs::create_dir_all(&files).unwrap();
    for (arm, rate) in [("pg124.cx5", 7000.0), ("pg1110.cx5", 9000.0)] {
        fs::write(files.join(format!("o.sum.t.{arm}")), inserts(arm, rate)).unwrap();
    }
    let imported = bench.call(&["import", &files.display().to_string(), "--name", "inserts"]).expect(0);
    assert!(
        imported.stdout.contains("postgres-12.4.cx5 relative to postgres-11.10.cx5"),
        "{}",
        imported.stdout
    );
    let shown = bench.call(&["show", "inserts", "--all"]).expect(0).stdout;
    let report = bench.call(&["report", "inserts"]).expect(0).stdout;
    bench.call(&["report", "inserts", "--html"]).expect(0);
    let page = fs::read_dir(&bench.folders()[0]).unwrap().map(|entry| entry.unwrap().path());
    let page = page.into_iter().find(|path| path.extension().is_some_and(|end| end == "html")).unwrap();
    let page = fs::read_to_string(page).unwrap();
    for (name, text) in [("show", &shown), ("report", &report), ("page", &page)] {
        for invented in [
            "wall s",
            "ended by",
            "Missed target",
            "passes = 3",
            "server start",
            "How to reproduce",
            "No options left out",
            "same plan as on base",
        ] {
            assert!(!text.contains(invented), "{name} has {invented}: {text}");
        }
        assert!(text.contains("9000"), "{name}: {text}");
    }
    let why = bench.call(&["explain", "inserts"]).expect(0).stdout;
    assert_eq!(why.matches("No figure of the imported files explains").count(), 1, "{why}");
    assert!(!why.contains("time per operation"), "{why}");
    let flat = bench.path().join("flat").display().to_string();
    bench.call(&["export", "inserts", "--to", &flat, "--as", "csv"]).expect(0);
    let windows = fs::read_to_string(Path::new(&flat).join("windows.csv")).unwrap();
    let header: Vec<&str> = windows.lines().next().unwrap().split(',').collect();
    let place = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let row: Vec<&str> = windows.lines().nth(1).unwrap().split(',').collect();
    assert_eq!([row[place("elapsed_us")], row[place("clients")]], ["", ""], "{windows}");
}

#[test]
fn files_of_rates_alone_have_nothing_to_explain_and_gate_says_what_is_missing() {
    let bench = Bench::new();
    let csv = bench.path().join("rates.csv");
    let rows: String =
        (1..=9).flat_map(|test| [format!("old,t{test},1,100\n"), format!("new,t{test},1,80\n")]).collect();
    fs::write(&csv, format!("arm,test,repeat,rate\n{rows}")).unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "rates"]).expect(0);
    let why = bench.call(&["explain", "rates"]).expect(0).stdout;
    assert_eq!(why.matches("no figures to explain them from").count(), 1, "{why}");
    assert!(why.contains("rates of t1 and 8 other tests") && !why.contains("No cause found"), "{why}");
    assert!(bench.call(&["ls"]).expect(0).stdout.contains("old, new"));
    fs::write(&csv, "arm,test,repeat,rate\nold,a,1,100\nold,a,2,100\nnew,a,1,80\nnew,a,2,81\n").unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "two"]).expect(0);
    let gate = bench.call(&["gate", "two"]);
    assert!(gate.stdout.contains("too few repeats") && !gate.stdout.contains("resume"), "{}", gate.stdout);
}
