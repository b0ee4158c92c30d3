//! What files say of their tests: statements of an event and clients tell directories of tests from arms; and one
//! result from another source of it.

use std::fs;
use std::path::Path;

use rqps_import::{Assembled, Checked, Choices, Error, Reading, check, files, load_all};

/// sysbench's text of so many reads and writes per event.
fn sysbench(events: u64, (reads, writes): (u64, u64), clients: u32) -> String {
    let (read, write, all) = (reads * events, writes * events, (reads + writes) * events);
    format!(
        "sysbench 1.0.20\n\nNumber of threads: {clients}\n\nThreads started!\n\nSQL statistics:\n    queries performed:\n \
         read: {read}\n write: {write}\n other: 0\n total: {all}\n    transactions: {events} ({:.2} per sec.)\n    \
         queries: {all} ({:.2} per sec.)\n\nGeneral statistics:\n    total time: 10.0000s\n    \
         total number of events: {events}\n\nLatency (ms):\n avg: 10.00\n\nThreads fairness:\n    \
         execution time (avg/stddev): 10.0/0.00\n",
        events as f64 / 10.0,
        all as f64 / 10.0
    )
}

const READS: (u64, u64) = (1, 0);
const WRITES: (u64, u64) = (0, 1);

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn import(arguments: &[String]) -> Result<Assembled, Error> {
    Assembled::new(load_all(&files(arguments)?, None, false)?.0, &Choices::default())
}

fn arms_and_tests(assembled: &Assembled) -> (Vec<&str>, Vec<&str>, u32) {
    let mut arms: Vec<&str> = assembled.arms.iter().map(|arm| arm.name.as_str()).collect();
    arms.sort_unstable();
    (arms, assembled.steps.iter().map(|step| step.name.as_str()).collect(), assembled.repeats)
}

/// Files of each of these names, for both values of `{}`.
fn folder(names: &[(&str, (u64, u64), u32)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (number, arm) in (0..).zip(["old", "new"]) {
        for (at, (name, mix, clients)) in (0..).zip(names) {
            for repeat in 1..=3 {
                let events = 4000 + 100 * at + 10 * repeat + number;
                let name = name.replace("{}", arm).replace('#', &repeat.to_string());
                write(dir.path(), &name, &sysbench(events, *mix, *clients));
            }
        }
    }
    dir
}

#[test]
fn directories_of_other_tests_and_clients_are_no_arms() {
    for (names, tests) in [
        (&[("ro/{}/#.log", READS, 4), ("rw/{}/#.log", WRITES, 4)][..], ["ro", "rw"]),
        (&[("{}/ro/run#.txt", READS, 4), ("{}/rw/run#.txt", WRITES, 4)], ["ro", "rw"]),
        (
            &[("{}/oltp_insert/#.txt", WRITES, 4), ("{}/oltp_delete/#.txt", WRITES, 4)],
            ["oltp_delete", "oltp_insert"],
        ),
        (
            &[("{}/c1/#.txt", READS, 1), ("{}/c16/#.txt", READS, 16)],
            ["sysbench_clients=1", "sysbench_clients=16"],
        ),
    ] {
        let dir = folder(names);
        let assembled = import(&[dir.path().display().to_string()]).unwrap();
        assert_eq!(arms_and_tests(&assembled), (vec!["new", "old"], tests.to_vec(), 3), "{names:?}");
    }
}

/// Of pgbench, which tells its test and its clients itself.
fn pgbench(script: &str, clients: usize, tps: usize) -> String {
    format!(
        "pgbench (16.3, server 16.3)\ntransaction type: <builtin: {script}>\nscaling factor: 10\nquery mode: simple\n\
         number of clients: {clients}\nnumber of threads: 1\nduration: 10 s\n\
         number of transactions actually processed: {tps}0\nlatency average = 2.000 ms\n\
         tps = {tps}.000000 (without initial connection time)\n"
    )
}

#[test]
fn directories_of_tests_and_clients_of_pgbench_are_no_arms() {
    let dir = tempfile::tempdir().unwrap();
    for (at, arm) in (0..).zip(["master", "patch"]) {
        for (script, clients) in
            [("select only", 1), ("select only", 16), ("simple update", 1), ("simple update", 16)]
        {
            let tps = 1000 * clients + 10 * script.len() + at;
            let text = pgbench(script, clients, tps);
            let script = script.replace(' ', "");
            write(dir.path(), &format!("{arm}/{script}/c{clients}/run.log"), &text);
        }
    }
    let assembled = import(&[dir.path().display().to_string()]).unwrap();
    let tests = ["select-only", "simple-update"];
    let tests: Vec<String> =
        tests.iter().flat_map(|test| [1, 16].map(|clients| format!("{test}_clients={clients}"))).collect();
    let tests = tests.iter().map(String::as_str).collect();
    assert_eq!(arms_and_tests(&assembled), (vec!["master", "patch"], tests, 1));
    // Arms in the names of files.
    let dir = tempfile::tempdir().unwrap();
    for (at, arm) in (0..).zip(["patched_1", "master_1", "patched_2", "master_2"]) {
        for (directory, script) in [("ro", "select only"), ("rw", "simple update")] {
            write(
                dir.path(),
                &format!("{directory}/{arm}.log"),
                &pgbench(script, 1, 1000 * script.len() + at),
            );
        }
    }
    let assembled = import(&[dir.path().display().to_string()]).unwrap();
    let tests = vec!["select-only", "simple-update"];
    assert_eq!(arms_and_tests(&assembled), (vec!["master", "patched"], tests, 2));
}

/// Results of one setting are compared with base's in the same, whether files tell it or only their directories do.
#[test]
fn directories_of_settings_are_no_arms() {
    for (names, tests) in [
        (["{}/hostA/#.log", "{}/hostB/#.log"], ["select-only.hostA", "select-only.hostB"]),
        (["lz4/{}/#.log", "pglz/{}/#.log"], ["select-only.lz4", "select-only.pglz"]),
        (["hp=on/{}-#.log", "hp=off/{}-#.log"], ["select-only.hp=off", "select-only.hp=on"]),
        // The number of clients is told.
        (["c1/{}/#.log", "C16/{}/#.log"], ["select-only_clients=1", "select-only_clients=16"]),
        (["{}/T60/1/#.log", "{}/T300/2/#.log"], ["select-only.T60", "select-only.T300"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        for (at, name) in names.iter().enumerate() {
            for (number, arm) in (0..).zip(["base", "head"]) {
                for repeat in 1..=3 {
                    let clients = if name.starts_with("C16") { 16 } else { 1 };
                    let text = pgbench("select only", clients, 4000 + 100 * at + 10 * repeat + number);
                    write(dir.path(), &name.replace("{}", arm).replace('#', &repeat.to_string()), &text);
                }
            }
        }
        let root = dir.path().display();
        let assembled = import(&[root.to_string()]).unwrap();
        assert_eq!(arms_and_tests(&assembled), (vec!["base", "head"], tests.to_vec(), 3), "{names:?}");
        assert_eq!(assembled.taken.is_empty(), tests[0].contains("clients"), "{:?}", assembled.taken);
        if names[0].starts_with("{}") {
            let named = ["base", "head"].map(|arm| format!("{arm}={root}/{arm}"));
            let assembled = import(&named).unwrap();
            assert_eq!(arms_and_tests(&assembled), (vec!["base", "head"], tests.to_vec(), 3), "{names:?}");
        }
    }
}

#[test]
fn directories_of_an_arm_that_is_named_are_tests() {
    let dir = folder(&[("{}/x/run#.txt", WRITES, 4), ("{}/y/run#.txt", WRITES, 4)]);
    let named = |arm: &str| format!("{arm}={}/{arm}", dir.path().display());
    let assembled = import(&[named("old"), named("new")]).unwrap();
    assert_eq!(arms_and_tests(&assembled), (vec!["new", "old"], vec!["x", "y"], 3));
}

/// Which of two crossed levels are arms, names of versions and such words tell, and nothing else.
#[test]
fn crossed_directories_are_refused_unless_their_names_tell_arms() {
    let dir = folder(&[("{}/x/run#.txt", WRITES, 4), ("{}/y/run#.txt", WRITES, 4)]);
    let root = dir.path().display().to_string();
    assert_eq!(
        arms_and_tests(&import(std::slice::from_ref(&root)).unwrap()),
        (vec!["new", "old"], vec!["x", "y"], 3)
    );
    fs::rename(dir.path().join("old"), dir.path().join("a")).unwrap();
    fs::rename(dir.path().join("new"), dir.path().join("b")).unwrap();
    let error = import(&[root]).unwrap_err().to_string();
    assert!(error.contains("a, b and x, y") && error.contains("ARM=PATH, such as a=PATH"), "{error}");
}

#[test]
fn numbers_that_double_are_tests_and_other_gaps_are_told() {
    let dir = tempfile::tempdir().unwrap();
    for (place, arm) in (0..).zip(["a", "b"]) {
        for number in [1, 2, 4, 8] {
            let events = 1000 + 300 * number + place;
            write(dir.path(), &format!("{arm}/ro-{number}.txt"), &sysbench(events, READS, 4));
        }
        for number in [3, 4] {
            write(
                dir.path(),
                &format!("{arm}/w-{number}.txt"),
                &sysbench(5000 + number + 10 * place, READS, 4),
            );
        }
        for number in [1, 2, 5] {
            let events = 1000 + 10 * number + place;
            write(dir.path(), &format!("{arm}/rw-r{number}.txt"), &sysbench(events, WRITES, 4));
        }
    }
    let assembled = import(&[dir.path().display().to_string()]).unwrap();
    let tests = vec!["ro-1", "ro-2", "ro-4", "ro-8", "rw", "w"];
    assert_eq!(arms_and_tests(&assembled), (vec!["a", "b"], tests, 5));
    for date in [21, 23] {
        write(dir.path(), &format!("a/d_2026-11-{date}.txt"), &sysbench(2000 + date, READS, 4));
    }
    let assembled = import(&[dir.path().display().to_string()]).unwrap();
    assert!(!assembled.notes.iter().any(|(_, text)| text.contains("2026")), "{:?}", assembled.notes);
    for note in [
        "ro-1, ro-2, ro-4, ro-8 were taken for tests of their own",
        "rw-r1, rw-r2, rw-r5 were taken for repeats, though numbers between them are missing",
        "w-3, w-4 were taken for repeats, though those before 3 are missing",
    ] {
        assert!(assembled.notes.iter().any(|(_, text)| text.starts_with(note)), "{:?}", assembled.notes);
    }
}

fn checked(table: &Path, sources: &[String]) -> Result<Checked, Error> {
    check(table, &files(sources).unwrap(), None, Reading::Published, false)
}

/// Columns and rows are looked for in the names of files and directories.
#[test]
fn a_table_is_held_against_files_of_any_names() {
    // Means and medians differ, and so do queries and transactions.
    let rates = |at: u64| [100.0, 101.0, 120.0].map(|rate| rate * (at + 1) as f64);
    let texts = |name: &dyn Fn(u64, u64, usize) -> String| {
        let dir = tempfile::tempdir().unwrap();
        for (arm, test) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for (repeat, rate) in rates(2 * test + arm).into_iter().enumerate() {
                write(dir.path(), &name(arm, test, repeat + 1), &sysbench(rate as u64 * 10, (3, 1), 4));
            }
        }
        dir
    };
    let (arms, tests) = (["mysql-8.0.36", "mysql-8.4.3"], ["oltp_read_only", "oltp_read_write"]);
    let place = |arm: u64, test: u64| (arms[arm as usize], tests[test as usize]);
    let table = |of: &dyn Fn([f64; 3]) -> f64| {
        let row =
            |at: u64| format!("{}\t{}\t{}\n", of(rates(2 * at)), of(rates(2 * at + 1)), tests[at as usize]);
        format!("col-1 : {}\ncol-2 : {}\n\n{}{}", arms[0], arms[1], row(0), row(1))
    };
    let mean = |rates: [f64; 3]| rates.iter().sum::<f64>() / 3.0;
    let of_files = texts(&|arm, test, repeat| {
        let (arm, test) = place(arm, test);
        format!("{test}-{arm}-r{repeat}.txt")
    });
    let of_directories = texts(&|arm, test, repeat| {
        let (arm, test) = place(arm, test);
        format!("{arm}/{test}/{repeat}.log")
    });
    for dir in [&of_files, &of_directories] {
        let source = [dir.path().display().to_string()];
        let path = tempfile::tempdir().unwrap();
        write(path.path(), "qps.tsv", &table(&|rates| 4.0 * mean(rates)));
        let found = checked(&path.path().join("qps.tsv"), &source).unwrap();
        assert_eq!((found.equal, found.cells, found.assumed.as_deref()), (4, 4, Some("means of repeats")));
        assert_eq!(found.lacking, [""; 0]);
        write(path.path(), "qps.tsv", &table(&|rates| rates[1]));
        let found = checked(&path.path().join("qps.tsv"), &source).unwrap();
        let assumed = "transactions per second, medians of repeats";
        assert_eq!((found.equal, found.cells, found.assumed.as_deref()), (4, 4, Some(assumed)));
        // A CSV with a header is such a table, too.
        let csv = "test,8.0.36,8.4.3\noltp_read_only,101,202\noltp_read_write,303,405\n";
        write(path.path(), "blog.csv", csv);
        let found = checked(&path.path().join("blog.csv"), &source).unwrap();
        assert_eq!((found.equal, found.cells), (3, 4));
        assert_eq!((&*found.differences[0].row, &*found.differences[0].computed), ("oltp_read_write", "404"));
    }
    // Where names tell nothing, the error says what to give.
    let silent = texts(&|arm, test, repeat| format!("{arm}/t{test}/{repeat}.log"));
    let of_arm = |arm: u64| format!("{}={}/{arm}", arms[arm as usize], silent.path().display());
    let path = silent.path().join("qps.tsv");
    fs::write(&path, table(&|rates| rates[1])).unwrap();
    for sources in [vec![silent.path().display().to_string()], vec![of_arm(0), of_arm(1)]] {
        let error = checked(&path, &sources).unwrap_err().to_string();
        for part in ["mysql-8.0.36=DIR", "such as oltp_read_only.txt"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    let renamed =
        fs::read_to_string(&path).unwrap().replace("oltp_read_only", "t0").replace("oltp_read_write", "t1");
    fs::write(&path, renamed).unwrap();
    assert_eq!(checked(&path, &[of_arm(0), of_arm(1)]).unwrap().equal, 4);
}

/// Ratios need not say what they are relative to, nor have two decimals.
#[test]
fn a_table_of_ratios_is_held_against_texts() {
    let dir = tempfile::tempdir().unwrap();
    let rates = [("base", "q1", 1000), ("base", "q2", 3000), ("head", "q1", 950), ("head", "q2", 3100)];
    for (arm, test, rate) in rates {
        let text = sysbench(10 * rate, READS, 4);
        write(dir.path(), &format!("{arm}/{test}.txt"), &text);
    }
    let sources = ["base", "head"].map(|arm| format!("{arm}={}/{arm}", dir.path().display()));
    let table = dir.path().join("table");
    let found = |text: &str| {
        fs::write(&table, text).unwrap();
        let found = checked(&table, &sources).unwrap();
        (found.equal, found.cells)
    };
    for text in [
        "test,base,head\nq1,1.000,0.950\nq2,1.000,1.033\n",
        "test\tbase\thead\nq1\t1.00\t0.95\nq2\t1.00\t1.03\n",
        "test\tbase\thead\nq1\t1000\t950\nq2\t3000\t3100\n",
    ] {
        assert_eq!(found(text), (4, 4), "{text}");
        assert_eq!(
            found(&text.replace("1.0333", "1.0343").replace("950", "955").replace("0.95\n", "0.96\n")).0,
            3
        );
    }
    // Of rates as a table has them: 86.4 and 93.6 are 86 and 94.
    for (arm, rate) in [("base", 864), ("head", 936)] {
        write(dir.path(), &format!("{arm}/q3.txt"), &sysbench(rate, READS, 4));
    }
    assert_eq!(found("test,base,head\nq1,1.00,0.95\nq2,1.00,1.03\nq3,1.00,1.09\n"), (6, 6));
    for arm in ["base", "head"] {
        fs::remove_file(dir.path().join(arm).join("q3.txt")).unwrap();
    }
    assert_eq!(found("test,head\nq1,0.950\nq2,1.033\n"), (2, 2));
    assert_eq!(found("Relative to: base\ncol-1 : head\n\n0.950\tq1\n1.033\tq2\n"), (2, 2));
    let error = checked(&table, &sources[1..]).unwrap_err().to_string();
    assert!(error.contains("results of base, which the ratios of") && error.contains("base=DIR"), "{error}");
    write(dir.path(), "run.log", &pgbench("select only", 4, 1000));
    let error = checked(&table, &[dir.path().join("run.log").display().to_string()]).unwrap_err().to_string();
    assert!(error.contains("not from files of pgbench"), "{error}");
}

#[test]
fn a_csv_of_arms_and_rates_is_of_one_test() {
    let dir = tempfile::tempdir().unwrap();
    let import = |text: &str| {
        write(dir.path(), "tpcc.csv", text);
        import(&[dir.path().display().to_string()])
    };
    for (header, rate) in [("arm,NOPM", 2000.0), ("rate;arm", 120_000.0), ("arm,rate", 120_000.0)] {
        let row = |arm: &str, rate: u32| match header {
            "rate;arm" => format!("{rate};{arm}\n"),
            _ => format!("{arm},{rate}\n"),
        };
        let rows: String = (0..3).map(|n| row("base", 120_000 + n) + &row("head", 110_000 + n)).collect();
        let assembled = import(&format!("{header}\n{rows}")).unwrap();
        assert_eq!(arms_and_tests(&assembled), (vec!["base", "head"], vec!["tpcc"], 3), "{header}");
        assert_eq!(assembled.results[0].measurement.work.as_ref().unwrap().per_second(), rate, "{header}");
    }
    let error = import("base,120000\nhead,110000\n").unwrap_err().to_string();
    assert!(error.contains("are they arms or tests? Write `arm,rate` above"), "{error}");
}

/// Of a text and of JSON, what fio prints as the end of its first job.
#[test]
fn results_of_fio_have_the_date_that_it_prints() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/fio-3.33.normal+json.txt");
    let own = fs::read_to_string(own).unwrap();
    let date = "Sun Nov 22 20:39:44 2026";
    let text = "seq: (g=0): rw=write, bs=(R) 16.0KiB-16.0KiB, (W) 16.0KiB-16.0KiB, ioengine=psync, iodepth=1\nfio-3.33\n\
                seq: (groupid=0, jobs=1): err= 0: pid=1: Sun Nov 22 20:39:44 2026\n  write: IOPS=100, BW=2MiB/s (2MB/s)\
                (20MiB/10000msec)\n\
                     issued rwts: total=0,1000,0,0 short=0,0,0,0\nRun status group 0 (all jobs):\n";
    for text in [text, &own] {
        assert!(text.contains(date));
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a/w.txt", text);
        let assembled = import(&[dir.path().display().to_string()]).unwrap();
        assert_eq!(assembled.sources[0].measured_at_ms.unwrap() / 1000, 1_795_379_984);
        assert_eq!(assembled.arms[0].measured_at_ms, assembled.sources[0].measured_at_ms);
    }
}

#[test]
fn exchanged_files_of_two_tests_are_to_be_checked_first() {
    let dir = folder(&[("{}/a-#.txt", READS, 4)]);
    let import = || import(&[dir.path().display().to_string()]).unwrap();
    assert_eq!(import().doubts, []);
    for repeat in 1..=3 {
        write(dir.path(), &format!("new/a-{repeat}.txt"), &sysbench(4000 + repeat, WRITES, 4));
    }
    let doubts = import().doubts;
    assert_eq!(doubts.len(), 1);
    assert!(
        doubts[0].text.starts_with("an event is 0 reads and 1 write of 1.0 statements in "),
        "{doubts:?}"
    );
}

/// Each result counts once, whatever the digits of a table made of it.
#[test]
fn a_csv_of_results_is_left_out_beside_them() {
    let dir = folder(&[("{}/a-#.txt", READS, 4), ("{}/b-#.txt", READS, 4)]);
    let rate = |at: u64, repeat: u64, number: u64| (4000 + 100 * at + 10 * repeat + number) as f64 / 10.0;
    let csv = |row: &dyn Fn(u64, u64) -> Vec<(u64, f64)>, digits: usize| {
        let mut text = "arm,test,repeat,rate\n".to_owned();
        for (number, arm) in (0..).zip(["old", "new"]) {
            for (at, test) in (0..).zip(["a", "b"]) {
                for (repeat, rate) in row(at, number) {
                    text.push_str(&format!("{arm},{test},{repeat},{rate:.digits$}\n"));
                }
            }
        }
        text
    };
    let all = |at: u64, number: u64| (1..=3).map(|repeat| (repeat, rate(at, repeat, number))).collect();
    for digits in [0, 2] {
        write(dir.path(), "summary.csv", &csv(&all, digits));
        let assembled = import(&[dir.path().display().to_string()]).unwrap();
        assert_eq!(
            (assembled.results.len(), assembled.repeats, assembled.left_out.len()),
            (12, 3, 1),
            "{digits}"
        );
    }
    let means = |at: u64, number: u64| vec![(1, rate(at, 2, number) + 0.3)];
    write(dir.path(), "summary.csv", &csv(&means, 2));
    let error = import(&[dir.path().display().to_string()]).unwrap_err().to_string();
    assert!(error.contains("correct the table, or leave it out"), "{error}");
    let tables = tempfile::tempdir().unwrap();
    write(tables.path(), "exact.csv", &csv(&all, 2));
    write(tables.path(), "rounded.csv", &csv(&all, 0));
    let assembled = import(&[tables.path().display().to_string()]).unwrap();
    assert_eq!((assembled.results.len(), assembled.left_out.len()), (12, 1));
}

#[test]
fn what_prepares_and_cleans_up_is_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let around = |text: &str| {
        let banner = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n";
        format!(
            "{banner}Creating table 'sbtest1'...\nInserting 100 records into 'sbtest1'\n{text}{banner}Dropping table 'sbtest1'...\n"
        )
    };
    write(dir.path(), "a/q.txt", &around(&sysbench(4000, READS, 4)));
    assert_eq!(import(&[dir.path().display().to_string()]).unwrap().results.len(), 1);
}

#[test]
fn the_rate_of_db_bench_is_held_against_its_operations_and_seconds() {
    let log = |rate: u32| {
        format!(
            "RocksDB:    version 9.8.4\nDate:       Thu Nov 26 10:02:11 2026\nfillseq      :       1.858 micros/op {rate} \
             ops/sec 0.187 seconds 100000 operations;   59.3 MB/s\n"
        )
    };
    let dir = tempfile::tempdir().unwrap();
    let doubts = |rate: u32| {
        write(dir.path(), "fillseq.log", &log(rate));
        import(&[dir.path().display().to_string()]).unwrap()
    };
    let right = doubts(536_138);
    assert_eq!(right.doubts, []);
    assert!(right.sources[0].measured_at_ms.is_some());
    let found = doubts(936_138).doubts;
    assert!(
        found[0].text.contains("the rate is 936138 ops/sec, but 100000 operations in 0.187 seconds"),
        "{found:?}"
    );
}

#[test]
fn other_threads_and_durations_of_pgbench_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let text = |threads: u32, seconds: u32, tps: u32| {
        format!(
            "pgbench (16.3, server 16.3)\ntransaction type: <builtin: select only>\nscaling factor: 10\n\
             query mode: simple\nnumber of clients: 8\nnumber of threads: {threads}\nduration: {seconds} s\n\
             number of transactions actually processed: {}\nlatency average = 2.000 ms\ntps = {tps}.000000 (without initial connection time)\n",
            tps * seconds
        )
    };
    write(dir.path(), "base/q-1.txt", &text(8, 10, 1000));
    write(dir.path(), "head/q-1.txt", &text(1, 30, 900));
    let assembled = import(&[dir.path().display().to_string()]).unwrap();
    assert_eq!(assembled.doubts.len(), 1);
    assert_eq!(assembled.doubts[0].text, "pgbench ran with 1 thread (-j), but 8 on base");
    let is_told =
        |(_, note): &(_, String)| note.ends_with("pgbench ran with 30 seconds (-T), but 10 on base");
    assert!(assembled.notes.iter().any(is_told), "{:?}", assembled.notes);
}

#[test]
fn scripts_of_one_name_in_two_directories_are_two_tests() {
    let text = |script: &str, tps: u32| {
        format!(
            "pgbench (16.3, server 16.3)\ntransaction type: {script}\nscaling factor: 10\nquery mode: simple\n\
             number of clients: 8\nnumber of threads: 2\nduration: 10 s\n\
             number of transactions actually processed: {tps}0\nlatency average = 2.000 ms\n\
             tps = {tps}.000000 (without initial connection time)\n"
        )
    };
    let tests = |scripts: &dyn Fn(&str) -> [String; 2]| {
        let dir = tempfile::tempdir().unwrap();
        for (at, arm) in (0..).zip(["old", "new"]) {
            for (number, script) in (1..).zip(scripts(arm)) {
                write(
                    dir.path(),
                    &format!("{arm}/run-{number}.log"),
                    &text(&script, 1000 + 10 * number + at),
                );
            }
        }
        let assembled = import(&[dir.path().display().to_string()]).unwrap();
        assembled.steps.iter().map(|step| step.name.clone()).collect::<Vec<_>>()
    };
    let both = |arm: &str| ["read", "write"].map(|kind| format!("/src/{arm}/{kind}/q.sql"));
    assert_eq!(tests(&both), ["read.q", "write.q"]);
    // Of each run, or of each arm.
    assert_eq!(tests(&|arm| ["x1", "x2"].map(|run| format!("/tmp/{arm}.{run}/q.sql"))), ["q"]);
    assert_eq!(tests(&|arm| ["q", "q"].map(|name| format!("/src/{arm}/{name}.sql"))), ["q"]);
}

/// It is told, but is no mistake in a figure.
#[test]
fn a_base_that_is_odd_in_each_repeat_is_no_doubt() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = "arm,test,repeat,rate\n".to_owned();
    for (arm, version) in (0u32..).zip(["12.22", "13.18", "14.15", "15.10", "16.6"]) {
        for repeat in 1..=3 {
            let rate = 1000 + arm + repeat + if arm == 0 { 300 } else { 0 };
            text.push_str(&format!("postgres-{version},a,{repeat},{rate}\n"));
        }
    }
    write(dir.path(), "rates.csv", &text);
    let assembled = import(&[dir.path().display().to_string()]).unwrap();
    assert_eq!(assembled.doubts, []);
    let is_told = |(_, note): &(_, String)| note.starts_with("a: base is the odd one: 4 of 4 others");
    assert!(assembled.notes.iter().any(is_told), "{:?}", assembled.notes);
}
