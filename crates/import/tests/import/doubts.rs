//! Figures that contradict one another, or all others: named first, and none in what is right.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_import::{Assembled, Choices, Error, files, load_all, write_run};

fn assembled(paths: &[PathBuf]) -> Result<Assembled, Error> {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    Assembled::new(load_all(&files(&paths)?, None, true)?.0, &Choices::default())
}

/// `arm, test: text`.
fn doubts(paths: &[PathBuf]) -> Vec<String> {
    let assembled = assembled(paths).unwrap();
    let text = |doubt: &rqps_import::Doubt| {
        let steps: Vec<&str> = doubt.steps.iter().map(|step| &*assembled.steps[*step].name).collect();
        format!("{}, {}: {}", assembled.arms[doubt.arm].name, steps.join(" "), doubt.text)
    };
    assembled.doubts.iter().map(text).collect()
}

fn of_text(name: &str, text: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), text).unwrap();
    doubts(&[dir.path().to_owned()])
}

fn sysbench(count: u64, rate: &str, sum_ms: &str) -> String {
    format!(
        "sysbench 1.0.20\n\nNumber of threads: 4\n\nThreads started!\n\nSQL statistics:\n    \
         transactions: {} (400.00 per sec.)\n    \
         queries: {count} ({rate} per sec.)\n    ignored errors: 0 (0.00 per sec.)\n\n\
         General statistics:\n    total time: 10.0012s\n    total number of events: {}\n\n\
         Latency (ms):\n min: 0.31\n avg: 10.00\n max: 31.00\n sum: {sum_ms}\n\n\
         Threads fairness:\n    events (avg/stddev): 1000.0/1.0\n    execution time (avg/stddev): 10.0/0.00\n",
        count / 20,
        count / 20,
    )
}

#[test]
fn a_rate_is_held_against_its_count_and_time() {
    let found = |text: &str| of_text("sb-1.txt", text);
    assert_eq!(found(&sysbench(80_005, "7999.54", "40000.71")), [""; 0]);
    let rate = found(&sysbench(80_005, "7874.54", "40000.71"));
    assert!(
        rate[0].contains("queries: 80005 (7874.54 per sec.), but 80005 in 10.0012 s are 7999.54 per second"),
        "{rate:?}"
    );
    assert!(rate[0].contains("sb-1.txt, line 9"), "{rate:?}");
    let transactions = sysbench(80_005, "7999.54", "40000.71").replace("(400.00", "(40.00");
    let transactions = found(&transactions);
    let count =
        sysbench(80_005, "7999.54", "40000.71").replace("transactions: 4000 ", "transactions: 40000 ");
    assert!(found(&count)[0].contains("transactions: 40000 (400.00 per sec.), but 40000 in 10.0012 s"));
    assert!(
        transactions[0].contains("transactions: 4000 (40.00 per sec.), but 4000 in 10.0012 s"),
        "{transactions:?}"
    );
    let sum = found(&sysbench(80_005, "7999.54", "44000.71"));
    assert!(
        sum[0].contains("the mean latency is 10 ms, but 44000.71 ms of 4000 events are 11.000 ms each"),
        "{sum:?}"
    );
}

/// sysbench takes its rate and its time from two clocks, some milliseconds apart.
#[test]
fn a_second_is_measured_to_milliseconds() {
    let text = |rate: &str| {
        format!(
            "sysbench 1.0.20\n\nNumber of threads: 1\n\nThreads started!\n\nCPU speed:\n    events per second:  {rate}\n\n\
             General statistics:\n    total time: 1.0032s\n    total number of events: 1697\n\nLatency (ms):\n \
             avg: 0.59\n sum: 1001.00\nThreads fairness:\n    execution time (avg/stddev): 1.0/0.00\n"
        )
    };
    assert_eq!(of_text("cpu-1.txt", &text("1688.80")), [""; 0]);
    // 7 ms, as on a loaded host; the clock of the rate stops later, not earlier.
    assert_eq!(of_text("cpu-1.txt", &text("1679.55")), [""; 0]);
    assert!(of_text("cpu-1.txt", &text("1703.50"))[0].contains("events per second: 1703.50, but 1697 in"));
    assert!(of_text("cpu-1.txt", &text("1649.80"))[0].contains("events per second: 1649.80, but 1697 in"));
    // Longer runs are held to less.
    let long = sysbench(80_005, "7969.54", "40000.71");
    assert!(of_text("sb-1.txt", &long)[0].contains("but 80005 in 10.0012 s"));
}

/// The rate is that of those that were left.
#[test]
fn virtual_users_that_failed_are_told() {
    let dir = tempfile::tempdir().unwrap();
    for (arm, nopm, end) in [("old", 42_000, "SUCCESS"), ("new", 40_000, "FAILED")] {
        let text = format!(
            "HammerDB CLI v4.9\nVuser 1:8 Active Virtual Users configured\nVuser 1:TEST RESULT : System achieved {nopm} NOPM \
             from 97427 PostgreSQL TPM\nVuser 1:FINISHED SUCCESS\nVuser 2:FINISHED {end}\nVuser 3:FINISHED {end}\n"
        );
        fs::create_dir_all(dir.path().join(arm)).unwrap();
        fs::write(dir.path().join(arm).join("run.log"), text).unwrap();
    }
    let found = doubts(&[dir.path().to_owned()]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("new, tproc-c: 2 of 8 virtual users failed (FINISHED FAILED in "),
        "{found:?}"
    );
}

fn pgbench(transactions: u64, tps: &str, connecting_ms: &str) -> String {
    format!(
        "pgbench (15.18)\ntransaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\n\
         number of clients: 2\nnumber of threads: 1\nduration: 3 s\n\
         number of transactions actually processed: {transactions}\n\
         latency average = 0.496 ms\ninitial connection time = {connecting_ms} ms\n\
         tps = {tps} (without initial connection time)\n"
    )
}

#[test]
fn transactions_of_pgbench_take_its_duration() {
    let found = |text: &str| of_text("ro-1.txt", text);
    assert_eq!(found(&pgbench(12_074, "4028.109142", "4.2")), [""; 0]);
    // Connections of many clients take a part of the time.
    assert_eq!(found(&pgbench(8_000, "4000.0", "900.0")), [""; 0]);
    for damaged in [pgbench(5, "4028.109142", "4.2"), pgbench(120_740, "4028.109142", "4.2")] {
        let found = found(&damaged);
        assert!(
            found[0].contains("transactions at 4028.109142 per second take")
                && found[0].contains("but the duration is 3 s"),
            "{found:?}"
        );
    }
    // Without the time to connect again and again, the rate of old versions is far above that of the duration.
    let with_connections = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\n\
         number of clients: 1\nnumber of threads: 1\nduration: 3 s\nnumber of transactions actually processed: 900\n\
         latency average = 3.333 ms\ntps = 300.000000 (including connections establishing)\n\
         tps = 1800.000000 (excluding connections establishing)\n";
    assert_eq!(found(with_connections), [""; 0]);
}

#[test]
fn the_rate_of_fio_is_held_against_its_requests() {
    let text = |iops: &str, writes: u64| {
        format!(
            "seq: (g=0): rw=write, bs=(R) 16.0KiB-16.0KiB, ioengine=psync, iodepth=1\nfio-3.33\n\
             seq: (groupid=0, jobs=1): err= 0: pid=7\n  \
             write: IOPS={iops}, BW=678MiB/s (711MB/s)(199GiB/10000msec)\n    \
             lat (usec): min=10, max=99, avg=23.07, stdev=1.10\n     \
             issued rwts: total=0,{writes},0,0 short=0,0,0,0\n\n\
             Run status group 0 (all jobs):\n"
        )
    };
    assert_eq!(of_text("seq.txt", &text("43.4k", 434_321)), [""; 0]);
    let found = of_text("seq.txt", &text("43.4k", 834_321));
    assert!(
        found[0].contains("the rate is 43400, but the requests issued are 83432 per second"),
        "{found:?}"
    );
}

const VERSIONS: [&str; 8] = ["5651", "5744", "8043", "8044", "8406", "8407", "9400", "9500"];

/// A published table of MySQL: tests lose a third with 8.0, some at once and some before. Each has some noise.
fn table(dir: &Path, damaged: (usize, usize, f64)) -> PathBuf {
    let names =
        ["hot-points", "point-query", "read-only", "read-write", "scan", "update-index", "delete", "insert"];
    let level = [
        [100.0, 87.0, 66.0, 67.0, 66.5, 66.0, 65.5, 66.0],
        [100.0, 88.0, 69.0, 68.5, 67.8, 66.8, 67.5, 65.3],
        [100.0, 122.0, 100.0, 99.0, 101.0, 100.4, 102.0, 101.0],
        [100.0, 94.0, 75.0, 74.2, 74.5, 73.2, 74.0, 73.0],
        [100.0, 86.0, 68.3, 69.3, 68.8, 68.4, 69.2, 68.7],
        [100.0, 120.0, 89.3, 88.3, 90.0, 87.0, 86.7, 93.3],
        [100.0, 83.0, 60.0, 59.5, 59.4, 58.9, 58.9, 56.2],
        [100.0, 81.0, 55.0, 54.9, 54.1, 53.6, 55.2, 51.6],
    ];
    let mut text = String::new();
    for (number, version) in (1..).zip(VERSIONS) {
        text.push_str(&format!("col-{number} : x.my{version}_rel_o2nofp.z12a_c8r32.pk1\n"));
    }
    text.push_str("\ncol-1\tcol-2\tcol-3\tcol-4\tcol-5\tcol-6\tcol-7\tcol-8\n");
    for (test, name) in names.iter().enumerate() {
        for (arm, rate) in level[test].iter().enumerate() {
            let factor = if (test, arm) == (damaged.0, damaged.1) { damaged.2 } else { 1.0 };
            text.push_str(&format!("{:.0}\t", rate * factor * (40.0 + 7.0 * test as f64)));
        }
        text.push_str(&format!("{name}_range=100\n"));
    }
    let path = dir.join("qps.abs.all.tsv");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn one_version_out_of_line_is_found_whatever_releases_differ_by() {
    let dir = tempfile::tempdir().unwrap();
    let found = |damaged| doubts(&[table(dir.path(), damaged)]);
    assert_eq!(found((0, 0, 1.0)), [""; 0]);
    let dip = found((5, 3, 0.8));
    assert!(
        dip.len() == 1
            && dip[0].starts_with(
                "mysql-8.0.44.z12a_c8r32, update-index: below the versions before and after: 0.80"
            ),
        "{dip:?}"
    );
    let peak = found((7, 3, 10.0));
    assert!(
        peak.len() == 1
            && peak[0]
                .starts_with("mysql-8.0.44.z12a_c8r32, insert: above the versions before and after: 9.9"),
        "{peak:?}"
    );
}

/// A dip of a test that is as restless between all versions is its noise, though other tests are calm.
#[test]
fn a_restless_test_is_measured_by_its_own_noise() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rates.csv");
    let found = |restless: [f64; 8]| {
        let calm = [100.0, 100.2, 99.9, 100.1, 100.0, 99.8, 100.1, 100.0];
        let row =
            |test: &str, arm: usize, rate: f64| format!("postgres-{}.1,{test},1,{}\n", 11 + arm, rate * 10.0);
        let rows = |test: &str, rates: [f64; 8]| {
            rates.into_iter().enumerate().map(|(arm, rate)| row(test, arm, rate)).collect::<String>()
        };
        let calm: String = ["a", "b", "c", "d", "e"].map(|test| rows(test, calm)).concat();
        fs::write(&path, format!("arm,test,repeat,rate\n{calm}{}", rows("restless", restless))).unwrap();
        doubts(std::slice::from_ref(&path))
    };
    assert_eq!(found([100.0, 103.0, 99.5, 103.2, 94.0, 101.5, 105.0, 100.2]), [""; 0]);
    let off = found([100.0, 103.0, 99.5, 103.2, 70.0, 101.5, 105.0, 100.2]);
    assert!(off.len() == 1 && off[0].starts_with("postgres-15.1, restless: below the versions"), "{off:?}");
    assert!(off[0].ends_with("; measure it anew to see whether it is so again"), "{off:?}");
}

/// Versions in a CSV, the newest first, one of them a beta.
#[test]
fn versions_need_not_be_given_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rates.csv");
    let text = |of_17: f64| {
        let versions =
            [("18beta1", 1004.0), ("17.2", of_17), ("16.6", 998.0), ("15.10", 1003.0), ("14.15", 1000.0)];
        let rows = versions.map(|(version, rate)| format!("postgres-{version},read,1,{rate}\n"));
        format!("arm,test,repeat,rate\n{}", rows.concat())
    };
    fs::write(&path, text(1001.0)).unwrap();
    assert_eq!(doubts(std::slice::from_ref(&path)), [""; 0]);
    fs::write(&path, text(851.0)).unwrap();
    let found = doubts(&[path]);
    assert!(
        found[0].starts_with("postgres-17.2, read: below the versions before and after: 0.85"),
        "{found:?}"
    );
}

/// What makes a base doubtful comes before all other notes, and is with its results in the run.
#[test]
fn an_odd_base_is_told_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = "arm,test,repeat,rate\n".to_owned();
    for (arm, version) in (0u32..).zip(["12.22", "13.18", "14.15", "15.10", "16.6"]) {
        let rate = 1000.0 + f64::from(arm);
        let of_base = if arm == 0 { 300.0 } else { 0.0 };
        text.push_str(&format!("postgres-{version},a,1,{rate}\npostgres-{version},b,1,{}\n", rate + of_base));
    }
    fs::write(dir.path().join("rates.csv"), text).unwrap();
    let assembled = assembled(&[dir.path().to_owned()]).unwrap();
    let odd = "base is the odd one: 4 of 4 others are 0.770 to 0.772 of it";
    assert!(assembled.notes[0].1.starts_with(&format!("b: {odd}")), "{:?}", assembled.notes);
    let folder = write_run(&assembled, &dir.path().join("results"), "odd").unwrap();
    let run = rqps_store::RunFolder::open(&folder).unwrap();
    let noted =
        run.actions.iter().filter(|action| action.note.as_ref().is_some_and(|note| note.starts_with(odd)));
    let noted: Vec<(&str, &str)> = noted.map(|action| (action.arm.as_str(), action.step.as_str())).collect();
    assert_eq!(noted, [("postgres-12.22", "b")]);
}

/// One version that is slower in each repeat is: that is told, but is no mistake. In one of two it may be.
#[test]
fn a_version_that_is_off_in_each_repeat_is_no_doubt() {
    let dir = tempfile::tempdir().unwrap();
    let import = |factors: [f64; 2]| {
        let mut text = "arm,test,repeat,rate,unit\n".to_owned();
        for (arm, version) in (0u32..).zip(["12.22", "13.18", "14.15", "15.10", "16.6", "17.1"]) {
            for (repeat, factor) in (1u32..).zip(factors) {
                let factor = if arm == 3 { factor } else { 1.0 };
                let rate = (1000.0 + f64::from(repeat * 3 + arm % 3)) * factor;
                text.push_str(&format!("postgres-{version},a,{repeat},{rate},tps\n"));
            }
        }
        fs::write(dir.path().join("rates.csv"), text).unwrap();
        assembled(&[dir.path().to_owned()]).unwrap()
    };
    let one = import([0.99, 0.7]);
    assert!(one.doubts[0].text.starts_with("below the versions before and after"), "{:?}", one.notes);
    let both = import([0.85, 0.84]);
    assert_eq!(both.doubts, []);
    assert!(both.notes[0].1.ends_with("; in each of 2 repeats"), "{:?}", both.notes);
}

/// Few digits tell an exchange if both rows have the other's.
#[test]
fn two_exchanged_rates_of_a_table_are_refused_beside_their_results() {
    let dir = tempfile::tempdir().unwrap();
    let arms = ["x.my8406_rel_o2nofp.z12a_c8r32.pk1", "x.my8407_rel_o2nofp.z12a_c8r32.pk1"];
    let rates = [[7999u32, 8121, 2960], [7912, 8040, 2968]];
    for (arm, rates) in arms.iter().zip(rates) {
        fs::create_dir_all(dir.path().join(arm)).unwrap();
        for (test, rate) in ["delete", "insert", "scan-like"].iter().zip(rates) {
            let text =
                sysbench(u64::from(rate) * 10, &format!("{:.2}", f64::from(rate) * 10.0 / 10.0012), "1");
            let name = format!("sb.o.{test}.range100.pk1.dop4");
            fs::write(dir.path().join(arm).join(name), text).unwrap();
        }
    }
    let printed = |rate: u32| (f64::from(rate) * 10.0 / 10.0012).round();
    let table = |rows: &[[u32; 3]; 2]| {
        let row = |at: usize, test: &str| {
            format!("{}\t{}\t{test}_range=100\n", printed(rows[0][at]), printed(rows[1][at]))
        };
        let rows = row(0, "delete") + &row(1, "insert") + &row(2, "scan-like");
        let heads = format!("col-1 : {}\ncol-2 : {}\n\ncol-1\tcol-2\n", arms[0], arms[1]);
        fs::write(dir.path().join("qps.abs.tsv"), heads + &rows).unwrap();
        assembled(&[dir.path().to_owned()])
    };
    assert!(table(&rates).is_ok());
    let [old, new] = rates;
    let of_arms = table(&[[new[0], old[1], old[2]], [old[0], new[1], new[2]]]).unwrap_err().to_string();
    assert!(
        of_arms.contains(
            "rows look exchanged: delete_range=100 of mysql-8.4.6.z12a_c8r32 has the figures of mysql-8.4.7"
        ),
        "{of_arms}"
    );
    let of_tests = table(&[[old[1], old[0], old[2]], [new[1], new[0], new[2]]]).unwrap_err().to_string();
    assert!(
        of_tests
            .contains("delete_range=100 of mysql-8.4.6.z12a_c8r32 has the figures of insert_range=100 in"),
        "{of_tests}"
    );
    // One rate that is another's by chance, or a misprint.
    let one = table(&[[new[0], old[1], old[2]], new]).unwrap();
    let (arm, doubt) = (&one.arms[one.doubts[0].arm].name, &one.doubts[0]);
    assert_eq!((arm.as_str(), &*one.steps[doubt.steps[0]].test), ("mysql-8.4.6.z12a_c8r32", "delete"));
    assert!(doubt.text.starts_with("7911 in ") && doubt.text.contains("qps.abs.tsv, line 5, but 799"));
}

/// A file's command line is right, and its name a mistake that is said.
#[test]
fn the_command_line_of_sysbench_beats_the_name_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    for (name, options) in [
        ("read-write.range100", "--range-size=10 /lua/oltp_read_write.lua"),
        ("insert.range100", "--range-size=100 /lua/oltp_delete.lua"),
        ("update-zipf.range100", "--range-size=100 /lua/oltp_update_non_index.lua"),
    ] {
        let text = format!("sysbench --threads=4 {options} run\n{}", sysbench(80_005, "7999.54", "40000.71"));
        let text = text.replace("80005", &format!("8000{}", name.len() % 10));
        fs::write(dir.path().join(format!("sb.o.{name}.pk1.dop4")), text).unwrap();
    }
    let found = assembled(&[dir.path().to_owned()]).unwrap();
    let tests: Vec<&str> = found.steps.iter().map(|step| &*step.test).collect();
    assert_eq!(tests, ["delete", "read-write_range=10", "update-zipf"]);
    let doubts: Vec<&str> = found.doubts.iter().map(|doubt| &*doubt.text).collect();
    for part in [
        "says read-write_range=100, but its command line --range-size=10: taken as read-write_range=10",
        "says insert_range=100, but its command line oltp_delete.lua: taken as delete_range=100",
    ] {
        assert!(doubts.iter().any(|text| text.contains(part)), "{part}: {doubts:?}");
    }
}

/// Tests of versions, with `factor` on one of them in all but the last `spared` tests, and `after` on all later ones.
fn versions(
    dir: &Path,
    versions: &[&str],
    (at, factor, spared): (usize, f64, usize),
    after: f64,
) -> Vec<String> {
    let mut text = "arm,test,repeat,rate\n".to_owned();
    for test in 0..8usize {
        for (number, version) in versions.iter().enumerate() {
            let own = if number == at && test + spared < 8 { factor } else { 1.0 };
            let later = if number > at { after } else { 1.0 };
            let noise = 1.0 + ((test * 7 + number * 5) % 11) as f64 * 0.002;
            text.push_str(&format!("postgres-{version},t{test},1,{:.1}\n", 1000.0 * own * later * noise));
        }
    }
    let path = dir.join("rates.csv");
    fs::write(&path, text).unwrap();
    doubts(&[path])
}

/// What most tests moved by tells nothing of each of them, but of the version.
#[test]
fn a_version_on_which_all_tests_are_out_of_line_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let found = |damage, after| {
        versions(dir.path(), &["13.1", "14.1", "15.1", "16.1", "17.1", "18.1"], damage, after)
    };
    assert_eq!(found((2, 1.0, 0), 1.0), [""; 0]);
    let all = "t0 t1 t2 t3 t4 t5 t6 t7";
    for (factor, spared, expected) in [
        (
            10.0,
            0,
            format!("postgres-15.1, {all}: above the versions before and after in 8 of 8 tests: 10.10 of"),
        ),
        (
            0.8,
            0,
            format!(
                "postgres-15.1, {all}: below the versions before and after in 8 of 8 tests: 0.81 of postgres-14.1, 0.80 of"
            ),
        ),
        (
            10.0,
            2,
            "postgres-15.1, t0 t1 t2 t3 t4 t5: above the versions before and after in 6 of 8 tests: "
                .to_owned(),
        ),
    ] {
        let found = found((2, factor, spared), 1.0);
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{expected}: {found:?}");
    }
    // What made all tests faster, and stays, is no mistake.
    assert_eq!(found((2, 1.5, 0), 1.5), [""; 0]);
    assert_eq!(found((4, 0.8, 0), 0.8), [""; 0]);
}

/// Configs of one version are not before and after one another.
#[test]
fn configs_of_a_version_are_no_versions() {
    let dir = tempfile::tempdir().unwrap();
    let all = ["13.1", "14.1", "15.1", "16.1", "17.1"]
        .map(|version| format!("x.pg{}_o2.x10a_c8r32.pk1", version.replace('.', "")));
    let table = |arms: &[String], rates: &[u32]| {
        let heads: String = (1..).zip(arms).map(|(number, arm)| format!("col-{number} : {arm}\n")).collect();
        let cells: Vec<String> = rates.iter().map(u32::to_string).collect();
        let path = dir.path().join("qps.abs.tsv");
        fs::write(&path, format!("{heads}\n{}\tupdate_range=100\n", cells.join("\t"))).unwrap();
        doubts(&[path])
    };
    let more = ["b", "c", "d"].map(|config| format!("x.pg181_o2.x10{config}_c8r32.pk1"));
    let arms = [&all[..], &more].concat();
    assert_eq!(table(&arms, &[1000, 1001, 999, 1002, 1000, 1001, 850, 1002]), [""; 0]);
    let found = table(&arms, &[1000, 1001, 999, 850, 1000, 1001, 850, 1002]);
    assert!(found.len() == 1 && found[0].starts_with("postgres-16.1.x10a"), "{found:?}");
}

/// A server that refuses a part of the work is quickly done with it.
#[test]
fn operations_that_failed_are_told() {
    let ycsb = |failed: &str| {
        format!(
            "[OVERALL], RunTime(ms), 10000\n[OVERALL], Throughput(ops/sec), 10000.0\n[READ], Operations, 50000\n\
             [READ], Return=OK, 50000\n[UPDATE], Operations, 40000\n{failed}"
        )
    };
    let apart = "[UPDATE], Return=ERROR, 10000\n[UPDATE-FAILED], Operations, 10000\n";
    let share = "up to 10 % of what was asked for failed";
    let found = of_text("run.txt", &ycsb(apart));
    assert!(found.len() == 1 && found[0].contains(share), "{found:?}");
    let among = ycsb("[UPDATE], Return=ERROR, 10000\n").replace("Operations, 40000", "Operations, 50000");
    assert!(of_text("run.txt", &among)[0].contains(share));
    let ignored = sysbench(80_005, "7999.54", "40000.71").replace("errors: 0", "errors: 500");
    assert!(of_text("sb.txt", &ignored)[0].contains("up to 11 %"));
    let failed = pgbench(12_074, "4028.109142", "4.2")
        .replace("latency", "number of failed transactions: 5000 (29.282%)\nlatency");
    assert!(of_text("ro-1.txt", &failed)[0].contains("up to 29 %"));
    let few = pgbench(12_074, "4028.109142", "4.2")
        .replace("latency", "number of failed transactions: 12 (0.099%)\nlatency");
    assert_eq!(of_text("ro-1.txt", &few), [""; 0]);
}

#[test]
fn repeats_that_lie_apart_alike_on_all_arms_are_told() {
    let csv = |rates: [u32; 6]| {
        let row = |(index, rate): (usize, u32)| {
            format!("{},t,{},{rate}\n", if index < 3 { "old" } else { "new" }, index % 3 + 1)
        };
        let rows: String = rates.into_iter().enumerate().map(row).collect();
        of_text("rates.csv", &format!("arm,test,repeat,rate\n{rows}"))
    };
    let found = csv([2000, 2010, 9000, 2100, 2150, 9400]);
    assert!(
        found.len() == 1
            && found[0].starts_with("old, t: repeats 1 and 3 are 2000 and 9000 per second on old, ")
    );
    assert!(found[0].contains("2100 and 9400 on new: "), "{found:?}");
    // A change of the version, and repeats that lie apart by chance.
    assert_eq!(csv([2000, 2010, 2020, 9100, 9050, 9400]), [""; 0]);
    assert_eq!(csv([2000, 2010, 5000, 5100, 2050, 2100]), [""; 0]);
    // While a repeat ran on both arms, the host was disturbed, or more or less all the time.
    assert_eq!(csv([2000, 600, 2020, 2100, 610, 2050]), [""; 0]);
    assert_eq!(csv([1000, 2020, 4100, 1200, 2010, 4500]), [""; 0]);
    // No disturbance makes it a hundred times slower.
    assert!(csv([2000, 20, 2020, 2100, 21, 2050])[0].contains("repeats 2 and 1 are 20.00 and 2000 per"));
}

/// Versions are compared within a config that has enough of them.
#[test]
fn a_config_is_a_series_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for (number, (version, config)) in ["130", "140", "150", "160", "170"]
        .iter()
        .flat_map(|one| [(one, "a"), (one, "b")])
        .skip(1)
        .enumerate()
    {
        text.push_str(&format!("col-{} : x.pg{version}_o2.x10{config}_c8r32.pk1\n", number + 1));
    }
    let rates = [200, 1000, 201, 1002, 199, 999, 200, 1001, 201].map(|rate| rate.to_string()).join("\t");
    for test in ["point-query", "update-one", "scan", "insert", "delete"] {
        text.push_str(&format!("{rates}\t{test}\n"));
    }
    let path = dir.path().join("qps.abs.tsv");
    fs::write(&path, text).unwrap();
    assert_eq!(doubts(&[path]), [""; 0]);
}

/// pgbench with `-R` measures its own schedule.
#[test]
fn a_rate_that_an_option_set_has_a_warning_and_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let text = fs::read_to_string(own.join("pgbench-15.rate.out.txt")).unwrap();
    for (arm, repeat) in [("old", 1), ("old", 2), ("new", 1), ("new", 2)] {
        fs::create_dir_all(dir.path().join("all").join(arm)).unwrap();
        let text = text.replace(
            "tps = 53.141309",
            &format!("tps = 53.1{}{repeat}", arm.len() + arm.find('o').unwrap_or(5)),
        );
        fs::write(dir.path().join(format!("all/{arm}/{repeat}.txt")), text).unwrap();
    }
    let assembled = assembled(&[dir.path().join("all")]).unwrap();
    let warning = "the rate was set by pgbench's option -R";
    assert!(
        assembled.notes[0].1.contains(warning) && assembled.notes[1].1.contains(warning),
        "{:?}",
        assembled.notes
    );
    let folder = write_run(&assembled, &dir.path().join("results"), "rate").unwrap();
    let run = rqps_store::RunFolder::open(&folder).unwrap();
    let was_set = run.windows.iter().filter(|one| one.metric(rqps_store::RATE_WAS_SET) == Some(1.0));
    assert_eq!((run.windows.len(), was_set.count()), (4, 4));
    let log = fs::read_to_string(own.join("pgbench-15.rate.log")).unwrap();
    assert!(of_text("lg.1", &log)[0].contains(warning));
    let progress = fs::read_to_string(own.join("pgbench-15.rate.progress.txt")).unwrap();
    assert!(of_text("run.err", &progress)[0].contains(warning));
    let unlimited = fs::read_to_string(own.join("pgbench-15.out.txt")).unwrap();
    assert_eq!(of_text("run.txt", &unlimited), [""; 0]);
}

/// A copy of a table as CSV has no names of arms, and one wrong cell made it eight new ones.
#[test]
fn a_damaged_cell_of_a_table_is_named_with_both_figures() {
    let dir = tempfile::tempdir().unwrap();
    let table = |cell: u32| {
        let heads = "col-1 : x.my8406_o2.z12a.pk1\ncol-2 : x.my8407_o2.z12a.pk1\n\n";
        fs::write(
            dir.path().join("qps.abs.tsv"),
            format!("{heads}1001\t1002\ta_range=1\n{cell}\t1004\tb_range=1\n"),
        )
        .unwrap();
        assembled(&[dir.path().to_owned()])
    };
    let copy = "a_range=1,1001,1002\nb_range=1,1003,1004\n";
    fs::write(dir.path().join("qps.abs.csv"), copy).unwrap();
    assert_eq!(table(1003).unwrap().arms.len(), 2);
    let error = table(10_030).unwrap_err().to_string();
    for part in [
        "qps.abs.tsv, line 5: b_range=1 of x.my8406_o2.z12a.pk1 is 10030, but 1003 in ",
        "qps.abs.csv, line 2",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // The only row beside its result.
    fs::remove_file(dir.path().join("qps.abs.csv")).unwrap();
    let arm = dir.path().join("x.my8406_o2.z12a.pk1");
    fs::create_dir_all(&arm).unwrap();
    fs::write(arm.join("sb.o.b.range1.pk1.dop4"), sysbench(80_005, "7999.54", "40000.71")).unwrap();
    let error = table(79_995).unwrap_err().to_string();
    for part in [
        "qps.abs.tsv, line 5: b_range=1 of mysql-8.4.6.z12a is 79995, but 7999.54 in ",
        "dop4, line ",
        "1 of 1 figures",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}
