//! The host, and the method of the run.
//!
//! | column | means |
//! | --- | --- |
//! | `fact` | name of the fact |
//! | `value` | its value |
//! | `compared` | `yes`: runs that differ in it are not comparable |

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::counted;
use rqps_store::Run;

use crate::document::{Cell, Column, Table};
use crate::tables::conditions;
use crate::words;

/// The facts of a run's host.
pub(crate) fn table(run: &Run) -> Table {
    let columns = ["fact", "value", "compared"].map(Column::words).to_vec();
    let mut table = Table::new("host", format!("Host of {}", run.folder.name()), columns, 0);
    for fact in &run.host {
        let compared = if fact.comparable { "yes" } else { "no" };
        table.row(vec![Cell::words(&*fact.key), Cell::words(&*fact.value), Cell::words(compared)]);
    }
    table
}

/// The method of a run, one line per parameter.
pub(crate) fn method(run: &Run) -> Vec<String> {
    let (meta, clients) = (&run.meta, format!("{}s", words::client_noun(run)));
    if meta.is_imported() {
        let mut lines = vec![
            format!("{}, by rqps {}", meta.workload_title, meta.program_version),
            "protocol: imported: what its files do not tell is missing".to_owned(),
        ];
        lines.extend((meta.clients > 0).then(|| format!("{clients}: {}", meta.clients)));
        lines.extend(meta.method.iter().map(|setting| format!("{}: {}", setting.name, setting.value)));
        return lines;
    }
    let mut lines = vec![
        format!(
            "workload: {}, revision {}, run by rqps {}",
            meta.workload_title, meta.workload_revision, meta.program_version
        ),
        format!("protocol: {}", protocol(run)),
    ];
    if meta.size().is_some() {
        lines.push(format!("seed: {}", meta.seed));
    } else if meta.tables > 0 {
        lines.push(format!("data: {}, seed {}", conditions::rows(run), meta.seed));
    }
    lines.push(format!("{clients}: {}", counts_of_clients(run)));
    lines.push(format!("windows: {}", amounts(run)));
    lines.extend(meta.method.iter().map(|setting| format!("{}: {}", setting.name, setting.value)));
    lines
}

/// Whether tests begin with what others left: a pass has fewer loads than tests.
pub(crate) fn shares_state(run: &Run) -> bool {
    let count = |kind: &str| run.steps.iter().filter(|step| step.kind == kind).count();
    count("load") == 0 || count("load") < count("measure")
}

/// The driver of a run, as part of a sentence: `, driven by sysbench`; empty if the run does not have it.
pub(crate) fn driven_by(run: &Run) -> String {
    driver(run).map(|driver| format!(", driven by {driver}")).unwrap_or_default()
}

/// The program that drove a run, if it is not rqps itself.
pub(crate) fn driver(run: &Run) -> Option<&str> {
    run.meta.method_of("driver")
}

/// `8`, or of tests that differ in it `1, 8`.
fn counts_of_clients(run: &Run) -> String {
    let counts: BTreeSet<u32> = run.windows.iter().map(|window| window.result.clients).collect();
    let counts = if counts.is_empty() { BTreeSet::from([run.meta.clients]) } else { counts };
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn protocol(run: &Run) -> String {
    match &*run.meta.protocol {
        "sequence" if run.terms().has_program && !shares_state(run) => {
            "sequence: the tests run in a fixed order, each on tables loaded for it alone".to_owned()
        }
        "sequence" => format!("sequence: {}", run.terms().sequence),
        "isolated" => format!("isolated: {}", run.terms().isolated),
        other => other.to_owned(),
    }
}

/// Lengths of the measured steps: `600 s in 26 tests, 900 s in 9 tests`.
fn amounts(run: &Run) -> String {
    // Passes repeat the steps.
    let mut tests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in run.steps.iter().filter(|step| step.kind == "measure") {
        tests.entry(&step.amount).or_default().insert(&step.name);
    }
    let mut counts: Vec<(&str, usize)> =
        tests.into_iter().map(|(amount, names)| (amount, names.len())).collect();
    counts.sort_by_key(|(amount, count)| (std::cmp::Reverse(*count), *amount));
    let of = |(amount, count): &(&str, usize)| format!("{amount} in {}", counted(*count, "test"));
    counts.iter().map(of).collect::<Vec<_>>().join(", ")
}
