//! A synthetic run folder with rows in every table and known differences that queries have to find: the new
//! version runs point queries at 0.9 of the rate, writes 10 % more WAL per update, and stalls in its fourth
//! second.

use rqps_model::{
    ConnectionCpu, Counter, HostFigure, HostQuantity, LeftOut, Metrics, QueryPlan, Series, ServerSetting,
    Settle, SettleCondition,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rqps_store::testing as defaults;
use rqps_store::*;
use rqps_verdicts::testing::latencies;

/// Seconds of a window.
const SECONDS: u64 = 10;
/// Test, group, and queries per second on base.
pub const TESTS: [(&str, &str, u64); 2] = [("point-query", "point", 1_000), ("update-index", "write", 100)];

/// Writes the run and returns its folder.
pub fn write_run(results: &Path, name: &str) -> PathBuf {
    let folder = RunFolder::create(results, name).unwrap();
    let mut writer = RunFolder::open_for_writing(folder.path()).unwrap();
    let arms = [arm("old", Role::Base, "17.7"), arm("new", Role::Candidate, "18.1")];
    let host = [Fact { key: "kernel".into(), value: "6.1, \"special\"\nbuild".into(), comparable: true }];
    writer.begin_run("plan = 1\n", &meta(name), &steps(), &arms, &host).unwrap();
    let figure = HostFigure::of_slices(HostQuantity::Sync, vec![9.0, 12.0]);
    writer.put_certificate(Moment::Before, figure.as_slice()).unwrap();
    let mut seq = 0;
    for arm in &arms {
        let mut finish = |kind: &str, step: &str, observation: Observation| {
            let record = ActionRecord {
                outcome: if step == "broken" { Outcome::Invalid } else { Outcome::Done },
                note: (step == "broken").then(|| "answers were wrong".into()),
                ..defaults::record(seq, &arm.name, kind, step)
            };
            writer.finish_action(&record, Some(&observation)).unwrap();
            seq += 1;
        };
        finish("load", "load", load());
        finish("settle", "settle-1", settle());
        finish("measure", "point-query.warm", window(arm, "point-query.warm", &TESTS[0]));
        for test in &TESTS {
            finish("measure", test.0, window(arm, test.0, test));
        }
        finish("measure", "broken", window(arm, "broken", &TESTS[0]));
        let profile = profile(arm);
        if let Measured::Profile(profile) = &profile.measured {
            std::fs::write(folder.path().join(&profile.file), "backend;main;exec 90\nbackend;main 10\n")
                .unwrap();
        }
        finish("profile", "point-query", profile);
    }
    writer.add_note(Some("new"), "a server, \"restarted\"").unwrap();
    writer.set_status(Status::Complete, None).unwrap();
    folder.path().to_owned()
}

/// Writes a run that was imported from one file, and returns its folder.
pub fn write_imported(results: &Path, name: &str) -> PathBuf {
    let folder = RunFolder::create(results, name).unwrap();
    let mut writer = RunFolder::open_for_writing(folder.path()).unwrap();
    let meta = Meta { protocol: IMPORTED.into(), ..meta(name) };
    let step = PlannedStep { clients: 0, ..steps().remove(0) };
    let old = arm("old", Role::Base, "17.7");
    writer.begin_run("plan = 1\n", &meta, &[step], std::slice::from_ref(&old), &[]).unwrap();
    let source = Source {
        path: "results/run-1.txt".into(),
        sha256: "ab".repeat(32),
        bytes: 700,
        format: "pgbench".into(),
        tool: None,
        quirks: vec!["three-digits".into()],
        measured_at_ms: Some(1_700_000_000_000),
        modified_at_ms: Some(1_700_000_100_000),
    };
    let value = ImportedValue {
        name: "latency_avg_ms".into(),
        unit: "ms".into(),
        value: Some(2.5),
        published: Some("2.50".into()),
        source: 0,
        line: 14,
    };
    let action = defaults::record(0, "old", "measure", TESTS[0].0);
    let observation = Observation::new(window(&old, TESTS[0].0, &TESTS[0]).measured);
    writer.write_imported(&[source], &[ImportedResult { action, observation, values: vec![value] }]).unwrap();
    writer.set_status(Status::Complete, None).unwrap();
    folder.path().to_owned()
}

fn window(arm: &Arm, step: &str, test: &(&str, &str, u64)) -> Observation {
    let (name, group, per_second) = *test;
    let is_new = arm.role == Role::Candidate;
    let per_second = if is_new && name == "point-query" { per_second * 9 / 10 } else { per_second };
    let mut seconds = vec![per_second as f64; SECONDS as usize];
    if is_new {
        seconds[3] = 0.0;
        seconds[4] = 2.0 * per_second as f64;
    }
    seconds[7] = f64::NAN;
    let queries = per_second * SECONDS;
    let wal = if name == "update-index" { if is_new { 330.0 } else { 300.0 } } else { 0.0 };
    let factor = if is_new { 2 } else { 1 };
    Observation {
        metrics: Metrics::from([
            ("server_cpu_us".into(), 50.0 * queries as f64),
            ("server_wal_bytes".into(), wal * queries as f64),
        ]),
        connections: match name {
            // Client 0 has two connections with different roles, client 1 has one.
            "update-index" => vec![
                ConnectionCpu { role: "insert".into(), client: 0, cpu_us: 300_000.0 },
                ConnectionCpu { role: "delete".into(), client: 0, cpu_us: 100_000.0 },
                ConnectionCpu { role: "insert".into(), client: 1, cpu_us: 410_000.0 },
            ],
            _ => vec![ConnectionCpu::only(0, 400_000.0), ConnectionCpu::only(1, 410_000.0)],
        },
        counters: vec![
            counter("pg_stat_database", "bench", "blks_hit", 4.0 * queries as f64),
            counter("pg_stat_wal", "", "wal_buffers_full", (factor * 7) as f64 * queries as f64),
            // So few that the rounded ratio is 0.
            counter(
                "pg_stat_bgwriter",
                "",
                "buffers_alloc",
                if is_new { 0.004 } else { 40.0 } * queries as f64,
            ),
            Counter { before: None, ..counter("pg_stat_io", "client backend", "reads", 1.0) },
        ],
        series: vec![
            Series { name: "queries".into(), unit: "queries".into(), values: seconds },
            Series { name: "work-window".into(), unit: "events per client".into(), values: vec![5.0, 6.0] },
        ],
        // Per 100 statements, 90 take 100 us and 10 take 1 ms; on the new version those 10 take 2 ms.
        histograms: ["select-point", "event"]
            .map(|statement| latencies(statement, &[(100.0, 90), (1_000.0 * factor as f64, 10)]))
            .to_vec(),
        plans: vec![QueryPlan {
            statement: "select-point".into(),
            sql: "SELECT c FROM t WHERE id = $1".into(),
            text: "Index Scan using t_pkey on t\n  Index Cond: (id = $1)".into(),
            json: String::new(),
        }],
        fingerprint: vec![
            ("dead_rows".into(), "12".into()),
            ("setting.work_mem".into(), "4096 x kB (configuration file)".into()),
        ],
        ..Observation::new(Measured::Window(Window {
            seed: Some(u64::MAX),
            role: if step.ends_with(".warm") { rqps_model::Role::Warm } else { rqps_model::Role::Test },
            retries: BTreeMap::from([("40001".into(), 3), ("40P01".into(), 1)]),
            ..defaults::window(name, group, queries, SECONDS as f64)
        }))
    }
}

fn counter(view: &str, object: &str, column: &str, delta: f64) -> Counter {
    Counter {
        before: Some(10.0),
        after: Some(10.0 + delta),
        ..defaults::counter(view, object, column, delta)
    }
}

fn load() -> Observation {
    let load = Load { tables: 1, rows: 1_000, load_us: 900_000, index_us: 100_000 };
    let metrics = Metrics::from([("server_cpu_us".into(), 5_000.0)]);
    let counters = vec![counter("pg_stat_wal", "", "wal_records", 2_000.0)];
    Observation { metrics, counters, ..Observation::new(Measured::Load(load)) }
}

fn settle() -> Observation {
    Observation::new(Measured::Settle(Settle {
        actions: vec!["vacuum analyze".into(), "checkpoint".into()],
        conditions: vec![SettleCondition {
            name: "dead_rows".into(),
            before: 900.0,
            after: 0.0,
            target: 0.0,
        }],
        elapsed_us: 1_500_000,
        cap_us: 60_000_000,
        reached: true,
    }))
}

fn profile(arm: &Arm) -> Observation {
    Observation::new(Measured::Profile(Profile {
        events: 200,
        operations: 200.0,
        elapsed_us: 2_000_000,
        ..defaults::profile("point-query", "point", &format!("profiles/{}.point-query.folded", arm.name))
    }))
}

fn arm(name: &str, role: Role, version: &str) -> Arm {
    let is_new = role == Role::Candidate;
    Arm {
        build_hash: format!("hash-of-{version}"),
        build_version_text: format!("PostgreSQL {version}"),
        config_hash: "c0ffee".into(),
        config_text: "jit = off\n".into(),
        left_out: vec![LeftOut {
            option: "io_method".into(),
            value: "sync".into(),
            reason: "unknown".into(),
            ..LeftOut::default()
        }],
        managed: vec![defaults::setting("port", "5432")],
        env: BTreeMap::from([("MALLOC_ARENA_MAX".into(), "1".into())]),
        after_load: vec!["DROP INDEX t_k".into(), "ANALYZE".into()],
        facts: vec![defaults::setting("cflags", "-O2")],
        // The old arm is like runs from before settings were recorded.
        settings: if is_new { vec![server_setting()] } else { vec![] },
        ..defaults::arm(name, role, version)
    }
}

fn server_setting() -> ServerSetting {
    ServerSetting { name: "work_mem".into(), value: "4MB".into(), source: "default".into(), default: true }
}

fn meta(name: &str) -> Meta {
    Meta { seed: u64::MAX, actions_total: 14, ..defaults::meta(name) }
}

fn steps() -> Vec<PlannedStep> {
    let step = |(index, (name, group, _)): (usize, &(&str, &str, u64))| PlannedStep {
        amount: "10 s".into(),
        ..defaults::step(index + 1, name, group)
    };
    TESTS.iter().enumerate().map(step).collect()
}
