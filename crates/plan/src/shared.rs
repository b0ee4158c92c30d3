//! Keys shared by all benchmarks, and the list of steps.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use rqps_model::Warmup;
use toml::Table;

use crate::limits;
use crate::model::{Driver, Isolated, Protocol, TestOptions, Transport};
use crate::plan::Workplan;
use crate::problem::Problems;
use crate::reader::{Found, Section};

/// The place of keys outside all sections.
pub const TOP: &str = "the top of the file, before the first [section]";
/// A step of every benchmark: it pays debt down.
pub const SETTLE: &str = "settle";
/// Remedy for duplicates.
pub const KEEP_ONE: &str = "Keep one of the two.";
/// For keys that work only with rqps' own clients.
pub const NOT_WITH_SYSBENCH: &str = "cannot be used with driver = \"sysbench\"";

/// The plan's driver, one of those that run the benchmark; the first is the default.
pub fn driver(workload: &Section<'_>, problems: &Problems<'_>, known: &[Driver]) -> Driver {
    let default = known.first().copied().unwrap_or_default();
    let choices = Driver::ALL.map(|driver| (driver.key(), driver));
    let chosen = workload.choice("driver", &choices).unwrap_or(default);
    if !known.contains(&chosen) {
        let what = format!("{} does not support this benchmark", chosen.key());
        let remedy = format!("Write \"{}\", or remove it.", default.key());
        problems.error(&workload.key_at("driver"), workload.place_of("driver"), what, remedy);
        return default;
    }
    chosen
}

pub fn transport(workload: &Section<'_>) -> Transport {
    let words = Transport::ALL.map(|transport| (transport.key(), transport));
    workload.choice("transport", &words).unwrap_or(Transport::Unix)
}

/// `warmup_seconds`: a number of seconds, or `"detect"`.
pub fn warmup(section: &Section<'_>, problems: &Problems<'_>) -> Option<Warmup> {
    let key = "warmup_seconds";
    let (_, node) = section.node(key)?;
    match node.get_ref().as_str() {
        Some("detect") => Some(Warmup::Detect),
        Some(text) if text.parse::<f64>().is_err() => {
            let remedy = "Write a number of seconds, or \"detect\" to warm up until the rate is steady.";
            let what = format!("unknown value \"{text}\"");
            problems.error(&node.span(), section.place_of(key), what, remedy);
            None
        }
        _ => {
            let found = section.number(key, limits::WARMUP_SECONDS)?;
            Some(Warmup::Time(Duration::from_secs_f64(found.value)))
        }
    }
}

/// A warm-up in a sentence: `of 5 s`.
pub fn warmup_text(warmup: Warmup) -> String {
    match warmup {
        Warmup::Time(time) => format!("of {} s", time.as_secs_f64()),
        Warmup::Detect => "until the rate is steady".to_owned(),
    }
}

/// Follows a test's name in that of a step with its own number of clients: `point-query_clients=8`.
const CLIENTS_SUFFIX: &str = "_clients=";

/// The test of a step's name, and the clients that the name gives.
pub fn without_clients(step: &str) -> (&str, Option<u32>) {
    let parts = step.rsplit_once(CLIENTS_SUFFIX);
    match parts.and_then(|(test, clients)| Some((test, clients.parse::<u32>().ok()?))) {
        Some((test, clients)) if limits::CLIENTS.contains(&clients.into()) => (test, Some(clients)),
        _ => (step, None),
    }
}

/// `clients`: a number, or in plans of blocks a list of several.
pub fn clients(workload: &Section<'_>, problems: &Problems<'_>, protocol: Protocol) -> Vec<u32> {
    let found = workload.integers("clients", limits::CLIENTS);
    let place = workload.place_of("clients");
    if let [_, second, ..] = found.as_slice()
        && protocol != Protocol::Isolated
    {
        let remedy = "Write one number, or protocol = \"isolated\".";
        problems.error(&second.at, &place, "only blocks measure several numbers of clients", remedy);
    }
    let mut clients: Vec<u32> = Vec::new();
    for Found { value, at } in found {
        if clients.contains(&(value as u32)) {
            problems.error(&at, &place, format!("{value} is listed twice"), KEEP_ONE);
        }
        clients.push(value as u32);
    }
    if clients.is_empty() { vec![1] } else { clients }
}

/// Each step once for each number of clients, if there are several.
pub fn each_with_clients(steps: Vec<String>, clients: &[u32]) -> Vec<String> {
    if clients.len() < 2 {
        return steps;
    }
    let each = |step: String| -> Vec<String> {
        match without_clients(&step) {
            (_, None) => clients.iter().map(|count| format!("{step}{CLIENTS_SUFFIX}{count}")).collect(),
            _ => vec![step],
        }
    };
    steps.into_iter().flat_map(each).collect()
}

/// Adds the options of steps whose names give the number of clients: else they are those of the test.
pub fn add_clients(tests: &mut BTreeMap<String, TestOptions>, steps: &[String]) {
    for step in steps {
        if let (test, Some(clients)) = without_clients(step) {
            let options = tests.get(step).or_else(|| tests.get(test)).cloned().unwrap_or_default();
            tests.insert(step.clone(), TestOptions { clients: Some(clients), ..options });
        }
    }
}

/// The steps that a plan lists; `None` without a list. `unknown` returns the remedy for a name that is not a step,
/// `repeated` for one that is listed twice.
pub fn listed_steps(
    workload: &Section<'_>,
    problems: &Problems<'_>,
    unknown: &dyn Fn(&str) -> Option<String>,
    repeated: &dyn Fn(&str) -> String,
) -> Option<Vec<Found<String>>> {
    let list = workload.list("steps", "step names")?;
    let place = workload.place_of("steps");
    if list.value.is_empty() {
        let remedy = "List at least one test, or remove `steps` for the benchmark's default order.";
        problems.error(&list.at, place, "the list is empty", remedy);
        return Some(Vec::new());
    }
    if list.value.len() > limits::STEPS_MAX {
        let what = format!("{} steps; a plan has at most {}", list.value.len(), limits::STEPS_MAX);
        problems.error(&list.at, place, what, "Split it into several plans.");
        return Some(Vec::new());
    }
    let mut steps: Vec<Found<String>> = Vec::new();
    for node in list.value {
        let at = node.span();
        let Some(name) = node.get_ref().as_str() else {
            workload.wrong_type("steps", at, node.get_ref(), "a step's name in quotes");
            continue;
        };
        check_step(problems, &place, &at, name, unknown);
        if let Some(earlier) = steps.iter().find(|step| step.value == name && name != SETTLE) {
            let (line, _) = problems.line_and_column(earlier.at.start);
            let what = format!("\"{name}\" is listed twice, first on line {line}");
            problems.error(&at, &place, what, repeated(name));
        }
        steps.push(Found { value: name.to_owned(), at });
    }
    Some(steps)
}

/// Reports an unknown step name; true if the name is known.
pub fn check_step(
    problems: &Problems<'_>,
    place: &str,
    at: &Range<usize>,
    name: &str,
    unknown: &dyn Fn(&str) -> Option<String>,
) -> bool {
    if problems.is_full() {
        return false;
    }
    let Some(remedy) = unknown(name) else {
        return true;
    };
    problems.error(at, place, format!("there is no test \"{name}\""), remedy);
    false
}

/// A key as TOML writes it: quoted where it must be.
pub fn toml_key(name: &str) -> String {
    let bare = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if bare { name.to_owned() } else { format!("\"{name}\"") }
}

/// How blocks measure, as rows of a run's method.
pub fn method_of_blocks(work: &dyn Workplan, isolated: &Isolated) -> [(&'static str, String); 3] {
    [
        ("window", work.window_of_blocks(isolated.window_seconds)),
        ("windows of a block", format!("{} on each arm, mirrored", isolated.windows)),
        ("blocks at most", isolated.blocks_max.to_string()),
    ]
}

/// A struct as a TOML table; empty if TOML cannot represent it, which never happens for plan options.
pub fn table_of(options: &impl serde::Serialize) -> Table {
    Table::try_from(options).unwrap_or_default()
}
