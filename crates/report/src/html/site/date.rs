//! When the results of a run are from: of an import, when its files were measured, not when they were imported.

use rqps_store::Run;

use crate::error::Result;
use crate::number;

/// A date, and what it is the date of.
#[derive(Debug, Clone)]
pub(super) struct Date {
    pub at_ms: i64,
    /// Before the date; empty for a run that rqps measured.
    what: &'static str,
}

impl Date {
    /// That of the newest result that tells one, else that of the newest file.
    pub fn of(run: &Run) -> Result<Self> {
        let created = |what| Self { at_ms: run.meta.created_at_ms, what };
        if !run.meta.is_imported() {
            return Ok(created(""));
        }
        let sources = run.sources()?;
        let measured = sources.iter().filter_map(|source| source.measured_at_ms).max();
        let modified = sources.iter().filter_map(|source| source.modified_at_ms).max();
        let known = measured.map(|at_ms| Self { at_ms, what: "measured " });
        let of_files = || modified.map(|at_ms| Self { at_ms, what: "files of " });
        Ok(known.or_else(of_files).unwrap_or_else(|| created("imported ")))
    }

    pub fn text(&self) -> String {
        format!("{}{}", self.what, number::utc(self.at_ms))
    }

    pub fn day(&self) -> String {
        let day: String = number::utc(self.at_ms).chars().take("2026-07-30".len()).collect();
        format!("{}{day}", self.what)
    }
}
