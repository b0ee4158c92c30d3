//! What names of files and directories tell: arms, tests, settings, and nothing else.

use std::fs;
use std::path::Path;

use rqps_import::{Assembled, BaseAs, Choices, Error, files, load_all, repeats};

/// sysbench's text; of `writes` per event besides one read.
fn sysbench(events: u64, writes: u64) -> String {
    let all = events * (1 + writes);
    format!(
        "sysbench 1.0.20\n\nNumber of threads: 4\n\nThreads started!\n\nSQL statistics:\n    queries performed:\n \
         read: {events}\n write: {}\n other: 0\n total: {all}\n    transactions: {events} ({:.2} per sec.)\n    \
         queries: {all} ({:.2} per sec.)\n\nGeneral statistics:\n    total time: 10.0000s\n    \
         total number of events: {events}\n\nLatency (ms):\n avg: 10.00\n\nThreads fairness:\n    \
         execution time (avg/stddev): 10.0/0.00\n",
        writes * events,
        events as f64 / 10.0,
        all as f64 / 10.0
    )
}

fn ycsb(operations: u64) -> String {
    format!(
        "[OVERALL], RunTime(ms), 10000\n[OVERALL], Throughput(ops/sec), {}\n[READ], Operations, {operations}\n\
         [READ], AverageLatency(us), 400.0\n[READ], Return=OK, {operations}\n",
        operations as f64 / 10.0
    )
}

fn pgbench(transactions: u64, _: u64) -> String {
    format!(
        "pgbench (16.3, server 16.3)\ntransaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\n\
         number of clients: 2\nnumber of threads: 1\nduration: 10 s\n\
         number of transactions actually processed: {transactions}\n\
         latency average = 2.000 ms\ntps = {:.6} (without initial connection time)\n",
        transactions as f64 / 10.0
    )
}

/// Writes files of these names for each word of an arm and of a test, and three repeats; the second test writes.
fn folder(name: &str, arms: &[&str], tests: &[&str], text: fn(u64, u64) -> String) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (at, arm) in (0..).zip(arms) {
        for (writes, test) in (0..).zip(tests) {
            for repeat in 1..=3 {
                // One number of all runs, as counters and times have.
                let run = (repeat - 1) * arms.len() as u64 + at + 1;
                let name = name.replace("ARM", arm).replace("TEST", test).replace('#', &repeat.to_string());
                let name =
                    name.replace("NNN", &format!("{run:03}")).replace("HH", &format!("{:02}", 10 + run));
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text(4000 + 1000 * writes + 100 * at + 10 * repeat, writes)).unwrap();
            }
        }
    }
    dir
}

fn import(arguments: &[String]) -> Result<Assembled, Error> {
    Assembled::new(load_all(&files(arguments)?, None, false)?.0, &Choices::default())
}

/// Base, the other arms, tests and repeats.
fn told(assembled: &Assembled) -> (&str, Vec<&str>, Vec<&str>, u32) {
    let base = assembled.arms[assembled.base].name.as_str();
    let others = assembled.arms.iter().map(|arm| arm.name.as_str()).filter(|name| *name != base).collect();
    (base, others, assembled.steps.iter().map(|step| step.name.as_str()).collect(), assembled.repeats)
}

fn of_path(path: &Path) -> Assembled {
    import(&[path.display().to_string()]).unwrap()
}

#[test]
fn names_of_files_tell_arms_and_tests() {
    let (ro, rw) = ("oltp_read_only", "oltp_read_write");
    for (name, arms, tests, expected) in [
        ("ARM-#.log", ["base", "head"], &[""][..], &["sysbench"][..]),
        ("#/ARM.log", ["old", "new"], &[""], &["sysbench"]),
        ("ARM-#.log", ["mysql80", "mysql84"], &[""], &["sysbench"]),
        ("ARM_#.log", ["mysql-8.0.36", "mysql-8.4.6"], &[""], &["sysbench"]),
        ("TEST-ARM-#.log", ["master", "patched"], &[ro, rw], &[ro, rw]),
        ("ARM_TEST_#.log", ["master", "patched"], &["ro", "rw"], &["ro", "rw"]),
        ("run#/ARM-TEST.log", ["before", "after"], &["ro", "rw"], &["ro", "rw"]),
        ("TEST/ARM-#.log", ["master", "patched"], &[ro, rw], &[ro, rw]),
        ("TEST/ARM-#.log", ["mysql80", "mysql84"], &[ro, rw], &[ro, rw]),
        ("TEST/ARM_#.log", ["mariadb", "mysql"], &[ro, rw], &[ro, rw]),
        ("flush=ARM-TEST-#.txt", ["fsync", "o_direct"], &[ro, rw], &[ro, rw]),
        ("ARM/TEST-ARM-#.log", ["base", "head"], &["ro", "rw"], &["ro", "rw"]),
        ("NNN-ARM-TEST.log", ["base", "head"], &[""], &["sysbench"]),
        ("ARM-HH:16:00.log", ["base", "head"], &[""], &["sysbench"]),
        ("ARM/run_HH1600.log", ["base", "head"], &[""], &["sysbench"]),
        ("ARM/run-HH:16:00.log", ["base", "head"], &[""], &["sysbench"]),
        ("ARM-hp-TEST-#.log", ["pg17", "pg18"], &["off", "on"], &["hp-off", "hp-on"]),
    ] {
        let dir = folder(name, &arms, tests, sysbench);
        let found = of_path(dir.path());
        assert_eq!(told(&found), (arms[0], vec![arms[1]], expected.to_vec(), 3), "{name} {arms:?}");
        assert!(found.doubts.is_empty() || found.unpaired.is_empty(), "{name}: {:?}", found.doubts);
        // Named, as the message about one arm recommends.
        if name.starts_with("ARM-") || name.starts_with("ARM_") {
            let given = ["base", "head"].iter().zip(arms);
            let given = given.map(|(name, arm)| format!("{name}={}/{arm}[-_]*", dir.path().display()));
            let found = import(&given.collect::<Vec<_>>()).unwrap();
            assert_eq!(told(&found), ("base", vec!["head"], expected.to_vec(), 3), "{name} {arms:?}");
        }
    }
    let dir = folder("ARM-#.txt", &["base", "head"], &[""], |operations, _| ycsb(operations));
    assert_eq!(told(&of_path(dir.path())), ("base", vec!["head"], vec!["ycsb"], 3));
    // Of other tests they are no arms.
    let dir = folder("TEST-#.log", &[""], &["base-lookup", "other"], |operations, _| sysbench(operations, 0));
    assert_eq!(of_path(dir.path()).arms.len(), 1);
}

/// Settings that pgbench does not print are no repeats of one another.
#[test]
fn names_of_files_tell_settings() {
    let settings = ["select-only.lz4", "select-only.pglz"];
    for (name, patterns) in [
        ("ARM/TEST-#.log", ["master/*", "patched/*.log"]),
        ("ARM-TEST-#.log", ["master*", "patched*"]),
        ("TEST_ARM_#.log", ["*_master_*", "*_patched_*"]),
        ("run#/ARM-TEST.log", ["*/master*", "*/patched*"]),
    ] {
        let dir = folder(name, &["master", "patched"], &["lz4", "pglz"], pgbench);
        let named = |(arm, pattern): (&str, &str)| format!("{arm}={}/{pattern}", dir.path().display());
        let named: Vec<String> = ["base", "head"].into_iter().zip(patterns).map(named).collect();
        for found in [import(&named).unwrap(), of_path(dir.path())] {
            let (_, others, tests, repeats) = told(&found);
            assert_eq!((others.len(), tests, repeats), (1, settings.to_vec(), 3), "{name}");
            assert!(found.taken[0].contains("lz4, pglz were taken for settings"), "{:?}", found.taken);
        }
        // A word of settings is none of arms beside such.
        let dir_of_head = folder("ARM/TEST-#.log", &["HEAD", "patched"], &["off", "on"], pgbench);
        assert_eq!(told(&of_path(dir_of_head.path())).2, ["select-only.off", "select-only.on"]);
        let of_versions = folder("ARM-TEST-#.log", &["v1", "v2"], &["off", "on"], pgbench);
        assert_eq!(told(&of_path(of_versions.path())).2, ["select-only.off", "select-only.on"]);
        let warmed_up = folder("ARM/TEST#.log", &["HEAD", "patched"], &["", "warmup"], pgbench);
        assert_eq!(told(&of_path(warmed_up.path())).2, ["select-only", "select-only.warmup"]);
        // A setting that base has not is none of base's repeats.
        for file in files(&[&named[0]]).unwrap() {
            if file.path.to_string_lossy().contains("pglz") {
                fs::remove_file(file.path).unwrap();
            }
        }
        assert_eq!(told(&import(&named).unwrap()).2, settings, "{name}");
    }
    for name in
        ["ARM/hostTEST-#.log", "ARM/2026-11-0#/TEST.log", "ARM/TEST-2026-11-0#.log", "ARM/run#-TEST.log"]
    {
        let tests: &[&str] = if name.contains("host") { &["1", "2"] } else { &["ro"] };
        let dir = folder(name, &["master", "patched"], tests, pgbench);
        let named = ["master", "patched"].map(|arm| format!("{arm}={}/{arm}", dir.path().display()));
        assert_eq!(told(&import(&named).unwrap()).2, ["select-only"], "{name}");
    }
}

#[test]
fn head_is_base_of_patched_builds_only() {
    for (base, other) in [("HEAD", "patched"), ("HEAD", "v12"), ("HEAD", "0001-avoid-lock"), ("base", "head")]
    {
        let dir = folder("ARM_#.txt", &[other, base], &[""], pgbench);
        let found = of_path(dir.path());
        assert_eq!((told(&found).0, found.base_as), (base, BaseAs::Named));
    }
}

#[test]
fn repeats_are_given_of_all_results_or_none() {
    let dir = folder("#/ARM.log", &["base", "head"], &[""], sysbench);
    let path = |number: u32| dir.path().join(number.to_string());
    let mut given = repeats(&[path(1), path(2)]).unwrap();
    given.extend(files(&[path(3)]).unwrap());
    let loaded = load_all(&given, None, false).unwrap().0;
    let error = Assembled::new(loaded, &Choices::default()).unwrap_err().to_string();
    assert!(error.contains("3/base.log and 1 file more: not given as --repeat"), "{error}");
}

/// `mrg.some` has rows of `mrg.l.i0` and others.
#[test]
fn steps_of_the_insert_benchmark_that_a_second_table_has_count_once() {
    let dir = tempfile::tempdir().unwrap();
    let header = "ips\tqps\trps\twps\ttag\n";
    let row = |arm: &str, rate: u32| format!("{rate}\t0\t0\t73.{}\t{arm}\n", rate % 10);
    let step = |base: u32| format!("{header}{}{}", row("pg1110.cx5", base), row("pg124.cx5", base + 7));
    fs::write(dir.path().join("mrg.l.i0"), step(103_093)).unwrap();
    fs::write(dir.path().join("mrg.l.x"), step(200_004)).unwrap();
    let some = dir.path().join("mrg.some");
    fs::write(&some, format!("l.i0\n{}\nl.i1\n{}", step(103_093), step(40_733))).unwrap();
    let found = of_path(dir.path());
    let expected = ("postgres-11.10.cx5", vec!["postgres-12.4.cx5"], vec!["l.i0", "l.x", "l.i1"], 1);
    assert_eq!((told(&found), found.results.len()), (expected, 6));
    fs::write(&some, format!("l.i0\n{}", step(103_099))).unwrap();
    let error = import(&[dir.path().display().to_string()]).unwrap_err().to_string();
    assert!(
        error.contains("mrg.some, line 3: l.i0 of postgres-11.10.cx5") && error.contains("mrg.l.i0"),
        "{error}"
    );
}
