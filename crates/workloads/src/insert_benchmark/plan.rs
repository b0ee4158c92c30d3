//! The Insert Benchmark in plans: reads `[insert]`, and reports what does not apply to this benchmark.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use rqps_model::{BuildSource, Dbms, Limit, Role, Warmup, counted};
use rqps_plan::reader::Section;
use rqps_plan::{
    ActionKind, Arm, Benchmark, BenchmarkParts, Driver, Plan, Problems, ProfileAfter, Reading, StepDef,
    TestOptions, Work, Workload, Workplan, estimate, limits, shared,
};
use toml::Table;

use super::options::{self, EndsBy, INSERT_KEYS, InsertOptions};
use super::{RATES, Sizes, plan_steps, test_by_name};
use crate::model::Test;

const WORKLOAD_KEYS: [&str; 6] =
    ["benchmark", "clients", "driver", "transport", "settle_seconds_max", "steps"];
/// Keys of `[workload]` that only the microbenchmarks have, with remedies.
const NOT_HERE: [(&str, &str); 9] = [
    (
        "tables",
        "Remove it: each client has a table of its own, or all share one with `shared_table` in [insert].",
    ),
    ("rows", "Write `load_rows`, or a `size`, in [insert]."),
    ("read_seconds", "Write `query_seconds` in [insert]."),
    (
        "write_seconds",
        "Remove it: l.* steps end when their rows are in; [insert] has `load_rows` and `write_rows`.",
    ),
    ("write_work", "Remove it: every arm inserts and deletes the same rows."),
    ("warmup_seconds", "Remove it: a warm-up would move the queue."),
    ("delete_share_max", "Remove it: a step deletes as many rows as it inserts."),
    ("vacuum_after_load", "Remove it, and list \"settle\" among the steps: it vacuums."),
    ("pre_tests", "Remove it: this benchmark has no early passes."),
];

pub struct InsertBenchmark;

impl Benchmark for InsertBenchmark {
    fn id(&self) -> &'static str {
        "insert"
    }

    fn title(&self) -> &'static str {
        "Insert Benchmark"
    }

    fn revision(&self) -> &'static str {
        "1"
    }

    fn plan_tables(&self) -> &'static [&'static str] {
        &["insert"]
    }

    fn section_of_key(&self, key: &str) -> Option<&'static str> {
        INSERT_KEYS.contains(&key).then_some("[insert], with benchmark = \"insert\" here")
    }

    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts {
        read(plan)
    }
}

/// The part of a plan that is specific to the Insert Benchmark.
#[derive(Debug, Clone)]
pub struct InsertPlan {
    pub options: InsertOptions,
    pub clients: u32,
    /// Tests in the order of the steps.
    pub tests: Vec<&'static Test>,
}

fn read(plan: &Reading<'_>) -> BenchmarkParts {
    let Reading { top, workload, problems, .. } = *plan;
    check_workload_keys(workload, problems);
    let section = top.table("insert", "[insert]");
    let options = options::read(section.as_ref(), problems);
    let rates = section.as_ref().and_then(|section| options::read_rates(section, workload, problems));
    let clients = workload.integer("clients", limits::CLIENTS).map_or(1, |found| found.value as u32);
    let steps = plan_steps::read(workload, problems, rates.as_deref().unwrap_or(&RATES));
    let shared = Workload {
        clients,
        driver: shared::driver(workload, problems, &[Driver::Rqps]),
        transport: shared::transport(workload),
        settle_seconds_max: read_settle_max(workload, problems, &options, clients),
        steps,
    };
    let tests = plan_steps::read_tests(top, problems, &shared.steps);
    let measured = shared.steps.iter().filter_map(|name| test_by_name(name)).collect();
    BenchmarkParts {
        workload: shared,
        tests,
        work: Work::new(InsertPlan { options, clients, tests: measured }),
    }
}

impl InsertPlan {
    pub fn sizes(&self) -> Sizes {
        self.options.sizes(self.clients)
    }

    fn limit(&self, test: &Test) -> Limit {
        let has_rate = test.queue.is_some_and(|queue| queue.rows_per_second.is_some());
        if has_rate && self.options.ends_by == EndsBy::Time {
            return Limit::Time(Duration::from_secs(self.options.query_seconds.into()));
        }
        Limit::Rows(self.sizes().rows_of(test))
    }
}

impl Workplan for InsertPlan {
    fn benchmark(&self) -> &'static dyn Benchmark {
        &InsertBenchmark
    }

    fn own_keys(&self) -> Table {
        Table::new()
    }

    fn own_tables(&self) -> Table {
        Table::from_iter([("insert".to_owned(), shared::table_of(&self.options).into())])
    }

    fn tables(&self) -> u32 {
        if self.options.shared_table { 1 } else { self.clients }
    }

    fn table_name(&self, number: u32) -> String {
        super::table_name(number)
    }

    fn row_bytes(&self) -> u64 {
        200
    }

    fn rows_per_table(&self) -> u64 {
        let clients = if self.options.shared_table { u64::from(self.clients) } else { 1 };
        self.options.load_rows.saturating_mul(clients)
    }

    fn step(&self, name: &str, workload: &Workload, _all: &BTreeMap<String, TestOptions>) -> Option<StepDef> {
        let test = test_by_name(name)?;
        Some(StepDef {
            name: name.to_owned(),
            position: 0,
            test: test.name.to_owned(),
            group: test.group,
            role: Role::Test,
            clients: workload.clients,
            limit: self.limit(test),
            as_base: false,
            warmup: Warmup::Time(Duration::ZERO),
            rate_per_second: None,
            removed_share_max: None,
            writes: true,
            writes_by_time: false,
            shrinks: test.shrinks,
            operations_per_event: 1.0,
        })
    }

    fn check(&self, top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
        check(&self.options, top, problems, plan);
    }

    fn has_independent_tests(&self) -> bool {
        false
    }

    fn can_continue(&self) -> bool {
        true
    }

    fn settle_seconds_min(&self, clients: u32) -> u32 {
        self.options.settle_seconds_min(clients)
    }

    fn sessions_per_client(&self) -> u32 {
        4
    }

    fn server_memory_bytes_max(&self) -> Option<u64> {
        self.options.server_memory.map(|memory| memory.bytes)
    }

    fn estimate_seconds(&self, kind: &ActionKind) -> Option<f64> {
        match kind {
            // Only creates empty tables.
            ActionKind::Load(_) => Some(estimate::STEP_OVERHEAD_SECONDS),
            // A vacuum, and little else.
            ActionKind::Settle(_) => {
                let rows = self.rows_total();
                Some(SETTLE_SECONDS + rows as f64 / estimate::VACUUM_ROWS_PER_SECOND)
            }
            ActionKind::Measure(step) => match step.limit {
                Limit::Rows(rows) => Some(self.step_seconds(test_by_name(&step.test)?, rows as f64)),
                _ => None,
            },
            _ => None,
        }
    }

    fn summary(&self) -> String {
        options::summary(&self.options)
    }

    fn describe(&self, kind: &ActionKind) -> Option<String> {
        match kind {
            ActionKind::Load(_) => Some(counted(self.tables(), "table without rows")),
            ActionKind::Measure(step) => self.describe_step(step),
            _ => None,
        }
    }

    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let options = &self.options;
        let ends = match options.ends_by {
            EndsBy::Rows => format!("when {} s of rows at their rate are in", options.query_seconds),
            EndsBy::Time => format!("after {} s", options.query_seconds),
        };
        let tables = if options.shared_table { "one for all clients, no deletes" } else { "one a client" };
        let least = options.settle_seconds_min(self.clients);
        let memory = options.server_memory.map(|memory| ("server memory at most", memory.to_string()));
        let partitions = options.partitions;
        let partitions = (partitions > 1).then(|| ("partitions of a table", partitions.to_string()));
        let method = [
            ("rows of l.i0", format!("{} a client", options.load_rows)),
            ("rows of l.i1 and l.i2", format!("{} a client", options.write_rows)),
            ("query steps end", ends),
            ("pacer of background writes", options.pacer.key().to_owned()),
            ("form of deletes", options.delete_form.key().to_owned()),
            ("tables", tables.to_owned()),
            ("connections", plan.workload.transport.text().to_owned()),
            ("settle", format!("{least} to {} s", plan.workload.settle_seconds_max)),
        ];
        method.into_iter().chain(memory).chain(partitions).collect()
    }
}

// Rates for estimates. They vary with the load of the machine: l.i0 did 30,000 to 160,000 rows per second on
// two virtual CPUs.
/// Rows per second in l.i0, all clients together.
const LOAD_ROWS_PER_SECOND: f64 = 60_000.0;
/// Rows indexed per second in l.x, all tables together.
const INDEX_ROWS_PER_SECOND: f64 = 200_000.0;
/// Rows inserted and deleted per second in l.i1, all clients together.
const WRITE_ROWS_PER_SECOND: f64 = 12_000.0;
/// INSERT statements per second in l.i2, each with its DELETE, all clients together.
const STATEMENTS_PER_SECOND: f64 = 800.0;
/// Duration of a settle without its vacuum and its minimum time.
const SETTLE_SECONDS: f64 = 5.0;

impl InsertPlan {
    /// Estimated seconds of a step in which each client inserts `rows` rows.
    fn step_seconds(&self, test: &Test, rows: f64) -> f64 {
        let Some(queue) = test.queue else {
            return 0.0;
        };
        let all = rows * f64::from(self.clients);
        match queue.rows_per_second {
            Some(rate) => rows / f64::from(rate),
            None if queue.builds_indexes => self.rows_total() as f64 / INDEX_ROWS_PER_SECOND,
            None if !queue.deletes => all / LOAD_ROWS_PER_SECOND,
            None => {
                let by_statements = STATEMENTS_PER_SECOND * f64::from(queue.rows_per_statement);
                all / by_statements.min(WRITE_ROWS_PER_SECOND)
            }
        }
    }

    /// The step's work and limit, as text.
    fn describe_step(&self, step: &StepDef) -> Option<String> {
        let test = test_by_name(&step.test)?;
        let queue = test.queue?;
        let mut text = match step.limit {
            Limit::Rows(rows) if step.clients > 1 => format!("{} a client", counted(rows, "row")),
            Limit::Rows(rows) => counted(rows, "row"),
            _ => format!("{} s", self.options.query_seconds),
        };
        let _ = write!(text, " by {}", queue.rows_per_statement);
        if self.sizes().deletes(test) {
            text.push_str(", as many deleted");
        }
        if queue.builds_indexes {
            text.push_str(", then 3 indexes");
        }
        if let Some(rate) = queue.rows_per_second {
            let _ = write!(text, ", {rate}/s");
        }
        Some(text)
    }
}

fn read_settle_max(
    workload: &Section<'_>,
    problems: &Problems<'_>,
    options: &InsertOptions,
    clients: u32,
) -> u32 {
    let least = options.settle_seconds_min(clients);
    let Some(found) = workload.integer("settle_seconds_max", limits::SETTLE_SECONDS) else {
        let rows = options.load_rows.saturating_mul(u64::from(clients));
        return least + limits::settle_seconds_default(rows);
    };
    if found.value < u64::from(least) {
        let what = format!("{} s are less than a settle lasts at least, {least} s", found.value);
        let remedy = format!("Write at least {least}, or a smaller `settle_seconds` in [insert].");
        problems.error(&found.at, workload.place_of("settle_seconds_max"), what, remedy);
    }
    found.value as u32
}

fn check_workload_keys(workload: &Section<'_>, problems: &Problems<'_>) {
    let mut known = WORKLOAD_KEYS.to_vec();
    for (key, remedy) in NOT_HERE {
        known.push(key);
        if let Some((at, _)) = workload.node(key) {
            let what = "does not go with benchmark = \"insert\"";
            problems.error(&at, workload.place_of(key), what, remedy);
        }
    }
    workload.check_keys(&known, |key| match key {
        key if INSERT_KEYS.contains(&key) => Some("[insert]".to_owned()),
        "seed" | "name" | "passes" | "base" => Some(shared::TOP.to_owned()),
        _ => None,
    });
}

/// Reports what does not apply to this benchmark in the rest of the plan.
fn check(options: &InsertOptions, top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
    if plan.profile.after != ProfileAfter::Never
        && let Some(section) = top.table("profile", "[profile]")
    {
        let remedy = "Remove it: profiles need tests that do not build on each other.";
        let what = "does not go with benchmark = \"insert\"";
        problems.error(&section.key_at("after"), section.place_of("after"), what, remedy);
    }
    let Some(section) = top.table("insert", "[insert]") else {
        return;
    };
    let is_old = |arm: &&Arm| match &arm.build.source {
        BuildSource::Version(version) if arm.build.dbms == Dbms::Postgres => version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok())
            .is_some_and(|major| major < 11),
        _ => false,
    };
    if let (true, Some(arm)) = (options.partitions > 1, plan.arms.iter().find(is_old)) {
        let what = format!("arm \"{}\": Postgres has primary keys over partitions from 11 on", arm.name);
        let remedy = "Remove it, or the arm.";
        problems.error(&section.key_at("partitions"), section.place_of("partitions"), what, remedy);
    }
}
