//! Real output of programs, made for this project, and what of it must be found.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_import::{Assembled, Choices, Error, Format, Loaded, Measurement, files, load_all};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn load(names: &[&str]) -> Result<Vec<Loaded>, Error> {
    let paths: Vec<String> = names.iter().map(|name| path(name).to_string_lossy().into_owned()).collect();
    load_all(&files(&paths)?, None, false).map(|(loaded, _)| loaded)
}

fn only(name: &str) -> (Format, Measurement) {
    let mut loaded = load(&[name]).unwrap();
    assert_eq!((loaded.len(), loaded[0].document.measurements.len()), (1, 1));
    (loaded[0].format, loaded[0].document.measurements.remove(0))
}

fn value(measurement: &Measurement, name: &str) -> f64 {
    let found = measurement.values.iter().find(|value| value.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).value.unwrap()
}

/// Operations, microseconds, per second.
fn work(measurement: &Measurement) -> (f64, u64, f64) {
    let work = measurement.work.as_ref().unwrap();
    (work.operations, work.elapsed_us.unwrap(), work.per_second())
}

#[test]
fn sysbench_with_intervals_and_a_histogram() {
    let (format, measured) = only("sysbench-1.0.20.oltp.interval.txt");
    assert_eq!((format, measured.clients), (Format::Sysbench, Some(2)));
    assert_eq!(work(&measured), (4348.0, 4_012_700, 4348.0 / 4.0127));
    assert_eq!((value(&measured, "queries_per_s"), value(&measured, "latency_p95_ms")), (1083.46, 43.39));
    let events = measured.series.iter().find(|series| series.name == "queries").unwrap();
    assert_eq!(events.values, [2252.84, 422.63, 1386.37, 275.02]);
    let histogram = &measured.histograms[0];
    // sysbench counts 214 events, of which it prints a latency each.
    assert_eq!((histogram.statement.as_str(), histogram.count), ("event", 214));
    assert!((histogram.max_us / 1_032_013.0 - 1.0).abs() < 0.001, "{}", histogram.max_us);
    assert_eq!(measured.retries["ignored"], 4);
    let (_, cpu) = only("sysbench-1.0.20.cpu.txt");
    assert_eq!((work(&cpu).0, cpu.work.as_ref().unwrap().unit.key.as_ref()), (3905.0, "events"));
    assert_eq!(value(&cpu, "latency_p99_ms"), 36.24);
}

/// The progress with `--progress-timestamp`, of a run that began then.
fn progress_at(began_s: f64) -> String {
    let text = fs::read_to_string(path("pgbench-15.progress.txt")).unwrap();
    let second = |text: String, s: u32| {
        text.replace(&format!("progress: {s}.0 s"), &format!("progress: {:.3} s", began_s + f64::from(s)))
    };
    (1..=4).fold(text, second)
}

#[test]
fn pgbench_in_all_its_forms() {
    let (format, text) = only("pgbench-15.out.txt");
    assert_eq!((format, text.test.as_deref(), text.clients), (Format::Pgbench, Some("tpcb-like"), Some(2)));
    assert!((work(&text).2 - 372.967_010).abs() < 0.001, "{:?}", work(&text));
    assert_eq!(value(&text, "latency_avg_ms"), 5.352);
    let (_, scripts) = only("pgbench-15.rate.out.txt");
    assert_eq!(
        (scripts.test.as_deref(), value(&scripts, "script_2_tps")),
        (Some("select-only+63"), 23.787_062)
    );
    let (_, weighted) = only("pgbench-15.retries.out.txt");
    assert_eq!(weighted.test.as_deref(), Some("select-only@3+simple-update@1"));
    // Progress of the same run as the text: the same transactions, but for the last instant.
    let (_, progress) = only("pgbench-15.progress.txt");
    let (transactions, us, _) = work(&progress);
    assert!((transactions - 1488.0).abs() < 5.0 && us == 4_000_000, "{transactions} in {us} us");
    let stamped = progress_at(1_795_757_318.0);
    let document = Format::Pgbench.parse(stamped.as_bytes()).unwrap();
    assert_eq!(document.measured_at_ms, Some(1_795_757_318_000));
    assert_eq!(work(&document.measurements[0]).1, us);
    let (format, log) = only("pgbench-15.rate.log");
    assert_eq!((format, work(&log).0, log.histograms[0].count), (Format::PgbenchLog, 105.0, 105));
    // The 105 transactions of the text above.
    assert!((log.histograms[0].mean_us / 1e3 - 1.632).abs() < 0.01, "{}", log.histograms[0].mean_us);
    let (format, aggregate) = only("pgbench-15.aggregate.log");
    assert_eq!(
        (format, work(&aggregate).0, work(&aggregate).1),
        (Format::PgbenchAggregate, 890.0, 2_000_000)
    );
    let (_, old) = only("pgbench-15-server-12.22.select-1.log");
    assert_eq!((old.version.as_deref(), old.series[0].values.len()), (Some("12.22"), 3));
}

/// A run's progress in a file of its own is no second result, whatever both are called.
#[test]
fn progress_belongs_to_the_text_beside_it() {
    let own = |name: &str| fs::read_to_string(path(name)).unwrap();
    for [text, progress] in [
        ["1/pgbench-1.log", "1/progress-1.log"],
        ["run1/out.log", "run1/err.log"],
        ["1/stdout", "1/stderr"],
        ["base_1.stdout", "base_1.stderr"],
        ["1/summary.txt", "1/each-second.txt"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in [(text, "pgbench-15.out.txt"), (progress, "pgbench-15.progress.txt")] {
            fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
            fs::write(dir.path().join(name), own(content)).unwrap();
        }
        let loaded = load_all(&files(&[dir.path()]).unwrap(), None, false).unwrap().0;
        let assembled = Assembled::new(loaded, &Choices::default()).unwrap();
        assert_eq!((assembled.results.len(), assembled.steps.len()), (1, 1), "{text}");
        assert_eq!(assembled.results[0].measurement.series[0].values.len(), 4, "{text}");
    }
}

#[test]
fn logs_of_a_pgbench_s_threads_are_one_result() {
    for kind in ["rate", "aggregate"] {
        let dir = tempfile::tempdir().unwrap();
        let whole = fs::read_to_string(path(&format!("pgbench-15.{kind}.log"))).unwrap();
        // Of transactions each thread has every second one; intervals are of all threads.
        let every_second = |start: usize| {
            whole.lines().skip(start).step_by(2).map(|line| format!("{line}\n")).collect::<String>()
        };
        let (parts, times) = match kind {
            "rate" => ([every_second(0), every_second(1)], 1.0),
            _ => ([whole.clone(), whole.replacen(" 0\n", " 1\n", 1)], 2.0),
        };
        for (end, part) in ["", ".1"].iter().zip(parts) {
            fs::write(dir.path().join(format!("pgbench_log.4711{end}")), part).unwrap();
        }
        let joined = load_all(&files(&[dir.path().display().to_string()]).unwrap(), None, false).unwrap().0;
        let found: Vec<&Measurement> = joined.iter().flat_map(|one| &one.document.measurements).collect();
        assert_eq!((joined.len(), found.len()), (2, 1), "{kind}");
        let (_, one) = only(&format!("pgbench-15.{kind}.log"));
        assert_eq!((work(found[0]).0, work(found[0]).1), (work(&one).0 * times, work(&one).1), "{kind}");
    }
}

/// Until 13 there was no banner, and two lines of tps.
#[test]
fn pgbench_of_old() {
    let text = "starting vacuum...end.\ntransaction type: <builtin: select only>\nscaling factor: 10\nquery mode: prepared\n\
        number of clients: 8\nnumber of threads: 2\nduration: 60 s\nnumber of transactions actually processed: 600000\n\
        latency average = 0.800 ms\ntps = 9990.000000 (including connections establishing)\n\
        tps = 10000.000000 (excluding connections establishing)\n";
    let document = Format::Pgbench.parse(text.as_bytes()).unwrap();
    let measured = &document.measurements[0];
    assert_eq!((work(measured), measured.version.as_deref()), ((600_000.0, 60_000_000, 10_000.0), None));
    let twice = Format::Pgbench.parse(format!("{text}{text}").as_bytes()).unwrap();
    assert_eq!(twice.measurements.len(), 2);
    let cut = text.split("latency").next().unwrap();
    let broken = Format::Pgbench.parse(cut.as_bytes()).unwrap_err();
    assert!(broken.line == 8 && broken.why.contains("cut off"), "{broken:?}");
}

#[test]
fn files_of_two_builds_become_repeats_of_two_arms() {
    let arguments = ["12.22", "18.6"].map(|version| {
        format!("{version}={}", path(&format!("pgbench-15-server-{version}.select-*.log")).display())
    });
    let (loaded, _) = load_all(&files(&arguments).unwrap(), None, false).unwrap();
    let assembled = Assembled::new(loaded, &Choices::default()).unwrap();
    let arms: Vec<(&str, &str)> =
        assembled.arms.iter().map(|arm| (arm.name.as_str(), arm.identity.version.as_str())).collect();
    assert_eq!(arms, [("12.22", "12.22"), ("18.6", "18.6")]);
    let steps: Vec<&str> = assembled.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!((steps, assembled.repeats), (vec!["select-only"], 3));
    let rates: Vec<f64> =
        assembled.results.iter().map(|one| one.measurement.work.as_ref().unwrap().per_second()).collect();
    // Repeat by repeat, both arms.
    assert_eq!(assembled.results.iter().map(|one| one.arm).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
    assert!(rates.iter().all(|rate| *rate > 1000.0), "{rates:?}");
}

#[test]
fn a_csv_of_rates() {
    let csv = "arm,test,repeat,rate,unit\nold,a,1,100,transactions\nold,a,2,101.5,transactions\nnew,a,1,90,transactions\n";
    let document = Format::RatesCsv.parse(csv.as_bytes()).unwrap();
    let rates: Vec<(Option<u32>, f64)> = document
        .measurements
        .iter()
        .map(|one| (one.repeat, one.work.as_ref().unwrap().per_second()))
        .collect();
    assert_eq!(rates, [(Some(1), 100.0), (Some(2), 101.5), (Some(1), 90.0)]);
    for (bad, line, why) in [
        ("arm,test,rate\na,b,1\n", 1, "no column repeat"),
        ("arm,test,repeat,rate\na,b,1,fast\n", 2, "rate: \"fast\" is not a rate"),
        ("arm,test,repeat,rate\na,b,1,0.0\n", 2, "rate: 0"),
        ("arm,test,repeat,rate\na,b,0,1\n", 2, "repeat: \"0\" is not a number from 1"),
        ("\narm,test,repeat,rate\n", 2, "no row below it; the header is arm,test,repeat,rate[,unit]"),
        (
            "arm,test,repeat,rate\na,b,1,12,5\n",
            2,
            "quote those that contain `,`; the header is arm,test,repeat,rate[,unit]",
        ),
        ("arm,test,repeat,rate,unit\na,b,1,12,5\n", 2, "unit: \"5\" is a number"),
        ("arm,test,repeat,rate\na,b,1,1\n\na,b,1,2\n", 4, "b on a, repeat 1, is in line 2 already"),
    ] {
        let broken = Format::RatesCsv.parse(bad.as_bytes()).unwrap_err();
        assert!(broken.line == line && broken.why.contains(why), "{broken:?}");
    }
}

#[test]
fn what_is_not_understood_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let sysbench = fs::read_to_string(path("sysbench-1.0.20.oltp.interval.txt")).unwrap();
    let cut = sysbench.split("General statistics").next().unwrap();
    for (name, content, line, why) in [
        ("empty.log", &b""[..], None, "not understood"),
        ("prose.log", b"Once upon a time\n", None, "\"Once upon a time\""),
        ("binary.log", b"sysbench 1.0\n\0\x01\x02", Some(2), "a zero byte"),
        ("cut.log", cut.as_bytes(), Some(cut.lines().count()), "cut off"),
    ] {
        let file = dir.path().join(name);
        fs::write(&file, content).unwrap();
        let error =
            load_all(&files(&[file.display().to_string()]).unwrap(), None, false).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(why), "{error}");
        assert!(line.is_none_or(|line| error.contains(&format!("line {line}"))), "{error}");
    }
    let twice = path("pgbench-15.out.txt");
    let copy = dir.path().join("copy.txt");
    fs::copy(&twice, &copy).unwrap();
    let error = load_all(&files(&[twice, copy].map(|path| path.display().to_string())).unwrap(), None, false)
        .unwrap_err();
    assert!(matches!(error, Error::Twice { .. }), "{error}");
    let error = files(&[dir.path().join("none-*.log").display().to_string()]).unwrap_err();
    assert!(error.to_string().contains("matches no file"), "{error}");
}
