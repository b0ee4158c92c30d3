//! The steps of a plan of the Insert Benchmark and their options. Steps depend on the rows and indexes of
//! earlier ones, so their order is checked too.

use std::collections::BTreeMap;

use rqps_model::did_you_mean;
use rqps_plan::reader::{Found, Section};
use rqps_plan::{Problems, TestOptions, limits, shared};

use super::options::rate_remedy;
use super::{sequence, test_by_name, tests};

/// The steps without a rate, in the only possible order.
const WRITE_STEPS: [&str; 4] = ["l.i0", "l.x", "l.i1", "l.i2"];
const TEST_KEYS: [&str; 1] = ["rate_mei_percent"];

/// Names of the steps: those listed in the plan, or the benchmark's own.
pub(crate) fn read(workload: &Section<'_>, problems: &Problems<'_>, rates: &[u32]) -> Vec<String> {
    let repeated = |_: &str| shared::KEEP_ONE.to_owned();
    let Some(steps) = shared::listed_steps(workload, problems, &unknown_step, &repeated) else {
        return sequence(rates);
    };
    check_order(workload, problems, &steps);
    steps.into_iter().map(|step| step.value).collect()
}

fn check_order(workload: &Section<'_>, problems: &Problems<'_>, steps: &[Found<String>]) {
    let place = workload.place_of("steps");
    let known = |step: &&Found<String>| unknown_step(&step.value).is_none();
    let mut done: Vec<&str> = Vec::new();
    for step in steps.iter().filter(known) {
        let name = step.value.as_str();
        let rank = WRITE_STEPS.iter().position(|write| *write == name);
        let later = match rank {
            Some(rank) => done.iter().find(|earlier| {
                **earlier != "settle" && !WRITE_STEPS[..rank].contains(earlier) && **earlier != name
            }),
            None => None,
        };
        let needed: &[&str] = match name {
            "l.i0" => &[],
            "l.x" | "settle" => &WRITE_STEPS[..1],
            _ => &WRITE_STEPS[..2],
        };
        let missing = needed.iter().find(|needed| !done.contains(*needed));
        if let Some(missing) = missing {
            let what = format!("\"{name}\" needs what \"{missing}\" leaves: {}", left_by(missing));
            problems.error(&step.at, &place, what, format!("List \"{missing}\" before it."));
        } else if let Some(later) = later {
            let what = format!("\"{name}\" comes after \"{later}\"");
            let remedy = format!("Keep the order {}, then the query steps.", WRITE_STEPS.join(", "));
            problems.error(&step.at, &place, what, remedy);
        }
        done.push(name);
    }
}

fn left_by(step: &str) -> &'static str {
    if step == "l.x" { "the secondary indexes" } else { "the rows" }
}

/// The remedy for an unknown step name; `None` if the name is known.
fn unknown_step(name: &str) -> Option<String> {
    if name == shared::SETTLE || test_by_name(name).is_some() {
        return None;
    }
    if name.starts_with("qr") || name.starts_with("qp") {
        return Some(format!("{} \"qr100\" and \"qp100\" do 100.", rate_remedy()));
    }
    let question = did_you_mean(name, tests().iter().map(|test| test.name).chain([shared::SETTLE]));
    let all = "Write l.i0, l.x, l.i1, l.i2, settle, or a query step such as qr100 or qp100.";
    Some(question.unwrap_or_else(|| all.to_owned()))
}

/// Reads the tables `[test.NAME]`, by step name.
pub(crate) fn read_tests(
    top: &Section<'_>,
    problems: &Problems<'_>,
    steps: &[String],
) -> BTreeMap<String, TestOptions> {
    let mut tests = BTreeMap::new();
    let Some(all) = top.table("test", "[test.NAME]") else {
        return tests;
    };
    for (name, key_at, _) in all.entries() {
        let place = format!("[test.{}]", shared::toml_key(name));
        if name == "l" {
            let what = "a name with a dot needs quotes";
            problems.error(&key_at, place, what, "Write for example [test.\"l.i1\"].");
            continue;
        }
        if let Some(remedy) = unknown_step(name) {
            let what = format!("there is no test \"{name}\" in this benchmark");
            problems.error(&key_at, &place, what, remedy);
            continue;
        }
        if name == "settle" {
            let remedy = "`settle_seconds` is in [insert], its cap `settle_seconds_max` in [workload].";
            problems.error(&key_at, place, "a settle step has no options of its own", remedy);
            continue;
        }
        let Some(section) = all.table(name, &place) else {
            continue;
        };
        section.check_keys(&TEST_KEYS, table_with_key);
        let rate_mei_percent =
            section.number("rate_mei_percent", limits::MEI_PERCENT).map(|found| found.value);
        if !steps.iter().any(|step| step == name) {
            let remedy = format!("Add \"{name}\" to `steps`, or remove this table.");
            problems.warn(&key_at, place, "has no effect: the plan has no step of this name", remedy);
        }
        tests.insert(name.to_owned(), TestOptions { rate_mei_percent, ..TestOptions::default() });
    }
    tests
}

/// Where a key of another benchmark's `[test.NAME]` belongs in this one.
fn table_with_key(key: &str) -> Option<String> {
    match key {
        "seconds" => Some("[insert], as `query_seconds`".to_owned()),
        "events" | "rows" => Some("[insert], as `load_rows` and `write_rows`".to_owned()),
        "rate_per_second" => Some("[insert], as `rates`".to_owned()),
        "clients" => Some("[workload], for all steps".to_owned()),
        _ => None,
    }
}
