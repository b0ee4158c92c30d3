//! Scripts of pgbench that have one name, in different directories: `read/q.sql` and `write/q.sql` are two tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::path_classes::is_repeat_label;
use crate::placed::Found;

/// Directories that a test's name takes at most.
const DIRECTORIES_MAX: usize = 4;

/// The scripts of a test, by arm.
type Scripts = BTreeMap<usize, BTreeSet<String>>;

/// Adds as many directories to the names of tests as tell the scripts of an arm apart. Where arms have other
/// directories than one another, these are those of the arms, or of each run.
pub fn tell_apart(found: &mut [Found]) {
    let mut of_test: BTreeMap<String, Scripts> = BTreeMap::new();
    for one in found.iter() {
        if let Some(script) = one.measurement.script.as_ref().filter(|script| script.contains('/')) {
            let scripts = of_test.entry(one.test.test.clone()).or_default();
            scripts.entry(one.arm).or_default().insert(script.clone());
        }
    }
    let parts: BTreeMap<String, usize> =
        of_test.into_iter().filter_map(|(test, scripts)| Some((test, parts(&scripts)?))).collect();
    for one in found {
        let script = one.measurement.script.as_ref();
        if let (Some(script), Some(parts)) = (script, parts.get(&one.test.test)) {
            one.test.test = name(script, *parts).join(".");
        }
    }
}

/// How many parts of their paths tell the scripts of each arm apart, and are the same on all arms.
fn parts(of_arm: &Scripts) -> Option<usize> {
    of_arm.values().find(|scripts| scripts.len() > 1)?;
    let names = |scripts: &BTreeSet<String>, parts: usize| -> BTreeSet<Vec<String>> {
        scripts.iter().map(|script| name(script, parts)).collect()
    };
    let tells = |parts: &usize| {
        let all: Vec<BTreeSet<Vec<String>>> = of_arm.values().map(|scripts| names(scripts, *parts)).collect();
        let are_apart = of_arm.values().zip(&all).all(|(scripts, names)| scripts.len() == names.len());
        let is_test = |name: &Vec<String>| !name.iter().any(|part| is_repeat_label(part));
        are_apart && all.iter().all(|names| *names == all[0]) && all[0].iter().all(is_test)
    };
    (2..=1 + DIRECTORIES_MAX).find(tells)
}

/// The last parts of a script's path, without its ending.
fn name(script: &str, parts: usize) -> Vec<String> {
    let all: Vec<&str> = script.trim_end_matches(".sql").split('/').filter(|part| !part.is_empty()).collect();
    all[all.len().saturating_sub(parts)..].iter().map(|part| (*part).to_owned()).collect()
}
