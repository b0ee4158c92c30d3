//! One reply from first byte to last: the scan keeps counting, and an error is read here.

use std::io::{self, Read};

use super::decode::{Reader, text};
use super::packet::{ERROR, Packets};
use super::scan::{Progress, Stop, scan};
use crate::Outcome;
use crate::inbox::{Inbox, unexpected};

/// Longest error message that is kept.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// A reply that ended well: what came of it, and the server's status bits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply<T> {
    pub(super) result: T,
    pub(super) status: u16,
}

/// A reply that ended otherwise.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server reported an error; the reply is over and the connection usable.
    Rejected(Box<ServerError>),
    /// The connection broke, or its end was announced.
    Lost { cause: io::Error, last_words: Option<String> },
    /// The bytes aren't the protocol's.
    Malformed(String),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    pub(super) code: u16,
    pub(super) sqlstate: String,
    pub(super) message: String,
}

/// Whether a server ends the connection by this error: it shuts down (1053, 1077, 1079), the connection
/// was aborted or killed (1152, 1184, 1927), what came over it was wrong (1153 to 1161), or nothing for
/// too long (4031).
fn is_farewell(code: u16) -> bool {
    matches!(code, 1053 | 1077 | 1079 | 1152..=1161 | 1184 | 1927 | 4031)
}

impl From<io::Error> for Trouble {
    #[cold]
    fn from(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::InvalidData => Self::Malformed(cause.to_string()),
            _ => Self::Lost { cause, last_words: None },
        }
    }
}

impl From<ServerError> for Trouble {
    #[cold]
    fn from(error: ServerError) -> Self {
        if is_farewell(error.code) {
            let cause = io::Error::from(io::ErrorKind::ConnectionAborted);
            return Self::Lost { cause, last_words: Some(error.message) };
        }
        Self::Rejected(Box::new(error))
    }
}

/// Reads a reply that begins with packet `number` to its end, counting rows.
#[inline]
pub(super) fn collect(
    inbox: &mut Inbox,
    socket: &mut impl Read,
    number: u8,
) -> Result<Reply<Outcome>, Trouble> {
    let mut progress = Progress::new(number);
    if inbox.unread().is_empty() {
        inbox.fill(socket)?;
    }
    loop {
        match scan(inbox.unread(), &mut progress) {
            Stop::Ready { used } => {
                inbox.consume(used);
                return Ok(Reply { result: progress.outcome, status: progress.status });
            }
            Stop::More { used, skip } => {
                inbox.consume(used);
                if skip == 0 { inbox.fill(socket)? } else { inbox.skip(socket, skip)? }
            }
            Stop::Attention { used } => {
                inbox.consume(used);
                return Err(attend(inbox, socket, progress.number));
            }
            Stop::Malformed(what) => return Err(Trouble::Malformed(what)),
        }
    }
}

/// Reads the error that ends a reply.
#[cold]
fn attend(inbox: &mut Inbox, socket: &mut impl Read, number: u8) -> Trouble {
    let read = Packets { next: number }.read(inbox, socket, ERROR_BYTES_MAX);
    match read.and_then(|payload| server_error(&payload)) {
        Ok(error) => error.into(),
        Err(cause) => cause.into(),
    }
}

/// Parses an error packet. Before a login the server may leave out the SQLSTATE.
pub(super) fn server_error(payload: &[u8]) -> io::Result<ServerError> {
    let mut reader = Reader(payload);
    if reader.int(1)? != u64::from(ERROR) {
        return Err(unexpected("something else where an error was due"));
    }
    let code = reader.int(2)? as u16;
    let mut sqlstate = "HY000".to_owned();
    if reader.0.first() == Some(&b'#') {
        sqlstate = text(reader.bytes(6)?.get(1..).unwrap_or_default());
    }
    Ok(ServerError { code, sqlstate, message: text(reader.0) })
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
