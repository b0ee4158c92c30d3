//! What was compared with what: the title of pages, figures and Markdown reports.

use std::collections::BTreeSet;

use rqps_model::counted;
use rqps_store::Arm;

use crate::families;
use crate::words;

/// Most arms that a title names.
const NAMED_MAX: usize = 5;

/// `PostgreSQL 16.15 and 17.11 against PostgreSQL 14.24`; of one version `PostgreSQL 17.11: small against large`.
/// `all`: the arms of the run.
pub(crate) fn of(base: &Arm, candidates: &[&Arm], all: &[Arm]) -> String {
    let name = |arm: &Arm| match (arm.dbms.is_empty(), arm.build_version.is_empty()) {
        (true, _) | (_, true) => arm.name.clone(),
        _ => format!("{} {}", words::dbms(&arm.dbms), arm.build_version),
    };
    let told = |arm: &Arm, name: String| match families::told_apart(arm, all) {
        Some(build) => format!("{name} ({build})"),
        None => name,
    };
    let of_base = name(base);
    let names: Vec<String> = candidates.iter().map(|arm| name(arm)).collect();
    let is_each_new = names.iter().collect::<BTreeSet<_>>().len() == names.len() && !names.contains(&of_base);
    match names.as_slice() {
        [] => of_base,
        several if several.len() > NAMED_MAX => {
            format!("{} against {}", counted(several.len(), "arm"), told(base, of_base))
        }
        several if several.iter().all(|name| *name == of_base) => {
            let arms: Vec<String> = candidates.iter().map(|arm| told(arm, arm.name.clone())).collect();
            format!("{of_base}: {} against {}", listed(&arms), told(base, base.name.clone()))
        }
        [one] => format!("{one} against {of_base}"),
        several if is_each_new => format!("{} against {}", listed(several), told(base, of_base)),
        several => format!("{} against {}", counted(several.len(), "arm"), told(base, of_base)),
    }
}

/// `PostgreSQL 16.15, 17.11 and 18.6`
fn listed(names: &[String]) -> String {
    let dbms = |name: &str| name.rsplit_once(' ').map(|(dbms, _)| dbms.to_owned());
    let short = |(at, name): (usize, &String)| match at > 0 && dbms(name) == dbms(&names[0]) {
        true => name.rsplit_once(' ').map_or(name.as_str(), |(_, version)| version).to_owned(),
        false => name.clone(),
    };
    let short: Vec<String> = names.iter().enumerate().map(short).collect();
    match short.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => short.join(""),
    }
}
