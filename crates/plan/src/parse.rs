//! From the text of a plan file to a [`Plan`], or to everything that is wrong with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use crate::arms::{self, ArmRules};
use crate::driver;
use crate::insert::{self, FoundInsert, INSERT_KEYS, InsertOptions};
use crate::isolated::fitting_window_seconds;
use crate::limits;
use crate::model::{Benchmark, OnServerDeath, Plan, Protocol, TestOptions, Transport, Workload, WriteWork};
use crate::problem::{PlanErrors, Problem, Problems, TOLD_MAX};
use crate::profile;
use crate::protocol;
use crate::reader::{Found, Node, Section};
use crate::steps;
use rqps_model::{BuildSpec, Dbms, Warmup};

const PLAN_KEYS: [&str; 15] = [
    "name",
    "protocol",
    "passes",
    "budget",
    "base",
    "seed",
    "on_server_death",
    "workload",
    "insert",
    "isolated",
    "verdict",
    "profile",
    "test",
    "arm",
    "matrix",
];
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

/// What only the caller can know about the names in a plan. Each answers `Err(what is wrong)` for an unknown name.
pub struct PlanContext<'c> {
    /// Whether a config of a DBMS exists: a shipped config's name, or an absolute path.
    pub known_config: &'c dyn Fn(Dbms, &str) -> Result<(), String>,
    /// Whether a build can be had: a version, or an absolute path to a directory.
    pub known_build: &'c dyn Fn(&BuildSpec) -> Result<(), String>,
}

impl PlanContext<'static> {
    /// Takes every build and config on trust: for plans that were checked before, such as the one in a run folder.
    pub fn trusting() -> Self {
        PlanContext { known_config: &|_, _| Ok(()), known_build: &|_| Ok(()) }
    }
}

/// A plan without mistakes, and what in it is seldom meant.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPlan {
    pub plan: Plan,
    /// In the order of the file's lines.
    pub warnings: Vec<Problem>,
}

impl Plan {
    /// Reads a plan. `file` names it in messages; relative paths in the plan start at its directory.
    ///
    /// # Errors
    /// Everything that is wrong with the plan, at once.
    pub fn parse(text: &str, file: &str, context: &PlanContext<'_>) -> Result<CheckedPlan, PlanErrors> {
        let problems = Problems::new(text);
        if text.len() > limits::PLAN_BYTES_MAX {
            let what =
                format!("the file has {} bytes; a plan has at most {}", text.len(), limits::PLAN_BYTES_MAX);
            problems.error(&(0..0), "", what, "Is this the right file?");
            return Err(problems.into_errors(file, &[]));
        }
        let (document, syntax_errors) = DeTable::parse_recoverable(text);
        let mut broken_lines = Vec::new();
        for error in syntax_errors.iter().take(TOLD_MAX + 1) {
            let at = error.span().unwrap_or(0..0);
            broken_lines.push(problems.line_and_column(at.start).0);
            problems.error(
                &at,
                "",
                format!("not TOML: {}", error.message().replace('\n', ", ")),
                syntax_remedy(error),
            );
            problems.text_is_broken();
        }
        refuse_nul("", document.get_ref(), &problems);
        let plan = read_plan(
            &Section::new(String::new(), 0..0, document.get_ref(), &problems),
            &problems,
            file,
            context,
        );
        match plan {
            Some(plan) if !problems.any_error() => {
                Ok(CheckedPlan { plan, warnings: problems.into_warnings() })
            }
            _ => Err(problems.into_errors(file, &broken_lines)),
        }
    }
}

/// No server can be given a text with this character in it, as a statement, a path or a variable.
fn refuse_nul(place: &str, table: &DeTable<'_>, problems: &Problems<'_>) {
    for (key, value) in table {
        let key = key.get_ref();
        let place = match value.get_ref() {
            DeValue::Table(_) if place.is_empty() => format!("[{key}]"),
            _ if place.is_empty() => key.to_string(),
            _ => format!("{place} {key}"),
        };
        refuse_nul_in(&place, value, problems);
    }
}

fn refuse_nul_in(place: &str, node: &Node<'_>, problems: &Problems<'_>) {
    match node.get_ref() {
        DeValue::String(text) if text.contains('\0') => {
            problems.error(&node.span(), place, "has a NUL character in it", "Remove \\u0000.");
        }
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let is_table = matches!(item.get_ref(), DeValue::Table(_));
                let numbered = format!("[[{place}]] {}", index + 1);
                refuse_nul_in(if is_table { &numbered } else { place }, item, problems);
            }
        }
        DeValue::Table(table) => refuse_nul(place, table, problems),
        _ => {}
    }
}

fn syntax_remedy(error: &toml::de::Error) -> &'static str {
    if error.message().contains("duplicate key") {
        "Keep one of the two."
    } else {
        "A plan has lines such as `rows = 1000`, `name = \"text in quotes\"` and `[workload]`."
    }
}

/// The plan, with defaults in place of what was wrong; `None` where there is nothing to build it from.
fn read_plan(
    top: &Section<'_>,
    problems: &Problems<'_>,
    file: &str,
    context: &PlanContext<'_>,
) -> Option<Plan> {
    top.check_keys(&PLAN_KEYS, |key| match key {
        "build" | "config" => Some("[[arm]]".to_owned()),
        "builds" | "configs" => Some("[matrix]".to_owned()),
        _ if WORKLOAD_KEYS.contains(&key) => Some("[workload]".to_owned()),
        _ => None,
    });
    let directory = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut arms = arms::read(top, problems, &ArmRules { directory, context });
    let protocol = protocol::read(top, problems);
    let FoundWorkload { workload, tests, insert } = match top.table("workload", "[workload]") {
        Some(section) => read_benchmark(top, &section, problems, protocol.protocol),
        None if top.node("workload").is_none() => {
            let remedy = "Add [workload] with at least `rows`, the rows per table.";
            problems.missing(&(0..0), "[workload]", "missing", remedy);
            return None;
        }
        None => return None,
    };
    let base = arms::read_base(top, problems, &arms)?;
    if protocol.control {
        arms::add_control(&mut arms, &base);
    }
    let mut plan = Plan {
        name: read_name(top, problems, file),
        protocol: protocol.protocol,
        passes: protocol.passes,
        budget: protocol.budget,
        base,
        seed: top.integer("seed", limits::SEED).map_or(1, |found| found.value),
        on_server_death: top
            .choice("on_server_death", &[("next-arm", OnServerDeath::NextArm), ("stop", OnServerDeath::Stop)])
            .unwrap_or(OnServerDeath::NextArm),
        workload,
        insert,
        isolated: protocol.isolated,
        verdict: protocol::read_verdict(top),
        profile: profile::read(top),
        tests,
        arms,
    };
    if protocol.fits_windows {
        let seconds = fitting_window_seconds(&plan);
        plan.isolated.iter_mut().for_each(|isolated| isolated.window_seconds = seconds);
    }
    driver::check(top, problems, &mut plan);
    protocol::check(top, problems, &plan);
    insert::check(top, problems, &plan);
    Some(plan)
}

/// The plan's name, by default the file's without `.toml`.
fn read_name(top: &Section<'_>, problems: &Problems<'_>, file: &str) -> String {
    let stem =
        Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(Found { value, at }) = top.text("name") else {
        return limits::folder_name_from(&stem);
    };
    check_folder_name(problems, &top.place_of("name"), value, &at);
    value.to_owned()
}

/// Records a name that cannot be a folder's.
pub(crate) fn check_folder_name(
    problems: &Problems<'_>,
    place: &str,
    name: &str,
    at: &std::ops::Range<usize>,
) {
    if limits::is_folder_name(name) {
        return;
    }
    let what = if name.len() > limits::NAME_CHARS_MAX {
        format!("a name has at most {} characters, this has {}", limits::NAME_CHARS_MAX, name.len())
    } else {
        format!("\"{name}\" cannot name a folder: letters, digits, `.`, `_` and `-`, first a letter or digit")
    };
    problems.error(at, place, what, format!("Write for example \"{}\".", limits::folder_name_from(name)));
}

/// What every arm does, whichever the benchmark.
struct FoundWorkload {
    workload: Workload,
    tests: BTreeMap<String, TestOptions>,
    insert: Option<InsertOptions>,
}

fn read_benchmark(
    top: &Section<'_>,
    section: &Section<'_>,
    problems: &Problems<'_>,
    protocol: Protocol,
) -> FoundWorkload {
    let words = Benchmark::ALL.map(|benchmark| (benchmark.key(), benchmark));
    match section.choice("benchmark", &words).unwrap_or(Benchmark::Microbenchmarks) {
        Benchmark::Microbenchmarks => {
            insert::check_absent(top, problems);
            let (workload, tests) = read_workload(top, section, problems, protocol);
            FoundWorkload { workload, tests, insert: None }
        }
        Benchmark::Insert => {
            let FoundInsert { workload, tests, options } = insert::read(top, section, problems);
            FoundWorkload { workload, tests, insert: Some(options) }
        }
    }
}

fn read_workload(
    top: &Section<'_>,
    section: &Section<'_>,
    problems: &Problems<'_>,
    protocol: Protocol,
) -> (Workload, BTreeMap<String, TestOptions>) {
    section.check_keys(&WORKLOAD_KEYS, |key| match key {
        "events" | "rate_per_second" | "seconds" => Some("a table such as [test.scan]".to_owned()),
        _ if PLAN_KEYS.contains(&key) => Some("the top of the file, before the first [section]".to_owned()),
        _ if INSERT_KEYS.contains(&key) => Some("[insert], with benchmark = \"insert\" here".to_owned()),
        _ => None,
    });
    if section.node("rows").is_none() {
        problems.missing(
            &section.at,
            section.place_of("rows"),
            "missing",
            "Say how many rows each table has.",
        );
    }
    let small =
        |key, range, default: u32| section.integer(key, range).map_or(default, |found| found.value as u32);
    let tables = small("tables", limits::TABLES, 1);
    let rows = section.integer("rows", limits::ROWS).map_or(*limits::ROWS.end(), |found| found.value);
    let settle_default = limits::settle_seconds_default(u64::from(tables) * rows);
    let mut workload = Workload {
        benchmark: Benchmark::Microbenchmarks,
        tables,
        rows,
        clients: small("clients", limits::CLIENTS, 1),
        read_seconds: small("read_seconds", limits::WINDOW_SECONDS, 600),
        write_seconds: small("write_seconds", limits::WINDOW_SECONDS, 900),
        write_work: section
            .choice("write_work", &[("as-base", WriteWork::AsBase), ("time", WriteWork::Time)])
            .unwrap_or(WriteWork::AsBase),
        warmup: read_warmup(section, problems).unwrap_or(Warmup::Time(Duration::from_secs(5))),
        delete_share_max: section
            .number("delete_share_max", limits::DELETE_SHARE)
            .map_or(0.5, |found| found.value),
        driver: driver::read(section),
        transport: section
            .choice("transport", &[("unix", Transport::Unix), ("tcp", Transport::Tcp)])
            .unwrap_or(Transport::Unix),
        vacuum_after_load: section.boolean("vacuum_after_load").is_some_and(|found| found.value),
        settle_seconds_max: small("settle_seconds_max", limits::SETTLE_SECONDS, settle_default),
        steps: Vec::new(),
    };
    let listed = steps::read_steps(section, problems);
    workload.steps = match protocol {
        Protocol::Isolated if section.node("steps").is_none() => protocol::isolated_steps(),
        _ => listed.iter().map(|step| step.value.clone()).collect(),
    };
    let tests = steps::read_tests(top, problems, &workload);
    if protocol == Protocol::Sequence {
        steps::warn(section, problems, &workload, &tests, &listed);
    }
    (workload, tests)
}

/// `warmup_seconds`: a number of seconds, or `"detect"`.
pub(crate) fn read_warmup(section: &Section<'_>, problems: &Problems<'_>) -> Option<Warmup> {
    let key = "warmup_seconds";
    let (_, node) = section.node(key)?;
    match node.get_ref().as_str() {
        Some("detect") => Some(Warmup::Detect),
        Some(text) if text.parse::<f64>().is_err() => {
            let remedy = "Write a number of seconds, or \"detect\" to go on once the rate is steady.";
            problems.error(
                &node.span(),
                section.place_of(key),
                format!("\"{text}\" is not known here"),
                remedy,
            );
            None
        }
        _ => section
            .number(key, limits::WARMUP_SECONDS)
            .map(|found| Warmup::Time(Duration::from_secs_f64(found.value))),
    }
}
