//! Synthetic run folders, small enough to check a table by eye.

use rqps_model::{
    self as model, ConnectionCpu, Counter, HostFigure, HostQuantity, LeftOut, Metrics, QueryPlan, Series,
    Settle, SettleCondition, Unit,
};
use std::path::{Path, PathBuf};

use rqps_store::testing as defaults;
use rqps_store::*;
use rqps_verdicts::testing::latencies;

/// Steps of the workload: name, test, group, rate of the first arm.
const STEPS: [(&str, &str, &str, f64); 10] = [
    ("point-query.warm", "point-query", "point", 9000.0),
    ("point-query.pre", "point-query", "point", 9800.0),
    ("update-index", "update-index", "write", 1200.0),
    ("settle-1", "", "", 0.0),
    ("scan", "scan", "range", 2407.0),
    ("read-only_range=10", "read-only_range=10", "range-aggregate", 5100.0),
    ("point-query", "point-query", "point", 10_000.0),
    ("hot-points", "hot-points", "point", 800.0),
    ("points-covered-pk", "points-covered-pk", "point", 950.0),
    ("delete", "delete", "write", 1500.0),
];

/// Properties of a synthetic run.
pub struct RunSpec {
    /// The plan's name.
    pub name: &'static str,
    /// Version and config of each arm; the first is the base.
    pub arms: Vec<(&'static str, &'static str)>,
    /// Names of the arms; empty: their variants.
    pub arm_names: Vec<&'static str>,
    pub kernel: &'static str,
    pub seed: u64,
    pub config_hash: &'static str,
    /// Whether the last arm stops on an error before its reads.
    pub cut: bool,
    /// Whether one step of the second arm is invalid and another repeated.
    pub trouble: bool,
    /// DBMS of the last arm.
    pub dbms_last: &'static str,
    /// Compiler, flags and C library of each arm's build; empty: unknown.
    pub families: Vec<[&'static str; 3]>,
    /// Share of the machine's CPU that other programs use while the last arm is measured.
    pub others_share: f64,
    /// Speed of the host before the run and after it; empty: not measured.
    pub host_speeds: Vec<f64>,
    /// Transactions that failed in each test of the last arm. All tests then count new orders.
    pub failed_transactions: Option<u32>,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            name: "small",
            arms: vec![("16.11", "x10a"), ("17.7", "x10a"), ("18.1", "x10b")],
            arm_names: vec![],
            kernel: "6.1.0",
            seed: 42,
            config_hash: "c0ffee00c0ffee00",
            cut: false,
            trouble: false,
            dbms_last: "postgres",
            families: vec![],
            others_share: 0.0,
            host_speeds: vec![],
            failed_transactions: None,
        }
    }
}

/// Writes a run and returns its folder.
pub fn build(results: &Path, spec: &RunSpec) -> PathBuf {
    let folder = RunFolder::create(results, spec.name).unwrap();
    let mut writer = RunFolder::open_for_writing(folder.path()).unwrap();
    let arms: Vec<Arm> = (0..spec.arms.len()).map(|index| arm(spec, index)).collect();
    let actions_total = (arms.len() * (STEPS.len() + 2)) as u32;
    writer.begin_run("plan = 1\n", &meta(spec, actions_total), &steps(), &arms, &host(spec)).unwrap();
    let mut seq = 0;
    for (index, arm) in arms.iter().enumerate() {
        let mut finish =
            |kind: &str, step: &str, attempt, fault: Option<&str>, observation: Option<Observation>| {
                let record = ActionRecord {
                    attempt,
                    started_at_ms: 0,
                    finished_at_ms: 1500,
                    outcome: if fault.is_some() { Outcome::Invalid } else { Outcome::Done },
                    note: fault.map(str::to_owned),
                    ..defaults::record(seq, &arm.name, kind, step)
                };
                writer.finish_action(&record, observation.as_ref()).unwrap();
                seq += 1;
            };
        finish("load", "", 1, None, Some(load(index)));
        finish("vacuum", "", 1, None, None);
        let cut = if spec.cut && index + 1 == arms.len() { 4 } else { STEPS.len() };
        for (position, step) in STEPS.iter().enumerate().take(cut) {
            let observation = if step.1.is_empty() { settle(index) } else { window(spec, index, position) };
            let trouble = spec.trouble && index == 1;
            let fault = (trouble && step.0 == "delete").then_some("the server died: out of memory");
            let attempt = if trouble && step.0 == "update-index" { 2 } else { 1 };
            let kind = if step.1.is_empty() { "settle" } else { "measure" };
            finish(kind, step.0, attempt, fault, Some(observation));
        }
    }
    for (moment, speed) in [Moment::Before, Moment::After].into_iter().zip(&spec.host_speeds) {
        writer.put_certificate(moment, &certificate(*speed)).unwrap();
    }
    if spec.trouble {
        writer.add_resume().unwrap();
        writer.add_note(Some(&arms[1].name), "the server died").unwrap();
    }
    match spec.cut {
        true => writer.set_status(Status::Failed, Some("the disk is full")).unwrap(),
        false => writer.set_status(Status::Complete, None).unwrap(),
    }
    folder.path().to_owned()
}

/// What a host of this speed can do; a little noise, and other programs that take what is missing to full speed.
fn certificate(speed: f64) -> Vec<HostFigure> {
    let figures = [
        (HostQuantity::OneCore, 600.0 * speed),
        (HostQuantity::OneCoreCpu, 600.0),
        (HostQuantity::AllCores, 1200.0 * speed),
        (HostQuantity::Steal, 0.0),
        (HostQuantity::OtherPrograms, 100.0 * (1.0 - speed)),
        (HostQuantity::Write, 21.0),
        (HostQuantity::Sync, 12.4),
        (HostQuantity::RandomRead, 81.5),
    ];
    let noisy = |(quantity, value): (HostQuantity, f64)| {
        HostFigure::of_slices(quantity, vec![0.99 * value, value, 1.01 * value])
    };
    figures.into_iter().filter_map(noisy).collect()
}

fn arm(spec: &RunSpec, index: usize) -> Arm {
    let (version, config) = spec.arms[index];
    let is_last = index + 1 == spec.arms.len();
    let dbms = if is_last { spec.dbms_last } else { "postgres" };
    let variant = format!("{dbms}-{version}.{config}_c8r32");
    let names = ["family.compiler", "family.flags", "family.libc"];
    let family = spec.families.get(index).map(|values| names.into_iter().zip(*values));
    let facts = family.into_iter().flatten().map(|(name, value)| defaults::setting(name, value)).collect();
    let left_out = LeftOut {
        option: "vacuum_buffer_usage_limit".into(),
        value: "256MB".into(),
        reason: "not in this version".into(),
        ..LeftOut::default()
    };
    let name = spec.arm_names.get(index).map_or(variant, |name| (*name).to_owned());
    Arm {
        dbms: dbms.into(),
        build_hash: format!("{index:02}aabbccddeeff0011"),
        config_name: format!("{config}_c8r32"),
        config_hash: spec.config_hash.into(),
        // As rqps writes it, with the options that it sets itself.
        config_text: format!(
            "# Config (sha256 {hash})\nwork_mem = {work_mem}\n\n# Set by rqps\nport = {port}\n",
            hash = spec.config_hash,
            work_mem = if spec.config_hash == RunSpec::default().config_hash { "4MB" } else { "64MB" },
            port = 5000 + spec.name.len(),
        ),
        managed: vec![defaults::setting("port", "5432")],
        left_out: if index == 0 { vec![left_out] } else { vec![] },
        facts,
        ..defaults::arm(&name, if index == 0 { Role::Base } else { Role::Candidate }, version)
    }
}

fn meta(spec: &RunSpec, actions_total: u32) -> Meta {
    Meta {
        seed: spec.seed,
        rows_per_table: 50_000_000,
        actions_total,
        method: vec![defaults::setting("connection", "unix socket")],
        ..defaults::meta(spec.name)
    }
}

fn host(spec: &RunSpec) -> Vec<Fact> {
    let fact = |key: &str, value: &str, comparable| Fact { key: key.into(), value: value.into(), comparable };
    vec![
        fact("cpu", "made-up | 8 cores", true),
        fact("kernel", spec.kernel, true),
        fact("uptime_s", "77", false),
    ]
}

const THOUSAND_ROWS: Unit = Unit::new("krows", "reading a thousand rows", "1000 rows", "thousand rows");
const NEW_ORDERS: Unit = Unit::new("new_orders", "a new order", "new order", "new orders");
/// The kinds of transactions of TPROC-C.
const KINDS: [&str; 6] =
    ["new-order", "new-order-rolled-back", "payment", "delivery", "stock-level", "order-status"];

fn role(position: usize) -> model::Role {
    match STEPS[position].0.rsplit_once('.') {
        Some((_, "warm")) => model::Role::Warm,
        Some((_, "pre")) => model::Role::Pre,
        _ => model::Role::Test,
    }
}

fn steps() -> Vec<PlannedStep> {
    let step = |(index, (name, test, group, _)): (usize, &(&str, &str, &str, f64))| PlannedStep {
        test: (!test.is_empty()).then(|| (*test).into()),
        role: (!test.is_empty()).then(|| role(index)),
        ..defaults::step(index + 1, name, group)
    };
    STEPS.iter().enumerate().map(step).collect()
}

fn load(index: usize) -> Observation {
    let load = Load {
        tables: 1,
        rows: 50_000_000,
        load_us: 100_000_000 + 5_000_000 * index as u64,
        index_us: 25_000_000,
    };
    Observation { metrics: metrics(50_000_000.0, index, 0.0), ..Observation::new(Measured::Load(load)) }
}

fn settle(index: usize) -> Observation {
    let condition =
        |name: &str, before, after| SettleCondition { name: name.into(), before, after, target: 1000.0 };
    Observation::new(Measured::Settle(Settle {
        actions: vec!["vacuum analyze".into(), "checkpoint".into()],
        conditions: vec![
            condition("dead_rows", 120_000.0, 0.0),
            condition("dirty_buffers", 9000.0, 1200.0 * index as f64),
        ],
        elapsed_us: 12_345_678,
        cap_us: 60_000_000,
        reached: index == 0,
    }))
}

/// A window of 100 seconds; later arms are up to 10 % faster at reads, and slower at writes.
fn window(spec: &RunSpec, index: usize, position: usize) -> Observation {
    let (_, test, group, rate) = STEPS[position];
    let writes = group == "write";
    let factor = 1.0 + index as f64 * if writes { -0.06 } else { 0.03 + 0.02 * (position % 3) as f64 - 0.02 };
    let scans = test == "scan";
    let count = (rate * factor * 100.0) as u64;
    let (queries, rows) = if scans { (10, count * 1000) } else { (count, count) };
    let noops = if test == "delete" { queries / 5 } else { 0 };
    let window = Window {
        position: position as u32 + 1,
        seed: Some(spec.seed),
        started_at_ms: Some(0),
        warmup_us: Some(5_000_000),
        unit: match spec.failed_transactions {
            Some(_) => NEW_ORDERS,
            None if scans => THOUSAND_ROWS,
            None => defaults::QUERIES,
        },
        operations: if scans { rows as f64 / 1000.0 } else { queries as f64 },
        role: role(position),
        events: Some(if test.starts_with("read-only") { queries / 16 } else { queries }),
        statements_working: Some(queries - noops),
        noop_statements: Some(noops),
        rows: Some(rows),
        retries: if writes { [("40P01".to_owned(), 3)].into() } else { [].into() },
        ..defaults::window(test, group, queries, 100.0)
    };
    let operations = window.operations;
    let kind = |(place, kind): (u64, &str)| latencies(kind, &[(100.0, 1000 / place)]);
    let reads = if writes { 0.5 } else { 0.001 * index as f64 };
    let mut metrics = metrics(operations, index, reads);
    if index + 1 == spec.arms.len() {
        let all_us = window.elapsed_us as f64 * metrics["cpus"];
        metrics.insert("rest_us".into(), all_us * spec.others_share);
        let failed =
            spec.failed_transactions.map(|count| ("failed_transactions".to_owned(), f64::from(count)));
        metrics.extend(failed);
    }
    Observation {
        metrics,
        connections: vec![ConnectionCpu::only(0, 41e6), ConnectionCpu::only(1, 43e6 + index as f64 * 1e6)],
        counters: counters(operations, index, writes),
        histograms: match spec.failed_transactions {
            None => vec![histogram(operations as u64, index)],
            Some(_) => (1..).zip(["event"].into_iter().chain(KINDS)).map(kind).collect(),
        },
        plans: vec![plan(test, index)],
        fingerprint: vec![
            ("dead_rows".into(), (index * 1000).to_string()),
            ("heap_mb".into(), "10538".into()),
        ],
        series: vec![Series { name: "queries".into(), unit: "1/s".into(), values: vec![rate; 3] }],
        ..Observation::new(Measured::Window(window))
    }
}

/// Totals of `operations` on 8 CPUs; `reads` is reads per operation.
fn metrics(operations: f64, index: usize, reads: f64) -> Metrics {
    let more = 1.0 + 0.1 * index as f64;
    let total = |name: &str, per_op: f64| (name.to_owned(), operations * per_op);
    let mut metrics: Metrics = [
        total("host_user_us", 150.0 * more),
        total("host_system_us", 50.0),
        total("host_context_switches", 2.0 * more),
        total("disk_reads", reads),
        total("disk_read_kb", reads * 8.0),
        total("disk_writes", 0.2 * more),
        total("disk_write_kb", 3.2 * more),
        total("server_cpu_us", 120.0 * more),
    ]
    .into();
    metrics.insert("cpus".into(), 8.0);
    if index < 2 {
        metrics.extend([total("server_instructions_user", 250_000.0)]);
    }
    metrics
}

fn counters(operations: f64, index: usize, writes: bool) -> Vec<Counter> {
    let counter = |view: &str, object: &str, column: &str, per_op: f64| {
        defaults::counter(view, object, column, operations * per_op)
    };
    let mut counters = vec![
        counter("pg_stat_all_tables", "sbtest1", "idx_scan", 0.75),
        counter("pg_stat_all_tables", "sbtest2", "idx_scan", 0.25),
        counter("pg_stat_all_tables", "sbtest1", "seq_scan", 0.0),
        // The probe's sum, which must not be added to its parts.
        counter("pg_stat_all_tables", "all", "idx_scan", 1.0),
        counter("pg_stat_wal", "", "wal_bytes", if writes { 540.5 } else { 0.0 }),
    ];
    if index > 0 {
        counters.push(counter("pg_stat_io", "client backend relation", "hits", 4.125));
    }
    counters
}

fn histogram(count: u64, index: usize) -> Histogram {
    let micros = 100.0 + 10.0 * index as f64;
    Histogram {
        statement: "select-point".into(),
        from: LatencyFrom::Sent,
        count,
        p50_us: micros,
        p95_us: micros * 2.0,
        p99_us: micros * 3.0,
        max_us: micros * 100.0,
        mean_us: micros * 1.1,
        v2: vec![],
    }
}

fn plan(test: &str, index: usize) -> QueryPlan {
    let node = if test == "hot-points" && index == 2 { "Index Only Scan" } else { "Index Scan" };
    QueryPlan {
        statement: "select-point".into(),
        sql: "SELECT c FROM sbtest1 WHERE id=$1".into(),
        text: format!(
            "{node} using sbtest1_pkey on sbtest1  (cost=0.{index}..8.58 rows=1 width=121)\n  Index Cond: (id = 12{index})"
        ),
        json: "[]".into(),
    }
}
