//! Reads one reply: counts rows with the scan, and parses an error.

use std::io::{self, Read};

use super::decode::{Reader, text};
use super::packet::{ERROR, Packets};
use super::scan::{Progress, Stop, scan};
use crate::Outcome;
use crate::channel::{ReplyError, ServerError};
use crate::inbox::{Inbox, unexpected};

/// Longer error messages are truncated.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Whether a server closes the connection after this error: it shuts down (1053, 1077, 1079), the connection
/// was aborted or killed (1152, 1184, 1927), a packet was invalid (1153 to 1161), or the client was idle for
/// too long (4031).
fn ends_connection(code: u16) -> bool {
    matches!(code, 1053 | 1077 | 1079 | 1152..=1161 | 1184 | 1927 | 4031)
}

#[cold]
pub(super) fn rejected(error: ServerError) -> ReplyError {
    if error.code.is_some_and(ends_connection) {
        let cause = io::Error::from(io::ErrorKind::ConnectionAborted);
        return ReplyError::Lost { cause, last_words: Some(error.message) };
    }
    ReplyError::Rejected(Box::new(error))
}

/// Reads a whole reply, whose first packet has sequence number `number`, and counts its rows.
#[inline]
pub(super) fn collect(inbox: &mut Inbox, socket: &mut impl Read, number: u8) -> Result<Outcome, ReplyError> {
    let mut progress = Progress::new(number);
    if inbox.unread().is_empty() {
        inbox.fill(socket)?;
    }
    loop {
        match scan(inbox.unread(), &mut progress) {
            Stop::Ready { used } => {
                inbox.consume(used);
                return Ok(progress.outcome);
            }
            Stop::More { used, skip } => {
                inbox.consume(used);
                if skip == 0 { inbox.fill(socket)? } else { inbox.skip(socket, skip)? }
            }
            Stop::Error { used } => {
                inbox.consume(used);
                return Err(read_error(inbox, socket, progress.number));
            }
            Stop::Malformed(what) => return Err(ReplyError::Malformed(what)),
        }
    }
}

/// Reads the error that ends a reply.
#[cold]
fn read_error(inbox: &mut Inbox, socket: &mut impl Read, number: u8) -> ReplyError {
    let read = Packets { next: number }.read(inbox, socket, ERROR_BYTES_MAX);
    match read.and_then(|payload| server_error(&payload)) {
        Ok(error) => rejected(error),
        Err(cause) => cause.into(),
    }
}

/// Parses an error packet. Before login, it may lack a SQLSTATE.
pub(super) fn server_error(payload: &[u8]) -> io::Result<ServerError> {
    let mut reader = Reader(payload);
    if reader.int(1)? != u64::from(ERROR) {
        return Err(unexpected("another packet where an error was expected"));
    }
    let code = reader.int(2)? as u16;
    let mut sqlstate = "HY000".to_owned();
    if reader.0.first() == Some(&b'#') {
        sqlstate = text(reader.bytes(6)?.get(1..).unwrap_or_default());
    }
    Ok(ServerError { code: Some(code), sqlstate, message: text(reader.0), ..ServerError::default() })
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
