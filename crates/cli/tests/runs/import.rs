//! `import`: results of other programs get verdicts in one command, or nothing is left of them.

use crate::bench::Bench;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// What pgbench 15 prints at the end, at so many transactions per second.
pub fn pgbench(tps: f64) -> String {
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
    assert!(ended.stderr.contains("base is base, by its name"), "{}", ended.stderr);
    let ended = bench.call(&["show", "patch", "--published"]).expect(0);
    assert!(
        ended.stdout.contains("0.400") && ended.stdout.contains("repeat 1: run-1.log"),
        "{}",
        ended.stdout
    );
    let ended = bench.call(&["show", "patch", "--section", "costs"]).expect(0);
    assert!(ended.stdout.contains("CPU time of the server was not measured"), "{}", ended.stdout);
    // The gate judges it like a run of our own.
    let ended = bench.call(&["gate", "patch"]).expect(1);
    assert!(ended.stdout.contains("select-only"), "{}", ended.stdout);
    bench.call(&["report", "patch", "--html"]).expect(0);
    bench.call(&["export", "patch", "--to", &results.join("../flat").display().to_string()]).expect(0);
    let ended = bench.call(&["resume", "patch"]).expect(2);
    assert!(ended.stderr.contains("imported"), "{}", ended.stderr);
}

/// No sentence says that all arms had the same number of repeats, and rates are of those that ratios are of.
#[test]
fn unequal_numbers_of_repeats_are_told_and_rates_agree_with_ratios() {
    let bench = Bench::new();
    fs::create_dir_all(bench.results()).unwrap();
    let csv = bench.results().join("../rates.csv");
    let mut rows = "arm,test,repeat,rate,unit\n".to_owned();
    for (repeat, factor) in (1..).zip([1.0, 1.002, 0.999, 1.001, 0.998, 0.5]) {
        rows.push_str(&format!("old,t,{repeat},{},tps\n", 1000.0 * factor));
        if repeat < 4 {
            rows.push_str(&format!("new,t,{repeat},{},tps\n", 1100.0 * factor + f64::from(repeat)));
        }
    }
    fs::write(&csv, rows).unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "uneven"]).expect(0);
    let ended = bench.call(&["report", "uneven"]).expect(0);
    for part in ["repeats: 6 of old, 3 of new; a verdict takes those", "improvement t: 10.2 % faster"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let ended = bench.call(&["show", "uneven", "--section", "absolute"]).expect(0);
    assert!(ended.stdout.contains("1000") && ended.stdout.contains("1102"), "{}", ended.stdout);
    let html = bench.results().join("../uneven.html");
    bench.call(&["report", "uneven", "--html", &html.display().to_string()]).expect(0);
    let page = fs::read_to_string(html).unwrap();
    assert!(page.contains("Arms have unequal numbers of repeats: 6 of old, 3 of new"), "{page}");
    assert!(!page.contains("measured on every arm in") && !page.contains("against itself (A/A)."), "{page}");
}

/// A rate that `-R` set is no result, but latencies are.
#[test]
fn a_rate_that_was_set_has_no_verdict() {
    let bench = Bench::new();
    let arms = ["old", "new"].map(|arm| bench.results().join("..").join(arm));
    for (arm, mean) in arms.iter().zip([1_000.0, 900.0]) {
        write(arm, mean, [1.0, 1.004, 0.997, 1.002, 0.999]);
        for file in fs::read_dir(arm).unwrap().map(|entry| entry.unwrap().path()) {
            let lag = "rate limit schedule lag: avg 0.609 (max 8.973) ms\ninitial";
            fs::write(&file, fs::read_to_string(&file).unwrap().replacen("initial", lag, 1)).unwrap();
        }
    }
    let [old, new] = arms.map(|arm| arm.display().to_string());
    let ended = bench.call(&["import", &old, &new, "--name", "set"]).expect(0);
    assert!(
        ended.stdout.contains("CHECK FIRST: select-only on old, new: the rate was set by"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("no test has a rate to judge"), "{}", ended.stdout);
    let ended = bench.call(&["show", "set", "--section", "headline"]).expect(0);
    assert!(ended.stdout.contains("no rQPS, since an option set the rates"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("0.90"), "{}", ended.stdout);
    let ended = bench.call(&["show", "set", "--published"]).expect(0);
    assert!(ended.stdout.contains("latency_avg_ms"), "{}", ended.stdout);
}

/// Ratios without any variation have an interval of one point: no measurement has those, and more of them tell nothing.
#[test]
fn repeats_that_are_equal_to_the_last_digit_are_not_independent() {
    let bench = Bench::new();
    fs::create_dir_all(bench.results()).unwrap();
    let csv = bench.results().join("../rates.csv");
    let rows: String =
        (1..=3).map(|repeat| format!("old,t,{repeat},1000,tps\nnew,t,{repeat},1100,tps\n")).collect();
    fs::write(&csv, format!("arm,test,repeat,rate,unit\n{rows}")).unwrap();
    let ended = bench.call(&["import", &csv.display().to_string(), "--name", "equal"]).expect(0);
    assert!(
        ended.stdout.contains("The repeats of 1 have one and the same ratio to the last digit"),
        "{}",
        ended.stdout
    );
    assert!(!ended.stdout.contains("more repeat"), "{}", ended.stdout);

    // Nor do copies show that rates are the same. Which version changed them follows the verdicts.
    let mut copies = "arm,test,repeat,rate,unit\n".to_owned();
    for repeat in 1..=12 {
        for (version, rate) in
            [("14.1", 1000), ("15.1", 1001), ("16.1", 1100), ("17.1", 1101), ("18.1", 1100)]
        {
            copies.push_str(&format!("postgres-{version}.x,t,{repeat},{rate},tps\n"));
        }
    }
    fs::write(&csv, copies).unwrap();
    let ended = bench.call(&["import", &csv.display().to_string(), "--name", "copies"]).expect(0);
    let shown = bench.call(&["show", "last", "--section", "verdicts,arrivals"]).expect(0).stdout;
    let arrived =
        |version: &str| shown.lines().any(|line| line.starts_with(version) && line.contains("rate +9.9 %"));
    assert!(
        arrived("15.1 to 16.1 ") && !arrived("14.1 ") && !arrived("16.1 ") && !arrived("17.1 "),
        "{shown}"
    );
    let same =
        shown.lines().find(|line| line.starts_with("t ") && line.split_whitespace().nth(1) == Some("same"));
    assert_eq!(same, None, "{}{shown}", ended.stdout);
}

#[test]
fn a_doubtful_base_comes_before_what_it_makes_of_others() {
    let bench = Bench::new();
    fs::create_dir_all(bench.results()).unwrap();
    let csv = bench.results().join("../rates.csv");
    let mut rows = "arm,test,repeat,rate,unit\n".to_owned();
    for (arm, version) in (0..).zip(["12.22", "13.18", "14.15", "15.10", "16.6"]) {
        for repeat in 1..=12 {
            // What each repeat shows would be no mistake.
            let of_base = if repeat == 3 { 130.0 } else { 300.0 };
            let rate = f64::from(1000 + arm + repeat) + if arm == 0 { of_base } else { 0.0 };
            rows.push_str(&format!("postgres-{version}.x,t,{repeat},{rate},tps\n"));
            rows.push_str(&format!("postgres-{version}.x,plain,{repeat},{},tps\n", 1000 + arm + repeat));
        }
    }
    fs::write(&csv, rows).unwrap();
    let ended = bench.call(&["import", &csv.display().to_string(), "--name", "odd"]).expect(0);
    let place = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let odd = "CHECK FIRST: t on postgres-12.22.x: base is the odd one: 4 of 4 others";
    assert!(place(&ended.stdout, odd) < place(&ended.stdout, "slower"), "{}", ended.stdout);
    let html = bench.results().join("../odd.html");
    bench.call(&["report", "odd", "--html", &html.display().to_string()]).expect(0);
    let page = fs::read_to_string(html).unwrap();
    assert!(place(&page, odd) < place(&page, "1</td>").min(place(&page, " slower")), "{page}");
    // The list of runs says so, too.
    let site = bench.results().join("../site");
    bench.call(&["site", &site.display().to_string()]).expect(0);
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    assert_eq!(
        index.matches(">check first</strong>").count(),
        2,
        "the run, and the rate of its test, but not of the other: {index}"
    );
}

#[test]
fn a_doubt_about_the_only_arm_is_told() {
    let bench = Bench::new();
    fs::create_dir_all(bench.results()).unwrap();
    let path = bench.results().join("../ro-1.txt");
    fs::write(&path, pgbench(10_000.0).replace("processed: 600000", "processed: 60000")).unwrap();
    let ended = bench.call(&["import", &path.display().to_string()]).expect(0);
    assert!(
        ended.stdout.contains("CHECK FIRST: select-only on results: 60000 transactions"),
        "{}",
        ended.stdout
    );
}

/// Figures that nobody published are shown, too, each beside what it was in the file, on 80 columns.
#[test]
fn figures_of_every_program_are_shown_in_their_units() {
    let bench = Bench::new();
    let dir = bench.results().join("../files");
    fs::create_dir_all(&dir).unwrap();
    let job = |us: f64| {
        format!(
            "O_DIRECT with fsync=1 for block size 16K\nseq: (g=0): rw=write, ioengine=psync\nfio-3.33\n\
             seq: (groupid=0, jobs=1): err= 0: pid=7\n  \
             write: IOPS=43.4k, BW=678MiB/s (711MB/s)(6780MiB/10000msec)\n    \
             sync (usec): min=1, max=99, avg={us:5.2}, stdev=1.10\n     \
             issued rwts: total=0,434321,0,434320 short=0,0,0,0\n\nRun status group 0 (all jobs):\n"
        )
    };
    fs::write(dir.join("o.txt"), job(9.22)).unwrap();
    bench.call(&["import", &dir.display().to_string(), "--name", "fio"]).expect(0);
    let ended = bench.call(&["show", "fio", "--published"]).expect(0);
    let row = |name: &str| ended.stdout.lines().find(|line| line.ends_with(name)).unwrap_or_default();
    let words = |name: &str| row(name).split_whitespace().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words("requests_per_s"), ["43400", "43432.1", "1/s"], "{}", ended.stdout);
    assert_eq!(words("bandwidth_mib_per_s"), ["646.6", "678.0", "MiB/s"], "{}", ended.stdout);
    assert_eq!(words("sync_avg_us"), ["0.0", "9.22", "us"], "{}", ended.stdout);
    assert!(row("sync_avg_us").contains("padded-number"), "{}", ended.stdout);

    let log = "RocksDB:    version 9.8.4\nreadrandom   :       3.456 micros/op 289351 ops/sec 10.000 seconds \
               2893511 operations;   32.0 MB/s\n";
    fs::write(dir.join("o.txt"), log).unwrap();
    bench.call(&["import", &dir.display().to_string(), "--name", "log"]).expect(0);
    let ended = bench.call(&["show", "log", "--published"]).expect(0);
    assert!(ended.stdout.contains("3.456") && ended.stdout.contains("usec_op"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
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
    let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    fs::File::options().append(true).open(&csv).unwrap().set_modified(at).unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "made"]).expect(0);
    let site = bench.path().join("site");
    let site_path = site.display().to_string();
    let first = bench.call(&["site", &site_path]).expect(0);
    assert!(first.stderr.contains("1 run in"), "{}", first.stderr);
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("1 of 1 test"), "{index}");
    assert!(index.contains("files of 2023-11-14 22:13:20 UTC"), "not the day of the import: {index}");

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
    assert!(row["rate_detectable"].is_null(), "{row}");
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

/// Rates of different units have no ratio, neither where runs are compared nor on the site.
#[test]
fn runs_in_different_units_are_not_compared() {
    let bench = Bench::new();
    for (name, unit, arms) in [("small", "tps", ["161", "172"]), ("large", "MB/s", ["172", "181"])] {
        let csv = bench.path().join(format!("{name}.csv"));
        let rows =
            (1..=3).flat_map(|n| arms.map(|arm| format!("pg{arm},t,{n},10{n}.{},{unit}\n", &arm[1..])));
        fs::write(&csv, format!("arm,test,repeat,rate,unit\n{}", rows.collect::<String>())).unwrap();
        bench.call(&["import", &csv.display().to_string(), "--name", name]).expect(0);
    }
    for force in [&[][..], &["--force"]] {
        let why = bench.call(&[&["compare", "small", "large"], force].concat()).expect(2).stderr;
        assert!(
            why.contains("t: transactions per second in small-") && why.contains("but MB per second in"),
            "{why}"
        );
    }
    let site = bench.path().join("site");
    bench.call(&["site", &site.display().to_string()]).expect(0);
    let page = fs::read_dir(site.join("tests")).unwrap().next().unwrap().unwrap().path();
    let page = fs::read_to_string(page).unwrap();
    // Each unit has a course of its own, if it has one: no heading without.
    assert!(page.contains("A course takes 3 versions"), "{page}");
    assert!(page.contains("Runs of 2 workloads") && !page.contains("<h3>unit"), "{page}");
}

/// Of an arm that was never measured beside base nothing is said of stalls, though its latencies would tell.
#[test]
fn stalls_without_a_common_block_are_not_judged() {
    let bench = Bench::new();
    let fio = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/files/fio-3.33.normal+json.txt");
    let fio = fs::read_to_string(fio).unwrap();
    let mut arguments = vec!["import".to_owned()];
    for (day, arms) in [(1, ["a", "b"]), (2, ["a", "b"]), (3, ["a", "b"]), (4, ["b", "c"])] {
        for (at, arm) in arms.into_iter().enumerate() {
            let path = bench.path().join(format!("{day}/{arm}"));
            fs::create_dir_all(&path).unwrap();
            let count = format!("\"total_ios\" : {}", 871 + 2 * day + at);
            fs::write(path.join("w.txt"), fio.replace("\"total_ios\" : 873", &count)).unwrap();
        }
        arguments.extend(["--repeat".to_owned(), bench.path().join(day.to_string()).display().to_string()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let shown = bench.call(&arguments).expect(0).stdout;
    let of = |arm: &str| shown.lines().find(|line| line.starts_with(&format!("{arm} against a"))).unwrap();
    assert!(of("b").contains("Stalls: ") && !of("c").contains("Stalls"), "{shown}");
}

/// More repeats than a plan would measure were too few all the same.
#[test]
fn too_noisy_is_said_of_the_repeats_that_there_are() {
    let bench = Bench::new();
    let csv = bench.path().join("rates.csv");
    let row = |n: u32| format!("old,t,{n},{}\nnew,t,{n},{}\n", 100 + n * 37 % 50, 100 + n * 29 % 50);
    fs::write(&csv, format!("arm,test,repeat,rate\n{}", (1..=30).map(row).collect::<String>())).unwrap();
    let shown = bench.call(&["import", &csv.display().to_string()]).expect(0).stdout;
    assert!(shown.contains("too noisy: even 30 repeats would probably not decide it"), "{shown}");
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
    // No repeats, and too few.
    let gate = bench.call(&["gate", "rates"]).expect(4).stdout;
    assert!(
        gate.contains("rqps gate: undecided") && gate.contains("too few repeats for any verdict (1; "),
        "{gate}"
    );
    let gate = bench.call(&["gate", "two"]);
    assert!(gate.stdout.contains("too few repeats") && !gate.stdout.contains("resume"), "{}", gate.stdout);
    let rows =
        |arm: &str, test: &str| (1..=3).map(|n| format!("{arm},{test},{n},10{n}\n")).collect::<String>();
    let all = [rows("old", "a"), rows("new", "a"), rows("old", "b")].concat();
    fs::write(&csv, format!("arm,test,repeat,rate\n{all}")).unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "part"]).expect(0);
    fs::write(&csv, format!("arm,test,repeat,rate\n{}", [rows("old", "a"), rows("new", "a")].concat()))
        .unwrap();
    bench.call(&["import", &csv.display().to_string(), "--name", "rated"]).expect(0);
    let gate = bench.call(&["gate", "rated"]).expect(4).stdout;
    assert!(gate.contains("of new nothing is decided, which does not pass"), "{gate}");
    let gate = bench.call(&["gate", "rated", "--fail-on", "rate,cost,wal"]).expect(4).stdout;
    assert!(gate.contains("no figures of cost, wal"), "{gate}");
    // Each arm in an import of its own, and what has nothing to show.
    for arm in ["old", "new"] {
        fs::write(&csv, format!("arm,test,repeat,rate\n{}", rows(arm, "a"))).unwrap();
        bench.call(&["import", &csv.display().to_string(), "--name", arm]).expect(0);
    }
    let compared = bench.call(&["compare", "old", "new"]).expect(0).stdout;
    assert_eq!(compared.matches("rqps import base=… head=…").count(), 1, "{compared}");
    assert!(compared.contains("median rQPS 1.00") && !compared.contains("no other arm"), "{compared}");
    let remarks = bench.call(&["show", "old", "--section", "remarks"]).expect(0).stdout;
    assert!(remarks.contains("nothing to show in section remarks"), "{remarks}");
    let junit = bench.path().join("gate.xml");
    let gate = bench.call(&["gate", "part", "--junit", &junit.display().to_string()]).expect(3).stdout;
    assert!(gate.contains("NO VALID RESULT b on new: it is not among the files"), "{gate}");
    let junit = fs::read_to_string(junit).unwrap();
    assert!(junit.contains("no valid result on new: it is not among the files"), "{junit}");
}

/// What sysbench prints at the end, after 10 s.
fn sysbench(queries: u64) -> String {
    let rate = queries as f64 / 10.0;
    format!(
        "sysbench 1.0.20\n\nNumber of threads: 1\n\nThreads started!\n\nSQL statistics:\n    \
         transactions: {queries} ({rate:.2} per sec.)\n    \
         queries: {queries} ({rate:.2} per sec.)\n    ignored errors: 0 (0.00 per sec.)\n\nGeneral statistics:\n    \
         total time: 10.0000s\n    total number of events: {queries}\n\n\
         Latency (ms):\n min: 0.01\n avg: 0.10\n max: 3.00\n\n\
         Threads fairness:\n    events (avg/stddev): {queries}.0000/0.00\n    execution time (avg/stddev): 9.9/0.00\n"
    )
}

#[test]
fn a_wrong_cell_of_a_table_comes_before_all_results() {
    let bench = Bench::new();
    let dir = bench.results().join("../published");
    let arms = ["x.pg174_o2nofp.x10a.pk1", "x.pg181_o2nofp.x10a.pk1"];
    let tests = ["delete", "insert", "update-one"];
    for (arm, more) in arms.into_iter().zip([0, 770]) {
        fs::create_dir_all(dir.join(arm)).unwrap();
        for (test, queries) in tests.into_iter().zip([81_230, 92_340, 73_450]) {
            let name = format!("sb.o.{test}.range100.pk1.dop1");
            fs::write(dir.join(arm).join(name), sysbench(queries + more)).unwrap();
        }
    }
    let rows =
        "8123\t8200\tdelete_range=100\n9234\t9372\tinsert_range=100\n7345\t7422\tupdate-one_range=100\n";
    fs::write(dir.join("qps.abs.tsv"), format!("col-1 : {}\ncol-2 : {}\n\n{rows}", arms[0], arms[1]))
        .unwrap();
    let ended = bench.call(&["import", &dir.display().to_string(), "--name", "table"]).expect(0);
    let cell = ["CHECK FIRST: insert on postgres-18.1", ": 9372 in ", "qps.abs.tsv, line 5, but 9311"];
    let place = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    for part in cell {
        assert!(place(&ended.stdout, part) < place(&ended.stdout, "median rQPS"), "{}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches("without error bars").count(), 1, "{}", ended.stdout);
    let json = bench.call(&["show", "table", "--format", "json"]).expect(0).stdout;
    assert!(place(&json, cell[0]) < place(&json, "median rQPS"), "{json}");
    let html = bench.results().join("../table.html");
    bench.call(&["report", "table", "--html", &html.display().to_string()]).expect(0);
    let page = fs::read_to_string(html).unwrap();
    assert!(place(&page, cell[0]) < place(&page, "</section>"), "{page}");
}

#[test]
fn a_flamegraph_that_was_imported_is_not_asked_for() {
    let bench = Bench::new();
    let dir = bench.results().join("../flames");
    fs::create_dir_all(&dir).unwrap();
    let csv = "arm,test,repeat,rate\nold,scan,1,1000\nnew,scan,1,700\nold,insert,1,1000\nnew,insert,1,600\n";
    fs::write(dir.join("rates.csv"), csv).unwrap();
    let frame = |name: &str, samples: u64, x: f64, y: u32, width: f64| {
        format!(
            "<title>{name} ({samples} samples, 1%)</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"15\" />\n"
        )
    };
    let svg = |share: u64| {
        let parts = frame("all", 1000, 10.0, 33, 100.0)
            + &frame("a", share, 10.0, 17, share as f64 / 10.0)
            + &frame("b", 1000 - share, 10.0 + share as f64 / 10.0, 17, 100.0 - share as f64 / 10.0);
        format!("<svg>\n<!-- Flame Graph -->\n{parts}</svg>\n")
    };
    let mut arguments = vec!["import".to_owned(), dir.join("rates.csv").display().to_string()];
    for (arm, share) in [("old", 300), ("new", 600)] {
        let path = dir.join(arm).join("scan.svg");
        fs::create_dir_all(dir.join(arm)).unwrap();
        fs::write(&path, svg(share)).unwrap();
        arguments.push(format!("{arm}={}", path.display()));
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--name", "flames"]).collect();
    let shown = bench.call(&arguments).expect(0).stdout;
    assert!(!shown.contains("Measured with flamegraph"), "{shown}");
    let told = bench.call(&["explain", "flames"]).expect(0).stdout;
    assert!(told.contains("rates and flamegraphs of scan"), "{told}");
    let others = told.split("rates of insert and no figures").nth(1).unwrap_or_else(|| panic!("{told}"));
    assert!(others.contains("and flamegraphs, tell more"), "{told}");
    let json = bench.call(&["explain", "flames", "--format", "json"]).expect(0).stdout;
    assert!(!json.contains("rqps profile"), "{json}");
    let html = bench.results().join("../flames.html");
    bench.call(&["report", "flames", "--html", &html.display().to_string()]).expect(0);
    let page = fs::read_to_string(html).unwrap();
    assert!(
        page.contains("1,000 samples, as the imported flamegraph counts them")
            && !page.contains("separate pass")
    );
}

/// What no name tells is said before the results that rest on it, with what to type.
#[test]
fn a_guessed_base_and_a_single_arm_are_told_with_their_remedies() {
    let bench = Bench::new();
    let results = bench.results();
    let (flat, parted) = (results.join("../flat"), results.join("../parted"));
    fs::create_dir_all(&flat).unwrap();
    for (name, tps) in [("patch1", 10_000.0), ("patch2", 9_000.0)] {
        fs::write(flat.join(format!("{name}.txt")), pgbench(tps)).unwrap();
    }
    write(&parted.join("x"), 10_000.0, [1.0, 1.004, 0.997, 1.002, 0.999]);
    write(&parted.join("y"), 9_000.0, [1.0, 1.004, 0.997, 1.002, 0.999]);
    let flat = flat.display().to_string();
    let ended = bench.call(&["import", &flat]).expect(0);
    let told = format!(
        "patch1, patch2 were taken for repeats or tests of one arm, flat; if they are arms: rqps import \
         patch1='{flat}/patch1.txt' patch2='{flat}/patch2.txt'"
    );
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    let ended = bench.call(&["import", &parted.display().to_string()]).expect(0);
    assert!(ended.stderr.starts_with("base is x only because it comes first"), "{}", ended.stderr);
    assert!(ended.stderr.contains("import again with --base 'y'"), "{}", ended.stderr);
}
