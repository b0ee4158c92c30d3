//! Steps: what a workload does after the load, one after another, and the names by which a plan lists them.

use crate::microbenchmarks;
use crate::model::Test;

/// One step of a workload.
#[derive(Debug, Clone)]
pub struct Step {
    /// The name in plans and tables: a test's name, with a suffix for warm-ups and early passes, or `settle`.
    pub name: String,
    /// What it does.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Pay MVCC and write-back debt down.
    Settle,
    /// Run a test.
    Measure {
        /// The test.
        test: &'static Test,
        /// Whether its figures are results or preparation.
        role: Role,
        /// As many clients as tables, whatever the plan's number of clients.
        clients_equal_tables: bool,
        /// How long, in the plan's terms.
        seconds: Seconds,
    },
}

/// What a measured step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A result.
    Test,
    /// `.warm`, `.warmpre`: fills caches; left out of tables.
    Warm,
    /// `.pre`: the test before the first write; left out of tables unless asked for.
    Pre,
}

/// How long a step lasts, in the plan's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seconds {
    /// The plan's `read_seconds`.
    Read,
    /// The plan's `write_seconds`.
    Write,
    /// This many seconds, or `read_seconds` where that is shorter.
    Short(u32),
}

/// A step name that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    /// The name as given.
    pub name: String,
    /// The known name nearest to it.
    pub nearest: Option<&'static str>,
}

/// The step that `name` stands for: a test, `TEST.pre`, `TEST.warm`, `TEST.warmpre`, or `settle`.
pub fn parse_step(name: &str) -> Result<Step, StepError> {
    if name == "settle" {
        return Ok(Step { name: name.to_owned(), kind: StepKind::Settle });
    }
    let (test_name, role) = match name.rsplit_once('.') {
        Some((test, "warm" | "warmpre")) => (test, Role::Warm),
        Some((test, "pre")) => (test, Role::Pre),
        _ => (name, Role::Test),
    };
    let Some(test) = microbenchmarks::test_by_name(test_name) else {
        return Err(StepError { name: name.to_owned(), nearest: nearest(test_name) });
    };
    Ok(Step { name: name.to_owned(), kind: microbenchmarks::measure(test, role) })
}

fn nearest(name: &str) -> Option<&'static str> {
    let names = microbenchmarks::tests().iter().map(|test| test.name).chain(["settle"]);
    let (distance, best) = names.map(|known| (edit_distance(name, known), known)).min()?;
    (distance <= 2 + name.len() / 3).then_some(best)
}

/// Levenshtein distance in characters.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_and_typos() {
        let role = |name: &str| match parse_step(name).unwrap().kind {
            StepKind::Measure { role, clients_equal_tables, .. } => (role, clients_equal_tables),
            StepKind::Settle => panic!("{name} is no settle"),
        };
        assert_eq!(role("point-query.warm"), (Role::Warm, true));
        assert_eq!(role("scan.warmpre"), (Role::Warm, false));
        assert_eq!(role("read-only_range=10.pre"), (Role::Pre, false));
        assert_eq!(role("update-one"), (Role::Test, false));
        assert_eq!(parse_step("update-indx").unwrap_err().nearest, Some("update-index"));
        assert_eq!(parse_step("xyzzy").unwrap_err().nearest, None);
    }
}
