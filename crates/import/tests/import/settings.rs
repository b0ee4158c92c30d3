//! Results of one test in other settings are other tests, and never repeats.

use std::fs;
use std::path::Path;

use rqps_import::{Assembled, Choices, Error, files, load_all};

fn import(dir: &Path) -> Result<Assembled, Error> {
    let (loaded, _) = load_all(&files(&[dir])?, None, false)?;
    Assembled::new(loaded, &Choices::default())
}

/// The step, arm and rate of each result.
fn rates(assembled: &Assembled) -> Vec<(&str, &str, f64)> {
    let results = assembled.results.iter().map(|one| {
        let rate = one.measurement.work.as_ref().unwrap().per_second().round();
        (assembled.steps[one.step].name.as_str(), assembled.arms[one.arm].name.as_str(), rate)
    });
    results.collect()
}

fn sysbench(clients: u32, rate: f64) -> String {
    format!(
        "sysbench 1.1.0\n\nNumber of threads: {clients}\n\nThreads started!\n\n    queries:  {:.0} ({rate:.2} per sec.)\n\
         total number of events: {:.0}\n    time elapsed: 100.0s\n    avg: 0.10\n    sum: 100.00\n\
         execution time (avg/stddev): 100.0/0.00\n",
        rate * 100.0,
        rate * 100.0
    )
}

const OLD: &str = "x.pg174_o2nofp.x10a_c8r32.pk1";
const NEW: &str = "x.pg181_o2nofp.x10a_c8r32.pk1";

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// One of rqps' own tests with ranges, and one that has none in rqps.
#[test]
fn each_range_and_number_of_clients_is_a_test() {
    let dir = tempfile::tempdir().unwrap();
    let mut rate = 1000.0;
    let mut expected = Vec::new();
    for test in ["hot-points", "random-points"] {
        for range in [10, 100] {
            for clients in [1, 8, 16] {
                for (arm, directory) in [("postgres-17.4.x10a_c8r32", OLD), ("postgres-18.1.x10a_c8r32", NEW)]
                {
                    let name = format!("{directory}/sb.o.{test}.range{range}.pk1.dop{clients}");
                    write(dir.path(), &name, &sysbench(clients, rate));
                    expected.push((format!("{test}_range={range}_clients={clients}"), arm, rate));
                    rate += 100.0;
                }
            }
        }
    }
    let assembled = import(dir.path()).unwrap();
    let expected: Vec<_> = expected.iter().map(|(step, arm, rate)| (step.as_str(), *arm, *rate)).collect();
    let mut found = rates(&assembled);
    found.sort_by(|(_, _, a), (_, _, b)| a.total_cmp(b));
    assert_eq!(found, expected);
    assert_eq!((assembled.repeats, assembled.steps.len()), (1, 12));
}

#[test]
fn names_that_only_look_like_ranges_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let rows = ["lookup", "lookup_range=10", "lookup_range=small", "lookup_range=large"];
    let rows: Vec<String> = rows.iter().zip(1..).map(|(test, rate)| format!("a,{test},1,{rate}")).collect();
    write(dir.path(), "rates.csv", &format!("arm,test,repeat,rate\n{}\n", rows.join("\n")));
    let assembled = import(dir.path()).unwrap();
    let names: Vec<&str> = rates(&assembled).into_iter().map(|(step, ..)| step).collect();
    assert_eq!(names, ["lookup", "lookup_range=10", "lookup_range=large", "lookup_range=small"]);
}

/// Tables tell neither clients nor, if they are edited, the only range.
#[test]
fn a_table_belongs_to_the_tests_of_its_sources() {
    let third = "x.pg190_o2nofp.x10a_c8r32.pk1";
    let head = format!("col-1 : {OLD}\ncol-2 : {NEW}\ncol-3 : {third}\n\ncol-1\tcol-2\tcol-3\n");
    let dir = tempfile::tempdir().unwrap();
    for (test, rate) in [("random-points", 1000.0), ("point-query", 5000.0)] {
        write(dir.path(), &format!("{OLD}/sb.o.{test}.range100.pk1.dop8"), &sysbench(8, rate));
        write(dir.path(), &format!("{NEW}/sb.o.{test}.range100.pk1.dop8"), &sysbench(8, rate + 10.0));
    }
    let rows = "1000\t1010\t1020\trandom-points_range=100\n5000\t5010\t5020\tpoint-query\n";
    write(dir.path(), "qps.abs.tsv", &format!("{head}{rows}"));
    let steps = |assembled: &Assembled| -> Vec<String> {
        assembled.steps.iter().map(|step| step.name.clone()).collect()
    };
    let assembled = import(dir.path()).unwrap();
    assert_eq!(steps(&assembled), ["point-query", "random-points_range=100"]);
    assert_eq!((assembled.repeats, assembled.results.len()), (1, 6));
    // Of results with other numbers of clients, those that the table has tell its own.
    for (arm, rate) in [(OLD, 700.0), (NEW, 710.0)] {
        write(dir.path(), &format!("{arm}/sb.o.point-query.range100.pk1.dop1"), &sysbench(1, rate));
    }
    let assembled = import(dir.path()).unwrap();
    assert_eq!(
        steps(&assembled),
        ["point-query_clients=1", "point-query_clients=8", "random-points_range=100"]
    );
    let third = rates(&assembled).into_iter().filter(|(_, arm, _)| arm.contains("19.0"));
    let third: Vec<&str> = third.map(|(step, ..)| step).collect();
    assert_eq!(third, ["point-query_clients=8", "random-points_range=100"]);
}

/// The published rate of `scan` is thousand rows of one client.
#[test]
fn scans_of_a_table_are_in_the_unit_of_its_sources() {
    let third = "x.pg190_o2nofp.x10a_c8r32.pk1";
    let dir = tempfile::tempdir().unwrap();
    let scan = |queries: u32| {
        let command = "sysbench --table-size=1000000 --threads=8 scan.lua run\n";
        let text = sysbench(8, f64::from(queries) / 100.0);
        // Eight clients, each with so many scans in 100 s.
        format!(
            "{command}{}",
            text.replace("avg: 0.10", &format!("avg: {:.2}", 8.0 * 100_000.0 / f64::from(queries)))
        )
    };
    for (arm, queries) in [(OLD, 400), (NEW, 500)] {
        write(dir.path(), &format!("{arm}/sb.o.scan.range100.pk1.dop8"), &scan(queries));
        write(
            dir.path(),
            &format!("{arm}/sb.o.point-query.range100.pk1.dop8"),
            &sysbench(8, f64::from(queries) * 10.0),
        );
    }
    let head = format!("col-1 : {OLD}\ncol-2 : {NEW}\ncol-3 : {third}\n\ncol-1\tcol-2\tcol-3\n");
    let rows = "500\t625\t750\tscan_range=100\n4000\t5000\t6000\tpoint-query_range=100\n";
    write(dir.path(), "qps.abs.tsv", &format!("{head}{rows}"));
    let assembled = import(dir.path()).unwrap();
    let scans = rates(&assembled).into_iter().filter(|(step, ..)| *step == "scan");
    assert_eq!(scans.map(|(_, _, rate)| rate).collect::<Vec<_>>(), [4000.0, 5000.0, 6000.0]);
}

const PGBENCH: &str = "transaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\n\
    number of clients: 2\nnumber of threads: 1\nduration: 10 s\nnumber of transactions actually processed: 10000\n\
    latency average = 2.000 ms\ntps = 1000.000000 (without initial connection time)\n";
const VMSTAT: &str = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
    44  0 104680 4028592 623968 122687096   10    9  3166  4073    0    0 16 10 72  2  0\n\
    41  0 104680 6147752 623968 122687328    0    0    12   224 13301 5486 51 45  4  0  0\n";

/// pgbench names the test by itself; what was measured beside it has only the file's name.
#[test]
fn figures_of_the_host_belong_to_the_result_of_their_name() {
    let dir = tempfile::tempdir().unwrap();
    for number in [1, 2] {
        let text = PGBENCH.replace("1000.000000", &format!("100{number}.000000"));
        write(dir.path(), &format!("ro-{number}.txt"), &text);
    }
    write(dir.path(), "ro-2.vmstat", VMSTAT);
    let assembled = import(dir.path()).unwrap();
    let with_cpu = assembled.results.iter().filter(|one| {
        one.values.iter().any(|(_, value)| value.name == "host_user_percent" && value.value == Some(51.0))
    });
    assert_eq!(with_cpu.map(|one| one.repeat).collect::<Vec<_>>(), [2]);
}

/// vmstat with so many samples, with times from a second of the day on if it was asked for them.
fn vmstat(samples: u32, from: Option<u32>) -> String {
    let mut text = VMSTAT.lines().take(3).map(|line| format!("{line}\n")).collect::<String>();
    if from.is_some() {
        text = text.replacen(" st\n", " st                 UTC\n", 1).replacen("0\n44", "0\n 44", 1);
    }
    for number in 0..samples {
        let time = from.map(|from| from + number).map_or_else(String::new, |at| {
            format!(" 2026-07-30 {:02}:{:02}:{:02}", at / 3600, at / 60 % 60, at % 60)
        });
        text.push_str(&format!(
            "41  0 104680 6147752 623968 122687328    0    0    12   224 13301 {} 51 45  4  0  0{time}\n",
            5486 + number
        ));
    }
    text
}

/// Means of other seconds than the run's are no figures of it.
#[test]
fn figures_of_the_host_cover_the_run() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "ro.txt", PGBENCH);
    let doubts = |vmstat: &str| -> Vec<String> {
        write(dir.path(), "ro.vmstat", vmstat);
        import(dir.path()).unwrap().doubts.into_iter().map(|doubt| doubt.text).collect()
    };
    assert_eq!(doubts(&vmstat(10, None)), [""; 0]);
    assert_eq!(doubts(&vmstat(15, Some(60))), [""; 0]);
    let few = doubts(&vmstat(4, None));
    assert!(
        few[0].starts_with("4 samples of vmstat, if one was taken per second, cover at most 40 %"),
        "{few:?}"
    );
    let many = doubts(&vmstat(500, Some(60)));
    assert!(many[0].starts_with("500 samples of vmstat in 500 s are more than the 10 s"), "{many:?}");

    // A log tells when the run was: transactions of ten seconds from noon on, 1785412800 since 1970.
    let log: String = (0..10_000)
        .map(|number| {
            format!("0 {number} 1000 0 {} {}\n", 1_785_412_800 + number / 1000, number % 1000 * 1000)
        })
        .collect();
    write(dir.path(), "ro.log", &log);
    let noon = 12 * 3600;
    assert_eq!(doubts(&vmstat(10, Some(noon + 1))), [""; 0]);
    let part = doubts(&vmstat(10, Some(noon + 7)));
    assert!(part[0].starts_with("the samples of vmstat cover 4"), "{part:?}");
    write(dir.path(), "ro.vmstat", &vmstat(10, Some(noon + 600)));
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(error.contains("from 2026-07-30T12:09:59Z") && error.contains("vmstat of that run"), "{error}");
}

/// Sums that are alike by chance: the lines differ.
#[test]
fn figures_of_the_host_may_be_alike() {
    let dir = tempfile::tempdir().unwrap();
    let other = VMSTAT.replace("4028592", "4028593");
    for (number, vmstat) in [(1, VMSTAT), (2, &other)] {
        let text = PGBENCH.replace("1000.000000", &format!("100{number}.000000"));
        write(dir.path(), &format!("ro-{number}.txt"), &text);
        write(dir.path(), &format!("ro-{number}.vmstat"), vmstat);
    }
    assert_eq!(import(dir.path()).unwrap().repeats, 2);
    write(dir.path(), "ro-2.vmstat", &VMSTAT.replace('\n', "\r\n"));
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(error.contains("the same content twice"), "{error}");
}

#[test]
fn rates_of_a_csv_are_per_second_and_no_times() {
    let dir = tempfile::tempdir().unwrap();
    let csv = |unit: &str| format!("arm,test,repeat,rate,unit\na,x,1,120,{unit}\n");
    write(dir.path(), "rates.csv", &csv("ms"));
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("rates.csv, line 2: unit: \"ms\" is a time") && error.contains("1 / time"),
        "{error}"
    );
    write(dir.path(), "rates.csv", &csv("TPM"));
    let assembled = import(dir.path()).unwrap();
    assert_eq!(rates(&assembled)[0].2, 2.0);
    assert_eq!(assembled.results[0].values[0].1.unit, "1/min");
}

/// What files tell of how a test ran: where it differs, the tests are others.
#[test]
fn options_of_programs_are_settings() {
    let fio = |options: &str, total: u32| {
        format!(
            "sync: (g=0): rw={options}\nfio-3.36\nsync: (groupid=0, jobs=1): err= 0: pid=1\n\
             \x20 write: IOPS=1.2k, BW=18.8MiB/s (19.7MB/s)(188MiB/10000msec); 0 zone resets\n\
             \x20    issued rwts: total=0,{total},0,0 short=0,0,0,0 dropped=0,0,0,0\n\nRun status group 0 (all jobs):\n"
        )
    };
    let sizes =
        |size: &str| format!("write, bs=(R) {size}-{size}, (W) {size}-{size}, ioengine=psync, iodepth=1");
    let json = |size: &str, total: u32| {
        format!(
            "{{\"fio version\": \"fio-3.36\",\n\"global options\": {{\"rw\": \"write\", \"ioengine\": \"psync\", \"iodepth\": \
             \"1\"}}, \"jobs\": [{{\"jobname\": \"sync\", \"job options\": {{\"bs\": \"{size}\"}}, \"write\": \
             {{\"total_ios\": {total}, \"runtime\": 10000}}}}]}}\n"
        )
    };
    let db_bench = |values: u32, rate: u32| {
        format!(
            "RocksDB:    version 9.8.4\nCPU:        8 * Some CPU\nKeys:       16 bytes each (+ 0 bytes user-defined timestamp)\n\
             Values:     {values} bytes each ({values} bytes after compression)\nEntries:    1000\n\
             readrandom   :       3.456 micros/op {rate} ops/sec 10.000 seconds {rate}0 operations;   32.0 MB/s\n"
        )
    };
    let ycsb = |workload: &str, rate: u32| {
        format!(
            "Command line: -t -P workloads/{workload} -p recordcount=1000 -threads 8\n[OVERALL], RunTime(ms), 10000\n\
             [OVERALL], Throughput(ops/sec), {rate}\n[READ], Operations, {rate}0\n[READ], Return=OK, {rate}0\n"
        )
    };
    for (name, texts, expected) in [
        (
            "fio",
            [fio(&sizes("16.0KiB"), 12_000), fio(&sizes("4096B"), 13_000), fio(&sizes("16.0KiB"), 12_100)],
            ["sync_bs=4096", "sync_bs=16384"],
        ),
        // The same in text and JSON.
        (
            "mixed",
            [fio(&sizes("16.0KiB"), 12_000), json("4k", 13_000), json("16k", 12_100)],
            ["sync_bs=4096", "sync_bs=16384"],
        ),
        (
            "db",
            [db_bench(100, 289), db_bench(400, 290), db_bench(100, 291)],
            ["readrandom_value_bytes=100", "readrandom_value_bytes=400"],
        ),
        (
            "ycsb",
            [ycsb("workloada", 100), ycsb("workloadc", 200), ycsb("workloada", 110)],
            ["run_workload=workloada", "run_workload=workloadc"],
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        for (text, number) in texts.iter().zip(1..) {
            write(dir.path(), &format!("{name}/run-{number}.txt"), text);
        }
        let assembled = import(dir.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let steps: Vec<&str> = assembled.steps.iter().map(|step| step.name.as_str()).collect();
        let expected =
            expected.map(|step| step.replace("run_", if name == "ycsb" { "ycsb_" } else { "run_" }));
        assert_eq!(steps, expected, "{name}");
        assert_eq!((assembled.arms.len(), assembled.repeats), (1, 2), "{name}");
    }
}

/// What each of two arms ran with is said, and nothing compared.
#[test]
fn arms_in_other_settings_are_not_compared() {
    let pgbench = |more: &str, tps: u32| {
        let more = format!("query mode: simple\n{more}");
        let text =
            PGBENCH.replace("query mode: simple\n", &more).replace("1000.000000", &format!("{tps}.000000"));
        format!("pgbench (16.2)\n{text}")
    };
    let kept = "initial connection time = 5.000 ms\n";
    let sysbench = |test: &str, events: u32| {
        format!(
            "sysbench 1.0.20\n\nNumber of threads: 1\n\n{test}\nInitializing worker threads...\n\nThreads started!\n\n\
             General statistics:\n    total time: 10.0001s\n    total number of events: {events}\n\nLatency (ms):\n \
             avg: 1.0\n\nThreads fairness:\n    execution time (avg/stddev): 10.0/0.00\n"
        )
    };
    let memory = |size: &str, operation: &str| {
        format!("  block size: {size}\n  total size: 1024MiB\n  operation: {operation}\n  scope: global\n")
    };
    let fileio = |fsync: &str, mode: &str| {
        format!(
            "Extra file open flags: (none)\n2 files, 4MiB each\n8MiB total file size\nBlock size 16KiB\n{fsync}\
             Calling fsync() at the end of test, Enabled.\nUsing synchronous I/O mode\nDoing {mode} test\n"
        )
    };
    let periodic = "Periodic FSYNC enabled, calling fsync() each 100 requests.\n";
    let select = |more: &str| pgbench(more, 1000);
    for (old, new, expected) in [
        (
            select(kept),
            select("average connection time = 1.500 ms\n"),
            "connections kept on new, and per-transaction on",
        ),
        (
            select("maximum number of tries: 1\n"),
            select("maximum number of tries: 10\n"),
            "maximum number of tries 1 on",
        ),
        (
            select(""),
            select("partition method: hash\npartitions: 512\n"),
            "partitions none on new, and 512 on",
        ),
        (
            sysbench(&memory("1KiB", "write"), 99),
            sysbench(&memory("64KiB", "write"), 98),
            "block size 1KiB on",
        ),
        (sysbench(&memory("1KiB", "read"), 99), sysbench(&memory("1KiB", "write"), 98), "operation read on"),
        (
            sysbench("Prime numbers limit: 10000", 99),
            sysbench("Prime numbers limit: 4000", 98),
            "prime limit 10000 on",
        ),
        (
            sysbench(&fileio(periodic, "random write"), 99),
            sysbench(&fileio("", "random write"), 98),
            "requests per fsync 100 on",
        ),
        (
            sysbench(&fileio("", "random write"), 99),
            sysbench(&fileio("", "random read"), 98),
            "access pattern random-write on",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "base/t-1.txt", &old);
        write(dir.path(), "head/t-1.txt", &new);
        let error = import(dir.path()).map(|_| expected).unwrap_err().to_string();
        assert!(error.contains(&expected.replace(" on new, ", " on base, ")), "{expected}: {error}");
        // The same settings are compared.
        write(
            dir.path(),
            "head/t-1.txt",
            &old.replace("1000.000000", "1001.000000").replace("events: 99", "events: 98"),
        );
        assert_eq!(import(dir.path()).unwrap().steps.len(), 1, "{expected}");
    }
}

/// Repeats of one arm on another host.
#[test]
fn another_cpu_is_another_host() {
    let dir = tempfile::tempdir().unwrap();
    for (number, cpu) in [(1, "8 * Some CPU"), (2, "16 * Other CPU")] {
        let text = format!(
            "RocksDB:    version 9.8.4\nCPU:        {cpu}\n\
             readrandom   :       3.456 micros/op 28{number} ops/sec 10.000 seconds 28{number}0 operations;   32.0 MB/s\n"
        );
        write(dir.path(), &format!("run-{number}.txt"), &text);
    }
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(error.contains("8 * Some CPU in ") && error.contains("but 16 * Other CPU in "), "{error}");
}
