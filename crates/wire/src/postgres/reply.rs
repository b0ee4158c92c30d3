//! One reply from first byte to ReadyForQuery: the scan keeps counting, and what it can't skip
//! (errors, notices, parameter changes) is looked at here, off the hot path.

use std::io::{self, Read, Write};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;

use super::frame::frame;
use super::scan::{Stop, scan};
use crate::Outcome;
use crate::inbox::{Inbox, unexpected};

/// A reply that ended well: what came of it, and the server's transaction status byte.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply<T> {
    pub(super) result: T,
    pub(super) transaction: u8,
}

/// A reply that ended otherwise.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server reported an error; the reply is read to its end and the connection usable.
    Rejected { error: Box<ServerError>, transaction: u8 },
    /// The connection broke, maybe after a message that says why.
    Lost { cause: io::Error, last_words: Option<String> },
    /// The bytes aren't the protocol's.
    Malformed(String),
}

/// Fields of an ErrorResponse or NoticeResponse.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    pub(super) sqlstate: String,
    pub(super) message: String,
    pub(super) detail: Option<Box<str>>,
    pub(super) hint: Option<Box<str>>,
}

/// Reads a reply to its end, counting rows.
#[inline]
pub(super) fn collect<S: Read + Write>(inbox: &mut Inbox, socket: &mut S) -> Result<Reply<Outcome>, Trouble> {
    let mut outcome = Outcome::default();
    let mut aside = Aside::default();
    if inbox.unread().is_empty()
        && let Err(cause) = inbox.fill(socket)
    {
        return Err(aside.lost(cause));
    }
    loop {
        let read = match scan(inbox.unread(), &mut outcome) {
            Stop::Ready { used, transaction } => {
                inbox.consume(used);
                return aside.conclude(outcome, transaction);
            }
            Stop::More { used, skip } => {
                inbox.consume(used);
                if skip == 0 { inbox.fill(socket) } else { inbox.skip(socket, skip) }
            }
            Stop::Attention { used } => {
                inbox.consume(used);
                aside.attend(inbox, socket)
            }
            Stop::Malformed { used } => {
                inbox.consume(used);
                Err(malformed(inbox))
            }
        };
        if let Err(cause) = read {
            return Err(aside.lost(cause));
        }
    }
}

/// What a reply said aside from its rows.
#[derive(Default)]
pub(super) struct Aside {
    /// The first error: what follows it is its consequence.
    error: Option<Box<ServerError>>,
    /// A notice that the server is about to end the connection.
    farewell: Option<String>,
}

impl Aside {
    /// Takes the next message, one that can't be skipped, and remembers what matters of it.
    #[cold]
    pub(super) fn attend<S: Read + Write>(&mut self, inbox: &mut Inbox, socket: &mut S) -> io::Result<()> {
        let frame = frame(inbox, socket)?;
        let tag = frame.first().copied().map(char::from);
        match decode(frame)? {
            Message::ErrorResponse(body) => {
                let error = server_error(body.fields())?;
                self.error.get_or_insert_with(|| Box::new(error));
            }
            Message::NoticeResponse(body) => {
                let notice = server_error(body.fields())?;
                // Class 57P: the operator, or the crash of another backend, ends this connection.
                if notice.sqlstate.starts_with("57P") {
                    self.farewell = Some(notice.message);
                }
            }
            Message::ParameterStatus(_) | Message::NotificationResponse(_) => {}
            Message::CopyInResponse(_) => {
                // The server waits for rows that nobody will send.
                let mut out = BytesMut::new();
                frontend::copy_fail("this statement takes rows: use copy_in", &mut out)?;
                socket.write_all(&out)?;
            }
            _ => {
                return Err(unexpected(&format!("message {tag:?} where a reply's end was due")));
            }
        }
        Ok(())
    }

    /// The end of a reply.
    #[inline]
    pub(super) fn conclude<T>(self, result: T, transaction: u8) -> Result<Reply<T>, Trouble> {
        match self.error {
            None => Ok(Reply { result, transaction }),
            Some(error) => Err(Trouble::Rejected { error, transaction }),
        }
    }

    /// The end of a connection.
    #[cold]
    pub(super) fn lost(self, cause: io::Error) -> Trouble {
        if cause.kind() == io::ErrorKind::InvalidData {
            return Trouble::Malformed(cause.to_string());
        }
        let last_words = self.error.map(|error| error.message).or(self.farewell);
        Trouble::Lost { cause, last_words }
    }
}

pub(super) fn decode(frame: &[u8]) -> io::Result<Message> {
    match Message::parse(&mut BytesMut::from(frame)) {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err(unexpected("a message cut short")),
        Err(error) => Err(unexpected(&error.to_string())),
    }
}

/// Takes the fields that a reader needs.
pub(super) fn server_error(mut fields: ErrorFields<'_>) -> io::Result<ServerError> {
    let mut error = ServerError::default();
    while let Some(field) = fields.next()? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => error.sqlstate = value,
            b'M' => error.message = value,
            b'D' => error.detail = Some(value.into()),
            b'H' => error.hint = Some(value.into()),
            _ => {}
        }
    }
    Ok(error)
}

#[cold]
fn malformed(inbox: &Inbox) -> io::Error {
    let shown: Vec<u8> = inbox.unread().iter().take(16).copied().collect();
    unexpected(&format!("no message begins with {:?}", shown.escape_ascii().to_string()))
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
