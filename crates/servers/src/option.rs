//! A line of a config, for any DBMS.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Blank, or a comment.
    Empty,
    /// Includes another config: a shipped one by name, or a file by path.
    Include(String),
    /// Includes a file if it exists.
    IncludeIfExists(String),
    /// Includes the files of a directory with this extension, in order of their names.
    IncludeDir(String, &'static str),
    Option(Setting),
    /// A line for another program than the server, with its section.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Lower case, words joined by `_`.
    pub name: String,
    /// Unquoted.
    pub value: String,
    /// Whether a server may not know it.
    pub loose: bool,
    /// From a comment for rqps.
    pub annotation: Option<Annotation>,
}

/// What a comment after an option says, [`ANNOTATION`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Annotation {
    /// Another value for versions before the given one: `before 10: 1000`.
    Before { version: String, value: String },
    /// The option is left out, or has another value instead. The reason begins with [`REFUSED`].
    Refused { reason: String, instead: Option<String> },
}

/// Prefix of comments for rqps.
pub(crate) const ANNOTATION: &str = "# rqps:";

/// Start of the reason why an option is left out whose value a build refuses.
pub(crate) const REFUSED: &str = "refused: ";

/// Begins a comment with the value that is used instead.
pub(crate) const WITH: &str = "with ";

/// Parses what follows [`ANNOTATION`].
pub(crate) fn annotation(
    comment: &str,
    is_version: impl Fn(&str) -> bool,
    is_value: impl Fn(&str) -> bool,
) -> Result<Annotation, String> {
    let comment = comment.trim();
    if comment.starts_with(REFUSED) {
        return Ok(Annotation::Refused { reason: comment.to_owned(), instead: None });
    }
    let instead =
        comment.strip_prefix(WITH).and_then(|rest| Some((rest, rest.find(&format!(": {REFUSED}"))?)));
    if let Some((rest, at)) = instead {
        let reason = rest[at + ": ".len()..].to_owned();
        return Ok(Annotation::Refused { reason, instead: Some(rest[..at].to_owned()) });
    }
    comment
        .strip_prefix("before ")
        .and_then(|rest| rest.split_once(": "))
        .map(|(version, value)| (version.trim().to_owned(), value.trim().to_owned()))
        .filter(|(version, value)| is_version(version) && is_value(value))
        .map(|(version, value)| Annotation::Before { version, value })
        .ok_or_else(|| format!("expected something like `before 10: 1000` after `{ANNOTATION}`"))
}

/// Puts any value in single quotes.
pub(crate) fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\r', "\\r");
    format!("'{escaped}'")
}
