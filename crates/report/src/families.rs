//! Builds of different families: part of a difference between them may come from the compiler, so every table warns of
//! it for the arms that it shows.
//!
//! Two builds of one source by other compilers or flags differ by more than releases do. What a build was made by is in
//! the facts of its arm: `family.compiler`, `family.flags`, `family.libc`.

use rqps_model::Family;

use crate::sides::Side;
use crate::words;

/// `gcc 7.5.0 -Os`.
fn made_by(family: &Family) -> String {
    let flags = if family.flags == Family::UNKNOWN { "with unknown flags" } else { &family.flags };
    let compiler = if family.compiler == Family::UNKNOWN { "an unknown compiler" } else { &family.compiler };
    match (family.compiler.as_str(), family.flags.as_str()) {
        (Family::UNKNOWN, Family::UNKNOWN) => compiler.to_owned(),
        _ => format!("{compiler} {flags}").trim_end().to_owned(),
    }
}

fn library(family: &Family) -> &str {
    if family.libc == Family::UNKNOWN { "an unknown C library" } else { &family.libc }
}

/// A line for each family among `sides` that is not base's, and one where these are not of one DBMS. Builds go by names
/// that tell them apart among `all`.
pub(crate) fn warnings(base: &Side<'_>, sides: &[Side<'_>], all: &[Side<'_>]) -> Vec<String> {
    let own = Family::of_facts(&base.arm.facts);
    let mut unlike: Vec<(Family, Vec<String>)> = Vec::new();
    for side in sides.iter().filter(|side| side.arm.build_hash != base.arm.build_hash) {
        let (family, name) = (Family::of_facts(&side.arm.facts), name(side, all));
        if family.is_compiled_like(&own) && family.libc == own.libc {
            continue;
        }
        match unlike.iter_mut().find(|(known, _)| *known == family) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => unlike.push((family, vec![name])),
        }
    }
    let base = name(base, all);
    let lines = unlike.iter().map(|(family, names)| line(family, names, &own, &base));
    several_dbms(sides).into_iter().chain(lines).collect()
}

fn several_dbms(sides: &[Side<'_>]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for side in sides {
        let name = words::dbms(&side.arm.dbms);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (names.len() > 1).then(|| {
        format!("the arms run different DBMSs ({}): they differ in more than a version", names.join(", "))
    })
}

fn line(family: &Family, names: &[String], own: &Family, base: &str) -> String {
    let verb = |one: &'static str, several: &'static str| if names.len() == 1 { one } else { several };
    let names = names.join(", ");
    let by = (!family.is_compiled_like(own)).then(|| {
        format!(
            "{names} {} built with {}, base {base} with {}",
            verb("was", "were"),
            made_by(family),
            made_by(own)
        )
    });
    let with = (family.libc != own.libc).then(|| match by.is_some() {
        true => format!("and {} with {}, base with {}", verb("runs", "run"), library(family), library(own)),
        false => format!(
            "{names} {} with {}, base {base} with {}",
            verb("runs", "run"),
            library(family),
            library(own)
        ),
    });
    let differ: Vec<String> = by.into_iter().chain(with).collect();
    format!("{}: part of a difference may come from the build", differ.join("; "))
}

/// `postgres-9.6.24`, or how the arm is called where another build has that version too.
fn name(side: &Side<'_>, all: &[Side<'_>]) -> String {
    let arm = side.arm;
    let is_twin = |other: &Side<'_>| {
        (&other.arm.dbms, &other.arm.build_version) == (&arm.dbms, &arm.build_version)
            && other.arm.build_hash != arm.build_hash
    };
    match all.iter().any(is_twin) {
        true => side.reference(),
        false => format!("{}-{}", arm.dbms, arm.build_version),
    }
}
