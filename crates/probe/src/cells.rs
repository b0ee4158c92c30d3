//! Cells of a result set.

use std::str::FromStr;

/// A cell as text; `None` if it is NULL or missing.
pub(crate) fn cell(row: &[Option<String>], at: usize) -> Option<&str> {
    row.get(at)?.as_deref()
}

/// A cell as text, empty if it is NULL or missing.
pub(crate) fn text(row: &[Option<String>], at: usize) -> String {
    cell(row, at).unwrap_or_default().to_owned()
}

/// A cell as a number; `None` if it does not parse.
pub(crate) fn number<T: FromStr>(row: &[Option<String>], at: usize) -> Option<T> {
    cell(row, at)?.parse().ok()
}
