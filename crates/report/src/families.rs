//! Builds of unlike families: part of a difference between them may be the compiler's, so every table says so of the
//! arms that are in it.
//!
//! Two builds of one source by other compilers or flags differ by more than releases do. What a build was made by is in
//! the facts of its arm: `family.compiler`, `family.flags`, `family.libc`.

use crate::sides::Side;
use crate::words;

/// What an arm without that fact has.
const UNKNOWN: &str = "unknown";

/// How an arm's build was made; each field `unknown` where that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Family {
    compiler: String,
    flags: String,
    libc: String,
}

impl Family {
    fn of(side: &Side<'_>) -> Self {
        let fact = |name: &str| {
            let fact = side.arm.facts.iter().find(|fact| fact.name == name);
            fact.map_or(UNKNOWN, |fact| &fact.value).to_owned()
        };
        Self { compiler: fact("family.compiler"), flags: fact("family.flags"), libc: fact("family.libc") }
    }

    /// Releases of one major version of a compiler make the same code, near enough.
    fn is_compiled_like(&self, other: &Family) -> bool {
        major(&self.compiler) == major(&other.compiler) && self.flags == other.flags
    }

    /// `gcc 7.5.0 -Os`.
    fn made_by(&self) -> String {
        let flags = if self.flags == UNKNOWN { "with unknown flags" } else { &self.flags };
        let compiler = if self.compiler == UNKNOWN { "an unknown compiler" } else { &self.compiler };
        match (self.compiler.as_str(), self.flags.as_str()) {
            (UNKNOWN, UNKNOWN) => compiler.to_owned(),
            _ => format!("{compiler} {flags}").trim_end().to_owned(),
        }
    }

    fn library(&self) -> &str {
        if self.libc == UNKNOWN { "an unknown C library" } else { &self.libc }
    }
}

/// `gcc 12` of `gcc 12.2.0`.
fn major(compiler: &str) -> &str {
    compiler.split_once('.').map_or(compiler, |(major, _)| major)
}

/// A line for each family among `sides` that is not base's, and one where these are not of one DBMS. Builds go by names
/// that tell them apart among `all`.
pub(crate) fn warnings(base: &Side<'_>, sides: &[Side<'_>], all: &[Side<'_>]) -> Vec<String> {
    let own = Family::of(base);
    let mut unlike: Vec<(Family, Vec<String>)> = Vec::new();
    for side in sides.iter().filter(|side| side.arm.build_hash != base.arm.build_hash) {
        let (family, name) = (Family::of(side), name(side, all));
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
        format!("the arms are of unlike DBMSs ({}): what differs is more than a version", names.join(", "))
    })
}

fn line(family: &Family, names: &[String], own: &Family, base: &str) -> String {
    let verb = |one: &'static str, several: &'static str| if names.len() == 1 { one } else { several };
    let names = names.join(", ");
    let by = (!family.is_compiled_like(own)).then(|| {
        format!(
            "{names} {} built by {}, base {base} by {}",
            verb("was", "were"),
            family.made_by(),
            own.made_by()
        )
    });
    let with = (family.libc != own.libc).then(|| match by.is_some() {
        true => format!("and {} with {}, base with {}", verb("runs", "run"), family.library(), own.library()),
        false => format!(
            "{names} {} with {}, base {base} with {}",
            verb("runs", "run"),
            family.library(),
            own.library()
        ),
    });
    let differ: Vec<String> = by.into_iter().chain(with).collect();
    format!("{}: part of a difference may be the build's", differ.join("; "))
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
