//! A minimal benchmark: steps put entries into a ledger (`put-N`) or read it (`sum-N`).

use rqps_model::{Group, Limit, Role, Unit, Warmup};
use rqps_plan::{
    Benchmark, BenchmarkParts, Driver, Plan, Reading, StepDef, TestOptions, Transport, Work, Workload,
    Workplan, shared,
};
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Table;

const WORKLOAD_KEYS: [&str; 7] =
    ["benchmark", "as_base", "continues", "clients", "transport", "settle_seconds_max", "steps"];

static ALL: Group = Group::new(1, "ledger", "ledger", "ledger");
pub static ENTRIES: Unit = Unit::new("entries", "an entry", "entry", "entries");

pub struct Ledger;

impl Benchmark for Ledger {
    fn id(&self) -> &'static str {
        "ledger"
    }

    fn title(&self) -> &'static str {
        "ledger"
    }

    fn revision(&self) -> &'static str {
        "1"
    }

    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts {
        let section = plan.workload;
        section.check_keys(&WORKLOAD_KEYS, |_| None);
        let yes = |key| section.boolean(key).is_some_and(|found| found.value);
        let work = LedgerPlan { as_base: yes("as_base"), continues: yes("continues") };
        let unknown = |name: &str| (!is_step(name)).then(|| "Write put-N or sum-N.".to_owned());
        let repeated = |_: &str| shared::KEEP_ONE.to_owned();
        let steps = shared::listed_steps(section, plan.problems, &unknown, &repeated).unwrap_or_default();
        let workload = Workload {
            clients: 1,
            driver: Driver::Rqps,
            transport: Transport::Unix,
            settle_seconds_max: 1,
            steps: steps.into_iter().map(|step| step.value).collect(),
        };
        BenchmarkParts { workload, tests: BTreeMap::new(), work: Work::new(work) }
    }
}

fn is_step(name: &str) -> bool {
    name == shared::SETTLE || name.starts_with("put-") || name.starts_with("sum-")
}

#[derive(Debug, serde::Serialize)]
pub struct LedgerPlan {
    /// Whether every arm repeats base's work.
    as_base: bool,
    /// Whether an interrupted step can continue.
    continues: bool,
}

impl Workplan for LedgerPlan {
    fn benchmark(&self) -> &'static dyn Benchmark {
        &Ledger
    }

    fn own_keys(&self) -> Table {
        shared::table_of(self)
    }

    fn tables(&self) -> u32 {
        1
    }

    fn table_name(&self, _number: u32) -> String {
        "ledger".to_owned()
    }

    fn row_bytes(&self) -> u64 {
        8
    }

    fn rows_per_table(&self) -> u64 {
        1000
    }

    fn step(&self, name: &str, workload: &Workload, _: &BTreeMap<String, TestOptions>) -> Option<StepDef> {
        let writes = name.starts_with("put-");
        Some(StepDef {
            name: name.to_owned(),
            position: 0,
            test: name.to_owned(),
            group: &ALL,
            role: Role::Test,
            clients: workload.clients,
            limit: Limit::Time(Duration::from_secs(1)),
            as_base: writes && self.as_base,
            warmup: Warmup::Time(Duration::ZERO),
            rate_per_second: None,
            removed_share_max: None,
            writes,
            writes_by_time: false,
            shrinks: false,
            operations_per_event: 1.0,
        })
    }

    fn has_independent_tests(&self) -> bool {
        true
    }

    fn repeats_base(&self) -> bool {
        self.as_base
    }

    fn can_continue(&self) -> bool {
        self.continues
    }

    fn vacuums_after_load(&self) -> bool {
        true
    }

    fn summary(&self) -> String {
        String::new()
    }

    fn method(&self, _plan: &Plan) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
