//! What of short files of each format must be found.

use rqps_import::{Format, Measurement, Work};

use crate::samples;

fn measured(format: Format, text: &str) -> Vec<Measurement> {
    format.parse(text.as_bytes()).unwrap().measurements
}

fn only(format: Format, text: &str) -> Measurement {
    let mut all = measured(format, text);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn rate(measurement: &Measurement) -> f64 {
    measurement.work.as_ref().map(Work::per_second).unwrap()
}

fn value(measurement: &Measurement, name: &str) -> Option<f64> {
    measurement.values.iter().find(|value| value.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn hammerdb_in_both_orders() {
    for text in [samples::HAMMERDB, samples::HAMMERDB_OLD] {
        let found = only(Format::Hammerdb, text);
        assert_eq!((value(&found, "nopm"), value(&found, "tpm")), (Some(42_332.0), Some(97_427.0)));
        assert_eq!((found.dbms.as_deref(), rate(&found)), (Some("postgres"), 42_332.0 / 60.0));
    }
    let found = only(Format::Hammerdb, samples::HAMMERDB);
    assert_eq!((found.clients, found.values.len()), (Some(4), 2));
    let failed = format!("{}Vuser 2:FINISHED FAILED\nVuser 3:FINISHED FAILED\n", samples::HAMMERDB);
    let text = format!("{failed}Vuser 1:RUNNING\n{}", samples::HAMMERDB);
    let found = measured(Format::Hammerdb, &text);
    assert_eq!((value(&found[0], "failed_users"), found[1].values.len()), (Some(2.0), 2));
}

#[test]
fn benchbase_with_more_goodput_than_throughput_is_computed_anew() {
    let found = only(Format::Benchbase, samples::BENCHBASE);
    assert_eq!((rate(&found), found.version.as_deref(), found.clients), (995.5, Some("16.1"), Some(8)));
    assert_eq!(value(&found, "latency_p99_us"), Some(12_000.0));
    let wrong = samples::BENCHBASE.replace("(requests/second)\": 1000.0", "(requests/second)\": 497.70");
    let found = only(Format::Benchbase, &wrong);
    let throughput = found.values.iter().find(|value| value.name == "throughput").unwrap();
    assert_eq!((rate(&found), throughput.value), (1000.0, Some(1000.0)));
    assert_eq!(throughput.published.as_deref(), Some("497.7"));
}

/// What a server aborts is quickly done.
#[test]
fn what_benchbase_aborted_is_no_work() {
    for (goodput, expected, errors) in
        [(995.0, 995.0, None), (400.0, 400.0, Some(36_000)), (12.5, 12.5, Some(59_250))]
    {
        let text = samples::BENCHBASE.replace(
            "Goodput (requests/second)\": 995.5",
            &format!("Goodput (requests/second)\": {goodput:.1}"),
        );
        let found = only(Format::Benchbase, &text);
        assert_eq!((rate(&found), found.work.as_ref().unwrap().errors), (expected, errors), "{goodput}");
        assert_eq!(value(&found, "throughput"), Some(1000.0));
    }
    let none =
        samples::BENCHBASE.replace("Goodput (requests/second)\": 995.5", "Goodput (requests/second)\": 0");
    let error = Format::Benchbase.parse(none.as_bytes()).unwrap_err();
    assert!(error.why.starts_with("its rate is 0"), "{error:?}");
}

#[test]
fn versions_of_benchbase_are_what_begins_with_a_digit() {
    for (text, version) in [
        ("PostgreSQL 14.2 on x86_64-pc-linux-gnu, compiled by gcc 10.2", "14.2"),
        ("PostgreSQL 19beta1 on x86_64", "19beta1"),
        ("8.0.36-0ubuntu0.22.04.1", "8.0.36"),
        ("CockroachDB CCL v23.1.11 (x86_64)", "23.1.11"),
    ] {
        let found = only(Format::Benchbase, &samples::BENCHBASE.replace("16.1 (Debian 16.1-1)", text));
        assert_eq!(found.version.as_deref(), Some(version), "{text}");
    }
}

#[test]
fn ycsb_of_both_kinds() {
    let found = only(Format::Ycsb, samples::YCSB);
    assert_eq!(
        (rate(&found), value(&found, "read_latency_p99_us"), found.clients),
        (1000.0, Some(2100.0), Some(8))
    );
    let found = only(Format::Ycsb, samples::GO_YCSB);
    assert_eq!((rate(&found), value(&found, "update_latency_p99_us")), (1000.0, Some(510.0)));
    // The time has one decimal: what was printed is the rate.
    let total = "Run finished, takes 3.01s\nTOTAL - Takes(s): 3.0, Count: 100000, OPS: 33120.7, Avg(us): 9, 99th(us): 9\n";
    assert_eq!(rate(&only(Format::Ycsb, total)), 33_120.7);
    let error = Format::Ycsb.parse(total.replace("33120.7", "3312.0").as_bytes()).unwrap_err();
    assert!(error.why.contains("100000 operations in 3 s are 33333 per second"), "{error:?}");
    // Until it ends, it repeats what it has so far.
    let (before, _) = samples::GO_YCSB.split_once("Run finished").unwrap();
    let (all_but_one, _) = samples::GO_YCSB.rsplit_once("UPDATE").unwrap();
    let interim = "UPDATE - Takes(s): 9.0, Count: 1, OPS: 0.1, Avg(us): 9, 99th(us): 9\n";
    for (text, why) in [
        (before.to_owned(), "no `Run finished, takes` before the last figures: the run did not end"),
        (format!("{interim}{all_but_one}"), "no figures of UPDATE after the end of the run"),
    ] {
        let error = Format::Ycsb.parse(text.as_bytes()).unwrap_err();
        assert!(error.why.contains(why), "{error:?}");
    }
}

/// From 10.3 on the seconds of compaction stand one column further, and the CPU seconds are lost.
#[test]
fn shifted_columns_of_db_bench() {
    let rows = measured(Format::DbBench, samples::DB_BENCH);
    let seconds = |row: &Measurement| (value(row, "c_wsecs"), value(row, "c_csecs"));
    assert_eq!([seconds(&rows[0]), seconds(&rows[1])], [(Some(33.0), Some(30.0)), (Some(33.0), None)]);
    let found = only(Format::DbBenchLog, samples::DB_BENCH_LOG);
    assert_eq!(
        (rate(&found), value(&found, "usec_op"), found.version.as_deref()),
        (289_351.0, Some(3.456), Some("9.8.4"))
    );
}

/// Of a rate and a time that are both rounded the more exact one counts.
#[test]
fn short_runs_of_db_bench_have_the_printed_rate() {
    let log = |figures: &str| {
        let text = format!("readseq : 0.104 micros/op {figures} operations; 1098.6 MB/s\n");
        rate(&only(Format::DbBenchLog, &text))
    };
    assert_eq!(log("9600000 ops/sec 0.010 seconds 100000"), 9_600_000.0);
    assert_eq!(log("3 ops/sec 100.000 seconds 347"), 3.47);
}

#[test]
fn fio_as_text_and_as_json() {
    let found = only(Format::Fio, samples::FIO);
    assert_eq!((found.test.as_deref(), rate(&found)), (Some("fsync=1_16K"), 1203.4));
    assert_eq!(value(&found, "sync_avg_us"), Some(9.22));
    assert_eq!((found.metrics["fio_syncs"], found.metrics["fio_sync_us"] / 12034.0), (12034.0, 9.22));
    // 16 KiB each, of which the bandwidth has three digits.
    assert!((found.metrics["fio_written_mb"] - 12034.0 * 0.016384).abs() < 1e-9, "{:?}", found.metrics);
    let latency = |name: &str| found.histograms.iter().find(|one| one.statement == name).unwrap();
    // 95 % took 17 us at most, and one in a hundred more than 75 us.
    let sync = latency("fsync");
    assert_eq!(
        [sync.p50_us, sync.p95_us, sync.p99_us, sync.max_us].map(f64::round),
        [11.0, 17.0, 75.0, 470.0]
    );
    assert_eq!((sync.count, sync.mean_us, latency("event").count), (12034, 9.22, 12034));
    // Histograms keep three digits.
    let write = latency("write");
    assert!(
        (write.p50_us / 27.52 - 1.0).abs() < 1e-3 && (write.max_us / 25098.0 - 1.0).abs() < 1e-3,
        "{write:?}"
    );
    let json = include_str!("../files/fio-3.33.normal+json.txt");
    let found = only(Format::Fio, json);
    // Two jobs of 873 and 684 writes in 2 s.
    assert_eq!((found.test.as_deref(), found.clients), (Some("sync_latency"), Some(2)));
    assert_eq!(found.work.as_ref().unwrap().operations, 1557.0);
    assert!((found.metrics["fio_written_mb"] - 1557.0 * 0.016384).abs() < 1e-9, "{:?}", found.metrics);
    assert!(
        found.histograms.iter().any(|one| one.statement == "event" && one.count > 1500),
        "{:?}",
        found.metrics
    );
}

#[test]
fn vmstat_without_the_row_since_boot_and_iostat_with_commas() {
    let found = only(Format::Vmstat, samples::VMSTAT);
    assert_eq!(
        (value(&found, "host_user_percent"), value(&found, "host_context_switches_per_s")),
        (Some(51.0), Some(5486.0))
    );
    let found = only(Format::Iostat, samples::IOSTAT);
    assert_eq!((value(&found, "disk_write_kb_per_s"), found.metrics["cpus"]), (Some(32.0), 96.0));
}

#[test]
fn counters_per_second_of_their_section() {
    let found = only(Format::PerfStat, samples::PERF);
    let per_s = value(&found, "instructions_per_s").unwrap();
    assert!((per_s / (9_321_310_685.0 / 10.001289777) - 1.0).abs() < 1e-12);
    assert_eq!(value(&found, "bus-cycles_per_s"), None);
}

/// Own samples of all frames sum to those of the root.
#[test]
fn a_flamegraph_becomes_its_stacks() {
    let found = only(Format::Flamegraph, samples::FLAMEGRAPH);
    let mut stacks: Vec<&str> = found.stacks.as_deref().unwrap().lines().collect();
    stacks.sort_unstable();
    assert_eq!(stacks, ["main 10", "main;a<T> 60", "main;b 30"]);
}

#[test]
fn steps_of_the_insert_benchmark_are_named_by_their_number() {
    let header = samples::INSERT.lines().next().unwrap();
    let row = samples::INSERT.lines().nth(1).unwrap();
    let file = format!("{header}\n{}", format!("{row}\n").repeat(15));
    let steps: Vec<String> =
        measured(Format::InsertBenchmark, &file).into_iter().filter_map(|one| one.test).collect();
    assert_eq!((steps.len(), steps[0].as_str(), steps[14].as_str()), (15, "l.i0", "q1000.2"));
    let broken = Format::InsertBenchmark
        .parse(format!("{header}\n{}", format!("{row}\n").repeat(7)).as_bytes())
        .unwrap_err();
    assert!(broken.why.contains("7 steps"), "{broken:?}");
    // Ten of fifteen steps: as many as others have, but the fourth has queries.
    let queries = row.replacen("\t0\t", "\t7\t", 1);
    let cut = format!("{header}\n{}{}", format!("{row}\n").repeat(3), format!("{queries}\n").repeat(7));
    let broken = Format::InsertBenchmark.parse(cut.as_bytes()).unwrap_err();
    assert!(broken.line == 5 && broken.why.contains("step l.i2"), "{broken:?}");
}

#[test]
fn rates_that_no_program_reaches_are_refused() {
    let progress = "progress: 1.0 s, 1e308 tps, lat 1.3 ms stddev 1.5\nprogress: 2.0 s, 1e308 tps, lat 1.3 ms stddev 1.5\n";
    let broken = Format::Pgbench.parse(progress.as_bytes()).unwrap_err();
    assert!(broken.why.contains("its rate"), "{broken:?}");
}
