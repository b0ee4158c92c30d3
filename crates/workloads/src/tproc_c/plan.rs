//! TPROC-C in plans: reads `[tproc-c]`; each number of warehouses with each number of virtual users is a test.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_model::{BuildSource, Dbms, Limit, Role, SIZE, Warmup, counted, did_you_mean, numbers_of};
use rqps_plan::reader::Section;
use rqps_plan::{
    Arm, Benchmark, BenchmarkParts, Driver, Plan, Problems, Protocol, Reading, StepDef, TestOptions, Work,
    Workload, Workplan, limits, shared,
};
use toml::Table;

use super::hammerdb;
use super::options::{self, TPROC_C_KEYS, TprocCOptions};
use super::{GROUP, ITEMS, NEW_ORDERS_PER_TRANSACTION, ROWS_PER_WAREHOUSE, TABLES};

const WORKLOAD_KEYS: [&str; 5] = ["benchmark", "driver", "transport", "settle_seconds_max", "steps"];
const TEST_KEYS: [&str; 1] = ["rate_mei_percent"];
/// The first release that has what the procedures use, and the first with partitions by hash.
const FIRST_POSTGRES: u32 = 90_600;
const FIRST_HASH_PARTITIONS: u32 = 110_000;
/// Keys of `[workload]` that other benchmarks have, with remedies.
const NOT_HERE: [(&str, &str); 7] = [
    ("tables", "Remove it: the benchmark has nine tables."),
    ("rows", "Write `warehouses` in [tproc-c]."),
    ("seconds", "Write `duration` in [tproc-c]."),
    ("read_seconds", "Write `duration` in [tproc-c]."),
    ("write_seconds", "Write `duration` in [tproc-c]."),
    ("warmup_seconds", "Write `rampup` in [tproc-c]."),
    ("write_work", "Remove it: a sequence ends by time, and every arm of blocks does the same transactions."),
];
/// Warehouses loaded per second, for estimates: measured on two virtual CPUs shared with the server.
const WAREHOUSES_PER_SECOND: f64 = 0.25;
/// The same of HammerDB's builder: 40 to 65 s for one warehouse.
const HAMMERDB_WAREHOUSES_PER_SECOND: f64 = 0.02;

/// Fewest transactions of a window of blocks: five times TPC-C's 23 cards, so that the rare kinds occur.
const WINDOW_TRANSACTIONS_MIN: u64 = 115;

/// TPROC-C.
pub struct TprocC;

impl Benchmark for TprocC {
    fn id(&self) -> &'static str {
        "tproc-c"
    }

    fn title(&self) -> &'static str {
        "TPROC-C"
    }

    fn revision(&self) -> &'static str {
        "1"
    }

    fn plan_tables(&self) -> &'static [&'static str] {
        &["tproc-c"]
    }

    fn section_of_key(&self, key: &str) -> Option<&'static str> {
        TPROC_C_KEYS.contains(&key).then_some("[tproc-c], with benchmark = \"tproc-c\" in [workload]")
    }

    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts {
        read(plan)
    }
}

/// The part of a plan that is specific to TPROC-C.
#[derive(Debug, Clone)]
pub struct TprocCPlan {
    pub options: TprocCOptions,
    driver: Driver,
    protocol: Protocol,
}

/// What a test measures: so many warehouses with so many virtual users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub warehouses: u32,
    pub virtual_users: u32,
}

impl Cell {
    /// The name of its test: `w10-vu2`.
    pub fn name(self) -> String {
        format!("w{}-vu{}", self.warehouses, self.virtual_users)
    }

    /// The cell of a name.
    fn parse(name: &str) -> Option<Self> {
        let (warehouses, virtual_users) = name.strip_prefix('w')?.split_once("-vu")?;
        let cell = Self { warehouses: warehouses.parse().ok()?, virtual_users: virtual_users.parse().ok()? };
        (cell.name() == name).then_some(cell)
    }
}

impl TprocCPlan {
    /// The cell of a test, if the plan has it.
    pub fn cell(&self, test: &str) -> Option<Cell> {
        let known = |cell: &Cell| {
            self.options.warehouses.contains(&cell.warehouses)
                && self.options.virtual_users.contains(&cell.virtual_users)
        };
        Cell::parse(test).filter(known)
    }

    /// All cells, warehouses first.
    fn cells(&self) -> impl Iterator<Item = Cell> {
        let users = |warehouses: u32| {
            self.options.virtual_users.iter().map(move |users| Cell { warehouses, virtual_users: *users })
        };
        self.options.warehouses.iter().flat_map(move |warehouses| users(*warehouses))
    }

    fn users_max(&self) -> u32 {
        self.options.virtual_users.iter().copied().max().unwrap_or(1)
    }

    fn warehouses_max(&self) -> u32 {
        self.options.warehouses.iter().copied().max().unwrap_or(1)
    }

    /// The tests in order; in a sequence the server settles before each.
    fn usual_steps(&self) -> Vec<String> {
        let settle = (self.protocol == Protocol::Sequence).then(|| shared::SETTLE.to_owned());
        self.cells().flat_map(|cell| settle.clone().into_iter().chain([cell.name()])).collect()
    }

    /// The remedy for an unknown step name; `None` if the name is known.
    fn unknown_step(&self, name: &str) -> Option<String> {
        let settles = name == shared::SETTLE && self.protocol == Protocol::Sequence;
        if settles || self.cell(name).is_some() {
            return None;
        }
        let names: Vec<String> = self.cells().map(Cell::name).collect();
        let remedy = || {
            format!(
                "Write a number of warehouses and one of virtual users that [tproc-c] lists, such as \"{}\".",
                names.first().map_or("w10-vu1", String::as_str)
            )
        };
        Some(did_you_mean(name, names.iter().map(String::as_str)).unwrap_or_else(remedy))
    }
}

fn read(plan: &Reading<'_>) -> BenchmarkParts {
    let Reading { top, workload, problems, .. } = *plan;
    let section = top.table("tproc-c", "[tproc-c]");
    let options = options::read(section.as_ref(), problems, plan.protocol);
    let driver = shared::driver(workload, problems, &[Driver::Rqps, Driver::HammerDb]);
    let work = TprocCPlan { options, driver, protocol: plan.protocol };
    check_workload_keys(workload, problems, work.users_max());
    if work.cells().count() > limits::STEPS_MAX {
        let at = section.as_ref().map_or(0..0, |section| section.key_at("warehouses"));
        let what = format!("{} tests; a plan has at most {}", work.cells().count(), limits::STEPS_MAX);
        problems.error(&at, "[tproc-c]", what, "Split it into several plans.");
    }
    let repeated = |_: &str| shared::KEEP_ONE.to_owned();
    let unknown = |name: &str| work.unknown_step(name);
    let listed = shared::listed_steps(workload, problems, &unknown, &repeated);
    let steps = match listed {
        Some(steps) => steps.into_iter().map(|step| step.value).collect(),
        None => work.usual_steps(),
    };
    let settle_default = limits::settle_seconds_default(work.rows_total());
    let shared = Workload {
        clients: work.users_max(),
        driver,
        transport: shared::transport(workload),
        settle_seconds_max: workload
            .integer("settle_seconds_max", limits::SETTLE_SECONDS)
            .map_or(settle_default, |found| found.value as u32),
        steps,
    };
    let tests = read_tests(top, problems, &work, &shared.steps);
    BenchmarkParts { workload: shared, tests, work: Work::new(work) }
}

fn check_workload_keys(workload: &Section<'_>, problems: &Problems<'_>, users_max: u32) {
    let mut known = WORKLOAD_KEYS.to_vec();
    // A plan that was written with it is read again.
    known.push("clients");
    let clients = workload.integer("clients", limits::CLIENTS);
    if let Some(found) = clients.filter(|found| found.value != u64::from(users_max)) {
        let remedy = "Write `virtual_users` in [tproc-c].";
        let what = "does not go with benchmark = \"tproc-c\"";
        problems.error(&found.at, workload.place_of("clients"), what, remedy);
    }
    for (key, remedy) in NOT_HERE {
        known.push(key);
        if let Some((at, _)) = workload.node(key) {
            let what = "does not go with benchmark = \"tproc-c\"";
            problems.error(&at, workload.place_of(key), what, remedy);
        }
    }
    workload.check_keys(&known, |key| match key {
        key if TPROC_C_KEYS.contains(&key) => Some("[tproc-c]".to_owned()),
        "seed" | "name" | "passes" | "base" => Some(shared::TOP.to_owned()),
        _ => None,
    });
}

/// The options of tests: those of the plan, and each test's number of clients.
fn read_tests(
    top: &Section<'_>,
    problems: &Problems<'_>,
    work: &TprocCPlan,
    steps: &[String],
) -> BTreeMap<String, TestOptions> {
    let mut tests = BTreeMap::new();
    for name in steps {
        if let Some(cell) = work.cell(name) {
            tests.insert(
                name.clone(),
                TestOptions { clients: Some(cell.virtual_users), ..TestOptions::default() },
            );
        }
    }
    let Some(all) = top.table("test", "[test.NAME]") else {
        return tests;
    };
    for (name, key_at, _) in all.entries() {
        let place = format!("[test.{}]", shared::toml_key(name));
        if name == shared::SETTLE {
            let remedy = "Its cap is `settle_seconds_max` in [workload].";
            problems.error(&key_at, place, "a settle step has no options of its own", remedy);
            continue;
        }
        let unknown = |name: &str| work.unknown_step(name);
        let (true, Some(section)) =
            (shared::check_step(problems, &place, &key_at, name, &unknown), all.table(name, &place))
        else {
            continue;
        };
        // A plan that was written with its clients is read again.
        let clients = section.integer("clients", limits::CLIENTS);
        let own = tests.get(name).and_then(|options: &TestOptions| options.clients);
        let clients = clients.filter(|found| Some(found.value as u32) == own).map(|_| "clients");
        let known: Vec<&'static str> = TEST_KEYS.into_iter().chain(clients).collect();
        section.check_keys(&known, |key| match key {
            "seconds" | "duration" => Some("[tproc-c], as `duration`".to_owned()),
            "clients" => Some("[tproc-c], as `virtual_users`".to_owned()),
            _ => None,
        });
        let rate_mei_percent =
            section.number("rate_mei_percent", limits::MEI_PERCENT).map(|found| found.value);
        match tests.get_mut(name) {
            Some(options) => options.rate_mei_percent = rate_mei_percent,
            None => {
                let remedy = format!("Add \"{name}\" to `steps`, or remove this table.");
                problems.warn(&key_at, place, "has no effect: the plan has no step of this name", remedy);
            }
        }
    }
    tests
}

impl Workplan for TprocCPlan {
    fn benchmark(&self) -> &'static dyn Benchmark {
        &TprocC
    }

    fn own_keys(&self) -> Table {
        Table::new()
    }

    fn own_tables(&self) -> Table {
        Table::from_iter([("tproc-c".to_owned(), self.options.to_table(self.protocol).into())])
    }

    fn tables(&self) -> u32 {
        TABLES.len() as u32
    }

    fn table_name(&self, number: u32) -> String {
        TABLES.get(number as usize - 1).copied().unwrap_or_default().to_owned()
    }

    fn data(&self) -> String {
        format!("about {} in {}", counted(self.rows_total(), "row"), counted(self.tables(), "table"))
    }

    fn rows_per_table(&self) -> u64 {
        self.rows_total() / TABLES.len() as u64
    }

    fn row_bytes(&self) -> u64 {
        200
    }

    fn rows_total(&self) -> u64 {
        u64::from(self.warehouses_max()) * ROWS_PER_WAREHOUSE + ITEMS
    }

    fn step(
        &self,
        name: &str,
        _workload: &Workload,
        _all: &BTreeMap<String, TestOptions>,
    ) -> Option<StepDef> {
        let cell = self.cell(name)?;
        Some(StepDef {
            name: name.to_owned(),
            position: 0,
            test: name.to_owned(),
            group: &GROUP,
            role: Role::Test,
            clients: cell.virtual_users,
            limit: Limit::Time(self.options.duration),
            as_base: false,
            warmup: Warmup::Time(self.options.rampup),
            rate_per_second: None,
            removed_share_max: None,
            writes: true,
            writes_by_time: false,
            shrinks: false,
            operations_per_event: NEW_ORDERS_PER_TRANSACTION,
        })
    }

    fn check(&self, top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
        hammerdb::check(&self.options, top, problems, plan);
        let is_before = |arm: &Arm, first: u32| match &arm.build.source {
            BuildSource::Version(version) if arm.build.dbms == Dbms::Postgres => {
                let known = Dbms::Postgres.version_num(version);
                known > 0 && known < first
            }
            _ => false,
        };
        for arm in plan.arms.iter().filter(|arm| !arm.control && is_before(arm, FIRST_POSTGRES)) {
            let what = format!("arm \"{}\": TPROC-C needs Postgres 9.6 or later", arm.name);
            let at = top.table("workload", "[workload]").map_or(0..0, |section| section.key_at("benchmark"));
            problems.error(&at, "[workload] benchmark", what, "Remove the arm.");
        }
        let is_old = |arm: &&Arm| is_before(arm, FIRST_HASH_PARTITIONS);
        let partitioned = self.options.warehouses.iter().any(|count| self.options.partitions_of(*count) > 1);
        if let (true, Some(arm)) = (partitioned, plan.arms.iter().find(is_old)) {
            let section = top.table("tproc-c", "[tproc-c]");
            let at = section.as_ref().map_or(0..0, |section| section.key_at("partitions"));
            let what = format!("arm \"{}\": Postgres partitions by hash from 11 on", arm.name);
            problems.error(&at, "[tproc-c] partitions", what, "Write partitions = 1, or remove the arm.");
        }
    }

    fn has_independent_tests(&self) -> bool {
        self.options.warehouses.len() == 1
    }

    fn window_events_min(&self) -> u64 {
        WINDOW_TRANSACTIONS_MIN
    }

    fn window_of_blocks(&self, seconds: f64) -> String {
        format!(
            "the transactions that base does in {seconds} s, or {WINDOW_TRANSACTIONS_MIN} where these take longer"
        )
    }

    fn loads_for_each_test(&self) -> bool {
        true
    }

    fn vacuums_after_load(&self) -> bool {
        true
    }

    fn estimate_seconds(&self, kind: &rqps_plan::ActionKind) -> Option<f64> {
        match kind {
            rqps_plan::ActionKind::Load(load) => {
                let per_second = match self.driver {
                    Driver::HammerDb => HAMMERDB_WAREHOUSES_PER_SECOND,
                    _ => WAREHOUSES_PER_SECOND,
                };
                Some(f64::from(self.cell(&load.test)?.warehouses) / per_second)
            }
            _ => None,
        }
    }

    fn summary(&self) -> String {
        let options = &self.options;
        let sent = if options.stored_procedures { "stored procedures" } else { "statements from the client" };
        let spread = if options.all_warehouses { "all warehouses" } else { "a home warehouse" };
        let waits = if options.keying_and_think_time { "with" } else { "no" };
        let times = match self.protocol {
            Protocol::Sequence => format!(
                "; ramp-up {}, then {}",
                humantime::format_duration(options.rampup),
                humantime::format_duration(options.duration)
            ),
            Protocol::Isolated => "; every arm does the same transactions".to_owned(),
        };
        format!("{sent}; each user on {spread}; {waits} keying and think time{times}")
    }

    fn describe(&self, kind: &rqps_plan::ActionKind) -> Option<String> {
        match kind {
            rqps_plan::ActionKind::Load(load) => {
                Some(counted(self.cell(&load.test)?.warehouses, "warehouse"))
            }
            _ => None,
        }
    }

    fn warmup(&self) -> Warmup {
        Warmup::Time(self.options.rampup)
    }

    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let options = &self.options;
        let words = |yes: bool, one: &str, other: &str| if yes { one.to_owned() } else { other.to_owned() };
        let time = |time: Duration| humantime::format_duration(time).to_string();
        let windows = match &plan.isolated {
            Some(isolated) => shared::method_of_blocks(self, isolated).to_vec(),
            None => vec![("ramp-up", time(options.rampup)), ("window", time(options.duration))],
        };
        let partitions: Vec<String> =
            options.warehouses.iter().map(|count| options.partitions_of(*count).to_string()).collect();
        let own = [
            (SIZE, numbers_of(options.warehouses.iter().copied(), "warehouse")),
            (
                "transactions",
                words(options.stored_procedures, "stored procedures", "statements from the client"),
            ),
            ("warehouses of a virtual user", words(options.all_warehouses, "its share of all", "one")),
            ("keying and think time", words(options.keying_and_think_time, "as TPC-C", "none")),
            ("partitions of order_line", partitions.join(", ")),
            ("connections", plan.workload.transport.text().to_owned()),
            ("settle at most", format!("{} s", plan.workload.settle_seconds_max)),
        ];
        windows.into_iter().chain(own).collect()
    }
}
