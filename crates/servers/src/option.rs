//! An option as a line of a config gives it, whatever the DBMS.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Nothing, or a comment.
    Empty,
    /// Takes in another config: a shipped one's name, or a file's path.
    Include(String),
    Option(Setting),
    /// Something for other programs than the server, by its section.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// In lower case, words joined by `_`.
    pub name: String,
    /// Without quotes.
    pub value: String,
    /// Another value for versions before one, from a comment `# rqps: before 10: 1000`.
    pub before: Option<(String, String)>,
}

/// Starts a comment that rqps reads.
pub(crate) const ANNOTATION: &str = "# rqps:";

/// Version and value of the comment `before 10: 1000` behind [`ANNOTATION`].
pub(crate) fn value_before(
    comment: &str,
    is_version: impl Fn(&str) -> bool,
    is_value: impl Fn(&str) -> bool,
) -> Result<(String, String), String> {
    comment
        .trim()
        .strip_prefix("before ")
        .and_then(|rest| rest.split_once(": "))
        .map(|(version, value)| (version.trim().to_owned(), value.trim().to_owned()))
        .filter(|(version, value)| is_version(version) && is_value(value))
        .ok_or_else(|| format!("expected something like `before 10: 1000` after `{ANNOTATION}`"))
}

/// A value in single quotes, for any value.
pub(crate) fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\r', "\\r");
    format!("'{escaped}'")
}
