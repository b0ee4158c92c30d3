//! Mistakes in a plan: the place, what is wrong, and what to write instead.
//!
//! Checks collect all mistakes instead of stopping at the first.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

/// One mistake (or one warning) in a plan file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The place in messages: `[workload] rows`.
    pub place: String,
    pub what: String,
    /// What to do about it; empty if that is part of `what`.
    pub remedy: String,
}

impl Problem {
    /// The paragraph shown to the user: `file:line:column: place: what`, and the remedy on a line of its own.
    pub fn display<'a>(&'a self, file: &'a str) -> impl fmt::Display + 'a {
        struct Paragraph<'a>(&'a Problem, &'a str);
        impl fmt::Display for Paragraph<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Paragraph(problem, file) = self;
                write!(f, "{file}:{}:{}: ", problem.line, problem.column)?;
                if !problem.place.is_empty() {
                    write!(f, "{}: ", problem.place)?;
                }
                f.write_str(&problem.what)?;
                match problem.remedy.is_empty() {
                    true => Ok(()),
                    false => write!(f, "\n    {}", problem.remedy),
                }
            }
        }
        Paragraph(self, file)
    }
}

/// Maximum number of reported mistakes. More usually have one cause, and finding a place takes time.
pub const REPORTED_MAX: usize = 100;

/// Collects problems while a plan is read, and turns byte positions into lines and columns.
pub struct Problems<'a> {
    text: &'a str,
    errors: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
    /// False if the TOML itself is broken, since missing keys may then only be unreadable, or if it is not known which
    /// are needed.
    report_missing: Cell<bool>,
}

impl<'a> Problems<'a> {
    pub fn new(text: &'a str) -> Self {
        Problems {
            text,
            errors: RefCell::default(),
            warnings: RefCell::default(),
            report_missing: Cell::new(true),
        }
    }

    /// Records a mistake at a byte range of the text.
    pub fn error(
        &self,
        at: &Range<usize>,
        place: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if self.is_full() {
            return;
        }
        let problem = self.problem(at, place.into(), what.into(), remedy.into());
        self.errors.borrow_mut().push(problem);
    }

    /// Records that a required key is missing, unless the TOML itself is broken.
    pub fn missing(
        &self,
        at: &Range<usize>,
        place: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if self.report_missing.get() {
            self.error(at, place, what, remedy);
        }
    }

    /// Records something that is allowed but rarely intended.
    pub fn warn(
        &self,
        at: &Range<usize>,
        place: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if self.warnings.borrow().len() > REPORTED_MAX {
            return;
        }
        let problem = self.problem(at, place.into(), what.into(), remedy.into());
        self.warnings.borrow_mut().push(problem);
    }

    /// Stops reporting missing keys.
    pub fn ignore_missing(&self) {
        self.report_missing.set(false);
    }

    /// Whether no further mistake would be reported, so that checks can stop.
    pub fn is_full(&self) -> bool {
        self.errors.borrow().len() > REPORTED_MAX
    }

    /// How many mistakes have been recorded.
    pub fn count(&self) -> usize {
        self.errors.borrow().len()
    }

    /// The warnings in line order.
    pub fn into_warnings(self) -> Vec<Problem> {
        let mut warnings = self.warnings.into_inner();
        sort(&mut warnings);
        warnings
    }

    /// The mistakes in line order. A line of broken TOML keeps only its first: the rest would be guesses about a value
    /// that was read in part.
    pub fn into_errors(self, broken_lines: &[u32]) -> Vec<Problem> {
        let mut seen_broken = Vec::new();
        let mut errors = self.errors.into_inner();
        errors.retain(|problem| {
            let repeated = broken_lines.contains(&problem.line) && seen_broken.contains(&problem.line);
            seen_broken.push(problem.line);
            !repeated
        });
        sort(&mut errors);
        errors
    }

    /// Line and column, both from 1, of a byte position.
    pub fn line_and_column(&self, at: usize) -> (u32, u32) {
        let at = (0..=at.min(self.text.len())).rev().find(|i| self.text.is_char_boundary(*i)).unwrap_or(0);
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        (line as u32, before[line_start..].chars().count() as u32 + 1)
    }

    fn problem(&self, at: &Range<usize>, place: String, what: String, remedy: String) -> Problem {
        let (line, column) = self.line_and_column(at.start);
        Problem { line, column, place, what, remedy }
    }
}

/// By line.
pub(crate) fn sort(problems: &mut [Problem]) {
    problems.sort_by_key(|problem| (problem.line, problem.column));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let problems = Problems::new("a = 1\né = 22");
        assert_eq!(problems.line_and_column(0), (1, 1));
        assert_eq!(problems.line_and_column("a = 1\né = ".len()), (2, 5));
        assert_eq!(problems.line_and_column("a = 1\n".len() + 1), (2, 1), "inside a character");
        assert_eq!(problems.line_and_column(usize::MAX), (2, 7));
    }
}
