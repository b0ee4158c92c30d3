//! What is wrong with a plan, as the user is told.

use std::fmt;

use crate::model::Arm;
use crate::plan::Plan;
use crate::problem::{Problem, REPORTED_MAX, sort};
use rqps_model::BuildSpec;

/// All mistakes of a plan. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanErrors {
    /// The file, as given by the user.
    pub file: Box<str>,
    /// In line order.
    pub problems: Vec<Problem>,
    /// Of what the plan names, such as configs: a text each, with its place. The caller adds them.
    pub elsewhere: Vec<String>,
    /// The arms in which no mistake was found, but in the files of their configs: these may have others.
    pub arms: Vec<Arm>,
    /// Whether these are all.
    pub has_all_arms: bool,
    /// Builds in which no mistake was found, also those of the other arms.
    pub builds: Box<[PlannedBuild]>,
    /// The plan without what is wrong, as far as it was read: of what is right in it other mistakes can be found.
    pub rest: Option<Box<Plan>>,
}

/// A build at its place in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBuild {
    pub build: BuildSpec,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) place: String,
}

impl PlannedBuild {
    /// What is wrong with it, or uncertain.
    pub fn problem(&self, what: String) -> Problem {
        let (line, column, place) = (self.line, self.column, self.place.clone());
        Problem { line, column, place, what, remedy: String::new() }
    }
}

impl PlanErrors {
    /// No mistakes yet of a plan with these arms, or without some.
    pub fn of(file: &str, (arms, has_all_arms): (Vec<Arm>, bool), builds: Box<[PlannedBuild]>) -> Self {
        let (problems, elsewhere) = (Vec::new(), Vec::new());
        Self { file: file.into(), problems, elsewhere, arms, has_all_arms, builds, rest: None }
    }

    /// Adds mistakes that were found later.
    pub fn add(&mut self, problems: Vec<Problem>) {
        self.problems.extend(problems);
        sort(&mut self.problems);
    }
}

impl std::error::Error for PlanErrors {}

/// A longer text is not printed again.
const REPEATED_BYTES_MAX: usize = 100;

/// One paragraph per mistake, then their number.
impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first_like = |problem: &Problem| {
            self.problems.iter().find(|one| (&one.what, &one.remedy) == (&problem.what, &problem.remedy))
        };
        for problem in &self.problems {
            let is_long = problem.what.len() > REPEATED_BYTES_MAX;
            match first_like(problem).filter(|first| is_long && first.line < problem.line) {
                Some(first) => {
                    let Problem { line, column, place, .. } = problem;
                    writeln!(
                        f,
                        "{}:{line}:{column}: {place}: the same as in line {}\n",
                        self.file, first.line
                    )?;
                }
                None => writeln!(f, "{}\n", problem.display(&self.file))?,
            }
        }
        self.elsewhere.iter().try_for_each(|text| writeln!(f, "{text}\n"))?;
        let count = self.problems.len() + self.elsewhere.len();
        match (self.problems.len(), count) {
            (own, _) if own > REPORTED_MAX => write!(f, "more than {REPORTED_MAX} mistakes in ")?,
            (_, 1) => f.write_str("1 mistake in ")?,
            (_, count) => write!(f, "{count} mistakes in ")?,
        }
        let others = if self.elsewhere.is_empty() { "" } else { " and what it names" };
        write!(f, "{}{others}", self.file)
    }
}
