//! What files say of their tests: statements of an event and clients tell directories of tests from arms; and one
//! result from another source of it.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::fs;
use std::path::Path;

use rqps_import::{Assembled, Choices, Error, files, load_all};

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

#[test]
fn directories_of_an_arm_that_is_named_are_tests() {
    let dir = folder(&[("{}/x/run#.txt", WRITES, 4), ("{}/y/run#.txt", WRITES, 4)]);
    let named = |arm: &str| format!("{arm}={}/{arm}", dir.path().display());
    let assembled = import(&[named("old"), named("new")]).unwrap();
    assert_eq!(arms_and_tests(&assembled), (vec!["new", "old"], vec!["x", "y"], 3));
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
    assert_eq!(assembled.doubts[0].text, "pgbench ran with 1 threads (-j), but 8 on base");
    let is_told =
        |(_, note): &(_, String)| note.ends_with("pgbench ran with 30 seconds (-T), but 10 on base");
    assert!(assembled.notes.iter().any(is_told), "{:?}", assembled.notes);
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
