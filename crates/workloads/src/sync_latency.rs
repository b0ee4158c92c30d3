//! Sync latency of a directory's file system and device: writes of 16 KiB and 2 MiB at random places of a file, alone
//! or each followed by a sync, by one job or several. fio does the work.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_model::{Dbms, Group, Limit, Role, Unit, Warmup, did_you_mean};
use rqps_plan::reader::Found;
use rqps_plan::{
    ActionKind, Benchmark, BenchmarkParts, Driver, Plan, Problems, ProfileAfter, Reading, StepDef,
    TestOptions, Transport, Work, Workload, Workplan, limits, section_of_key, shared,
};
use serde::Serialize;
use std::ops::RangeInclusive;
use toml::Table;
use toml::de::DeValue;

/// The last three are written by every resolved plan.
const WORKLOAD_KEYS: [&str; 9] = [
    "benchmark",
    "jobs",
    "seconds",
    "warmup_seconds",
    "file_mb",
    "steps",
    "clients",
    "transport",
    "settle_seconds_max",
];

/// Keys that are of servers, with the values that every resolved plan has.
const RESOLVED: [(&str, &str); 2] = [("transport", "unix"), ("settle_seconds_max", "1")];
const NOT_OF_DIRECTORIES: &str = "does not apply to directories";
const REMOVE: &str = "Remove it: a directory has no server.";

/// Jobs of one test. All share one file.
const JOBS: RangeInclusive<u64> = 1..=256;
/// Size of the file, MiB: a hundred of the largest writes, at most a TiB.
const FILE_MB: RangeInclusive<u64> = 16..=1 << 20;
/// The field's size.
const FILE_MB_DEFAULT: u64 = 1024;
const SECONDS_DEFAULT: u64 = 300;
/// Follows a test's name in that of a step with several jobs: `16k-fsync_jobs=8`.
const JOBS_SUFFIX: &str = "_jobs=";
/// Fewest writes of a window of blocks: the 95th percentile of fewer is not known.
const WINDOW_EVENTS_MIN: u64 = 72;
/// What the file grows by per second, for estimates.
const FILL_MB_PER_SECOND: f64 = 300.0;

static SMALL: Group = Group::new(1, "16k", "writes of 16 KiB", "16 KiB");
static LARGE: Group = Group::new(2, "2m", "writes of 2 MiB", "2 MiB");

/// What rates count.
pub static WRITES: Unit = Unit::new("writes", "a write", "write", "writes");

rqps_model::words! {
    /// What follows each write: the name in tests, and of fio's option.
    Sync {
        None = "none",
        Fsync = "fsync",
        Fdatasync = "fdatasync",
    }
}

/// A test of the matrix.
#[derive(Debug, Clone, Copy)]
pub struct SyncTest {
    pub name: &'static str,
    pub block_bytes: u64,
    pub sync: Sync,
    group: &'static Group,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// All tests, in the field's order.
pub static TESTS: [SyncTest; 6] = [
    SyncTest { name: "16k-none", block_bytes: 16 * KIB, sync: Sync::None, group: &SMALL },
    SyncTest { name: "16k-fsync", block_bytes: 16 * KIB, sync: Sync::Fsync, group: &SMALL },
    SyncTest { name: "16k-fdatasync", block_bytes: 16 * KIB, sync: Sync::Fdatasync, group: &SMALL },
    SyncTest { name: "2m-none", block_bytes: 2 * MIB, sync: Sync::None, group: &LARGE },
    SyncTest { name: "2m-fsync", block_bytes: 2 * MIB, sync: Sync::Fsync, group: &LARGE },
    SyncTest { name: "2m-fdatasync", block_bytes: 2 * MIB, sync: Sync::Fdatasync, group: &LARGE },
];

/// The test of this name.
pub fn test_by_name(name: &str) -> Option<&'static SyncTest> {
    TESTS.iter().find(|test| test.name == name)
}

pub struct SyncLatency;

impl Benchmark for SyncLatency {
    fn id(&self) -> &'static str {
        "sync-latency"
    }

    fn title(&self) -> &'static str {
        "sync latency"
    }

    fn revision(&self) -> &'static str {
        "1"
    }

    fn runs_on(&self, dbms: Dbms) -> bool {
        dbms == Dbms::Directory
    }

    fn section_of_key(&self, key: &str) -> Option<&'static str> {
        ["jobs", "file_mb"].contains(&key).then_some("[workload]")
    }

    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts {
        let (section, problems) = (plan.workload, plan.problems);
        section.check_keys(&WORKLOAD_KEYS, |key| match key {
            _ if plan.plan_keys.contains(&key) => Some(shared::TOP.to_owned()),
            _ => section_of_key(plan.benchmarks, key),
        });
        for (key, resolved) in RESOLVED {
            let Some((at, node)) = section.node(key) else { continue };
            let written = match node.get_ref() {
                DeValue::Integer(number) => Some(number.as_str()),
                other => other.as_str(),
            };
            if written != Some(resolved) {
                problems.error(&at, section.place_of(key), NOT_OF_DIRECTORIES, REMOVE);
            }
        }
        let jobs = read_jobs(plan);
        let number = |key, range, default| section.integer(key, range).map_or(default, |found| found.value);
        let work = SyncPlan {
            seconds: number("seconds", limits::WINDOW_SECONDS, SECONDS_DEFAULT) as u32,
            warmup: read_warmup(plan),
            file_mb: number("file_mb", FILE_MB, FILE_MB_DEFAULT),
        };
        if let Some((at, _)) = plan.top.node("test") {
            let remedy = "Remove it: a sync test has no options of its own.";
            problems.error(&at, "[test]", "does not apply to this benchmark", remedy);
        }
        let repeated = |_: &str| shared::KEEP_ONE.to_owned();
        let listed = shared::listed_steps(section, problems, &unknown_step, &repeated);
        let steps: Vec<String> = match listed {
            Some(steps) => steps.into_iter().map(|step| step.value).collect(),
            None => TESTS.iter().map(|test| test.name.to_owned()).collect(),
        };
        let each = |step: &String| match jobs.as_slice() {
            [_] => vec![step.clone()],
            _ if without_jobs(step).1.is_some() => vec![step.clone()],
            _ => jobs.iter().map(|count| format!("{step}{JOBS_SUFFIX}{count}")).collect(),
        };
        let mut by_jobs: Vec<String> = steps.iter().flat_map(each).collect();
        // All tests with one number of jobs, then all with the next, as the field measures them.
        by_jobs.sort_by_key(|step| without_jobs(step).1);
        let workload = Workload {
            clients: jobs[0],
            driver: Driver::Rqps,
            transport: Transport::Unix,
            settle_seconds_max: 1,
            steps: by_jobs,
        };
        BenchmarkParts { workload, tests: BTreeMap::new(), work: Work::new(work) }
    }
}

/// `jobs`: a number or a list, each once. A resolved plan has the first as `clients`, others in names of steps.
fn read_jobs(plan: &Reading<'_>) -> Vec<u32> {
    let mut jobs: Vec<u32> = Vec::new();
    if plan.workload.node("jobs").is_some() && plan.workload.node("clients").is_some() {
        let at = plan.workload.key_at("clients");
        let remedy = "Remove it: `jobs` says how many write at the same time.";
        plan.problems.error(&at, plan.workload.place_of("clients"), "does not apply beside `jobs`", remedy);
    }
    let key = if plan.workload.node("jobs").is_some() { "jobs" } else { "clients" };
    for Found { value, at } in plan.workload.integers(key, JOBS) {
        if jobs.contains(&(value as u32)) {
            let what = format!("{value} is listed twice");
            plan.problems.error(&at, plan.workload.place_of(key), what, shared::KEEP_ONE);
            continue;
        }
        jobs.push(value as u32);
    }
    if jobs.is_empty() { vec![1] } else { jobs }
}

fn read_warmup(plan: &Reading<'_>) -> Warmup {
    match shared::warmup(plan.workload, plan.problems) {
        Some(Warmup::Detect) => {
            let at = plan.workload.key_at("warmup_seconds");
            let remedy = "Write a number of seconds.";
            plan.problems.error(
                &at,
                plan.workload.place_of("warmup_seconds"),
                "fio warms up by time only",
                remedy,
            );
            Warmup::Time(Duration::ZERO)
        }
        Some(warmup) => warmup,
        None => Warmup::Time(Duration::ZERO),
    }
}

/// The test of a step's name, and the jobs that the name gives.
fn without_jobs(step: &str) -> (&str, Option<u32>) {
    let parts = step.rsplit_once(JOBS_SUFFIX);
    match parts.and_then(|(test, jobs)| Some((test, jobs.parse::<u32>().ok()?))) {
        Some((test, jobs)) if JOBS.contains(&jobs.into()) => (test, Some(jobs)),
        _ => (step, None),
    }
}

/// The remedy for an unknown step name; `None` if the name is known.
fn unknown_step(name: &str) -> Option<String> {
    let (test, _) = without_jobs(name);
    if test_by_name(test).is_some() {
        return None;
    }
    let names = || TESTS.iter().map(|test| test.name);
    let all = || format!("The tests are: {}.", names().collect::<Vec<_>>().join(", "));
    Some(did_you_mean(test, names()).unwrap_or_else(all))
}

/// The part of a plan that is specific to this benchmark.
#[derive(Debug, Clone, Serialize)]
pub struct SyncPlan {
    /// Seconds of a window.
    pub seconds: u32,
    #[serde(rename = "warmup_seconds")]
    pub warmup: Warmup,
    /// Size of the file, MiB.
    pub file_mb: u64,
}

/// What must stay free beside the file.
pub const SPARE_BYTES: u64 = 16 * MIB;

impl SyncPlan {
    pub fn file_bytes(&self) -> u64 {
        self.file_mb * MIB
    }
}

impl Workplan for SyncPlan {
    fn benchmark(&self) -> &'static dyn Benchmark {
        &SyncLatency
    }

    fn own_keys(&self) -> Table {
        shared::table_of(self)
    }

    fn tables(&self) -> u32 {
        0
    }

    fn table_name(&self, _number: u32) -> String {
        "file".to_owned()
    }

    fn rows_per_table(&self) -> u64 {
        0
    }

    /// A row is a MiB of the file.
    fn rows_total(&self) -> u64 {
        self.file_mb
    }

    /// With its part of what must stay free.
    fn row_bytes(&self) -> u64 {
        MIB + SPARE_BYTES.div_ceil(self.file_mb.max(1))
    }

    fn step(&self, name: &str, workload: &Workload, _: &BTreeMap<String, TestOptions>) -> Option<StepDef> {
        let (test, jobs) = without_jobs(name);
        let test = test_by_name(test)?;
        Some(StepDef {
            name: name.to_owned(),
            position: 0,
            test: name.to_owned(),
            group: test.group,
            role: Role::Test,
            clients: jobs.unwrap_or(workload.clients),
            limit: Limit::Time(Duration::from_secs(self.seconds.into())),
            as_base: false,
            warmup: self.warmup,
            rate_per_second: None,
            removed_share_max: None,
            // What the file contains does not matter to any test.
            writes: false,
            writes_by_time: false,
            shrinks: false,
            operations_per_event: 1.0,
        })
    }

    fn check(&self, top: &rqps_plan::reader::Section<'_>, problems: &Problems<'_>, plan: &Plan) {
        for (index, arm) in plan.arms.iter().enumerate() {
            let given = [("after_load", !arm.after_load.is_empty()), ("env", !arm.env.is_empty())];
            for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                let sections = top.tables("arm");
                let at = sections.get(index).map_or(0..0, |section| section.at.clone());
                problems.error(&at, format!("[[arm]] {} {key}", index + 1), NOT_OF_DIRECTORIES, REMOVE);
            }
        }
        if plan.profile.after != ProfileAfter::Never
            && let Some(section) = top.table("profile", "[profile]")
        {
            let place = section.place_of("after");
            problems.error(&section.key_at("after"), place, NOT_OF_DIRECTORIES, REMOVE);
        }
    }

    fn has_independent_tests(&self) -> bool {
        true
    }

    fn can_count_instructions(&self) -> bool {
        false
    }

    fn client_noun(&self) -> &'static str {
        WRITES.client_noun()
    }

    fn window_events_min(&self) -> u64 {
        WINDOW_EVENTS_MIN
    }

    fn window_of_blocks(&self, seconds: f64) -> String {
        format!("{seconds} s of writes, or {WINDOW_EVENTS_MIN} writes where these take longer")
    }

    fn estimate_seconds(&self, kind: &ActionKind) -> Option<f64> {
        match kind {
            ActionKind::Start | ActionKind::Stop => Some(0.1),
            ActionKind::Load(_) => Some(self.file_mb as f64 / FILL_MB_PER_SECOND),
            _ => None,
        }
    }

    fn summary(&self) -> String {
        format!("a file of {} MiB, direct I/O, psync", self.file_mb)
    }

    fn describe(&self, kind: &ActionKind) -> Option<String> {
        matches!(kind, ActionKind::Load(_)).then(|| format!("{} MiB", self.file_mb))
    }

    fn warmup(&self) -> Warmup {
        self.warmup
    }

    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let file = ("file", format!("{} MiB, shared by all jobs", self.file_mb));
        let io = (
            "I/O",
            "random writes, psync, O_DIRECT; after each write the sync that the test is named for".to_owned(),
        );
        match &plan.isolated {
            Some(isolated) => {
                shared::method_of_blocks(self, isolated).into_iter().chain([file, io]).collect()
            }
            None => vec![("window", format!("{} s", self.seconds)), file, io],
        }
    }
}
