//! Warnings about builds of different families: part of their difference may come from the compiler.
//!
//! Builds of the same source by different compilers or flags can differ by more than two releases. A build's
//! family is in the facts of its arm: `family.compiler`, `family.flags`, `family.libc`.

use rqps_model::{Family, short_hash};
use rqps_store::Arm;

use crate::comparison::ComparedArm;
use crate::words;

/// `gcc 7.5.0 -Os`.
pub(crate) fn toolchain(family: &Family) -> String {
    let flags = if family.flags == Family::UNKNOWN { "with unknown flags" } else { &family.flags };
    let compiler = if family.compiler == Family::UNKNOWN { "an unknown compiler" } else { &family.compiler };
    match (family.compiler.as_str(), family.flags.as_str()) {
        (Family::UNKNOWN, Family::UNKNOWN) => compiler.to_owned(),
        (Family::UNKNOWN, _) => format!("{compiler} with {flags}"),
        _ => format!("{compiler} {flags}").trim_end().to_owned(),
    }
}

fn libc(family: &Family) -> &str {
    if family.libc == Family::UNKNOWN { "an unknown C library" } else { &family.libc }
}

/// A warning if `arms` run different DBMSs, and one for each family that differs from base's. The names of
/// builds are unique among `all`.
pub(crate) fn warnings(
    base: &ComparedArm<'_>,
    arms: &[ComparedArm<'_>],
    all: &[ComparedArm<'_>],
) -> Vec<String> {
    let base_family = Family::of_facts(&base.arm.facts);
    let mut others: Vec<(Family, Vec<String>)> = Vec::new();
    for compared in arms.iter().filter(|compared| compared.arm.build_hash != base.arm.build_hash) {
        let (family, name) = (Family::of_facts(&compared.arm.facts), build_name(compared, all));
        if family.is_compiled_like(&base_family) && family.libc == base_family.libc {
            continue;
        }
        match others.iter_mut().find(|(known, _)| *known == family) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => others.push((family, vec![name])),
        }
    }
    let base = build_name(base, all);
    let lines = others.iter().map(|(family, names)| warning(family, names, &base_family, &base));
    several_dbms(arms).into_iter().chain(lines).collect()
}

fn several_dbms(arms: &[ComparedArm<'_>]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    // Of an imported arm nobody may have said.
    for compared in arms.iter().filter(|compared| !compared.arm.dbms.is_empty()) {
        let name = words::dbms(&compared.arm.dbms);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (names.len() > 1).then(|| {
        format!("the arms run different DBMSs ({}): they differ in more than a version", names.join(", "))
    })
}

fn warning(family: &Family, names: &[String], base_family: &Family, base: &str) -> String {
    let (was, runs) = if names.len() == 1 { ("was", "runs") } else { ("were", "run") };
    let names = names.join(", ");
    let base = if base == "base" { base.to_owned() } else { format!("base {base}") };
    let built = (!family.is_compiled_like(base_family)).then(|| {
        format!("{names} {was} built with {}, {base} with {}", toolchain(family), toolchain(base_family))
    });
    let linked = (family.libc != base_family.libc).then(|| {
        let (own, of_base) = (libc(family), libc(base_family));
        match built.is_some() {
            true => format!("and {runs} with {own}, base with {of_base}"),
            false => format!("{names} {runs} with {own}, {base} with {of_base}"),
        }
    });
    let differences: Vec<String> = built.into_iter().chain(linked).collect();
    format!("{}: part of a difference may come from the build", differences.join("; "))
}

/// `postgres-9.6.24`; the arm's reference if another build has the same version.
fn build_name(compared: &ComparedArm<'_>, all: &[ComparedArm<'_>]) -> String {
    let arm = compared.arm;
    match all.iter().any(|other| is_another_of_its_version(other.arm, arm)) {
        true => compared.reference(),
        false => format!("{}-{}", arm.dbms, arm.build_version),
    }
}

/// Whether it is another build of the same version.
fn is_another_of_its_version(other: &Arm, arm: &Arm) -> bool {
    (&other.dbms, &other.build_version) == (&arm.dbms, &arm.build_version)
        && other.build_hash != arm.build_hash
}

/// What tells an arm's build from others of its version: where it comes from, or else its hash. `None` if there are no
/// others.
pub(crate) fn told_apart(arm: &Arm, all: &[Arm]) -> Option<String> {
    let others: Vec<&Arm> = all.iter().filter(|other| is_another_of_its_version(other, arm)).collect();
    let origin = &arm.build_origin;
    let is_told = !origin.is_empty() && others.iter().all(|other| other.build_origin != *origin);
    (!others.is_empty()).then(|| match is_told {
        true => origin.clone(),
        false => format!("build {}", short_hash(&arm.build_hash)),
    })
}
