//! The names by which plans list steps of the microbenchmarks: a test's name, with a suffix for warm-ups and early
//! passes.

use rqps_model::Role;
use rqps_plan::shared::{StepError, nearest_step};

use super::test_by_name;

/// What a test's name may end with, after a dot.
pub(crate) const SUFFIXES: [&str; 3] = ["pre", "warm", "warmpre"];

/// Refuses a name that is neither `settle` nor a test's, with or without a suffix.
pub fn check(name: &str) -> Result<(), StepError> {
    let (test, _) = test_and_role(name);
    if name == rqps_plan::shared::SETTLE || test_by_name(test).is_some() {
        return Ok(());
    }
    Err(StepError {
        name: name.to_owned(),
        nearest: nearest_step(test, super::tests().iter().map(|test| test.name)),
    })
}

/// The test that a step runs, and what for.
pub fn test_and_role(step: &str) -> (&str, Role) {
    match step.rsplit_once('.') {
        Some((test, "warm" | "warmpre")) => (test, Role::Warm),
        Some((test, "pre")) => (test, Role::Pre),
        _ => (step, Role::Test),
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
        assert_eq!(check("update-indx").unwrap_err().nearest.as_deref(), Some("update-index"));
        assert_eq!(check("xyzzy").unwrap_err().nearest, None);
        assert!(check("settle").is_ok() && check("l.i0").is_err());
    }
}
