//! Whether two runs are comparable: same host, kernel, DBMS of the base, data and order of steps, and configs with
//! the same name have the same content.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rqps_model::{Unit, counted, size_bytes};
use rqps_store::{Arm, PlannedStep, Role, Run};

use crate::words;

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
    /// Whether it is the same for all that is compared, since each run has blocks and a base of its own.
    pub is_within_runs: bool,
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
        values.retain(|name, _| name != "protocol" && run.meta.method_of(name).is_none());
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
    let [first, other] = [(first.folder.name(), a), (other.folder.name(), b)];
    Difference { what, first, other, is_within_runs: false }
}

/// An imported run may not tell, or have several numbers.
fn clients(clients: u32) -> String {
    if clients == 0 { UNKNOWN.to_owned() } else { clients.to_string() }
}

/// Values that must be equal, by name.
fn parameters(run: &Run) -> BTreeMap<String, String> {
    let meta = &run.meta;
    let base = run.arms.iter().find(|arm| arm.role == Role::Base);
    let (rows, tables) = run.rows_and_tables();
    let fixed = [
        ("DBMS of the base", base.map_or_else(|| "unknown".to_owned(), |arm| arm.dbms.clone())),
        ("workload", meta.workload.clone()),
        ("workload revision", meta.workload_revision.clone()),
        ("protocol", meta.protocol.clone()),
        ("seed", meta.seed.to_string()),
        ("tables", tables.to_string()),
        ("clients", clients(meta.clients)),
    ];
    // The method has the size in the benchmark's words.
    let rows = meta.size().is_none().then(|| ("rows", rows.to_string()));
    // The method names another one alone.
    let driver = (!meta.is_imported()).then(|| ("driver".to_owned(), "rqps".to_owned()));
    // Figures of the host are beside some results and not beside others.
    let results = meta.is_imported().then(|| ("results".to_owned(), meta.workload_title.clone()));
    let method = meta.method.iter().filter(|setting| !(meta.is_imported() && setting.name == "format"));
    // Of directories the kernel, the file system and its mount options are what is compared.
    let is_measured = |key: &str| base.is_some_and(|arm| arm.is_directory() && arm.fact(key).is_some());
    let host = run.host.iter().filter(|fact| fact.comparable && !is_measured(&fact.key));
    fixed
        .into_iter()
        .chain(rows)
        .map(|(name, value)| (name.to_owned(), value))
        .chain(driver)
        .chain(results)
        .chain(
            method.map(|setting| (setting.name.clone(), once_if_alike(means(&setting.name, &setting.value)))),
        )
        .chain(host.map(|fact| (format!("host: {}", fact.key), fact.value.clone())))
        .collect()
}

/// A setting's value without the reason for it, which may be another one for the same method:
/// `none` of `none: the plan turns it off (no counters)`.
fn means<'v>(name: &str, value: &'v str) -> &'v str {
    let reason = [": ", " ("].into_iter().filter_map(|start| value.find(start)).min();
    match name {
        "instructions" => reason.map_or(value, |at| &value[..at]),
        _ => value,
    }
}

/// `1` of `1, 1`: a value of each size of the data, where all are alike.
fn once_if_alike(values: &str) -> String {
    let mut each = values.split(", ");
    let first = each.next().unwrap_or_default();
    if each.all(|value| value == first) { first.to_owned() } else { values.to_owned() }
}

/// What runs must have in common so that their rates make one course: clients, rows, and what an import tells.
pub(crate) fn workload_settings(run: &Run, step: &str) -> BTreeMap<String, String> {
    let meta = &run.meta;
    let of_step = run.steps.iter().find(|one| one.name == step).map_or(0, |one| one.clients);
    let (rows, tables) = run.rows_and_tables();
    let numbers = [
        ("clients", if of_step > 0 { of_step } else { meta.clients }.to_string()),
        ("tables", tables.to_string()),
        ("rows", rows.to_string()),
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
    // Clients of a step that is not measured are those of the plan, which differ by themselves.
    let step = |run: &Run, index: usize| {
        let step = run.steps.get(index).cloned()?;
        let clients = if step.kind == "measure" { step.clients } else { 0 };
        Some(PlannedStep { clients, ..step })
    };
    let mut differing = (0..longest).filter(|index| step(first, *index) != step(other, *index));
    let index = differing.next()?;
    let more = match differing.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let value = |step: Option<PlannedStep>| {
        let Some(PlannedStep { name, clients, amount, .. }) = step else {
            return "nothing".to_owned();
        };
        let with = if clients == 0 {
            String::new()
        } else {
            format!(" with {}", counted(clients as usize, "client"))
        };
        let until = if amount.is_empty() { amount } else { format!(" for {amount}") };
        format!("{name}{with}{until}")
    };
    let (a, b) = (value(step(first, index)), value(step(other, index)));
    Some(difference(format!("step {}{more}", index + 1), first, a, other, b))
}

/// Options of a config that are named.
const OPTIONS_MAX: usize = 3;

/// Configs of one DBMS with the same name and different options, by those that only one of them has. Comments, order
/// and options that rqps sets itself, such as the socket, cannot matter.
fn config_differences(first: &Run, other: &Run) -> Vec<Difference> {
    let name_of = |arm: &Arm| format!("{} of {}", arm.config_name, arm.dbms);
    let all: BTreeSet<String> = first.arms.iter().map(name_of).collect();
    all.into_iter()
        .filter_map(|name| {
            let [own, others] = [first, other]
                .map(|run| run.arms.iter().filter(|arm| name_of(arm) == name).collect::<Vec<_>>());
            let (a, b) = alike(&own, &others).filter(|(a, b)| a.config_hash != b.config_hash)?;
            let managed: BTreeSet<&str> =
                [a, b].into_iter().flat_map(|arm| &arm.managed).map(|one| &*one.name).collect();
            let of_config = |arm: &Arm| {
                let mut options = options(&arm.config_text);
                options.retain(|name, _| !managed.contains(name.as_str()));
                options
            };
            let (own, others) = (of_config(a), of_config(b));
            let (a, b) = (only_in(&own, &others), only_in(&others, &own));
            if a.is_none() && b.is_none() {
                return None;
            }
            let lacking = || "no such option".to_owned();
            let (a, b) = (a.unwrap_or_else(lacking), b.unwrap_or_else(lacking));
            let servers = [first, other].map(|run| run.arms.len());
            if has_shares((&own, servers[0]), (&others, servers[1]))
                && [first, other].into_iter().all(rqps_verdicts::has_blocks)
            {
                let [one, more] = servers;
                let what =
                    format!("what config {name} takes as the share of {one} and of {more} servers at a time");
                return Some(Difference { is_within_runs: true, ..difference(what, first, a, other, b) });
            }
            Some(difference(format!("content of config {name}"), first, a, other, b))
        })
        .collect()
}

/// An arm of each with the same series of versions, since a config may have sections of one; if none is, the last ones
/// without such sections.
fn alike<'a>(own: &[&'a Arm], others: &[&'a Arm]) -> Option<(&'a Arm, &'a Arm)> {
    let pairs = || own.iter().flat_map(|a| others.iter().map(move |b| (*a, *b)));
    let has_section = |arm: &Arm| arm.left_out.iter().any(|left| left.option.starts_with('['));
    let comparable = |(a, b): &(&Arm, &Arm)| !has_section(a) && !has_section(b);
    pairs().find(|(a, b)| series(a) == series(b)).or_else(|| pairs().rfind(comparable))
}

/// The series of an arm's version, such as `17`, `9.6` or `8.0`.
fn series(arm: &Arm) -> (&str, Option<&str>) {
    let mut numbers = arm.build_version.split('.');
    let first = numbers.next().unwrap_or_default();
    let is_alone = arm.dbms == "postgres" && first.len() > 1;
    (first, numbers.next().filter(|_| !is_alone))
}

/// Whether options differ as those of a config do that is fitted to a server's share of the memory: in sizes alone,
/// which are smaller where more servers ran side by side.
fn has_shares(
    (own, servers): (&BTreeMap<String, String>, usize),
    (others, more): (&BTreeMap<String, String>, usize),
) -> bool {
    let is_share = |name: &String| {
        let [a, b] = [own, others].map(|options| options.get(name).and_then(|value| size_bytes(value, None)));
        a.zip(b).is_some_and(|(a, b)| a != b && (a > b) == (servers < more))
    };
    let names = own.keys().chain(others.keys());
    servers != more && names.filter(|name| own.get(*name) != others.get(*name)).all(is_share)
}

/// The options of a config's text, each with its last value.
fn options(text: &str) -> BTreeMap<String, String> {
    let option = |line: &str| {
        let line = without_comment(line).trim();
        let end = line.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(line.len());
        let value = line[end..].trim_start().trim_start_matches('=').trim();
        let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
        let name = line[..end].to_ascii_lowercase().replace('-', "_");
        (!line.is_empty() && !line.starts_with('[')).then(|| (name, value.to_owned()))
    };
    text.lines().filter_map(option).collect()
}

/// A line up to the comment in it, if that is not in quotes.
fn without_comment(line: &str) -> &str {
    let is_quoted = |at: usize| line[..at].matches('\'').count() % 2 == 1;
    let is_start = |at: usize| at == 0 || line[..at].ends_with(char::is_whitespace);
    let mut signs = line.match_indices(['#', ';']).map(|(at, _)| at);
    signs.find(|at| is_start(*at) && !is_quoted(*at)).map_or(line, |at| &line[..at])
}

/// Options that others lack or have with another value: `work_mem = 4MB`.
fn only_in(options: &BTreeMap<String, String>, others: &BTreeMap<String, String>) -> Option<String> {
    let own = options.iter().filter(|(name, value)| others.get(*name) != Some(value));
    let own: Vec<String> = own.map(|(name, value)| format!("{name} = {value}")).collect();
    (!own.is_empty()).then(|| words::names(&own, OPTIONS_MAX))
}

#[cfg(test)]
mod tests {
    use super::{alike, has_shares, means, once_if_alike, options};
    use rqps_model::LeftOut;
    use rqps_store::{Arm, Role};

    #[test]
    fn only_sizes_of_more_servers_are_shares() {
        let [all, half, other] = ["a = 3GB\nb = 1", "a = 896MB\nb = 1", "a = 896MB\nb = 2"].map(options);
        assert!(has_shares((&all, 2), (&half, 6)) && has_shares((&half, 6), (&all, 2)));
        assert!(!has_shares((&all, 6), (&half, 2)) && !has_shares((&all, 2), (&half, 2)));
        assert!(!has_shares((&all, 2), (&other, 6)));
    }

    /// `[mysqld-8.0]` makes the same file another config for 8.4.
    #[test]
    fn configs_of_two_series_are_compared_only_without_sections_of_one() {
        let arm = |dbms: &str, version: &str, section: &str| {
            let left = LeftOut { option: section.to_owned(), ..LeftOut::default() };
            let left_out = Some(left).filter(|_| !section.is_empty()).into_iter().collect();
            Arm { dbms: dbms.to_owned(), left_out, ..rqps_store::testing::arm(version, Role::Base, version) }
        };
        let compared = |own: &[&Arm], others: &[&Arm]| {
            alike(own, others).map(|(a, b)| (a.build_version.clone(), b.build_version.clone()))
        };
        let [old, new] = [arm("mysql", "8.0.31", ""), arm("mysql", "8.4.3", "")];
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(compared(&[&old], &[&new, &old]), pair("8.0.31", "8.0.31"));
        assert_eq!(compared(&[&old], &[&new]), pair("8.0.31", "8.4.3"));
        assert_eq!(compared(&[&old], &[&arm("mysql", "8.4.3", "[mysqld-8.0]")]), None);
        let [minor, newer] = [arm("postgres", "17.7", "[x]"), arm("postgres", "17.11", "")];
        assert_eq!(compared(&[&minor], &[&newer]), pair("17.7", "17.11"));
    }

    #[test]
    fn why_instructions_are_not_counted_is_no_other_method() {
        let of = |value| means("instructions", value);
        let none = [
            "none: the plan turns it off (no counters)",
            "none: the budget is too short to count them; --budget 9m would do on a quiet host (no counters)",
            "none (no counters; install valgrind to count them)",
        ];
        assert_eq!(none.map(of), ["none"; 3]);
        assert_eq!(of("counted under valgrind-3.19.0 (no counters)"), "counted under valgrind-3.19.0");
        assert_ne!(of("counted under valgrind-3.24.0 (no counters)"), "counted under valgrind-3.19.0");
        assert_eq!(of("hardware counters of the processor"), "hardware counters of the processor");
        assert_eq!(means("settle at most", "60 s (capped)"), "60 s (capped)");
    }

    #[test]
    fn a_value_of_every_size_of_the_data_is_told_once() {
        assert_eq!(["1, 1", "1", "1, 8"].map(once_if_alike), ["1", "1", "1, 8"]);
    }

    #[test]
    fn options_have_no_comments_and_are_written_alike() {
        let texts = [
            "#####\n# Config a (sha256 c0ffee)\nwork_mem = '4MB' # before\nport=5432\n\nwork_mem '8MB'\n",
            "; of mysql\n[mysqld]\nwork-mem = 8MB\nPORT = 5432\n",
        ];
        let [a, b] = texts.map(options);
        assert_eq!(a, b);
        assert_eq!(a["work_mem"], "8MB");
        assert_eq!(options("log_line_prefix = 'a # b; c'")["log_line_prefix"], "a # b; c");
    }
}
