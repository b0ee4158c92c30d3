//! Errors of connections and statements. Each message names the place and the remedy.

use std::io;

/// MySQL errors after which the transaction may be retried: deadlock, lock wait timeout, record changed since
/// it was read, duplicate key. sysbench ignores the first three; the fourth happens, as in Postgres, when two
/// clients delete and insert the same row.
const RETRYABLE_CODES: [u16; 4] = [1213, 1205, 1020, 1062];

/// SQLSTATEs after which the transaction may be retried: deadlock detected, unique violation, serialization
/// failure.
const RETRYABLE: [&str; 3] = ["40P01", "23505", "40001"];

/// Characters of a statement shown in an error message.
const SHOWN_SQL_CHARS: usize = 200;

/// Maximum number of prepared statements of a connection. A MySQL server's default limit for all connections
/// is 16,382; the statement names used with Postgres have room for more digits.
pub(crate) const STATEMENTS_MAX: u32 = 10_000;

/// A failure of a connection or of a statement on it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot connect to a {server} server at {endpoint}: {source}; {remedy}")]
    Connect { server: &'static str, endpoint: String, source: io::Error, remedy: &'static str },
    /// The server refused the login.
    #[error("{endpoint}: login failed: {reason}; {remedy}")]
    Auth {
        endpoint: String,
        /// The server's error code, if it sent one: `28P01`, `57P03`, `53300`...
        sqlstate: Option<String>,
        /// The server's message, or the client's own.
        reason: String,
        remedy: &'static str,
    },
    /// A parameter has no value: an overflow, a division by zero.
    #[error("a variable of the script has no value: {0}; correct its \\set")]
    Value(String),
    /// The server rejected a statement. The connection is still usable.
    #[error("{message} ({}SQLSTATE {sqlstate}){} in: {statement}", number(.code), notes(.detail, .hint))]
    Db {
        sqlstate: String,
        /// MySQL's error number; Postgres has none.
        code: Option<u16>,
        message: String,
        detail: Option<Box<str>>,
        hint: Option<Box<str>>,
        statement: String,
    },
    /// The server ended the connection, or it broke.
    #[error(
        "{endpoint}: the connection was lost ({cause}){} during: {statement}; see the server's log",
        last_words.as_ref().map(|words| format!(", after the server said: {words}")).unwrap_or_default()
    )]
    Closed {
        endpoint: String,
        /// The statement in flight, shortened.
        statement: String,
        /// The server's last message, if it sent one.
        last_words: Option<String>,
        cause: io::Error,
    },
    /// The server violated the protocol. The connection is closed.
    #[error("{endpoint}: unexpected bytes from the server: {what}; is this a {server} server?")]
    Protocol {
        /// The DBMS whose protocol is expected.
        server: &'static str,
        endpoint: String,
        what: String,
    },
    /// An engine refused a request. The connection is still usable.
    #[error("{engine}: {message}, during: {request}")]
    Refused { engine: &'static str, message: String, request: String },
    /// A limit of this client was reached.
    #[error("{what} exceeds this client's limit of {limit}; {remedy}")]
    Limit { what: String, limit: String, remedy: &'static str },
    /// Incorrect use of a method.
    #[error("{0}")]
    Misuse(String),
}

impl Error {
    /// Whether the transaction may be rolled back and retried: after a deadlock (`40P01`), duplicate key
    /// (`23505`) or serialization failure (`40001`); for MySQL, after errors 1213, 1062, 1020 and 1205 (lock
    /// wait timeout).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Db { code: Some(code), .. } => RETRYABLE_CODES.contains(code),
            Self::Db { sqlstate, .. } => RETRYABLE.contains(&sqlstate.as_str()),
            _ => false,
        }
    }

    /// MySQL's error number, if a MySQL or MariaDB server rejected a statement.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Db { code, .. } => *code,
            _ => None,
        }
    }

    /// Whether the connection is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. } | Self::Protocol { .. })
    }

    /// The SQLSTATE, if the server rejected a statement or the login with one.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Db { sqlstate, .. } => Some(sqlstate),
            Self::Auth { sqlstate, .. } => sqlstate.as_deref(),
            _ => None,
        }
    }
}

pub(crate) fn number(code: &Option<u16>) -> String {
    code.map(|code| format!("error {code}, ")).unwrap_or_default()
}

fn notes(detail: &Option<Box<str>>, hint: &Option<Box<str>>) -> String {
    let mut notes = String::new();
    for (name, note) in [("detail", detail), ("hint", hint)] {
        if let Some(note) = note {
            notes.push_str(&format!(", {name}: {note}"));
        }
    }
    notes
}

pub(crate) fn too_many_statements() -> Error {
    Error::Limit {
        what: "one more prepared statement".to_owned(),
        limit: format!("{STATEMENTS_MAX} per connection"),
        remedy: "prepare once and execute often, or reconnect",
    }
}

/// A statement, shortened for error messages.
pub(crate) fn shorten(sql: &str) -> String {
    match sql.char_indices().nth(SHOWN_SQL_CHARS) {
        Some((end, _)) => format!("{}...", sql.get(..end).unwrap_or_default()),
        None => sql.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn db(sqlstate: &str) -> Error {
        Error::Db {
            sqlstate: sqlstate.to_owned(),
            code: None,
            message: "duplicate key value".to_owned(),
            detail: Some("Key (id)=(1) already exists.".into()),
            hint: None,
            statement: "INSERT INTO t VALUES (1)".to_owned(),
        }
    }

    #[test]
    fn only_conflicts_are_retryable() {
        assert!(["40P01", "23505", "40001"].iter().all(|code| db(code).is_retryable()));
        assert!(["23503", "42P01", "57014"].iter().all(|code| !db(code).is_retryable()));
    }

    #[test]
    fn message_names_code_detail_and_statement() {
        assert_eq!(
            db("23505").to_string(),
            "duplicate key value (SQLSTATE 23505), detail: Key (id)=(1) already exists. \
             in: INSERT INTO t VALUES (1)"
        );
    }
}
