//! What a plan says of the Insert Benchmark: `[insert]`, and what of the rest means nothing there.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_model::Pacer;
use rqps_workloads::insert_benchmark::{self, DeleteForm, RATE_MAX, RATES, Sizes, is_rate};
use serde::{Serialize, Serializer};

use crate::driver::{self, Driver};
use crate::insert_steps;
use crate::limits;
use crate::memory::Memory;
use crate::model::{Benchmark, Plan, Protocol, TestOptions, Transport, Workload, WriteWork};
use crate::problem::Problems;
use crate::profile::ProfileAfter;
use crate::reader::{Found, Section, grouped};
use rqps_model::{BuildSource, Dbms, Warmup};

pub(crate) const INSERT_KEYS: [&str; 12] = [
    "size",
    "load_rows",
    "write_rows",
    "query_seconds",
    "settle_seconds",
    "rates",
    "delete_form",
    "pacer",
    "ends_by",
    "shared_table",
    "partitions",
    "server_memory",
];
const WORKLOAD_KEYS: [&str; 6] =
    ["benchmark", "clients", "driver", "transport", "settle_seconds_max", "steps"];
/// Keys of `[workload]` that are of the microbenchmarks alone, and what to do instead.
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

/// How the Insert Benchmark is run. Rows are of one client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InsertOptions {
    /// Rows of l.i0.
    pub load_rows: u64,
    /// Rows of l.i1 and l.i2 together, 4 to 1.
    pub write_rows: u64,
    /// Seconds that a query step lasts at its rate.
    pub query_seconds: u32,
    /// A settle lasts at least so many seconds, and one more for each million rows loaded, but at most
    /// [`limits::QUEUE_SETTLE_SECONDS_MAX`].
    pub settle_seconds: u32,
    /// How a delete names its rows.
    #[serde(serialize_with = "delete_form_key")]
    pub delete_form: DeleteForm,
    /// How writes of a given rate are spread over a second.
    #[serde(serialize_with = "pacer_key")]
    pub pacer: Pacer,
    /// What ends a query step.
    pub ends_by: EndsBy,
    /// All clients use one table, and nothing is deleted.
    pub shared_table: bool,
    /// Ranges of the primary key that a table is divided into; below two it is not.
    #[serde(skip_serializing_if = "is_zero")]
    pub partitions: u32,
    /// The server may use no more memory than this, the page cache of its files included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_memory: Option<Memory>,
}

/// What ends a query step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndsBy {
    /// Its rows are in, however long that takes: every arm does the same.
    #[default]
    Rows,
    /// Its time is over, however many rows are in.
    Time,
}

impl EndsBy {
    /// The word in plans and result files.
    pub fn key(self) -> &'static str {
        match self {
            EndsBy::Rows => "rows",
            EndsBy::Time => "time",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Preset {
    load_rows: u64,
    write_rows: u64,
    query_seconds: u32,
    settle_seconds: u32,
}

/// `write_rows` over `load_rows`, how often the table is turned over, is what they have in common: a half at small
/// scale, 5/3 in the published cached set-up, 1/160 in the published IO-bound one.
const PRESETS: [(&str, Preset); 5] = [
    ("smoke", Preset { load_rows: 100_000, write_rows: 50_000, query_seconds: 5, settle_seconds: 0 }),
    ("mini", Preset { load_rows: 1_000_000, write_rows: 500_000, query_seconds: 40, settle_seconds: 0 }),
    ("small", Preset { load_rows: 5_000_000, write_rows: 2_500_000, query_seconds: 180, settle_seconds: 55 }),
    (
        "cached",
        Preset { load_rows: 30_000_000, write_rows: 50_000_000, query_seconds: 1_800, settle_seconds: 60 },
    ),
    (
        "io-bound",
        Preset { load_rows: 800_000_000, write_rows: 5_000_000, query_seconds: 1_800, settle_seconds: 60 },
    ),
];
/// The size of a plan that names none.
const PRESET_DEFAULT: Preset = PRESETS[1].1;

impl InsertOptions {
    /// How much the steps do, with so many clients.
    pub fn sizes(&self, clients: u32) -> Sizes {
        Sizes {
            load_rows: self.load_rows,
            write_rows: self.write_rows,
            query_seconds: self.query_seconds,
            clients,
            shared_table: self.shared_table,
        }
    }

    /// Seconds that a settle lasts at least.
    pub fn settle_seconds_min(&self, clients: u32) -> u32 {
        let rows = self.load_rows.saturating_mul(u64::from(clients));
        let seconds = u64::from(self.settle_seconds).saturating_add(rows.saturating_add(500_000) / 1_000_000);
        // Where a plan asks for none, at small scale, the share of the rows would be all of it.
        if self.settle_seconds == 0 { 0 } else { seconds.min(limits::QUEUE_SETTLE_SECONDS_MAX) as u32 }
    }
}

/// What a plan says of the benchmark.
pub(crate) struct FoundInsert {
    pub workload: Workload,
    pub tests: BTreeMap<String, TestOptions>,
    pub options: InsertOptions,
}

/// Reads a plan whose benchmark this is.
pub(crate) fn read(top: &Section<'_>, workload: &Section<'_>, problems: &Problems<'_>) -> FoundInsert {
    check_workload_keys(workload, problems);
    let section = top.table("insert", "[insert]");
    let options =
        section.as_ref().map_or_else(|| defaults(PRESET_DEFAULT), |section| read_options(section, problems));
    let rates = section.as_ref().and_then(|section| read_rates(section, workload, problems));
    let clients = workload.integer("clients", limits::CLIENTS).map_or(1, |found| found.value as u32);
    let sizes = options.sizes(clients);
    let steps = insert_steps::read(workload, problems, rates.as_deref().unwrap_or(&RATES));
    let workload = Workload {
        benchmark: Benchmark::Insert,
        tables: if options.shared_table { 1 } else { clients },
        rows: sizes.load_rows * if options.shared_table { u64::from(clients) } else { 1 },
        clients,
        read_seconds: options.query_seconds,
        write_seconds: options.query_seconds,
        write_work: WriteWork::Time,
        warmup: Warmup::Time(Duration::ZERO),
        delete_share_max: 1.0,
        driver: read_driver(workload, problems),
        transport: workload
            .choice("transport", &[("unix", Transport::Unix), ("tcp", Transport::Tcp)])
            .unwrap_or(Transport::Unix),
        vacuum_after_load: false,
        settle_seconds_max: read_settle_max(workload, problems, &options, clients),
        steps,
    };
    let tests = insert_steps::read_tests(top, problems, &workload.steps);
    FoundInsert { workload, tests, options }
}

fn defaults(preset: Preset) -> InsertOptions {
    InsertOptions {
        load_rows: preset.load_rows,
        write_rows: preset.write_rows,
        query_seconds: preset.query_seconds,
        settle_seconds: preset.settle_seconds,
        delete_form: DeleteForm::default(),
        pacer: Pacer::Even,
        ends_by: EndsBy::default(),
        shared_table: false,
        partitions: 0,
        server_memory: None,
    }
}

fn read_options(section: &Section<'_>, problems: &Problems<'_>) -> InsertOptions {
    section.check_keys(&INSERT_KEYS, |key| match key {
        "clients" | "steps" | "transport" | "settle_seconds_max" => Some("[workload]".to_owned()),
        "rate_mei_percent" => Some("a table such as [test.\"l.i1\"]".to_owned()),
        _ => None,
    });
    let preset = section.choice("size", &PRESETS).unwrap_or(PRESET_DEFAULT);
    let load_rows =
        section.integer("load_rows", limits::LOAD_ROWS).map_or(preset.load_rows, |found| found.value);
    // Another number of rows is turned over as often as the preset's.
    let turned_over = u128::from(load_rows) * u128::from(preset.write_rows) / u128::from(preset.load_rows);
    let turned_over = u64::try_from(turned_over).unwrap_or(u64::MAX);
    let seconds =
        |key, range, default: u32| section.integer(key, range).map_or(default, |found| found.value as u32);
    let ends_by = section.choice("ends_by", &[EndsBy::Rows, EndsBy::Time].map(|ends| (ends.key(), ends)));
    if ends_by == Some(EndsBy::Time) {
        let what = "an arm that does not keep the rate inserts fewer rows, so the steps after start from unlike tables";
        let remedy = "Use \"rows\" unless a step must not last longer.";
        problems.warn(&section.key_at("ends_by"), section.place_of("ends_by"), what, remedy);
    }
    InsertOptions {
        load_rows,
        write_rows: section
            .integer("write_rows", limits::WRITE_ROWS)
            .map_or(turned_over.max(*limits::WRITE_ROWS.start()), |found| found.value),
        query_seconds: seconds("query_seconds", limits::WINDOW_SECONDS, preset.query_seconds),
        settle_seconds: seconds("settle_seconds", limits::QUEUE_SETTLE_SECONDS, preset.settle_seconds),
        delete_form: section
            .choice("delete_form", &DeleteForm::ALL.map(|form| (form.key(), form)))
            .unwrap_or_default(),
        pacer: section.choice("pacer", &Pacer::ALL.map(|pacer| (pacer.key(), pacer))).unwrap_or(Pacer::Even),
        ends_by: ends_by.unwrap_or_default(),
        shared_table: section.boolean("shared_table").is_some_and(|found| found.value),
        partitions: section.integer("partitions", limits::PARTITIONS).map_or(0, |found| found.value as u32),
        server_memory: read_memory(section, problems),
    }
}

fn read_memory(section: &Section<'_>, problems: &Problems<'_>) -> Option<Memory> {
    let Found { value, at } = section.text("server_memory")?;
    match value.parse::<Memory>() {
        Ok(memory) => Some(memory),
        Err(what) => {
            let remedy = "Write for example \"512MiB\" or \"16GiB\".";
            problems.error(&at, section.place_of("server_memory"), what, remedy);
            None
        }
    }
}

/// The rates of the query steps. They name the steps, so they mean nothing where these are listed.
fn read_rates(section: &Section<'_>, workload: &Section<'_>, problems: &Problems<'_>) -> Option<Vec<u32>> {
    let list = section.list("rates", "whole numbers")?;
    let place = section.place_of("rates");
    if workload.node("steps").is_some() {
        let remedy = "Remove it, and list steps such as \"qr100\" and \"qp100\".";
        problems.error(&list.at, place, "has no effect beside `steps`", remedy);
        return None;
    }
    if list.value.len() > limits::RATES_MAX {
        let what = format!("{} rates; a plan has at most {}", list.value.len(), limits::RATES_MAX);
        problems.error(&list.at, place, what, "Divide it into several plans.");
        return None;
    }
    let mut rates: Vec<u32> = Vec::new();
    for node in list.value {
        let number =
            node.get_ref().as_integer().and_then(|number| number.as_str().replace('_', "").parse().ok());
        match number {
            Some(rate) if is_rate(rate) && !rates.contains(&rate) => rates.push(rate),
            Some(rate) if is_rate(rate) => {
                problems.error(
                    &node.span(),
                    &place,
                    format!("{rate} is listed twice"),
                    "Keep one of the two.",
                );
            }
            _ => {
                let what = "not a rate that statements of whole rows can keep";
                problems.error(&node.span(), &place, what, rate_remedy());
            }
        }
    }
    Some(rates)
}

/// What a rate may be.
pub(crate) fn rate_remedy() -> String {
    let (batch, max) = (insert_benchmark::WRITE_BATCH_ROWS, grouped(u64::from(RATE_MAX)));
    format!("Write rows per second and client: 1 to {batch}, or a multiple of {batch} up to {max}.")
}

fn read_driver(workload: &Section<'_>, problems: &Problems<'_>) -> Driver {
    if driver::read(workload) == Driver::Sysbench {
        let what = "sysbench has no clients that move a queue";
        let remedy = "Remove it: rqps' own clients run this benchmark.";
        problems.error(&workload.key_at("driver"), workload.place_of("driver"), what, remedy);
    }
    Driver::Rqps
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
        "seed" | "name" | "passes" | "base" => {
            Some("the top of the file, before the first [section]".to_owned())
        }
        _ => None,
    });
}

/// Records an `[insert]` in a plan of another benchmark.
pub(crate) fn check_absent(top: &Section<'_>, problems: &Problems<'_>) {
    if let Some((at, _)) = top.node("insert") {
        let remedy = "Write benchmark = \"insert\" in [workload], or remove the table.";
        problems.error(&at, "[insert]", "the plan's benchmark is the microbenchmarks", remedy);
    }
}

/// What of the rest of a plan does not go with the benchmark.
pub(crate) fn check(top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
    let Some(options) = &plan.insert else {
        return;
    };
    if plan.protocol == Protocol::Isolated {
        let what =
            "blocks start every test from the same data, but the steps of this benchmark build on each other";
        let remedy = "Write protocol = \"sequence\"; with passes = 3 or more there are verdicts.";
        problems.error(&top.key_at("protocol"), "protocol", what, remedy);
    }
    if plan.profile.after != ProfileAfter::Never
        && let Some(section) = top.table("profile", "[profile]")
    {
        let remedy = "Remove it: profiles are taken of the microbenchmarks alone.";
        let what = "does not go with benchmark = \"insert\"";
        problems.error(&section.key_at("after"), section.place_of("after"), what, remedy);
    }
    let Some(section) = top.table("insert", "[insert]") else {
        return;
    };
    let is_old = |arm: &&crate::Arm| match &arm.build.source {
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

fn delete_form_key<S: Serializer>(form: &DeleteForm, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(form.key())
}

fn pacer_key<S: Serializer>(pacer: &Pacer, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(pacer.key())
}

fn is_zero(partitions: &u32) -> bool {
    *partitions == 0
}
