//! What users give: tables of spreadsheets, repeats in any order, mistakes in arms and units.

use std::fs;

use rqps_import::{Assembled, BaseAs, Choices, Error, files, load_all};

/// Imports files of this content: `a.csv` and so on, each given as `ARM=` or without.
fn import(given: &[(&str, &[u8])], rules: &[&str]) -> Result<Assembled, Error> {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = Vec::new();
    for ((arm, content), name) in given.iter().zip('a'..) {
        let path = dir.path().join(format!("{name}.csv"));
        fs::write(&path, content).unwrap();
        arguments.push(format!("{arm}{}", path.display()));
    }
    let arms = rules.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
    let (loaded, _) = load_all(&files(&arguments)?, None, false)?;
    Assembled::new(loaded, &Choices { arms, ..Choices::default() })
}

fn refused(given: &[(&str, &[u8])], rules: &[&str]) -> String {
    import(given, rules).unwrap_err().to_string()
}

/// Arm, repeat, rate, sorted by repeat.
fn rates(assembled: &Assembled) -> Vec<(&str, u32, f64)> {
    let rate = |one: &rqps_import::Measurement| one.work.as_ref().unwrap().per_second();
    let results = assembled.results.iter();
    results.map(|one| (assembled.arms[one.arm].name.as_str(), one.repeat, rate(&one.measurement))).collect()
}

#[test]
fn tables_of_spreadsheets() {
    let expected = [("old", 1, 100.5), ("new", 1, 90.0)];
    for csv in [
        &b"\xef\xbb\xbfarm;test;repeat;rate\r\nold;a;1;100,5\r\nnew;a;1;90\r\n"[..],
        b"\"\",\"arm\",\"test\",\"repeat\",\"rate\"\n\"1\",\"old\",\"a\",1,100.5\n\"2\",\"new\",\"a\",1,90\n",
        b"rate\trepeat\ttest\tarm\n100.5\t1\ta\told\n90\t1\ta\tnew\n",
    ] {
        assert_eq!(rates(&import(&[("", csv)], &[]).unwrap()), expected, "{}", String::from_utf8_lossy(csv));
    }
}

/// Repeats of one number are measured side by side: they must stay together, whatever the order of rows.
#[test]
fn repeats_keep_their_numbers() {
    let csv =
        b"arm,test,repeat,rate\nold,a,7,103\nold,a,2,102\nold,a,1,101\nnew,a,1,91\nnew,a,2,92\nnew,a,7,93\n";
    let assembled = import(&[("", csv)], &[]).unwrap();
    let expected = [
        ("old", 1, 101.0),
        ("new", 1, 91.0),
        ("old", 2, 102.0),
        ("new", 2, 92.0),
        ("old", 3, 103.0),
        ("new", 3, 93.0),
    ];
    assert_eq!((rates(&assembled).as_slice(), assembled.repeats), (&expected[..], 3));
    // A second file goes on where the first ended.
    let more = b"arm,test,repeat,rate\nold,a,1,104\nnew,a,1,94\n";
    let assembled = import(&[("", csv), ("", more)], &[]).unwrap();
    assert_eq!(rates(&assembled)[6..], [("old", 4, 104.0), ("new", 4, 94.0)]);
    let huge = b"arm,test,repeat,rate\nold,a,4294967295,103\nnew,a,4294967295,93\n";
    assert_eq!(import(&[("", huge), ("", more)], &[]).unwrap().repeats, 2);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let csv = |unit: &str| format!("arm,test,repeat,rate,unit\nx,a,1,100,{unit}\n").into_bytes();
    let error = refused(&[("old=", &csv("queries")), ("new=", &csv("transactions"))], &[]);
    assert!(
        error.contains("a.csv, line 2, and in transactions per second in ")
            && error.contains("b.csv, line 2: "),
        "{error}"
    );
    let two = b"arm,test,repeat,rate\nold,a,1,100\nnew,a,1,90\n";
    let other = b"arm,test,repeat,rate\nx,b,1,100\n";
    let error = refused(&[("old=", &csv("queries")), ("new=", other)], &[]);
    assert!(error.contains("no other arm has a test of the base, old: it has a, the others b"), "{error}");
    let error = refused(&[("base=", two)], &[]);
    assert!(error.contains("it has the arms old, new itself: give it without `base=`"), "{error}");
}

#[test]
fn mistakes_in_what_arms_are() {
    let two: (&str, &[u8]) = ("", b"arm,test,repeat,rate\nold,a,1,100\nnew,a,1,90\n");
    let error = refused(&[two], &["odl=postgres:17.2"]);
    assert!(error.contains("--arm odl=…: no arm matches it; the arms are: old, new"), "{error}");
    let error = refused(&[two], &["old=postgers:17.2"]);
    assert!(error.contains("no DBMS is named postgers; did you mean postgres?"), "{error}");
    let assembled = import(&[two], &["old=postgres:17.2", "new=cockroach:25.1:big"]).unwrap();
    let versions: Vec<(&str, &str)> =
        assembled.arms.iter().map(|arm| (&*arm.identity.dbms, &*arm.identity.version)).collect();
    assert_eq!(versions, [("postgres", "17.2"), ("cockroach", "25.1")]);
    assert!(files(&["base=".to_owned()]).unwrap_err().to_string().contains("`base=` matches no file"));
}

#[test]
fn all_files_that_are_not_understood_are_named_at_once() {
    let error = refused(&[("", b""), ("", b"\xff\xfea\0"), ("", b"arm,test,repeat,tps\n")], &[]);
    for part in ["3 files are not understood", "a.csv: it is empty", "b.csv: it is UTF-16", "no column rate"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// What vmstat printed belongs to the result of the same name, also where other repeats have none.
#[test]
fn figures_of_the_host_go_to_the_repeat_of_their_name() {
    let dir = tempfile::tempdir().unwrap();
    for repeat in 1..=2 {
        let text = format!(
            "sysbench 1.0.20\n\nNumber of threads: 1\n\nThreads started!\n\n    queries:  100{repeat} (10.00 per sec.)\n    \
             total number of events: 100\n    total time: 100.0s\n    avg: 0.10\n    execution time (avg/stddev): 100.0/0.00\n"
        );
        fs::write(dir.path().join(format!("ro-{repeat}.txt")), text).unwrap();
    }
    let vmstat = "procs ---cpu---\n r  b  cs us sy id\n 1  0  5  9  9 82\n 1  0  7 40 10 50\n";
    fs::write(dir.path().join("ro-2.vmstat"), vmstat).unwrap();
    let loaded = load_all(&files(&[dir.path().display().to_string()]).unwrap(), None, false).unwrap().0;
    let assembled = Assembled::new(loaded, &Choices { cpus: Some(2), ..Choices::default() }).unwrap();
    let user: Vec<Option<&f64>> =
        assembled.results.iter().map(|one| one.measurement.metrics.get("host_user_us")).collect();
    // 40 % of 2 CPUs in 100 s.
    assert_eq!(user, [None, Some(&80e6)]);
    // The second result was deleted, what is beside it was not.
    fs::rename(dir.path().join("ro-2.txt"), dir.path().join("ro-3.txt")).unwrap();
    fs::write(dir.path().join("ro-3.vmstat"), vmstat.replace("40", "41")).unwrap();
    let loaded = load_all(&files(&[dir.path().display().to_string()]).unwrap(), None, false).unwrap().0;
    let error = Assembled::new(loaded, &Choices::default()).unwrap_err().to_string();
    assert!(error.contains("ro-2.vmstat") && error.contains("is of repeat ro-2 of ro"), "{error}");
}

/// What pgbench prints at its end.
fn pgbench(transactions: u32, tps: f64, threads: u32, mode: &str) -> String {
    format!(
        "pgbench (16.3)\ntransaction type: <builtin: select only>\nscaling factor: 10\nquery mode: {mode}\nnumber of clients: 4\n\
         number of threads: {threads}\nduration: 10 s\nnumber of transactions actually processed: {transactions}\n\
         latency average = 0.400 ms\ntps = {tps:.6} (without initial connection time)\n"
    )
}

/// The log of clients with some transactions each, over 10 s.
fn log(clients: std::ops::Range<u32>, each: u32) -> String {
    let line = |client: u32, tx: u32| {
        let us = u64::from(tx) * 10_000_000 / u64::from(each);
        format!("{client} {tx} 400 0 {} {}\n", 1_795_379_919 + us / 1_000_000, us % 1_000_000)
    };
    (1..=each).flat_map(|tx| clients.clone().map(move |client| line(client, tx))).collect()
}

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Assembled, Error>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let found = files_of(dir.path()).and_then(|loaded| Assembled::new(loaded, &Choices::default()));
    (dir, found)
}

fn files_of(path: &std::path::Path) -> Result<Vec<rqps_import::Loaded>, Error> {
    load_all(&files(&[path])?, None, false).map(|(loaded, _)| loaded)
}

/// Texts, progress and logs of the same runs are one result each, whichever names logs have.
#[test]
fn a_run_of_pgbench_and_its_log_are_one_result() {
    let text = |transactions| pgbench(transactions, f64::from(transactions) / 10.0, 2, "simple");
    let (first, second) = (text(4000), text(4400));
    let progress = "progress: 5.0 s, 399.0 tps, lat 1.0 ms stddev 0.1\nprogress: 10.0 s, 401.0 tps, lat 1.0 ms stddev 0.1\n";
    let logs = [log(0..2, 1000), log(2..4, 1000), log(0..2, 1100), log(2..4, 1100)];
    let (_dir, found) = folder(&[
        ("a/run-1.txt", &first),
        ("a/run-1.err", progress),
        ("a/run-2.txt", &second),
        ("a/pgbench_log.4711", &logs[0]),
        ("a/pgbench_log.4711.1", &logs[1]),
        ("a/pgbench_log.4811", &logs[2]),
        ("a/pgbench_log.4811.1", &logs[3]),
    ]);
    let found = found.unwrap();
    assert_eq!(rates(&found), [("a", 1, 400.0), ("a", 2, 440.0)]);
    assert_eq!((found.steps.len(), found.steps[0].name.as_str()), (1, "select-only"));
    let measured: Vec<&rqps_import::Measurement> = found.results.iter().map(|one| &one.measurement).collect();
    assert!(measured.iter().all(|one| one.histograms.len() == 1 && one.series.len() == 1), "{measured:#?}");
    // A log of intervals lacks the last ones.
    let interval =
        |second: u32| format!("{} 400 160000 64000000 300 500 0 0 0 0 0 0 0 0 0\n", 1_795_379_919 + second);
    let intervals: String = (0..9).map(interval).collect();
    let (_dir, joined) = folder(&[("a/all.txt", &format!("{second}{first}")), ("a/agg.4711", &intervals)]);
    let joined = joined.unwrap();
    assert_eq!(rates(&joined), [("a", 1, 440.0), ("a", 2, 400.0)]);
    assert_eq!(joined.results[1].measurement.series.len(), 1);
    // Of two runs that differ by less than an interval its sum tells neither: the name does, also with a process.
    let third = text(4050);
    let [one, other] = [("a/mix-3.txt", first.as_str()), ("a/tpcb-4.txt", third.as_str())];
    let fewer: String = (0..9).map(|second| interval(second).replace(" 400 ", " 401 ")).collect();
    for name in ["mix-3", "tpcb-4"] {
        let (_dir, joined) = folder(&[one, other, (&format!("a/{name}.3083"), &fewer)]);
        let joined = joined.unwrap();
        let with_log = joined.results.iter().filter(|one| !one.measurement.series.is_empty());
        let paths: Vec<&str> = with_log.map(|one| joined.sources[one.source].path.as_str()).collect();
        assert!(paths.len() == 1 && paths[0].ends_with(&format!("{name}.txt")), "{name}: {paths:?}");
    }
    let (_dir, found) = folder(&[one, other, ("a/agg.3083", &fewer)]);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("may be those of ") && error.contains("a/tpcb-4.txt"), "{error}");
    // A log of a text's name that has more is of another run.
    let (_dir, found) = folder(&[("a/run-1.txt", &first), ("a/run-1.log", &log(0..4, 1100))]);
    let error = found.unwrap_err().to_string();
    assert!(
        error.contains("run-1.log") && error.contains("4400 transactions, but") && error.contains("4000"),
        "{error}"
    );
}

#[test]
fn logs_of_threads_that_are_missing_are_named() {
    let [first, second, third] = [log(0..2, 1000), log(2..4, 1000), log(4..6, 1000)];
    let text = pgbench(4000, 400.0, 2, "simple");
    let interval =
        |second: u32| format!("{} 200 80000 32000000 300 500 0 0 0 0 0 0 0 0 0\n", 1_795_379_919 + second);
    let intervals: String = (0..9).map(interval).collect();
    for (files, missing) in [
        (vec![("log.4711", &first), ("log.4711.2", &third)], "log.4711.1 is missing"),
        (vec![("log.4711.1", &second)], "log.4711 is missing"),
        (vec![("log.4711.1", &second), ("log.4711.2", &third)], "log.4711 is missing"),
        (vec![("log.4711", &first), ("run.txt", &text)], "log.4711.1 is missing"),
        (vec![("agg.4711", &intervals), ("run.txt", &text)], "agg.4711.1 is missing"),
        // Renamed: the numbers of clients tell.
        (vec![("second.log", &second)], "no transaction of clients 0 to 1: the log of the first thread"),
    ] {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("a/{name}"), text.as_str())).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let error = folder(&files).1.unwrap_err().to_string();
        assert!(error.contains(missing), "{missing}: {error}");
    }
    // Names may end in numbers by chance.
    let (_dir, found) = folder(&[("a/log.10.1", &log(0..4, 1000)), ("a/log.10.2", &log(0..4, 1010))]);
    assert_eq!(found.unwrap().repeats, 2);
}

#[test]
fn a_result_given_twice_is_refused_whatever_its_line_ends() {
    let text = pgbench(4000, 400.0, 1, "simple");
    let copy = text.replace('\n', "\r\n") + "\r\n";
    let (_dir, found) = folder(&[("a/1.txt", &text), ("a/2.txt", &copy)]);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("1.txt and ") && error.contains("2.txt: the same content twice"), "{error}");
    // Part of another file.
    let other = pgbench(4100, 410.0, 1, "simple");
    let both = format!("{other}{text}");
    let (_dir, found) = folder(&[("a/1.txt", &text), ("a/2.txt", &both)]);
    let error = found.unwrap_err().to_string();
    assert!(
        error.contains("1.txt, line 10")
            && error.contains("2.txt, line 20: the same result of select-only on a"),
        "{error}"
    );
    // What a run begins with can be other in a copy.
    let connected = |ms: &str| {
        text.replace("latency average", &format!("initial connection time = {ms} ms\nlatency average"))
    };
    let (_dir, found) = folder(&[("a/1.txt", &connected("3.1")), ("b/1.txt", &connected("4.2"))]);
    let error = found.unwrap_err().to_string();
    assert!(
        error.contains("1.txt: the same figures to the last digit") && error.contains("a copy"),
        "{error}"
    );
    // Rates of few digits can be alike by chance.
    let csv = b"arm,test,repeat,rate\nold,a,1,1234\nold,a,2,1234\nnew,a,1,1300\n";
    assert_eq!(import(&[("", csv)], &[]).unwrap().repeats, 2);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("1.txt");
    fs::write(&path, &text).unwrap();
    let twice = load_all(&files(&[&path, &path]).unwrap(), None, false).unwrap_err().to_string();
    assert!(twice.ends_with("1.txt: given twice; give each result once"), "{twice}");
}

#[test]
fn of_arms_of_one_version_a_word_tells_base() {
    for (base, other) in [
        ("main", "feature"),
        ("orig", "mod"),
        ("results-old", "results-new"),
        ("HEAD~1", "HEAD"),
        ("off", "lz4"),
    ] {
        let (one, two) = (pgbench(3900, 390.0, 1, "simple"), pgbench(4000, 400.0, 1, "simple"));
        let (_dir, found) = folder(&[(&format!("{base}/1.txt"), &one), (&format!("{other}/1.txt"), &two)]);
        let found = found.unwrap();
        assert_eq!(found.arms[found.base].name, base);
    }
}

#[test]
fn a_number_beside_that_of_a_run_tells_arms_apart() {
    let result = |tps: f64| pgbench((tps * 10.0) as u32, tps, 1, "simple");
    let mut given = Vec::new();
    for run in 1..=3 {
        let noise = f64::from(run) / 10.0;
        for (arm, tps) in [("patch1", 360.0), ("patch2", 320.0), ("base", 400.0)] {
            given.push((format!("all/run{run}-{arm}.txt"), result(tps + noise)));
        }
    }
    let given: Vec<(&str, &str)> = given.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (_dir, found) = folder(&given);
    let found = found.unwrap();
    let mut names: Vec<&str> = found.arms.iter().map(|arm| arm.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!((names, found.repeats), (vec!["base", "patch1", "patch2"], 3));
    assert!(rates(&found).contains(&("patch2", 2, 320.2)), "{:?}", rates(&found));
}

#[test]
fn the_oldest_version_is_base_unless_arms_are_named() {
    let text =
        |version: &str, tps: f64| pgbench((tps * 10.0) as u32, tps, 1, "simple").replace("16.3", version);
    let (old, new) = (text("9.6.24", 390.0), text("18beta1", 410.0));
    let (dir, found) =
        folder(&[("head/1.txt", &text("18.1", 400.0)), ("main/1.txt", &new), ("patch/1.txt", &old)]);
    let found = found.unwrap();
    let names: Vec<&str> = found.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!((names, found.base), (vec!["patch", "main", "head"], 0));
    assert_eq!(rates(&found), [("patch", 1, 390.0), ("main", 1, 410.0), ("head", 1, 400.0)]);
    let named = ["new=main", "old=patch"].map(|arm| {
        let (arm, place) = arm.split_once('=').unwrap();
        format!("{arm}={}", dir.path().join(place).display())
    });
    let loaded = load_all(&files(&named).unwrap(), None, false).unwrap().0;
    let found = Assembled::new(loaded, &Choices::default()).unwrap();
    assert_eq!((&*found.arms[found.base].name, found.base_as), ("new", BaseAs::First));
    // Directories without a version.
    let same = |tps: f64| text("18.1", tps);
    let (_dir, found) = folder(&[("head/1.txt", &same(400.0)), ("old/1.txt", &same(390.0))]);
    let found = found.unwrap();
    assert_eq!((&*found.arms[found.base].name, found.base_as), ("old", BaseAs::Named));
    for (other, base, base_as) in [
        ("hugepages-on", "hugepages-off", BaseAs::Named),
        ("main-fix", "main", BaseAs::Named),
        ("asan", "PATCHED", BaseAs::Guessed),
        ("main-a", "main-b", BaseAs::Guessed),
        ("Fix", "a.main", BaseAs::Named),
    ] {
        let one = (format!("{other}/1.txt"), same(400.0));
        let (_dir, found) = folder(&[(&one.0, &one.1), (&format!("{base}/1.txt"), &same(390.0))]);
        let found = found.unwrap();
        assert_eq!(found.base_as, base_as, "{base}");
        assert!(base_as == BaseAs::Guessed || found.arms[found.base].name == base, "{base}");
    }
}

#[test]
fn the_arm_named_base_is_base() {
    let text = |tps: f64| pgbench((tps * 10.0) as u32, tps, 1, "simple").into_bytes();
    let (one, other) = (text(390.0), text(410.0));
    let found = import(&[("head=", &one), ("base=", &other)], &[]).unwrap();
    assert_eq!((&*found.arms[found.base].name, found.base_as), ("base", BaseAs::Named));
    let error = refused(&[("he\nad=", &one), ("base=", &other)], &[]);
    assert!(error.contains("the arm \"he\\nad\" has a control character"), "{error}");
}

/// What is relative to a base of exactly 1 is no rate, unless a unit says so.
#[test]
fn a_csv_of_ratios_is_refused() {
    let csv = |rows: &str| format!("arm,test,repeat,rate\n{rows}").into_bytes();
    for ratios in ["old,a,1,1\nnew,a,1,0.97\n", "new,a,1,0.97\nold,a,1,1.00\nnew,b,1,1.03\nold,b,1,1.0\n"] {
        let error = refused(&[("", &csv(ratios))], &[]);
        assert!(error.contains("ratios, as all figures of old are 1"), "{error}");
    }
    for rates in ["old,a,1,1\nold,a,2,1.1\nnew,a,1,0.97\n", "old,a,1,1\nnew,a,1,12345\n", "old,a,1,1\n"] {
        assert!(import(&[("", &csv(rates))], &[]).is_ok(), "{rates}");
    }
    let told = b"arm,test,repeat,rate,unit\nold,a,1,1,qps\nnew,a,1,0.97,qps\n";
    assert!(import(&[("", told)], &[]).is_ok());
}

/// A name that changed with a version would end the test's course, and nothing would say so.
#[test]
fn names_of_one_test_that_differ_in_signs_are_named() {
    let doubts = |name: &str| -> Vec<String> {
        let csv = format!(
            "arm,test,repeat,rate\nold,scan,1,12\nold,point-query,1,33\nnew,scan,1,13\nnew,{name},1,34\n"
        );
        let found = import(&[("", csv.as_bytes())], &[]).unwrap();
        let step = |doubt: &rqps_import::Doubt| found.steps[doubt.steps[0]].name.clone();
        found.doubts.iter().map(|doubt| format!("{}: {}", step(doubt), doubt.text)).collect()
    };
    let found = doubts("Point_Query");
    assert!(found[0].starts_with("Point_Query: Point_Query of new may be point-query of old"), "{found:?}");
    assert_eq!(doubts("point-queries"), [""; 0]);
}

#[test]
fn settings_that_differ_are_named() {
    let (_dir, found) = folder(&[
        ("a/1.txt", &pgbench(4000, 400.0, 1, "simple")),
        ("b/1.txt", &pgbench(4100, 410.0, 1, "prepared")),
    ]);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("select-only ran with query mode simple on a, and prepared on others"), "{error}");
}

#[test]
fn tables_that_were_computed_from_results_are_left_out_beside_them() {
    let ratios = "Relative to: a\ncol-1 : b\n\n1.03\tselect-only\n";
    let texts = [pgbench(4000, 400.0, 1, "simple"), pgbench(4100, 410.0, 1, "simple")];
    let (dir, _) = folder(&[("a/1.txt", &texts[0]), ("b/1.txt", &texts[1]), ("qps.rel.tsv", ratios)]);
    // The same rates with names and without.
    fs::write(dir.path().join("qps.abs.tsv"), "col-1 : a\ncol-2 : b\n\n400\t410\tselect-only\n").unwrap();
    fs::write(dir.path().join("qps.abs.csv"), "select-only,400,410\n").unwrap();
    let (loaded, left_out) = load_all(&files(&[dir.path()]).unwrap(), None, false).unwrap();
    assert_eq!((loaded.len(), left_out.len()), (3, 2), "{left_out:?}");
    assert!(left_out.iter().all(|one| one.why == rqps_import::Why::Derived), "{left_out:?}");
    let error =
        load_all(&files(&[dir.path().join("qps.rel.tsv")]).unwrap(), None, true).unwrap_err().to_string();
    assert!(error.contains("qps.rel.tsv, line 1: ratios relative to a are no rates"), "{error}");
}

/// Figures need a result; if their path does not tell which, the error says what is known.
#[test]
fn a_flamegraph_of_no_result_says_what_to_do() {
    let svg = "<?xml version=\"1.0\"?>\n<svg>\n<!-- Flame Graph -->\n<title>all (10 samples, 100%)</title><rect x=\"0.0\" y=\"33\" \
               width=\"10.0\" />\n<title>f (10 samples, 100%)</title><rect x=\"0.0\" y=\"17\" width=\"10.0\" />\n</svg>\n";
    let texts = ["tpcb", "select"]
        .map(|script| pgbench(4000, 400.0, 1, "simple").replace("<builtin: select only>", script));
    let results = [("x.pg174_o2.x10a.pk1/1.txt", &*texts[0]), ("x.pg174_o2.x10a.pk1/2.txt", &*texts[1])];
    let with = |name: &'static str| folder(&[results[0], results[1], (name, svg)]).1;
    let error = with("flames/f.svg").unwrap_err().to_string();
    for part in [
        "flames/f.svg: this flamegraph is of arm `flames` and test `f`",
        "TEST.svg",
        "Arms: postgres-17.4.x10a",
        "select, tpcb",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    for name in ["x.pg174_o2.x10a.pk1/select.svg", "flames/x.pg174_o2.x10a.pk1.select.svg"] {
        let found = with(name).unwrap();
        let of_select = found.results.iter().find(|one| one.measurement.stacks.is_some()).unwrap();
        assert_eq!(found.steps[of_select.step].name, "select", "{name}");
    }
}

#[test]
fn links_to_nothing_and_names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let (dir, found) = folder(&[("a/1.txt", &pgbench(4000, 400.0, 1, "simple"))]);
    found.unwrap();
    let odd = dir.path().join("a").join(std::ffi::OsStr::from_bytes(b"run-\xff.txt"));
    fs::write(&odd, pgbench(4100, 410.0, 1, "simple")).unwrap();
    assert_eq!(files(&[&odd]).unwrap()[0].path, odd);
    assert_eq!(files_of(dir.path()).unwrap().len(), 2);
    std::os::unix::fs::symlink("gone.txt", dir.path().join("a/link.txt")).unwrap();
    for path in [dir.path().to_owned(), dir.path().join("a/link.txt")] {
        let error = files(&[path]).unwrap_err().to_string();
        assert!(error.ends_with("a/link.txt: a link to gone.txt, which does not exist"), "{error}");
    }
}

#[test]
fn rates_per_minute_are_told_to_be_shown_per_second() {
    let csv = b"arm,test,repeat,rate,unit\nold,a,1,60000,tpm\nnew,a,1,66000,tpm\nold,b,1,100,tps\nnew,b,1,110,tps\n";
    let assembled = import(&[("", csv)], &[]).unwrap();
    assert_eq!(rates(&assembled)[0].2, 1000.0);
    let note = "rates that the file gives per minute are shown per second: a";
    assert!(assembled.notes.iter().any(|(_, text)| text == note), "{:?}", assembled.notes);
}

/// Where a semicolon parts columns, a comma is decimal, and a point may be one of thousands.
#[test]
fn points_that_may_be_of_thousands_are_refused() {
    let csv =
        |rates: [&str; 2]| format!("arm;test;repeat;rate\nold;a;1;{}\nnew;a;1;{}\n", rates[0], rates[1]);
    let error = refused(&[("", csv(["991", "1.001"]).as_bytes())], &[]);
    assert!(
        error.contains("line 3: rate: the point of \"1.001\" may be one of thousands or of decimals"),
        "{error}"
    );
    for (told, rate) in [("991.5", 991.5), ("0.991", 0.991), ("1234.567", 1234.567)] {
        let found = import(&[("", csv([told, "1.001"]).as_bytes())], &[]).unwrap();
        assert_eq!(rates(&found), [("old", 1, rate), ("new", 1, 1.001)]);
    }
    let commas = b"arm,test,repeat,rate\nold,a,1,991\nnew,a,1,1.001\n";
    assert_eq!(rates(&import(&[("", commas)], &[]).unwrap())[1].2, 1.001);
}

/// Whose repeats have other numbers than those of base was measured all the same.
#[test]
fn arms_without_a_common_number_are_numbered_anew() {
    let csv =
        b"arm,test,repeat,rate\nold,a,1,101\nold,a,3,102\nnew,a,2,91\nnew,a,4,92\nold,b,1,11\nnew,b,1,9\n";
    let assembled = import(&[("", csv)], &[]).unwrap();
    let of_a: Vec<_> = rates(&assembled).into_iter().filter(|(_, _, rate)| *rate > 50.0).collect();
    assert_eq!(of_a, [("old", 1, 101.0), ("new", 1, 91.0), ("old", 2, 102.0), ("new", 2, 92.0)]);
}

#[test]
fn names_in_another_encoding_are_refused_before_two_become_one() {
    let why = refused(&[("", b"arm,test,repeat,rate\nold,t\xe4st,1,100\nold,t\xfcst,2,200\n")], &[]);
    assert!(why.contains("a.csv, line 2: a name that is not UTF-8"), "{why}");
}
