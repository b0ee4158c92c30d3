//! Run folders up to the largest supported size: every arm and test has series, latencies, counters, plans
//! and, optionally, profiles.

use rqps_model::{ConnectionCpu, Counter, QueryPlan, Series};
use std::path::{Path, PathBuf};

use rqps_store::testing as defaults;
use rqps_store::*;
use rqps_verdicts::testing::latencies as histogram;

/// A run of protocol `sequence` with a single pass.
pub struct LongRun {
    pub arms: usize,
    pub tests: usize,
    pub seconds: usize,
    /// Appended to all names, to test escaping.
    pub suffix: &'static str,
    /// Functions of each CPU profile; 0: no profiles.
    pub functions: usize,
}

const GROUPS: [&str; 4] = ["point", "range", "range-aggregate", "write"];
const SERIES: [(&str, &str); 8] = [
    ("queries", "queries"),
    ("host_user", "cpus"),
    ("host_system", "cpus"),
    ("host_iowait", "cpus"),
    ("disk_read_kb", "KB/s"),
    ("disk_write_kb", "KB/s"),
    ("memory_dirty", "KB"),
    ("host_context_switches", "1/s"),
];

/// Writes the run and returns its folder.
pub fn write(results: &Path, long: &LongRun) -> PathBuf {
    let folder = RunFolder::create(results, "long").unwrap();
    let mut writer = RunFolder::open_for_writing(folder.path()).unwrap();
    let arms: Vec<Arm> = (0..long.arms).map(|index| arm(long, index)).collect();
    let steps: Vec<PlannedStep> = (0..long.tests).map(|index| step(long, index)).collect();
    let host = [Fact { key: "cpu_model".into(), value: format!("made-up{}", long.suffix), comparable: true }];
    writer.begin_run("plan = 1\n", &meta(long), &steps, &arms, &host).unwrap();
    let mut seq = 0;
    for (index, arm) in arms.iter().enumerate() {
        let latencies = latencies(index);
        for (place, step) in steps.iter().enumerate() {
            let mut finish = |kind: &str, observation: Observation| {
                let record = ActionRecord {
                    started_at_ms: 0,
                    finished_at_ms: 1000 * long.seconds as i64,
                    ..defaults::record(seq, &arm.name, kind, &step.name)
                };
                writer.finish_action(&record, Some(&observation)).unwrap();
                seq += 1;
            };
            finish("measure", window(long, index, place, &latencies));
            if long.functions > 0 {
                let file = format!("profiles/{index}.{place}.folded");
                std::fs::write(folder.path().join(&file), stacks(long.functions, index)).unwrap();
                finish("profile", Observation::new(Measured::Profile(profile(step, &file))));
            }
        }
    }
    writer.set_status(Status::Complete, None).unwrap();
    folder.path().to_owned()
}

fn arm(long: &LongRun, index: usize) -> Arm {
    let name = format!("pg{}{}", 9 + index, long.suffix);
    let role = if index == 0 { Role::Base } else { Role::Candidate };
    Arm {
        build_hash: format!("{index:02}aabbccddeeff0011"),
        config_text: format!("jit = off # {name}\n"),
        ..defaults::arm(&name, role, &format!("{}.1", 9 + index))
    }
}

fn step(long: &LongRun, index: usize) -> PlannedStep {
    let name = format!("test-{index:02}_range={}{}", index * 10, long.suffix);
    let group = GROUPS[index * GROUPS.len() / long.tests];
    PlannedStep { clients: 8, ..defaults::step(index + 1, &name, group) }
}

fn meta(long: &LongRun) -> Meta {
    Meta {
        tables: 8,
        rows_per_table: 10_000_000,
        clients: 8,
        actions_total: (long.arms * long.tests) as u32,
        ..defaults::meta("long")
    }
}

fn window(long: &LongRun, arm: usize, place: usize, latencies: &Histogram) -> Observation {
    let rate = 4000.0 * (1.0 + 0.03 * arm as f64) * if place % 7 == arm { 0.9 } else { 1.0 };
    let queries = (rate * long.seconds as f64) as u64;
    let step = step(long, place);
    let group = step.group.unwrap();
    let window = Window {
        position: step.position,
        clients: 8,
        started_at_ms: Some(0),
        ..defaults::window(&step.name, &group.key, queries, long.seconds as f64)
    };
    let per_op = |name: &str, per_op: f64| (name.to_owned(), per_op * queries as f64);
    Observation {
        metrics: [
            ("cpus".to_owned(), 8.0),
            per_op("host_user_us", 150.0),
            per_op("host_system_us", 50.0),
            per_op("server_cpu_us", 120.0 + 5.0 * arm as f64),
            per_op("host_context_switches", 2.0),
        ]
        .into(),
        connections: (0..8).map(|client| ConnectionCpu::only(client, 1e6)).collect(),
        counters: (0..30).map(|column| counter(column, queries)).collect(),
        histograms: ["event", "point", "simple-range", "update-index"]
            .map(|statement| Histogram { statement: statement.into(), ..latencies.clone() })
            .to_vec(),
        plans: vec![plan(arm)],
        fingerprint: vec![("dead_rows".into(), (arm * 1000).to_string())],
        series: SERIES.map(|(name, unit)| series(long, name, unit, rate, arm)).to_vec(),
        ..Observation::new(Measured::Window(window))
    }
}

/// Noise, with a stall every 50 seconds.
fn series(long: &LongRun, name: &str, unit: &str, rate: f64, arm: usize) -> Series {
    let value = |second: usize| {
        let noise = ((second * 7919 + arm * 104_729) % 1000) as f64 / 1000.0;
        let stalls = if second % 50 == 49 { 0.3 } else { 1.0 };
        (rate * stalls * (0.95 + 0.1 * noise)).round()
    };
    let values = (0..long.seconds).map(value).collect();
    Series { name: name.into(), unit: unit.into(), values }
}

/// Of 20,000 operations each; making one takes as long as the rest of a window.
fn latencies(arm: usize) -> Histogram {
    let us = |place: u64| (80_000 + 4000 * arm as u64 + 1_500_000_000 / (20_001 - place)) as f64 / 1e3;
    let each: Vec<(f64, u64)> = (1..20_000).map(|place| (us(place), 1)).collect();
    histogram("", &each)
}

fn counter(column: usize, queries: u64) -> Counter {
    let (object, rose_by) = (format!("sbtest{}", column % 3), queries as f64 * column as f64);
    defaults::counter("pg_stat_all_tables", &object, &format!("column_{column}"), rose_by)
}

fn plan(arm: usize) -> QueryPlan {
    let node = if arm == 2 { "Index Only Scan" } else { "Index Scan" };
    QueryPlan {
        statement: "point".into(),
        sql: "SELECT c FROM sbtest1 WHERE id=$1".into(),
        text: format!("{node} using sbtest1_pkey on sbtest1\n  Index Cond: (id = $1)"),
        json: "[]".into(),
    }
}

fn profile(step: &PlannedStep, file: &str) -> Profile {
    let group = step.group.as_ref().unwrap();
    Profile { clients: 8, samples: 9000, ..defaults::profile(&step.name, &group.key, file) }
}

/// A folded profile of call chains with common first frames.
fn stacks(functions: usize, arm: usize) -> String {
    let line = |number: usize| {
        let deep: Vec<String> =
            (0..1 + number % 12).map(|depth| format!("exec_{}", number >> depth)).collect();
        format!("backend;PostgresMain;{} {}\n", deep.join(";"), 1 + (number * 37 + arm * 11) % 90)
    };
    (0..functions).map(line).collect()
}
