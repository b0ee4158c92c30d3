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

/// Whether SQL begins with one of `verbs` and has no semicolon outside of quotes.
pub(crate) fn is_one_statement(sql: &str, verbs: &[&str]) -> bool {
    let first: String = sql.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    let mut quote = None;
    verbs.iter().any(|verb| verb.eq_ignore_ascii_case(&first))
        && sql.chars().all(|c| {
            match quote {
                Some(open) if c == open => quote = None,
                None if "'\"`".contains(c) => quote = Some(c),
                _ => {}
            }
            c != ';' || quote.is_some()
        })
}

/// A cell as a number; `None` if it does not parse.
pub(crate) fn number<T: FromStr>(row: &[Option<String>], at: usize) -> Option<T> {
    cell(row, at)?.parse().ok()
}
