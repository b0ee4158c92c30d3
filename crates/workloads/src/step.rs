//! Steps: what a workload does after the load, one after another, and the names by which a plan lists them.

use crate::benchmark::Benchmark;
use crate::microbenchmarks;
use crate::model::Test;
use rqps_model::Role;

/// One step of a workload.
#[derive(Debug, Clone)]
pub struct Step {
    /// The name in plans and tables: a test's name, with a suffix for warm-ups and early passes, or `settle`.
    pub name: String,
    pub kind: StepKind,
}

#[derive(Debug, Clone)]
pub enum StepKind {
    /// Pay MVCC and write-back debt down.
    Settle,
    Measure {
        test: &'static Test,
        /// Whether its figures are results or preparation.
        role: Role,
        /// As many clients as tables, whatever the plan's number of clients.
        clients_equal_tables: bool,
        /// How long, in the plan's terms.
        seconds: Seconds,
    },
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
    pub name: String,
    /// The known name nearest to it.
    pub nearest: Option<&'static str>,
}

/// The step of a benchmark that `name` stands for: a test or `settle`; with the microbenchmarks also `TEST.pre`,
/// `TEST.warm` and `TEST.warmpre`.
pub fn parse_step(benchmark: Benchmark, name: &str) -> Result<Step, StepError> {
    if name == "settle" {
        return Ok(Step { name: name.to_owned(), kind: StepKind::Settle });
    }
    let (test_name, role) = match benchmark {
        Benchmark::Microbenchmarks => test_and_role(name),
        // Its state is the queue's, which a warm-up or an early pass would move.
        Benchmark::Insert => (name, Role::Test),
    };
    let Some(test) = benchmark.test_by_name(test_name) else {
        return Err(StepError { name: name.to_owned(), nearest: nearest(benchmark, test_name) });
    };
    Ok(Step { name: name.to_owned(), kind: microbenchmarks::measure(test, role) })
}

/// The test that a step runs, by its name alone: `scan` of `scan.pre`, `l.i0` of itself.
pub fn test_name(step: &str) -> &str {
    test_and_role(step).0
}

fn test_and_role(name: &str) -> (&str, Role) {
    match name.rsplit_once('.') {
        Some((test, "warm" | "warmpre")) => (test, Role::Warm),
        Some((test, "pre")) => (test, Role::Pre),
        _ => (name, Role::Test),
    }
}

/// Bytes of the longest name that may be a slip: comparing takes time by the product of both lengths.
const SLIP_BYTES_MAX: usize = 200;

fn nearest(benchmark: Benchmark, name: &str) -> Option<&'static str> {
    if name.len() > SLIP_BYTES_MAX {
        return None;
    }
    let names = benchmark.tests().iter().map(|test| test.name).chain(["settle"]);
    let (distance, best) = names.map(|known| (edit_distance(name, known), known)).min()?;
    (distance <= 2 + name.len() / 3).then_some(best)
}

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
        let parse = |name: &str| parse_step(Benchmark::Microbenchmarks, name);
        let role = |name: &str| match parse(name).unwrap().kind {
            StepKind::Measure { role, clients_equal_tables, .. } => (role, clients_equal_tables),
            StepKind::Settle => panic!("{name} is no settle"),
        };
        assert_eq!(role("point-query.warm"), (Role::Warm, true));
        assert_eq!(role("scan.warmpre"), (Role::Warm, false));
        assert_eq!(role("read-only_range=10.pre"), (Role::Pre, false));
        assert_eq!(role("update-one"), (Role::Test, false));
        assert_eq!(parse("update-indx").unwrap_err().nearest, Some("update-index"));
        assert_eq!(parse("xyzzy").unwrap_err().nearest, None);
    }

    #[test]
    fn each_benchmark_knows_its_own_steps() {
        let parse = |name: &str| parse_step(Benchmark::Insert, name);
        let known = |name: &str| match parse(name).unwrap().kind {
            StepKind::Measure { test, role, .. } => (test.name, role),
            StepKind::Settle => panic!("{name} is no settle"),
        };
        for name in ["l.i0", "l.x", "qp1000", "qr250"] {
            assert_eq!(known(name), (name, Role::Test));
            assert_eq!(test_name(name), name);
        }
        assert!(matches!(parse("settle").unwrap().kind, StepKind::Settle));
        assert_eq!(parse("l.i3").unwrap_err().nearest, Some("l.i0"));
        for unknown in ["l.i0.warm", "scan", "qr120", "qr0100", "qr+50"] {
            assert!(parse(unknown).is_err(), "{unknown}");
        }
        assert!(parse_step(Benchmark::Microbenchmarks, "l.i0").is_err());
        assert_eq!(test_name("scan.warmpre"), "scan");
    }
}
