//! Whether two runs are comparable: same host, kernel, DBMS of the base, data and order of steps, and configs with
//! the same name have the same content.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rqps_model::Unit;
use rqps_store::{Arm, PlannedStep, Role, Run, counted};

/// A value that a run does not tell.
const UNKNOWN: &str = "unknown";

/// A parameter in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, such as `kernel`.
    pub what: String,
    /// The first run's name and value.
    pub first: (String, String),
    /// The other run's name and value.
    pub other: (String, String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((first, first_value), (other, other_value)) = (&self.first, &self.other);
        write!(f, "{}: {first_value} in {first}, {other_value} in {other}", self.what)
    }
}

/// All differences between two runs.
pub(crate) fn differences(first: &Run, other: &Run) -> Vec<Difference> {
    let mut found = parameter_differences((first, parameters(first)), (other, parameters(other)));
    found.extend(step_difference(first, other));
    found.extend(config_differences(first, other));
    found
}

/// All differences between runs of different protocols, except those in protocol, method and steps.
pub(crate) fn differences_across_protocols(first: &Run, other: &Run) -> Vec<Difference> {
    let common = |run: &Run| {
        let mut values = parameters(run);
        values.retain(|name, _| {
            name != "protocol" && !run.meta.method.iter().any(|setting| setting.name == *name)
        });
        values
    };
    let mut found = parameter_differences((first, common(first)), (other, common(other)));
    found.extend(config_differences(first, other));
    found
}

/// Differences of the first run's parameters, then parameters that only the other run has.
fn parameter_differences(
    (first, left): (&Run, BTreeMap<String, String>),
    (other, right): (&Run, BTreeMap<String, String>),
) -> Vec<Difference> {
    let names = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name)));
    // What the files of an import do not tell is no difference.
    let is_untold = |value: &String| value == UNKNOWN && first.meta.is_imported() && other.meta.is_imported();
    let differ = |name: &String| {
        let [a, b] =
            [&left, &right].map(|values| values.get(name).cloned().unwrap_or_else(|| UNKNOWN.to_owned()));
        (a != b && !is_untold(&a) && !is_untold(&b)).then(|| difference(name.clone(), first, a, other, b))
    };
    names.filter_map(differ).collect()
}

fn difference(what: String, first: &Run, a: String, other: &Run, b: String) -> Difference {
    Difference { what, first: (first.folder.name(), a), other: (other.folder.name(), b) }
}

/// An imported run may not tell, or have several numbers.
fn clients(clients: u32) -> String {
    if clients == 0 { UNKNOWN.to_owned() } else { clients.to_string() }
}

/// Values that must be equal, by name.
fn parameters(run: &Run) -> BTreeMap<String, String> {
    let meta = &run.meta;
    let base = run.arms.iter().find(|arm| arm.role == Role::Base);
    let fixed = [
        ("DBMS of the base", base.map_or_else(|| "unknown".to_owned(), |arm| arm.dbms.clone())),
        ("workload", meta.workload.clone()),
        ("workload revision", meta.workload_revision.clone()),
        ("protocol", meta.protocol.clone()),
        ("seed", meta.seed.to_string()),
        ("tables", meta.tables.to_string()),
        ("rows per table", meta.rows_per_table.to_string()),
        ("clients", clients(meta.clients)),
    ];
    // Figures of the host are beside some results and not beside others.
    let results = meta.is_imported().then(|| ("results".to_owned(), meta.workload_title.clone()));
    let method = meta.method.iter().filter(|setting| !(meta.is_imported() && setting.name == "format"));
    // Of directories the kernel, the file system and its mount options are what is compared.
    let is_measured = |key: &str| base.is_some_and(|arm| arm.is_directory() && arm.fact(key).is_some());
    let host = run.host.iter().filter(|fact| fact.comparable && !is_measured(&fact.key));
    fixed
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .chain(results)
        .chain(method.map(|setting| (setting.name.clone(), setting.value.clone())))
        .chain(host.map(|fact| (format!("host: {}", fact.key), fact.value.clone())))
        .collect()
}

/// What runs must have in common so that their rates make one course: clients, rows, and what an import tells.
pub(crate) fn workload_settings(run: &Run, step: &str) -> BTreeMap<String, String> {
    let meta = &run.meta;
    let of_step = run.steps.iter().find(|one| one.name == step).map_or(0, |one| one.clients);
    let numbers = [
        ("clients", if of_step > 0 { of_step } else { meta.clients }.to_string()),
        ("tables", meta.tables.to_string()),
        ("rows per table", meta.rows_per_table.to_string()),
    ];
    let known = numbers.into_iter().filter(|(_, value)| value != "0");
    let unit = Some(run).filter(|_| meta.is_imported()).and_then(|run| unit_of(run, step));
    let is_setting = |name: &str| meta.is_imported() && !["format", "program"].contains(&name);
    let told = meta.method.iter().filter(|setting| is_setting(&setting.name));
    known
        .chain(unit.map(|unit| ("unit", unit.many.to_string())))
        .map(|(name, value)| (name.to_owned(), value))
        .chain(told.map(|setting| (setting.name.clone(), setting.value.clone())))
        .collect()
}

/// What the rates of a step count.
pub(crate) fn unit_of<'a>(run: &'a Run, step: &str) -> Option<&'a Unit> {
    run.windows.iter().find(|window| window.action.step == step).map(|window| &window.result.unit)
}

/// The first differing step, and how many more differ.
fn step_difference(first: &Run, other: &Run) -> Option<Difference> {
    let longest = first.steps.len().max(other.steps.len());
    let mut differing = (0..longest).filter(|index| first.steps.get(*index) != other.steps.get(*index));
    let index = differing.next()?;
    let more = match differing.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let value = |step: Option<&PlannedStep>| match step {
        Some(step) if step.clients == 0 => step.name.clone(),
        Some(step) => {
            format!("{} with {} for {}", step.name, counted(step.clients as usize, "client"), step.amount)
        }
        None => "nothing".to_owned(),
    };
    let (a, b) = (value(first.steps.get(index)), value(other.steps.get(index)));
    Some(difference(format!("step {}{more}", index + 1), first, a, other, b))
}

/// Lines of a config that are named.
const CONFIG_LINES_MAX: usize = 3;

/// Configs of one DBMS with the same name and different content, by the lines that only one of them has.
fn config_differences(first: &Run, other: &Run) -> Vec<Difference> {
    let configs = |run: &Run| -> BTreeMap<String, (String, String)> {
        let named = |arm: &Arm| {
            (
                format!("{} of {}", arm.config_name, arm.dbms),
                (arm.config_hash.clone(), arm.config_text.clone()),
            )
        };
        run.arms.iter().map(named).collect()
    };
    let (left, right) = (configs(first), configs(other));
    left.into_iter()
        .filter_map(|(name, (hash, a))| {
            let (other_hash, b) = right.get(&name).filter(|(other, _)| *other != hash)?;
            let (a, b) = match (only_in(&a, b), only_in(b, &a)) {
                // Lines in another order.
                (None, None) => (hash, other_hash.clone()),
                (a, b) => (a.unwrap_or_else(lacking), b.unwrap_or_else(lacking)),
            };
            Some(difference(format!("content of config {name}"), first, a, other, b))
        })
        .collect()
}

fn lacking() -> String {
    "no such line".to_owned()
}

/// Lines of a text that another lacks.
fn only_in(text: &str, other: &str) -> Option<String> {
    let others: BTreeSet<&str> = other.lines().map(str::trim).collect();
    let lines = text.lines().map(str::trim);
    let own: Vec<&str> = lines.filter(|line| !line.is_empty() && !others.contains(line)).collect();
    let named = own.iter().take(CONFIG_LINES_MAX).copied().collect::<Vec<&str>>().join(", ");
    match own.len().saturating_sub(CONFIG_LINES_MAX) {
        _ if own.is_empty() => None,
        0 => Some(named),
        more => Some(format!("{named} and {more} more")),
    }
}
