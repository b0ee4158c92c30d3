//! db_bench in plans: reads `[db_bench]`, and reports what does not apply to this benchmark.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_model::{Dbms, Limit, Role, Warmup, counted, did_you_mean, grouped};
use rqps_plan::reader::Section;
use rqps_plan::{
    ActionKind, Benchmark, BenchmarkParts, Driver, Plan, Problems, ProfileAfter, Reading, StepDef,
    TestOptions, Transport, Work, Workload, Workplan, estimate, limits, shared,
};
use toml::Table;

use super::options::{self, DB_BENCH_KEYS, DbBenchOptions};
use super::{KEY_BYTES, Kind, OVERWRITESOME, OVERWRITTEN, SEQUENCE, TESTS, test_by_name};
use crate::microbenchmarks::{ALL_TESTS, WriteWork, read_tests};

const WORKLOAD_KEYS: [&str; 8] = [
    "benchmark",
    "clients",
    "driver",
    "transport",
    "write_work",
    "warmup_seconds",
    "settle_seconds_max",
    "steps",
];

/// Bytes of an entry besides key and value.
const ENTRY_OVERHEAD_BYTES: u64 = 8;
/// Disk space in use while levels are compacted, as a multiple of the entries: files of both sides of a compaction.
const SPACE_FACTOR: u64 = 2;
/// The same where keys are put again: with values that others have replaced.
const SPACE_FACTOR_OF_PUTS: u64 = 3;

// Rates for estimates; they vary with the host.
/// Keys put per second by fillseq.
const FILL_KEYS_PER_SECOND: f64 = 250_000.0;
/// Keys put per second in random order.
const PUT_KEYS_PER_SECOND: f64 = 80_000.0;
/// Keys whose compaction debt is paid in a second.
const SETTLE_KEYS_PER_SECOND: f64 = 200_000.0;

/// db_bench.
pub struct DbBench;

impl Benchmark for DbBench {
    fn id(&self) -> &'static str {
        "db-bench"
    }

    fn title(&self) -> &'static str {
        "db_bench"
    }

    fn revision(&self) -> &'static str {
        "1"
    }

    fn runs_on(&self, dbms: Dbms) -> bool {
        dbms == Dbms::Rocksdb
    }

    fn plan_tables(&self) -> &'static [&'static str] {
        &["db_bench"]
    }

    fn section_of_key(&self, key: &str) -> Option<&'static str> {
        ["keys", "value_bytes", "compression_ratio"]
            .contains(&key)
            .then_some("[db_bench], with benchmark = \"db-bench\" in [workload]")
    }

    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts {
        read(plan)
    }
}

/// The part of a plan that is specific to db_bench.
#[derive(Debug, Clone)]
pub struct DbBenchPlan {
    pub options: DbBenchOptions,
    /// What ends overwrite.
    write_work: WriteWork,
    warmup: Warmup,
    /// Whether a step puts keys that exist.
    puts_again: bool,
}

fn read(plan: &Reading<'_>) -> BenchmarkParts {
    let Reading { top, workload, problems, .. } = *plan;
    workload.check_keys(&WORKLOAD_KEYS, |key| match key {
        _ if DB_BENCH_KEYS.contains(&key) => Some("[db_bench]".to_owned()),
        "rows" | "tables" => Some("[db_bench], as `keys`: there are no tables".to_owned()),
        _ if plan.plan_keys.contains(&key) => Some(shared::TOP.to_owned()),
        _ => None,
    });
    let options = options::read(top.table("db_bench", "[db_bench]").as_ref(), problems);
    let unknown = |name: &str| -> Option<String> {
        if name == shared::SETTLE || test_by_name(name).is_some() {
            return None;
        }
        let names = || TESTS.iter().map(|test| test.name);
        let all = || format!("The steps are {}.", names().collect::<Vec<_>>().join(", "));
        Some(did_you_mean(name, names().chain([shared::SETTLE])).unwrap_or_else(all))
    };
    let repeated = |_: &str| shared::KEEP_ONE.to_owned();
    let steps = shared::listed_steps(workload, problems, &unknown, &repeated)
        .map(|steps| steps.into_iter().map(|step| step.value).collect());
    let settle_default = (60 + options.keys / 20_000).min(*limits::SETTLE_SECONDS.end()) as u32;
    let settle = workload.integer("settle_seconds_max", limits::SETTLE_SECONDS);
    let shared_keys = Workload {
        clients: workload.integer("clients", limits::CLIENTS).map_or(1, |found| found.value as u32),
        driver: shared::driver(workload, problems, &[Driver::Rqps, Driver::DbBench]),
        transport: read_transport(workload, problems),
        settle_seconds_max: settle.map_or(settle_default, |found| found.value as u32),
        steps: steps.unwrap_or_else(|| SEQUENCE.map(str::to_owned).to_vec()),
    };
    let tests = read_tests(top, problems, &shared_keys, &unknown, ALL_TESTS);
    let write_work = workload
        .choice("write_work", &[("as-base", WriteWork::AsBase), ("time", WriteWork::Time)])
        .unwrap_or(WriteWork::Time);
    let warmup = shared::warmup(workload, problems).unwrap_or(Warmup::Time(Duration::ZERO));
    check_warmup(workload, problems, warmup, shared_keys.driver);
    let puts_again = shared_keys.steps.iter().filter_map(|step| test_by_name(step));
    let puts_again = puts_again.filter(|test| test.kind != Kind::FillSequential).any(|test| test.writes());
    BenchmarkParts {
        workload: shared_keys,
        tests,
        work: Work::new(DbBenchPlan { options, write_work, warmup, puts_again }),
    }
}

/// Clients are threads of the engine process.
fn read_transport(workload: &Section<'_>, problems: &Problems<'_>) -> Transport {
    let transport = shared::transport(workload);
    if transport != Transport::Unix {
        let what = "an engine in a library has no connections";
        problems.error(&workload.key_at("transport"), workload.place_of("transport"), what, "Remove it.");
    }
    Transport::Unix
}

fn check_warmup(workload: &Section<'_>, problems: &Problems<'_>, warmup: Warmup, driver: Driver) {
    let key = "warmup_seconds";
    let error = |what, remedy| problems.error(&workload.key_at(key), workload.place_of(key), what, remedy);
    if warmup == Warmup::Detect {
        error("must be a number here", "Write a number of seconds.");
    } else if driver == Driver::DbBench && warmup != Warmup::Time(Duration::ZERO) {
        error("db_bench has no warm-up", "Remove it, or write driver = \"rqps\".");
    }
}

impl DbBenchPlan {
    fn limit(&self, name: &str, kind: Kind, options: &TestOptions) -> Limit {
        let seconds = |seconds: u32| Limit::Time(Duration::from_secs(seconds.into()));
        match (options, kind) {
            _ if kind == Kind::FillSequential => Limit::Events(self.options.keys),
            (TestOptions { events: Some(events), .. }, _) => Limit::Events(*events),
            (TestOptions { seconds: Some(given), .. }, _) => seconds(*given),
            _ if name == OVERWRITESOME => Limit::Events(self.options.keys / OVERWRITTEN),
            _ => seconds(self.options.seconds),
        }
    }
}

impl Workplan for DbBenchPlan {
    fn benchmark(&self) -> &'static dyn Benchmark {
        &DbBench
    }

    fn own_keys(&self) -> Table {
        let mut keys = Table::new();
        keys.insert("write_work".to_owned(), self.write_work.key().into());
        if let Warmup::Time(time) = self.warmup {
            keys.insert("warmup_seconds".to_owned(), time.as_secs_f64().into());
        }
        keys
    }

    fn own_tables(&self) -> Table {
        Table::from_iter([("db_bench".to_owned(), shared::table_of(&self.options).into())])
    }

    fn tables(&self) -> u32 {
        1
    }

    /// There is one column family.
    fn table_name(&self, _number: u32) -> String {
        "default".to_owned()
    }

    fn row_bytes(&self) -> u64 {
        let factor = if self.puts_again { SPACE_FACTOR_OF_PUTS } else { SPACE_FACTOR };
        (KEY_BYTES as u64 + self.options.value_bytes + ENTRY_OVERHEAD_BYTES) * factor
    }

    fn rows_per_table(&self) -> u64 {
        self.options.keys
    }

    fn step(&self, name: &str, workload: &Workload, all: &BTreeMap<String, TestOptions>) -> Option<StepDef> {
        let test = test_by_name(name)?;
        let options = all.get(name).cloned().unwrap_or_default();
        let is_fill = test.kind == Kind::FillSequential;
        let limit = self.limit(name, test.kind, &options);
        let by_time = limit.time().is_some();
        Some(StepDef {
            name: name.to_owned(),
            position: 0,
            test: test.name.to_owned(),
            group: test.group(),
            role: if name == OVERWRITESOME { Role::Warm } else { Role::Test },
            clients: if is_fill { 1 } else { options.clients.unwrap_or(workload.clients) },
            as_base: test.kind == Kind::Overwrite && by_time && self.write_work == WriteWork::AsBase,
            // The two that fill the database have work to do, and none before it.
            warmup: if is_fill || name == OVERWRITESOME {
                Warmup::Time(Duration::ZERO)
            } else {
                options.warmup.unwrap_or(self.warmup)
            },
            limit,
            rate_per_second: None,
            removed_share_max: None,
            writes: test.writes(),
            writes_by_time: test.while_writing,
            shrinks: false,
            operations_per_event: 1.0,
        })
    }

    fn check(&self, top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
        check(top, problems, plan);
    }

    fn has_independent_tests(&self) -> bool {
        false
    }

    /// A sequence takes minutes. The program db_bench is another process for each step.
    fn can_be_profiled(&self, workload: &Workload) -> bool {
        workload.driver == Driver::Rqps
    }

    fn repeats_base(&self) -> bool {
        self.write_work == WriteWork::AsBase
    }

    fn server_memory_bytes_max(&self) -> Option<u64> {
        self.options.server_memory.map(|memory| memory.bytes)
    }

    fn estimate_seconds(&self, kind: &ActionKind) -> Option<f64> {
        let keys = self.options.keys as f64;
        match kind {
            // Only opens an empty database.
            ActionKind::Load(_) => Some(estimate::STEP_OVERHEAD_SECONDS),
            ActionKind::Settle(_) => Some(1.0 + keys / SETTLE_KEYS_PER_SECOND),
            ActionKind::Measure(step) => match step.limit {
                Limit::Events(events) if test_by_name(&step.test)?.kind == Kind::FillSequential => {
                    Some(events as f64 / FILL_KEYS_PER_SECOND)
                }
                Limit::Events(events) => Some(events as f64 / PUT_KEYS_PER_SECOND),
                _ => None,
            },
            _ => None,
        }
    }

    fn summary(&self) -> String {
        let options = &self.options;
        format!(
            "{} keys of {KEY_BYTES} bytes, values of {} bytes that compress to {} %",
            grouped(options.keys, ','),
            options.value_bytes,
            options.compression_ratio * 100.0
        )
    }

    fn describe(&self, kind: &ActionKind) -> Option<String> {
        match kind {
            ActionKind::Load(_) => Some("an empty database".to_owned()),
            ActionKind::Measure(step) => {
                let test = test_by_name(&step.test)?;
                let mut text = match step.limit {
                    Limit::Events(events) => counted(events, "operation"),
                    _ => return None,
                };
                if test.while_writing {
                    text.push_str(" beside a writer");
                }
                Some(text)
            }
            _ => None,
        }
    }

    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let options = &self.options;
        let memory = options.server_memory.map(|memory| ("server memory at most", memory.to_string()));
        let method = [
            ("keys", format!("{} of {KEY_BYTES} bytes", grouped(options.keys, ','))),
            (
                "values",
                format!("{} bytes, compressible to {}", options.value_bytes, options.compression_ratio),
            ),
            ("seconds of a step", options.seconds.to_string()),
            ("background writer", format!("{} bytes/s", grouped(options.background_bytes_per_second, ','))),
            ("overwrite ends", self.write_work.key().to_owned()),
            ("warm-up", shared::warmup_text(self.warmup)),
            ("RocksDB's statistics", if options.statistics { "kept" } else { "not kept" }.to_owned()),
            ("block cache", "empty when a step begins".to_owned()),
            ("settle", format!("at most {} s", plan.workload.settle_seconds_max)),
        ];
        method.into_iter().chain(memory).collect()
    }
}

/// Reports what does not go with the rest of the plan.
fn check(top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
    if plan.profile.after != ProfileAfter::Never
        && !plan.work.can_be_profiled(&plan.workload)
        && let Some(section) = top.table("profile", "[profile]")
    {
        let remedy = "Remove it, or write driver = \"rqps\".";
        let what = "does not go with driver = \"db_bench\"";
        problems.error(&section.key_at("after"), section.place_of("after"), what, remedy);
    }
    let steps = &plan.workload.steps;
    let fills = |step: &String| test_by_name(step).is_some_and(|test| test.kind == Kind::FillSequential);
    let first = steps.iter().find(|step| *step != shared::SETTLE);
    if let (Some(section), Some(first)) = (top.table("workload", "[workload]"), first)
        && !fills(first)
    {
        let what = format!("{first} comes before fillseq, when the database is empty");
        problems.error(&section.key_at("steps"), section.place_of("steps"), what, "Begin with \"fillseq\".");
    }
    // The control has base's.
    let arms = plan.arms.iter().filter(|arm| !arm.control).zip(top.tables("arm"));
    for (arm, section) in arms.filter(|(arm, _)| !arm.after_load.is_empty()) {
        let what = format!("arm \"{}\": RocksDB runs no statements", arm.name);
        problems.error(&section.key_at("after_load"), section.place_of("after_load"), what, "Remove it.");
    }
    let fill = plan.tests.iter().find(|(name, options)| {
        fills(name) && (options.seconds.is_some() || options.events.is_some() || options.clients.is_some())
    });
    if let Some((name, _)) = fill
        && let Some(all) = top.table("test", "[test.NAME]")
    {
        let what = "it always puts all keys, with one client";
        problems.error(&all.key_at(name), format!("[test.{name}]"), what, "Write `keys` in [db_bench].");
    }
    let paced = plan.tests.iter().find(|(_, options)| options.rate_per_second.is_some());
    if let Some((name, _)) = paced
        && let Some(all) = top.table("test", "[test.NAME]")
    {
        let what = "`rate_per_second` does not go with benchmark = \"db-bench\"";
        let remedy = "Remove it: clients work as fast as they can.";
        problems.error(&all.key_at(name), format!("[test.{name}]"), what, remedy);
    }
}
