//! Step names of the microbenchmarks in plans: a test's name, with a suffix for warm-ups and early passes.

use rqps_model::Role;
use rqps_plan::shared::{nearest_step, without_clients};

use super::test_by_name;

/// Suffixes of step names, after a dot.
pub(crate) const SUFFIXES: [&str; 3] = ["pre", "warm", "warmpre"];

/// Whether `name` is `settle`, or a test's name with or without a suffix.
pub(crate) fn is_known(name: &str) -> bool {
    name == rqps_plan::shared::SETTLE || test_by_name(test_and_role(name).0).is_some()
}

/// The known name nearest to an unknown one, if it may be a typo.
pub fn nearest(name: &str) -> Option<String> {
    nearest_step(test_and_role(name).0, super::tests().iter().map(|test| test.name))
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
        assert_eq!(nearest("update-indx").as_deref(), Some("update-index"));
        assert_eq!(nearest("xyzzy"), None);
        assert!(is_known("settle") && !is_known("l.i0"));
    }
}
