//! Parts of simulated runs for the tests of this and other crates. Each is complete, so that a test sets only the
//! fields it is about.

use std::collections::BTreeMap;

use rqps_model::{Counter, EndedBy, Group, Role as StepRole, Setting, Unit};

use crate::arm::{Arm, Role};
use crate::journal::{ActionRecord, Outcome};
use crate::meta::{Meta, PlannedStep};
use crate::observation::{Profile, Window};

/// Start of simulated runs, milliseconds since 1970 (UTC).
pub const BEGUN_AT_MS: i64 = 1_785_420_903_000;
pub const QUERIES: Unit = Unit::new("queries", "a query", "query", "queries");

/// The group with this key, as declared by rqps' benchmarks.
///
/// # Panics
/// If no benchmark has it.
pub fn group(key: &str) -> Group {
    let groups = [
        Group::new(1, "point", "point queries", "point"),
        Group::new(2, "range", "range queries without aggregation", "range"),
        Group::new(3, "range-aggregate", "range queries with aggregation", "range with aggregation"),
        Group::new(4, "write", "writes", "writes"),
        Group::consecutive(1, "insert", "inserts"),
        Group::consecutive(2, "background", "queries beside writes"),
    ];
    groups.into_iter().find(|group| group.key == key).unwrap_or_else(|| panic!("no group {key}"))
}

/// A run of the microbenchmarks as a sequence, with two clients.
pub fn meta(name: &str) -> Meta {
    Meta {
        name: name.into(),
        program_version: "0.1.0".into(),
        created_at_ms: BEGUN_AT_MS,
        workload: "microbenchmarks".into(),
        workload_title: "microbenchmarks".into(),
        workload_revision: "1".into(),
        protocol: "sequence".into(),
        seed: 42,
        tables: 1,
        rows_per_table: 1_000,
        clients: 2,
        actions_total: 0,
        method: vec![],
    }
}

/// A Postgres arm; all have the same config.
pub fn arm(name: &str, role: Role, version: &str) -> Arm {
    Arm {
        name: name.into(),
        role,
        control: false,
        dbms: "postgres".into(),
        build_version: version.into(),
        build_hash: format!("{:0>8}aabbccdd", version.replace('.', "")),
        build_origin: "registry".into(),
        build_version_text: format!("PostgreSQL {version} on x86_64-pc-linux-gnu, compiled by gcc"),
        config_name: "sized".into(),
        config_hash: "c0ffee00c0ffee00".into(),
        config_text: "jit=off\n".into(),
        left_out: vec![],
        managed: vec![],
        env: BTreeMap::new(),
        after_load: vec![],
        facts: vec![],
        settings: vec![],
    }
}

pub fn setting(name: &str, value: &str) -> Setting {
    Setting { name: name.into(), value: value.into() }
}

/// A step that measures the test of its name, or settles if the group is empty.
pub fn step(position: usize, name: &str, group: &str) -> PlannedStep {
    let measures = !group.is_empty();
    PlannedStep {
        position: position as u32,
        name: name.into(),
        kind: if measures { "measure" } else { "settle" }.into(),
        test: measures.then(|| name.into()),
        group: measures.then(|| self::group(group)),
        writes: matches!(group, "write" | "insert" | "background"),
        role: measures.then_some(StepRole::Test),
        clients: 2,
        amount: if measures { "100 s" } else { "at most 60 s" }.into(),
    }
}

pub fn record(seq: u32, arm: &str, kind: &str, step: &str) -> ActionRecord {
    ActionRecord {
        seq,
        arm: arm.into(),
        kind: kind.into(),
        step: step.into(),
        attempt: 1,
        started_at_ms: BEGUN_AT_MS,
        finished_at_ms: BEGUN_AT_MS + 1_500,
        outcome: Outcome::Done,
        note: None,
    }
}

/// A window of `seconds` with `queries` queries, each of which found a row.
pub fn window(test: &str, group: &str, queries: u64, seconds: f64) -> Window {
    Window {
        test: test.into(),
        group: group.into(),
        role: StepRole::Test,
        position: 1,
        clients: 2,
        seed: Some(42),
        started_at_ms: Some(BEGUN_AT_MS),
        warmup_us: Some(0),
        elapsed_us: (seconds * 1e6) as u64,
        ended_by: EndedBy::Time,
        unit: QUERIES,
        operations: queries as f64,
        target_events_per_s: None,
        pacer: None,
        events: Some(queries),
        queries: Some(queries),
        statements: Some(queries),
        statements_working: Some(queries),
        noop_statements: Some(0),
        rows: Some(queries),
        errors: Some(0),
        retries: BTreeMap::new(),
    }
}

pub fn counter(view: &str, object: &str, column: &str, rose_by: f64) -> Counter {
    Counter {
        view: view.into(),
        object: object.into(),
        column: column.into(),
        before: Some(0.0),
        after: Some(rose_by),
    }
}

/// A profile of one second with its stacks in `file`.
pub fn profile(test: &str, group: &str, file: &str) -> Profile {
    Profile {
        test: test.into(),
        group: group.into(),
        clients: 1,
        events: 1_000,
        operations: 1_000.0,
        elapsed_us: 1_000_000,
        sampled_by: "perf 6.1".into(),
        event: "cpu-clock".into(),
        frequency_hz: 499.0,
        call_graph: "dwarf".into(),
        samples: 100,
        lost_samples: 0,
        unresolved_samples: 0,
        file: file.into(),
        note: None,
    }
}
