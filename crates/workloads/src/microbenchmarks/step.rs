//! Step names of the microbenchmarks in plans: a test's name, with a suffix for warm-ups and early passes.

use rqps_model::Role;
use rqps_plan::shared::{SETTLE, without_clients};

use super::test_by_name;

/// Suffixes of step names, after a dot.
pub(crate) const SUFFIXES: [&str; 3] = ["pre", "warm", "warmpre"];

/// Whether `name` is `settle`, or a test's name with or without a suffix.
pub(crate) fn is_known(name: &str) -> bool {
    name == SETTLE || test_by_name(test_and_role(name).0).is_some()
}

/// Asks for the known name nearest to an unknown one, with the same suffix.
pub(crate) fn did_you_mean(name: &str) -> Option<String> {
    let suffix = SUFFIXES.iter().find(|suffix| name.ends_with(&format!(".{suffix}")));
    let ending = suffix.map_or_else(String::new, |suffix| format!(".{suffix}"));
    let steps: Vec<String> = super::tests().iter().map(|test| format!("{}{ending}", test.name)).collect();
    // A suffix hides that a name lacks its end.
    let test = name.strip_suffix(&*ending).unwrap_or(name);
    let tests = || super::tests().iter().map(|test| test.name).chain([SETTLE]);
    rqps_model::did_you_mean(name, steps.iter().map(String::as_str).chain([SETTLE]))
        .or_else(|| rqps_model::did_you_mean(test, tests()))
}

/// The test that a step runs, and the step's role.
pub fn test_and_role(step: &str) -> (&str, Role) {
    match step.rsplit_once('.') {
        Some((test, "warm" | "warmpre")) => (test, Role::Warm),
        Some((test, "pre")) => (test, Role::Pre),
        _ => (without_clients(step).0, Role::Test),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_and_typos() {
        assert_eq!(test_and_role("point-query.warm"), ("point-query", Role::Warm));
        assert_eq!(test_and_role("scan.warmpre"), ("scan", Role::Warm));
        assert_eq!(test_and_role("read-only_range=10.pre"), ("read-only_range=10", Role::Pre));
        assert_eq!(test_and_role("update-one"), ("update-one", Role::Test));
        assert_eq!(test_and_role("read-only_range=10_clients=8"), ("read-only_range=10", Role::Test));
        let question = |name| did_you_mean(name).unwrap_or_default();
        assert_eq!(question("update-indx"), "Did you mean `update-index`?");
        assert_eq!(question("update-indx.pre"), "Did you mean `update-index.pre`?");
        let read_write = question("read-write");
        assert!(
            read_write.contains("`read-write_range=10`") && read_write.contains("_range=100`"),
            "{read_write}"
        );
        assert!(!question("read-write.pre").is_empty());
        assert_eq!((question("setle"), question("xyzzy")), ("Did you mean `settle`?".into(), String::new()));
        assert!(is_known("settle") && !is_known("l.i0"));
    }
}
