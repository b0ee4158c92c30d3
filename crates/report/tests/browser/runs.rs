//! Run folders as large as the page has to bear: every arm and test with series, latencies, counters, plans and, where
//! asked for, profiles.

use rqps_model::{ConnectionCpu, Counter, EndedBy, QueryPlan, Series};
use std::path::{Path, PathBuf};

use hdrhistogram::Histogram as Latencies;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use rqps_store::*;

/// A run of the protocol `sequence`: one pass.
pub struct Long {
    pub arms: usize,
    pub tests: usize,
    pub seconds: usize,
    /// What names hold beside their number: a place to try what must not become markup.
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
pub fn write(results: &Path, long: &Long) -> PathBuf {
    let folder = RunFolder::create(results, "long").unwrap();
    let mut writer = RunFolder::open_for_writing(folder.path()).unwrap();
    let arms: Vec<Arm> = (0..long.arms).map(|index| arm(long, index)).collect();
    let steps: Vec<PlannedStep> = (0..long.tests).map(|index| step(long, index)).collect();
    let host = [Fact { key: "cpu_model".into(), value: format!("made-up{}", long.suffix), comparable: true }];
    writer.begin_run("plan = 1\n", &meta(long), &steps, &arms, &host).unwrap();
    let mut seq = 0;
    for (index, arm) in arms.iter().enumerate() {
        for (place, step) in steps.iter().enumerate() {
            let mut finish = |kind: &str, observation: Observation| {
                let record = ActionRecord {
                    seq,
                    arm: arm.name.clone(),
                    kind: kind.into(),
                    step: step.name.clone(),
                    attempt: 1,
                    started_at_ms: 0,
                    finished_at_ms: 1000 * long.seconds as i64,
                    outcome: Outcome::Done,
                    note: None,
                };
                writer.finish_action(&record, Some(&observation)).unwrap();
                seq += 1;
            };
            finish("measure", window(long, index, place));
            if long.functions > 0 {
                let file = format!("profiles/{index}.{place}.folded");
                std::fs::write(folder.path().join(&file), stacks(long.functions, index)).unwrap();
                finish("profile", Observation::new(Measured::Profile(profile(step, file))));
            }
        }
    }
    writer.set_status(Status::Complete, None).unwrap();
    folder.path().to_owned()
}

fn arm(long: &Long, index: usize) -> Arm {
    let name = format!("pg{}{}", 9 + index, long.suffix);
    Arm {
        role: if index == 0 { Role::Base } else { Role::Candidate },
        control: false,
        dbms: "postgres".into(),
        build_version: format!("{}.1", 9 + index),
        build_hash: format!("{index:02}aabbccddeeff0011"),
        build_origin: "registry".into(),
        build_version_text: format!("PostgreSQL {}.1, compiled by gcc", 9 + index),
        config_name: "sized".into(),
        config_hash: "c0ffee00c0ffee00".into(),
        config_text: format!("jit = off # {name}\n"),
        left_out: vec![],
        managed: vec![],
        env: [].into(),
        after_load: vec![],
        facts: vec![],
        settings: vec![],
        name,
    }
}

fn step(long: &Long, index: usize) -> PlannedStep {
    let name = format!("test-{index:02}_range={}{}", index * 10, long.suffix);
    PlannedStep {
        position: index as u32 + 1,
        kind: "measure".into(),
        test: Some(name.clone()),
        group: Some(GROUPS[index * GROUPS.len() / long.tests].into()),
        role: Some(rqps_model::Role::Test),
        clients: 8,
        amount: format!("{} s", long.seconds),
        name,
    }
}

fn meta(long: &Long) -> Meta {
    Meta {
        name: "long".into(),
        program_version: "0.1.0".into(),
        created_at_ms: 1_785_420_903_000,
        workload: "microbenchmarks".into(),
        workload_revision: "1".into(),
        protocol: "sequence".into(),
        seed: 42,
        tables: 8,
        rows_per_table: 10_000_000,
        clients: 8,
        actions_total: (long.arms * long.tests) as u32,
        method: vec![],
    }
}

fn window(long: &Long, arm: usize, place: usize) -> Observation {
    let rate = 4000.0 * (1.0 + 0.03 * arm as f64) * if place % 7 == arm { 0.9 } else { 1.0 };
    let queries = (rate * long.seconds as f64) as u64;
    let step = step(long, place);
    let window = Window {
        test: step.name,
        group: step.group.unwrap(),
        position: step.position,
        clients: 8,
        seed: 1,
        started_at_ms: 0,
        warmup_us: 0,
        elapsed_us: long.seconds as u64 * 1_000_000,
        ended_by: EndedBy::Time,
        unit: rqps_model::Unit::new("queries", "a query", "query", "queries"),
        operations: queries as f64,
        role: rqps_model::Role::Test,
        target_events_per_s: None,
        pacer: None,
        events: queries,
        queries,
        statements: queries,
        statements_working: queries,
        noop_statements: 0,
        rows: queries,
        errors: 0,
        retries: [].into(),
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
        histograms: ["event", "point", "simple-range", "update-index"].map(|of| latencies(of, arm)).to_vec(),
        plans: vec![plan(arm)],
        fingerprint: vec![("dead_rows".into(), (arm * 1000).to_string())],
        series: SERIES.map(|(name, unit)| series(long, name, unit, rate, arm)).to_vec(),
        ..Observation::new(Measured::Window(window))
    }
}

/// Noise, and a stall every 50 seconds.
fn series(long: &Long, name: &str, unit: &str, rate: f64, arm: usize) -> Series {
    let value = |second: usize| {
        let noise = ((second * 7919 + arm * 104_729) % 1000) as f64 / 1000.0;
        let stalls = if second % 50 == 49 { 0.3 } else { 1.0 };
        (rate * stalls * (0.95 + 0.1 * noise)).round()
    };
    let values = (0..long.seconds).map(value).collect();
    Series { name: name.into(), unit: unit.into(), values }
}

fn latencies(statement: &str, arm: usize) -> Histogram {
    let mut all = Latencies::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    for place in 1..20_000u64 {
        let ns = 80_000 + 4000 * arm as u64 + 1_500_000_000 / (20_001 - place);
        all.record(ns).unwrap();
    }
    let mut v2 = Vec::new();
    V2Serializer::new().serialize(&all, &mut v2).unwrap();
    let us = |quantile: f64| all.value_at_quantile(quantile) as f64 / 1e3;
    Histogram {
        statement: statement.into(),
        from: LatencyFrom::Sent,
        count: all.len(),
        p50_us: us(0.5),
        p95_us: us(0.95),
        p99_us: us(0.99),
        max_us: us(1.0),
        mean_us: all.mean() / 1e3,
        v2,
    }
}

fn counter(column: usize, queries: u64) -> Counter {
    Counter {
        view: "pg_stat_all_tables".into(),
        object: format!("sbtest{}", column % 3),
        column: format!("column_{column}"),
        before: Some(0.0),
        after: Some(queries as f64 * column as f64),
    }
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

fn profile(step: &PlannedStep, file: String) -> Profile {
    Profile {
        test: step.name.clone(),
        group: step.group.clone().unwrap_or_default(),
        clients: 8,
        events: 1000,
        operations: 1000.0,
        elapsed_us: 1_000_000,
        sampled_by: "perf 6.1".into(),
        event: "cpu-clock".into(),
        frequency_hz: 999.0,
        call_graph: "fp".into(),
        samples: 9000,
        lost_samples: 0,
        unresolved_samples: 0,
        file,
        note: None,
    }
}

/// A folded profile: chains of calls that share their first frames.
fn stacks(functions: usize, arm: usize) -> String {
    let line = |number: usize| {
        let deep: Vec<String> =
            (0..1 + number % 12).map(|depth| format!("exec_{}", number >> depth)).collect();
        format!("backend;PostgresMain;{} {}\n", deep.join(";"), 1 + (number * 37 + arm * 11) % 90)
    };
    (0..functions).map(line).collect()
}
