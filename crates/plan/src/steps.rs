//! The steps of a plan and what single tests do differently: `steps` in `[workload]`, and `[test.NAME]`.

use std::collections::BTreeMap;

use rqps_model::Role;
use rqps_workloads::step::parse_step;
use rqps_workloads::{StepKind, Test, microbenchmarks};

use crate::insert_steps::unknown_step_remedy;
use crate::limits;
use crate::model::{Benchmark, TestOptions, Workload, WriteWork};
use crate::parse::read_warmup;
use crate::problem::Problems;
use crate::reader::{Found, Section, grouped};

const TEST_KEYS: [&str; 6] =
    ["seconds", "events", "rate_per_second", "clients", "warmup_seconds", "rate_mei_percent"];
const SUFFIXES: [&str; 3] = ["pre", "warm", "warmpre"];

/// The names of the steps, listed by the plan or in the benchmark's own order.
pub(crate) fn read_steps(workload: &Section<'_>, problems: &Problems<'_>) -> Vec<Found<String>> {
    let pre_tests = workload.boolean("pre_tests");
    let Some(steps) = listed_steps(workload, problems, Benchmark::Microbenchmarks) else {
        let all = microbenchmarks::sequence(pre_tests.is_some_and(|found| found.value));
        return all.into_iter().map(|step| Found { value: step.name, at: workload.at.clone() }).collect();
    };
    if let Some(Found { at, .. }) = pre_tests {
        let remedy = "Remove it, and list the .pre tests you want in `steps`.";
        problems.error(&at, workload.place_of("pre_tests"), "has no effect beside `steps`", remedy);
    }
    steps
}

/// The steps that a plan lists; none where it lists none.
pub(crate) fn listed_steps(
    workload: &Section<'_>,
    problems: &Problems<'_>,
    benchmark: Benchmark,
) -> Option<Vec<Found<String>>> {
    let list = workload.list("steps", "step names")?;
    let place = workload.place_of("steps");
    if list.value.is_empty() {
        let remedy = "List at least one test, or remove `steps` for the benchmark's own order.";
        problems.error(&list.at, place, "the list is empty", remedy);
        return Some(Vec::new());
    }
    if list.value.len() > limits::STEPS_MAX {
        let what = format!("{} steps; a plan has at most {}", list.value.len(), limits::STEPS_MAX);
        problems.error(&list.at, place, what, "Divide it into several plans.");
        return Some(Vec::new());
    }
    let mut steps: Vec<Found<String>> = Vec::new();
    for node in list.value {
        let at = node.span();
        let Some(name) = node.get_ref().as_str() else {
            workload.wrong_type("steps", at, node.get_ref(), "a step's name in quotes");
            continue;
        };
        check_step_name(problems, benchmark, &place, &at, name);
        if let Some(earlier) = steps.iter().find(|step| step.value == name && name != "settle") {
            let (line, _) = problems.line_and_column(earlier.at.start);
            let what = format!("\"{name}\" is listed twice, first on line {line}");
            problems.error(&at, &place, what, repeat_remedy(benchmark, name));
        }
        steps.push(Found { value: name.to_owned(), at });
    }
    Some(steps)
}

fn repeat_remedy(benchmark: Benchmark, name: &str) -> String {
    if name.contains('.') || benchmark == Benchmark::Insert {
        return "Keep one of the two.".to_owned();
    }
    format!("Keep one; an early pass is called \"{name}.pre\", a warm-up \"{name}.warm\".")
}

/// Records a name that is no step.
fn check_step_name(
    problems: &Problems<'_>,
    benchmark: Benchmark,
    place: &str,
    at: &std::ops::Range<usize>,
    name: &str,
) -> bool {
    if problems.is_full() {
        return false;
    }
    let Err(error) = parse_step(benchmark, name) else {
        return true;
    };
    let what = format!("there is no test \"{name}\"");
    if benchmark == Benchmark::Insert {
        problems.error(at, place, what, unknown_step_remedy(name, error.nearest));
        return false;
    }
    let suffix = SUFFIXES.iter().find(|suffix| name.ends_with(&format!(".{suffix}")));
    let remedy = match (error.nearest, suffix) {
        (Some(near), Some(suffix)) if near != "settle" => format!("Did you mean \"{near}.{suffix}\"?"),
        (Some(near), _) => format!("Did you mean \"{near}\"?"),
        (None, _) => {
            "Write a test's name, TEST.pre, TEST.warm, or settle; `rqps plan show small-server` lists them all."
                .to_owned()
        }
    };
    problems.error(at, place, what, remedy);
    false
}

/// The tables `[test.NAME]`, by step name.
pub(crate) fn read_tests(
    top: &Section<'_>,
    problems: &Problems<'_>,
    workload: &Workload,
) -> BTreeMap<String, TestOptions> {
    let mut tests = BTreeMap::new();
    let Some(all) = top.table("test", "[test.NAME]") else {
        return tests;
    };
    for (name, key_at, _) in all.entries() {
        let place = format!("[test.{}]", toml_key(name));
        let known = check_step_name(problems, Benchmark::Microbenchmarks, &place, &key_at, name);
        if name == "settle" {
            let remedy = "Its cap is `settle_seconds_max` in [workload].";
            problems.error(&key_at, place, "a settle step has no options of its own", remedy);
            continue;
        }
        let Some(section) = all.table(name, &place) else {
            continue;
        };
        check_test_keys(&section, name);
        let options = read_options(&section, problems, name, workload);
        let used = workload.steps.iter().any(|step| step == name || step.strip_suffix(".pre") == Some(name));
        if known && !used {
            let remedy = format!("Add \"{name}\" to `steps`, or remove this table.");
            problems.warn(&key_at, place, "has no effect: no step of the plan is called so", remedy);
        }
        tests.insert(name.to_owned(), options);
    }
    tests
}

/// Also catches `[test.scan.warm]`, which in TOML is a table within `[test.scan]`, not the step `scan.warm`.
fn check_test_keys(section: &Section<'_>, name: &str) {
    section.check_keys(&TEST_KEYS, |key| match key {
        "tables" | "rows" | "driver" | "transport" | "delete_share_max" => {
            Some("[workload], for all tests".to_owned())
        }
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
                format!("Write at least {}.", grouped(clients)),
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
        warmup: read_warmup(section, problems),
        rate_mei_percent: section.number("rate_mei_percent", limits::MEI_PERCENT).map(|found| found.value),
    }
}

/// What is allowed but seldom meant.
pub(crate) fn warn(
    section: &Section<'_>,
    problems: &Problems<'_>,
    workload: &Workload,
    tests: &BTreeMap<String, TestOptions>,
    steps: &[Found<String>],
) {
    let tested: Vec<(&Found<String>, &'static Test, Role)> = steps
        .iter()
        .filter_map(|found| match parse_step(Benchmark::Microbenchmarks, &found.value).ok()?.kind {
            StepKind::Measure { test, role, .. } => Some((found, test, role)),
            StepKind::Settle => None,
        })
        .collect();
    if let Some(shrunk) = tested.iter().position(|(_, test, _)| test.shrinks) {
        for (found, test, _) in tested[shrunk..].iter().filter(|(_, test, _)| !test.writes()) {
            let what = format!(
                "\"{}\" comes after \"{}\", so rows it asks for are gone",
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
        if clients > workload.tables {
            let what = format!(
                "more clients ({clients}) than tables ({}): some scan the same table",
                workload.tables
            );
            let at = if found.at == section.at { section.key_at("clients") } else { found.at.clone() };
            problems.warn(&at, "scan", what, "For one table a client, set clients in [test.scan].");
        }
    }
    let widest = tested.iter().map(|(_, test, _)| u64::from(test.range)).max().unwrap_or(0);
    if widest > workload.rows {
        let what = format!("ranges of {widest} rows are wider than a table of {} rows", workload.rows);
        problems.warn(
            &section.key_at("rows"),
            section.place_of("rows"),
            what,
            format!("Write at least {widest}."),
        );
    }
    if workload.write_work == WriteWork::Time && tested.iter().any(|(_, test, _)| test.writes()) {
        let what = "a faster arm changes more rows, so the steps after a write start from unlike tables";
        let remedy = "Use \"as-base\" unless the run is to match older results.";
        problems.warn(&section.key_at("write_work"), section.place_of("write_work"), what, remedy);
    }
}

/// A key as TOML writes it: quoted where it must be.
pub(crate) fn toml_key(name: &str) -> String {
    let bare = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if bare { name.to_owned() } else { format!("\"{name}\"") }
}
