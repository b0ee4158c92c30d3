//! The microbenchmarks in plans: the keys of `[workload]`, the steps, and the options of single tests.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_model::grouped;
use rqps_model::{Limit, Role, Warmup};
use rqps_plan::reader::{Found, Section};
use rqps_plan::{
    ActionKind, Benchmark, BenchmarkParts, Driver, Plan, Problems, Protocol, Reading, StepDef, TestOptions,
    Work, Workload, Workplan, limits, section_of_key, shared,
};
use serde::Serialize;
use toml::Table;
use toml::de::DeValue;

use super::step::{self, SUFFIXES, test_and_role};
use super::{SCAN_WARMUP_SECONDS, sequence, test_by_name, tests};
use crate::model::Test;

const WORKLOAD_KEYS: [&str; 15] = [
    "benchmark",
    "tables",
    "rows",
    "clients",
    "read_seconds",
    "write_seconds",
    "write_work",
    "warmup_seconds",
    "delete_share_max",
    "driver",
    "transport",
    "vacuum_after_load",
    "settle_seconds_max",
    "pre_tests",
    "steps",
];
const TEST_KEYS: [&str; 6] =
    ["seconds", "events", "rate_per_second", "clients", "warmup_seconds", "rate_mei_percent"];
/// Keys that apply only to the protocol `sequence`.
const SEQUENCE_KEYS: [&str; 5] =
    ["read_seconds", "write_seconds", "write_work", "pre_tests", "warmup_seconds"];

/// The 32 microbenchmarks.
pub struct Microbenchmarks;

impl Benchmark for Microbenchmarks {
    fn id(&self) -> &'static str {
        "microbenchmarks"
    }

    fn title(&self) -> &'static str {
        "microbenchmarks"
    }

    fn revision(&self) -> &'static str {
        "1"
    }

    fn section_of_key(&self, key: &str) -> Option<&'static str> {
        WORKLOAD_KEYS.contains(&key).then_some("[workload]")
    }

    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts {
        read(plan)
    }
}

/// Estimated writing events of one client, each with its commit.
const WRITES_PER_SECOND: f64 = 500.0;

/// The part of a plan that is specific to the microbenchmarks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MicroPlan {
    pub tables: u32,
    /// Rows per table after the load.
    pub rows: u64,
    /// Seconds of a window that reads.
    pub read_seconds: u32,
    /// Seconds of a window that writes.
    pub write_seconds: u32,
    pub write_work: WriteWork,
    #[serde(rename = "warmup_seconds")]
    pub warmup: Warmup,
    /// The `delete` test stops after deleting this share of the rows; 1.0 for no limit.
    pub delete_share_max: f64,
    /// Whether VACUUM ANALYZE runs between load and first step.
    pub vacuum_after_load: bool,
}

/// What ends a step that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteWork {
    /// Base runs for a given time; every other arm does exactly the operations that base did.
    AsBase,
    /// Every arm runs for a given time, so a faster arm changes more rows.
    Time,
}

impl WriteWork {
    /// The word in plans.
    pub(crate) fn key(self) -> &'static str {
        match self {
            WriteWork::AsBase => "as-base",
            WriteWork::Time => "time",
        }
    }
}

fn read(plan: &Reading<'_>) -> BenchmarkParts {
    let (section, problems) = (plan.workload, plan.problems);
    section.check_keys(&WORKLOAD_KEYS, |key| match key {
        "events" | "rate_per_second" | "seconds" => Some("a table such as [test.scan]".to_owned()),
        _ if plan.plan_keys.contains(&key) => Some(shared::TOP.to_owned()),
        _ => section_of_key(plan.benchmarks, key),
    });
    if section.node("rows").is_none() {
        let remedy = "Say how many rows each table has.";
        problems.missing(&section.at, section.place_of("rows"), "missing", remedy);
    }
    let small =
        |key, range, default: u32| section.integer(key, range).map_or(default, |found| found.value as u32);
    let tables = small("tables", limits::TABLES, 1);
    let rows = section.integer("rows", limits::ROWS).map_or(*limits::ROWS.end(), |found| found.value);
    let settle_default = limits::settle_seconds_default(u64::from(tables) * rows);
    let work = MicroPlan {
        tables,
        rows,
        read_seconds: small("read_seconds", limits::WINDOW_SECONDS, 600),
        write_seconds: small("write_seconds", limits::WINDOW_SECONDS, 900),
        write_work: section
            .choice("write_work", &[("as-base", WriteWork::AsBase), ("time", WriteWork::Time)])
            .unwrap_or(WriteWork::AsBase),
        warmup: shared::warmup(section, problems).unwrap_or(Warmup::Time(Duration::from_secs(5))),
        delete_share_max: section
            .number("delete_share_max", limits::DELETE_SHARE)
            .map_or(0.5, |found| found.value),
        vacuum_after_load: section.boolean("vacuum_after_load").is_some_and(|found| found.value),
    };
    let listed = read_steps(section, problems);
    let clients = shared::clients(section, problems, plan.protocol);
    let mut workload = Workload {
        clients: clients[0],
        driver: shared::driver(section, problems, &[Driver::Rqps, Driver::Sysbench]),
        transport: shared::transport(section),
        settle_seconds_max: small("settle_seconds_max", limits::SETTLE_SECONDS, settle_default),
        steps: match plan.protocol {
            Protocol::Isolated if section.node("steps").is_none() => {
                tests().iter().map(|test| test.name.to_owned()).collect()
            }
            _ => listed.iter().map(|step| step.value.clone()).collect(),
        },
    };
    let mut tests = read_tests(plan.top, problems, &workload, &unknown_step, ALL_TESTS);
    workload.steps = shared::each_with_clients(workload.steps, &clients);
    shared::add_clients(&mut tests, &workload.steps);
    if plan.protocol == Protocol::Sequence {
        warn(&Parts { section, problems, work: &work, workload: &workload, tests: &tests }, &listed);
    }
    BenchmarkParts { workload, tests, work: Work::new(work) }
}

impl Workplan for MicroPlan {
    fn benchmark(&self) -> &'static dyn Benchmark {
        &Microbenchmarks
    }

    fn own_keys(&self) -> Table {
        shared::table_of(self)
    }

    fn tables(&self) -> u32 {
        self.tables
    }

    fn table_name(&self, number: u32) -> String {
        crate::dialect::table_name(number)
    }

    /// On Postgres: 221 bytes of the table, and 24 of each of the two indexes.
    fn row_bytes(&self) -> u64 {
        270
    }

    fn rows_per_table(&self) -> u64 {
        self.rows
    }

    fn step(&self, name: &str, workload: &Workload, all: &BTreeMap<String, TestOptions>) -> Option<StepDef> {
        let (test, role) = test_and_role(name);
        let test = test_by_name(test)?;
        let options = options_of(all, name);
        // Published set-ups run write-only for the read time.
        let seconds = match (test.name, role) {
            ("scan", Role::Warm) => SCAN_WARMUP_SECONDS.min(self.read_seconds),
            ("write-only", _) => self.read_seconds,
            _ if test.writes() => self.write_seconds,
            _ => self.read_seconds,
        };
        let clients_equal_tables = test.name == "point-query" && role == Role::Warm;
        let clients = if clients_equal_tables { self.tables } else { workload.clients };
        let seconds = options.seconds.unwrap_or(seconds);
        Some(StepDef {
            name: name.to_owned(),
            position: 0,
            test: test.name.to_owned(),
            group: test.group,
            role,
            clients: options.clients.unwrap_or(clients),
            limit: options.events.map_or(Limit::Time(Duration::from_secs(seconds.into())), Limit::Events),
            as_base: test.writes() && self.repeats_base(),
            warmup: options.warmup.unwrap_or(self.warmup),
            rate_per_second: options.rate_per_second,
            removed_share_max: Some(self.delete_share_max).filter(|share| test.shrinks && *share < 1.0),
            writes: test.writes(),
            writes_by_time: false,
            shrinks: test.shrinks,
            operations_per_event: test.operations_per_event(self.rows),
        })
    }

    fn check(&self, top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
        check_sysbench(self, top, problems, plan);
        if plan.protocol == Protocol::Isolated {
            check_blocks(top, problems, plan);
        }
    }

    fn has_independent_tests(&self) -> bool {
        true
    }

    fn repeats_base(&self) -> bool {
        self.write_work == WriteWork::AsBase
    }

    fn vacuums_after_load(&self) -> bool {
        self.vacuum_after_load
    }

    fn estimate_seconds(&self, kind: &ActionKind) -> Option<f64> {
        // Fixed work without a rate: assume the length of a window that ends by time, and no slow disk for writes.
        match kind {
            ActionKind::Measure(step) => match (&step.limit, step.rate_per_second) {
                (Limit::Events(events), None) if step.writes => {
                    Some((*events as f64 / WRITES_PER_SECOND).min(f64::from(self.write_seconds)))
                }
                (Limit::Events(_), None) => Some(f64::from(self.read_seconds)),
                _ => None,
            },
            _ => None,
        }
    }

    fn summary(&self) -> String {
        let writes = match self.write_work {
            WriteWork::AsBase => "every arm does the writes that base did",
            WriteWork::Time => "every arm writes as much as its time allows",
        };
        format!("warm-up {}; {writes}", shared::warmup_text(self.warmup))
    }

    fn warmup(&self) -> Warmup {
        self.warmup
    }

    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let delete = ("delete stops at", format!("{} of the rows", self.delete_share_max));
        let connections = ("connections", plan.workload.transport.text().to_owned());
        let settle = ("settle at most", format!("{} s", plan.workload.settle_seconds_max));
        if let Some(isolated) = &plan.isolated {
            let blocks = shared::method_of_blocks(self, isolated).into_iter();
            return blocks.chain([connections, delete, settle]).collect();
        }
        let writes = match self.write_work {
            WriteWork::AsBase => "base by time, every other arm exactly base's operations",
            WriteWork::Time => "every arm by time",
        };
        let warmup = match self.warmup {
            Warmup::Time(time) => format!("{} s", time.as_secs_f64()),
            Warmup::Detect => "until the rate is steady".to_owned(),
        };
        vec![
            ("read window", format!("{} s", self.read_seconds)),
            ("write window", format!("{} s", self.write_seconds)),
            ("work of writes", writes.to_owned()),
            ("warm-up", warmup),
            connections,
            delete,
            settle,
            ("vacuum after load", if self.vacuum_after_load { "yes" } else { "no" }.to_owned()),
        ]
    }
}

/// The options of a step: its own, and for `TEST.pre` also those of `TEST`. A warm-up does not inherit from
/// its test.
fn options_of(all: &BTreeMap<String, TestOptions>, step: &str) -> TestOptions {
    let own = all.get(step).cloned().unwrap_or_default();
    let Some(test) = step.strip_suffix(".pre").and_then(|test| all.get(test)) else {
        return own;
    };
    let has_length = own.seconds.is_some() || own.events.is_some();
    TestOptions {
        seconds: if has_length { own.seconds } else { test.seconds },
        events: if has_length { own.events } else { test.events },
        rate_per_second: own.rate_per_second.or(test.rate_per_second),
        clients: own.clients.or(test.clients),
        warmup: own.warmup.or(test.warmup),
        rate_mei_percent: own.rate_mei_percent.or(test.rate_mei_percent),
    }
}

/// Names of the steps: those listed in the plan, or the benchmark's own.
fn read_steps(workload: &Section<'_>, problems: &Problems<'_>) -> Vec<Found<String>> {
    let pre_tests = workload.boolean("pre_tests");
    let repeated = |name: &str| match name.contains('.') {
        true => shared::KEEP_ONE.to_owned(),
        false => format!("Keep one; an early pass is called \"{name}.pre\", a warm-up \"{name}.warm\"."),
    };
    let Some(steps) = shared::listed_steps(workload, problems, &unknown_step, &repeated) else {
        let all = sequence(pre_tests.is_some_and(|found| found.value));
        return all.into_iter().map(|value| Found { value, at: workload.at.clone() }).collect();
    };
    if let Some(Found { at, .. }) = pre_tests {
        let remedy = "Remove it, and list the .pre tests you want in `steps`.";
        problems.error(&at, workload.place_of("pre_tests"), "has no effect beside `steps`", remedy);
    }
    steps
}

/// The remedy for an unknown step name; `None` if the name is known.
fn unknown_step(name: &str) -> Option<String> {
    if step::is_known(name) {
        return None;
    }
    let all =
        "Write a test's name, TEST.pre, TEST.warm, or settle; `rqps plan show small-server` lists them all.";
    Some(step::did_you_mean(name).unwrap_or_else(|| all.to_owned()))
}

/// The place of keys that are of all tests.
pub(crate) const ALL_TESTS: &str = "[workload], for all tests";

/// Reads the tables `[test.NAME]`, by step name. `home_of_rows` says where the rows of a test are written.
pub(crate) fn read_tests(
    top: &Section<'_>,
    problems: &Problems<'_>,
    workload: &Workload,
    unknown_step: &dyn Fn(&str) -> Option<String>,
    home_of_rows: &str,
) -> BTreeMap<String, TestOptions> {
    let mut found = BTreeMap::new();
    if let Some((at, DeValue::Array(_))) = top.node("test").map(|(at, node)| (at, node.get_ref())) {
        let remedy = "[test.NAME] has options of one test. Statements of your own are tests of `benchmark = \"sql\"`: \
                      write them in [sql.tests], what is to be there before in `schema` of [sql], and what one arm \
                      alone has in its `after_load`.";
        problems.error(&at, "[[test]]", "a plan has no such list", remedy);
        return found;
    }
    let Some(all) = top.table("test", "[test.NAME]") else {
        return found;
    };
    for (name, key_at, _) in all.entries() {
        let place = format!("[test.{}]", shared::toml_key(name));
        let known = shared::check_step(problems, &place, &key_at, name, unknown_step);
        if name == shared::SETTLE {
            let remedy = "Its cap is `settle_seconds_max` in [workload].";
            problems.error(&key_at, place, "a settle step has no options of its own", remedy);
            continue;
        }
        let Some(section) = all.table(name, &place) else {
            continue;
        };
        check_test_keys(&section, name, home_of_rows);
        let options = read_options(&section, problems, name, workload);
        let runs = |step: &String| {
            step == name || step.strip_suffix(".pre") == Some(name) || shared::without_clients(step).0 == name
        };
        let used = workload.steps.iter().any(runs);
        if known && !used {
            let remedy = format!("Add \"{name}\" to `steps`, or remove this table.");
            problems.warn(&key_at, place, "has no effect: the plan has no step of this name", remedy);
        }
        found.insert(name.to_owned(), options);
    }
    found
}

/// Also catches `[test.scan.warm]`, which in TOML is a table in `[test.scan]`, not the step `scan.warm`.
fn check_test_keys(section: &Section<'_>, name: &str, home_of_rows: &str) {
    section.check_keys(&TEST_KEYS, |key| match key {
        "rows" => Some(home_of_rows.to_owned()),
        "tables" | "driver" | "transport" | "delete_share_max" => Some(ALL_TESTS.to_owned()),
        _ if SUFFIXES.contains(&key) => {
            Some(format!("a table of its own: [test.\"{name}.{key}\"], with the quotes"))
        }
        _ => None,
    });
}

fn read_options(
    section: &Section<'_>,
    problems: &Problems<'_>,
    name: &str,
    workload: &Workload,
) -> TestOptions {
    let seconds = section.integer("seconds", limits::WINDOW_SECONDS);
    let events = section.integer("events", limits::EVENTS);
    let clients = section.integer("clients", limits::CLIENTS);
    if let (Some(_), Some(events)) = (&seconds, &events) {
        let remedy = "Keep `seconds` for a fixed time or `events` for fixed work.";
        problems.error(
            &events.at,
            section.place_of("events"),
            "a step ends by time or by work, not both",
            remedy,
        );
    }
    if let Some(events) = &events {
        let clients = clients.as_ref().map_or(u64::from(workload.clients), |found| found.value);
        if events.value < clients {
            let what = format!("{} events leave some of the {} clients without any", events.value, clients);
            problems.error(
                &events.at,
                section.place_of("events"),
                what,
                format!("Write at least {}.", grouped(clients, '_')),
            );
        }
    }
    let rate = section.number("rate_per_second", limits::RATE_PER_SECOND);
    if let (Some(rate), true) = (&rate, name.ends_with(".warm") || name.ends_with(".warmpre")) {
        let remedy = "Remove it: a warm-up runs as fast as it can.";
        problems.error(&rate.at, section.place_of("rate_per_second"), "a warm-up has no rate", remedy);
    }
    TestOptions {
        seconds: seconds.map(|found| found.value as u32),
        events: events.map(|found| found.value),
        rate_per_second: rate.map(|found| found.value),
        clients: clients.map(|found| found.value as u32),
        warmup: shared::warmup(section, problems),
        rate_mei_percent: section.number("rate_mei_percent", limits::MEI_PERCENT).map(|found| found.value),
    }
}

/// The parts of a plan that are checked for likely mistakes.
struct Parts<'a> {
    section: &'a Section<'a>,
    problems: &'a Problems<'a>,
    work: &'a MicroPlan,
    workload: &'a Workload,
    tests: &'a BTreeMap<String, TestOptions>,
}

/// Warns of what is allowed but rarely intended.
fn warn(parts: &Parts<'_>, steps: &[Found<String>]) {
    let Parts { section, problems, work, workload, tests } = *parts;
    let tested: Vec<(&Found<String>, &Test, Role)> = steps
        .iter()
        .filter_map(|found| {
            let (test, role) = test_and_role(&found.value);
            Some((found, test_by_name(test)?, role))
        })
        .collect();
    if let Some(shrunk) = tested.iter().position(|(_, test, _)| test.shrinks) {
        for (found, test, _) in tested[shrunk..].iter().filter(|(_, test, _)| !test.writes()) {
            let what = format!(
                "\"{}\" comes after \"{}\", so it reads deleted rows",
                test.name, tested[shrunk].1.name
            );
            problems.warn(&found.at, section.place_of("steps"), what, "List the reads before the deletes.");
        }
    }
    if let Some((found, ..)) =
        tested.iter().find(|(_, test, role)| test.name == "scan" && *role == Role::Test)
    {
        let options = tests.get(&found.value);
        let clients = options.and_then(|options| options.clients).unwrap_or(workload.clients);
        if clients > work.tables {
            let what =
                format!("more clients ({clients}) than tables ({}): some scan the same table", work.tables);
            let at = if found.at == section.at { section.key_at("clients") } else { found.at.clone() };
            problems.warn(&at, "scan", what, "For one table a client, set clients in [test.scan].");
        }
    }
    let widest = tested.iter().map(|(_, test, _)| u64::from(test.range)).max().unwrap_or(0);
    if widest > work.rows {
        let what = format!("ranges of {widest} rows are wider than a table of {} rows", work.rows);
        problems.warn(
            &section.key_at("rows"),
            section.place_of("rows"),
            what,
            format!("Write at least {widest}."),
        );
    }
    if work.write_work == WriteWork::Time && tested.iter().any(|(_, test, _)| test.writes()) {
        let what = "a faster arm changes more rows, so the steps after a write start from different tables";
        let remedy = "Use \"as-base\" unless the run is to match older results.";
        problems.warn(&section.key_at("write_work"), section.place_of("write_work"), what, remedy);
    }
}

/// Reports options that sysbench does not support.
fn check_sysbench(work: &MicroPlan, top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
    if plan.workload.driver != Driver::Sysbench {
        return;
    }
    const WARMUP_REMEDY: &str = "Write a number of seconds: sysbench can't tell when its rate has settled.";
    const RATE_REMEDY: &str =
        "Remove it: given a rate, sysbench sends at random intervals, not at even ones.";
    let not_with_sysbench = |section: &Section<'_>, key: &str, remedy: &str| {
        problems.error(&section.key_at(key), section.place_of(key), shared::NOT_WITH_SYSBENCH, remedy);
    };
    if let Some(workload) = top.table("workload", "[workload]")
        && work.warmup == Warmup::Detect
        && plan.protocol == Protocol::Sequence
    {
        not_with_sysbench(&workload, "warmup_seconds", WARMUP_REMEDY);
    }
    let Some(tests) = top.table("test", "[test.NAME]") else {
        return;
    };
    for (name, options) in &plan.tests {
        let Some(section) = tests.table(name, &format!("[test.{}]", shared::toml_key(name))) else {
            continue;
        };
        if options.warmup == Some(Warmup::Detect) {
            not_with_sysbench(&section, "warmup_seconds", WARMUP_REMEDY);
        }
        if options.rate_per_second.is_some() {
            not_with_sysbench(&section, "rate_per_second", RATE_REMEDY);
        }
    }
}

/// Reports what does not apply to the protocol `isolated`.
fn check_blocks(top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
    let Some(section) = top.table("workload", "[workload]") else {
        return;
    };
    for key in SEQUENCE_KEYS {
        if let Some((at, _)) = section.node(key) {
            let remedy = "Remove it; windows of blocks are given by [isolated] window_seconds.";
            problems.warn(&at, section.place_of(key), "has no effect with protocol = \"isolated\"", remedy);
        }
    }
    let is_not_a_test =
        |name: &&String| step::is_known(name) && test_by_name(shared::without_clients(name).0).is_none();
    for name in plan.workload.steps.iter().filter(is_not_a_test) {
        let remedy = "List tests alone: every test starts from the same data, warmed up.";
        let what = format!("\"{name}\" is not a test; protocol \"isolated\" runs only tests");
        problems.error(&section.key_at("steps"), section.place_of("steps"), what, remedy);
    }
}
