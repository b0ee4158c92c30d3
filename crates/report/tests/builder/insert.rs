//! Synthetic runs of the Insert Benchmark. Results are computed from a few rates, so that every figure of a
//! table can be checked.

use rqps_model::{
    ConnectionCpu, EndedBy, Metrics, Pacer, Series, ServerSetting, Settle, SettleCondition, Unit,
};
use std::path::{Path, PathBuf};

use rqps_store::testing as defaults;
use rqps_store::*;
use rqps_verdicts::testing::latencies as histogram;

/// Steps: name, group, rate of the first arm (rows or queries per second), background rows per second of one
/// client.
const STEPS: [(&str, &str, f64, f64); 11] = [
    ("l.i0", "insert", 160_000.0, 0.0),
    ("l.x", "insert", 900_000.0, 0.0),
    ("l.i1", "insert", 24_000.0, 0.0),
    ("l.i2", "insert", 5_000.0, 0.0),
    ("settle-1", "", 0.0, 0.0),
    ("qr100", "background", 6_000.0, 100.0),
    ("qp100", "background", 4_200.0, 100.0),
    ("qr500", "background", 5_600.0, 500.0),
    ("qp500", "background", 4_000.0, 500.0),
    ("qr1000", "background", 5_000.0, 1000.0),
    ("qp1000", "background", 3_800.0, 1000.0),
];
/// Rows per client in l.i0, l.x, l.i1, l.i2. Query steps run for `SECONDS`.
const ROWS: [u64; 4] = [1_000_000, 1_000_100, 400_000, 100_000];
const SECONDS: f64 = 40.0;

/// Why an interrupted step is invalid.
pub const INTERRUPTED: &str =
    "it was cut off when 160000 of its 400000 rows were inserted, and went on with the others";

/// Properties of a synthetic run.
#[derive(Clone)]
pub struct InsertSpec {
    pub dbms: &'static str,
    /// Arms, all with the same build; the first is base.
    pub arms: Vec<&'static str>,
    pub clients: u32,
    /// Number of passes; a single pass has no blocks.
    pub passes: u32,
    /// Share by which later arms are slower in steps that delete.
    pub slower: f64,
    /// Factor on the CPU time of the delete connections of later arms.
    pub deletes_more_expensive: f64,
    /// Missed target rates of background writes: arm, step, achieved share.
    pub missed: Vec<(usize, &'static str, f64)>,
    /// They are missed in this pass only.
    pub missed_only: Option<u32>,
    /// An arm that ends before this step.
    pub cut: Option<(usize, &'static str)>,
    /// An arm that was measured after the others in this pass.
    pub resumed: Option<(usize, u32)>,
    /// Arm and step that was interrupted and resumed, and therefore is invalid.
    pub interrupted: Option<(usize, &'static str)>,
}

impl Default for InsertSpec {
    fn default() -> Self {
        Self {
            dbms: "postgres",
            arms: vec!["on", "off"],
            clients: 1,
            passes: 1,
            slower: 0.05,
            deletes_more_expensive: 1.69,
            missed: vec![],
            missed_only: None,
            cut: None,
            resumed: None,
            interrupted: None,
        }
    }
}

/// Writes a run and returns its folder.
pub fn build(results: &Path, spec: &InsertSpec) -> PathBuf {
    let folder = RunFolder::create(results, "insert").unwrap();
    let mut writer = RunFolder::open_for_writing(folder.path()).unwrap();
    let arms: Vec<Arm> = (0..spec.arms.len()).map(|index| arm(spec, index)).collect();
    let total = arms.len() * (STEPS.len() + 1) * spec.passes as usize;
    writer.begin_run(&plan(spec), &meta(spec, total as u32), &steps(spec), &arms, &[]).unwrap();
    let resumed_at_ms = now_ms();
    if spec.resumed.is_some() {
        writer.add_resume().unwrap();
    }
    let mut seq = 0;
    for pass in 1..=spec.passes {
        if spec.passes > 1 {
            writer.begin_block(&block(spec, pass)).unwrap();
        }
        for (index, arm) in arms.iter().enumerate() {
            let mut finish = |kind: &str, step: &str, attempt, mut observation: Observation| {
                let at = Placement { block: pass, window: 1, slot: index as u32 + 1 };
                observation.placement = (spec.passes > 1 && kind == "measure").then_some(at);
                // Arms take turns in each step, but for one that comes after all steps of the others.
                let turn =
                    STEPS.iter().position(|(name, ..)| *name == step).unwrap_or(0) * arms.len() + index;
                let late_ms = if spec.resumed == Some((index, pass)) { resumed_at_ms } else { 0 };
                let started_at_ms = i64::from(pass) * 1_000_000 + turn as i64 * 1500 + late_ms;
                let record = ActionRecord {
                    attempt,
                    started_at_ms,
                    finished_at_ms: started_at_ms + 1500,
                    outcome: if attempt > 1 { Outcome::Invalid } else { Outcome::Done },
                    note: (attempt > 1).then(|| INTERRUPTED.to_owned()),
                    ..defaults::record(seq, &arm.name, kind, step)
                };
                writer.finish_action(&record, Some(&observation)).unwrap();
                seq += 1;
            };
            finish("load", "", 1, empty_load(spec));
            for (position, (name, group, ..)) in STEPS.iter().enumerate() {
                if spec.cut == Some((index, name)) {
                    break;
                }
                if group.is_empty() {
                    finish("settle", name, 1, settle());
                    continue;
                }
                let attempt = if spec.interrupted == Some((index, name)) { 2 } else { 1 };
                finish("measure", name, attempt, window(spec, index, position, pass));
            }
        }
    }
    match spec.cut {
        Some(_) => writer.set_status(Status::Failed, Some("the disk is full")).unwrap(),
        None => writer.set_status(Status::Complete, None).unwrap(),
    }
    folder.path().to_owned()
}

/// The plan, from which verdicts read their rules.
fn plan(spec: &InsertSpec) -> String {
    let arms: String = spec
        .arms
        .iter()
        .map(|name| {
            format!("[[arm]]\nname = \"{name}\"\nbuild = \"postgres-18.1\"\nconfig = \"x10b_c8r32\"\n")
        })
        .collect();
    let passes = if spec.passes > 1 { format!("passes = {}\n", spec.passes) } else { String::new() };
    format!(
        "name = \"insert\"\nbase = \"{}\"\n{passes}[workload]\nbenchmark = \"insert\"\nclients = {}\n[insert]\n\
         size = \"mini\"\n{arms}",
        spec.arms[0], spec.clients
    )
}

fn arm(spec: &InsertSpec, index: usize) -> Arm {
    let name = spec.arms[index];
    let autovacuum = if index == 0 { "on" } else { "off" };
    let setting = |name: &str, value: &str| ServerSetting {
        name: name.into(),
        value: value.into(),
        source: "configuration file".into(),
        default: false,
    };
    Arm {
        dbms: spec.dbms.into(),
        build_hash: "00aabbccddeeff0011".into(),
        config_name: format!("vacuum-{name}"),
        config_hash: format!("{index:02}c0ffee00c0ffee"),
        config_text: format!("autovacuum = {autovacuum}\n"),
        settings: match spec.dbms {
            "mysql" => vec![setting("innodb_max_purge_lag", if index == 0 { "500000" } else { "0" })],
            _ => vec![setting("autovacuum", autovacuum), setting("shared_buffers", "1GB")],
        },
        ..defaults::arm(name, if index == 0 { Role::Base } else { Role::Candidate }, "18.1")
    }
}

fn meta(spec: &InsertSpec, actions_total: u32) -> Meta {
    Meta {
        workload: "insert".into(),
        workload_title: "Insert Benchmark".into(),
        tables: spec.clients,
        rows_per_table: ROWS[0],
        clients: spec.clients,
        actions_total,
        method: vec![defaults::setting("pacer", "even")],
        ..defaults::meta("insert")
    }
}

const ROWS_WRITTEN: Unit = Unit::new("rows", "a row", "row", "rows inserted (l.x: indexed)");

fn steps(spec: &InsertSpec) -> Vec<PlannedStep> {
    let step = |(index, (name, group, ..)): (usize, &(&str, &str, f64, f64))| PlannedStep {
        clients: spec.clients,
        amount: if group.is_empty() { "at most 60 s" } else { "all rows" }.into(),
        ..defaults::step(index + 1, name, group)
    };
    STEPS.iter().enumerate().map(step).collect()
}

fn block(spec: &InsertSpec, number: u32) -> Block {
    let arm = |(index, name): (usize, &&str)| BlockArm {
        arm: (*name).into(),
        start_position: index as u32 + 1,
        side: ["a", "b", "c"][index].into(),
        cpus: "0".into(),
        data_seq: None,
        copy: 1,
    };
    Block {
        number,
        seed: u64::from(number),
        status: BlockStatus::Done,
        note: None,
        started_at_ms: i64::from(number) * 1000,
        finished_at_ms: Some(i64::from(number) * 1000 + 900),
        restored_by: "load".into(),
        tests: STEPS.iter().filter(|step| !step.1.is_empty()).map(|step| step.0.into()).collect(),
        arms: spec.arms.iter().enumerate().map(arm).collect(),
    }
}

fn empty_load(spec: &InsertSpec) -> Observation {
    let load = Load { tables: spec.clients, rows: 0, load_us: 20_000, index_us: 0 };
    Observation::new(Measured::Load(load))
}

fn settle() -> Observation {
    let condition =
        |name: &str, before, after| SettleCondition { name: name.into(), before, after, target: 1000.0 };
    Observation::new(Measured::Settle(Settle {
        actions: vec!["vacuum analyze".into(), "checkpoint".into(), "wait".into()],
        conditions: vec![condition("dead_rows", 500_000.0, 0.0), condition("dirty_buffers", 9000.0, 12.0)],
        elapsed_us: 12_345_678,
        cap_us: 60_000_000,
        reached: true,
    }))
}

/// Results of a step on an arm, over all clients.
struct StepResult {
    position: usize,
    clients: f64,
    is_query: bool,
    deletes: bool,
    rows: u64,
    seconds: f64,
    queries: u64,
    /// 1 on arms after the first.
    later: f64,
    wobble: f64,
    /// Achieved share of the background rows, if the target was missed.
    kept: Option<f64>,
}

impl StepResult {
    fn of(spec: &InsertSpec, index: usize, position: usize, pass: u32) -> Self {
        let (name, group, rate, target) = STEPS[position];
        let clients = f64::from(spec.clients);
        let (is_query, deletes) = (group == "background", !matches!(name, "l.i0" | "l.x"));
        let later = if index > 0 { 1.0 } else { 0.0 };
        let wobble = 1.0 + 0.004 * (f64::from(pass) * 1.7 + index as f64).sin();
        let misses = spec.missed_only.is_none_or(|only| only == pass);
        let missed = spec.missed.iter().find(|(arm, step, _)| misses && (*arm, *step) == (index, name));
        let kept = missed.map(|(.., share)| *share);
        let slower = if deletes { spec.slower * later } else { 0.0 };
        let own_rate = rate * wobble * (1.0 - slower) * kept.map_or(1.0, |_| 1.5);
        let rows = match is_query {
            true => (target * SECONDS * clients) as u64,
            false => (ROWS[position] as f64 * clients) as u64,
        };
        let seconds = match is_query {
            true => SECONDS / kept.unwrap_or(1.0),
            false => rows as f64 / (own_rate * clients),
        };
        let queries = if is_query { (own_rate * clients * seconds) as u64 } else { rows / 50 };
        Self { position, clients, is_query, deletes, rows, seconds, queries, later, wobble, kept }
    }

    fn operations(&self) -> f64 {
        if self.is_query { self.queries as f64 } else { self.rows as f64 }
    }

    fn result(&self, spec: &InsertSpec) -> Window {
        let (name, group, ..) = STEPS[self.position];
        Window {
            position: self.position as u32 + 1,
            clients: spec.clients,
            started_at_ms: Some(0),
            ended_by: EndedBy::Work,
            unit: if self.is_query { defaults::QUERIES } else { ROWS_WRITTEN },
            operations: self.operations(),
            pacer: self.is_query.then_some(Pacer::Even),
            statements: Some(self.queries + self.rows / 25),
            statements_working: Some(self.queries + self.rows / 25),
            rows: Some(self.rows),
            ..defaults::window(name, group, self.queries, self.seconds)
        }
    }

    fn connections(&self, spec: &InsertSpec) -> Vec<ConnectionCpu> {
        let delete_factor = 1.0 + (spec.deletes_more_expensive - 1.0) * self.later;
        let rows = self.rows as f64 / self.clients;
        let us = |role: &str| match role {
            "insert" if !self.deletes => rows * 0.9,
            "insert" => rows * 88.0 * (1.0 + 0.02 * self.later),
            "delete" => rows * 125.0 * delete_factor * self.wobble,
            "maker" => rows * 0.4,
            _ => self.queries as f64 / self.clients * 120.0,
        };
        let roles: &[&str] = match (self.is_query, self.deletes) {
            (true, _) => &["insert", "delete", "maker", "query"],
            (false, true) => &["insert", "delete", "maker"],
            (false, false) => &["insert"],
        };
        let of_client = |client: u32| {
            roles.iter().map(move |role| ConnectionCpu { role: (*role).into(), client, cpu_us: us(role) })
        };
        (0..spec.clients).flat_map(of_client).collect()
    }

    fn metrics(&self, spec: &InsertSpec, server_us: f64) -> Metrics {
        let (rows, operations, later) = (self.rows as f64, self.operations(), self.later);
        let mut all = vec![
            ("cpus", 2.0),
            ("host_user_us", server_us * 1.1),
            ("host_system_us", server_us * 0.2),
            ("host_context_switches", operations * 2.0),
            ("server_cpu_us", server_us * 1.05),
            ("client_cpu_us", operations * 6.0),
            ("client_maker_cpu_us", rows * 0.4),
            ("client_insert_cpu_us", rows * 0.6),
            ("server_wal_bytes", operations * if self.is_query { 20.0 } else { 400.0 }),
            ("inserted_rows", rows),
            ("inserts_per_s", rows / self.seconds),
            ("table_bytes_before", 106e6),
            ("table_bytes_after", 107.5e6 + later * 30e6),
            ("index_bytes_before", 98e6),
            ("index_bytes_after", 104e6),
        ];
        if STEPS[self.position].0 == "l.x" {
            all.push(("index_build_us", self.seconds * 1e6));
        }
        if self.deletes {
            all.extend(self.delete_metrics(spec));
        }
        if self.is_query {
            all.extend(self.query_metrics());
        }
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn delete_metrics(&self, spec: &InsertSpec) -> Vec<(&'static str, f64)> {
        let rows = self.rows as f64;
        let debt = if spec.deletes_more_expensive > 1.0 { self.later } else { 0.0 };
        let mut all = vec![
            ("client_delete_cpu_us", rows * 0.4),
            ("deleted_rows", rows),
            ("deletes_per_s", rows / self.seconds),
            ("short_deletes", 0.0),
            ("min_lookups", 20.0),
            ("min_lookup_us", 20.0 * (200.0 + self.later * 900.0)),
        ];
        all.extend(match spec.dbms {
            "mysql" => vec![
                ("history_list_length_before", 500.0),
                ("history_list_length_after", 800.0 + debt * 80_000.0),
            ],
            _ => vec![
                ("dead_rows_before", 1000.0 + debt * 400_000.0),
                ("dead_rows_after", 1500.0 + debt * 500_000.0),
                ("planning_buffers_before", 12.0),
                ("planning_buffers_after", 16.0 + debt * 469.0),
                ("planning_us_before", 250.0),
                ("planning_us_after", 260.0 + debt * 2000.0),
            ],
        });
        all
    }

    fn query_metrics(&self) -> Vec<(&'static str, f64)> {
        let target = STEPS[self.position].3 * self.clients;
        let per_s = self.queries as f64 / self.seconds;
        vec![
            ("client_query_cpu_us", self.operations() * 4.0),
            ("queries_per_s", per_s),
            ("query_rows_per_s", per_s * 10.0),
            ("rows_per_query", 9.998),
            ("background_target_rows_per_s", target),
            ("background_rows_per_s", target * self.kept.unwrap_or(0.999)),
            ("background_seconds", self.seconds.floor()),
            ("background_seconds_below", (self.seconds * (1.0 - self.kept.unwrap_or(1.0))).floor()),
            ("background_kept", if self.kept.is_some() { 0.0 } else { 1.0 }),
        ]
    }
}

/// One step; later arms are slower in steps that delete, and their deletes use more CPU.
fn window(spec: &InsertSpec, index: usize, position: usize, pass: u32) -> Observation {
    let step = StepResult::of(spec, index, position, pass);
    let connections = step.connections(spec);
    let server_us: f64 = connections.iter().map(|one| one.cpu_us).sum();
    let mut metrics = step.metrics(spec, server_us);
    if let Some(resumed) = spec.resumed {
        // Opening the database once more writes a file of what was in memory.
        let files = if resumed == (index, pass) { 3.0 } else { 1.0 };
        metrics.insert("lsm_level0_files_before".into(), files);
    }
    Observation {
        metrics,
        connections,
        histograms: histograms(&step, index),
        series: series(&step, index),
        fingerprint: vec![("dead_rows".into(), format!("{}", 1000.0 + step.later * 400_000.0))],
        ..Observation::new(Measured::Window(step.result(spec)))
    }
}

fn histograms(step: &StepResult, index: usize) -> Vec<Histogram> {
    let (is_query, deletes, writes, queries) = (step.is_query, step.deletes, step.rows / 50, step.queries);
    let name = STEPS[step.position].0;
    let more = 1.0 + 0.5 * index as f64;
    let mut all = vec![latencies("insert", writes, 900.0, 30_000.0 * more)];
    all.push(latencies("event", if is_query { queries } else { writes }, 150.0, 900_000.0));
    all.extend(deletes.then(|| latencies("delete", writes, 1100.0 * more, 45_000.0 * more)));
    let kinds: &[&str] = match (is_query, name.starts_with("qr")) {
        (false, _) => &[],
        (true, true) => &["range-product", "range-register", "range-price"],
        (true, false) => &["point-10"],
    };
    all.extend(
        kinds.iter().map(|kind| latencies(kind, queries / kinds.len() as u64, 150.0, 900_000.0 * more)),
    );
    all
}

/// Half of the responses take `us`, half 1.7 times as long, and one takes `max_us`.
fn latencies(statement: &str, count: u64, us: f64, max_us: f64) -> Histogram {
    histogram(statement, &[(us, count / 2), (us * 1.7, count - count / 2), (max_us, 1)])
}

fn series(step: &StepResult, index: usize) -> Vec<Series> {
    let (seconds, rows, queries, deletes, is_query) =
        (step.seconds, step.rows, step.queries, step.deletes, step.is_query);
    let length = (seconds as usize).min(600);
    let wave = |second: usize| 1.0 + 0.2 * ((second as f64 + index as f64) / 5.0).sin();
    let one = |name: &str, unit: &str, mean: f64| Series {
        name: name.into(),
        unit: unit.into(),
        values: (0..length).map(|second| mean * wave(second)).collect(),
    };
    let per_s = rows as f64 / seconds;
    let mut all = vec![one("inserts", "rows/s", per_s), one("insert_max_us", "us", 2500.0)];
    if deletes {
        all.extend([one("deletes", "rows/s", per_s), one("delete_max_us", "us", 4500.0)]);
        all.push(one("dead_rows", "rows", 1000.0 + 300_000.0 * index as f64));
    }
    if is_query {
        all.push(one("queries", "1/s", queries as f64 / seconds));
        all.push(one("query_max_us", "us", 3000.0));
    }
    all
}
