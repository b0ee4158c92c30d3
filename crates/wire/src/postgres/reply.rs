//! Reads one reply up to ReadyForQuery: counts rows with the scan, and handles messages that it can't skip
//! (errors, notices, parameter changes) off the hot path.

use std::io::{self, Read, Write};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;

use super::frame::frame;
use super::scan::{Stop, scan};
use crate::Outcome;
use crate::channel::{ReplyError, ServerError};
use crate::inbox::{Inbox, unexpected};

/// Reads a whole reply and counts its rows.
#[inline]
pub(super) fn collect<S: Read + Write>(inbox: &mut Inbox, socket: &mut S) -> Result<Outcome, ReplyError> {
    let mut outcome = Outcome::default();
    let mut side = SideMessages::default();
    if inbox.unread().is_empty()
        && let Err(cause) = inbox.fill(socket)
    {
        return Err(side.lost(cause));
    }
    loop {
        let read = match scan(inbox.unread(), &mut outcome) {
            Stop::Ready { used } => {
                inbox.consume(used);
                return side.conclude(outcome);
            }
            Stop::More { used, skip } => {
                inbox.consume(used);
                if skip == 0 { inbox.fill(socket) } else { inbox.skip(socket, skip) }
            }
            Stop::Unskippable { used } => {
                inbox.consume(used);
                side.handle(inbox, socket)
            }
            Stop::Malformed { used } => {
                inbox.consume(used);
                Err(malformed(inbox))
            }
        };
        if let Err(cause) = read {
            return Err(side.lost(cause));
        }
    }
}

/// Messages of a reply that are not about rows.
#[derive(Default)]
pub(super) struct SideMessages {
    /// The first error; later ones are consequences of it.
    error: Option<Box<ServerError>>,
    /// The server's notice that it is about to close the connection.
    shutdown_notice: Option<String>,
}

impl SideMessages {
    /// Reads the next message, which the scan can't skip.
    #[cold]
    pub(super) fn handle<S: Read + Write>(&mut self, inbox: &mut Inbox, socket: &mut S) -> io::Result<()> {
        let frame = frame(inbox, socket)?;
        let tag = frame.first().copied().map(char::from);
        match decode(frame)? {
            Message::ErrorResponse(body) => {
                let error = server_error(body.fields())?;
                self.error.get_or_insert_with(|| Box::new(error));
            }
            Message::NoticeResponse(body) => {
                let notice = server_error(body.fields())?;
                // Class 57P: an administrator command, or the crash of another backend, ends this connection.
                if notice.sqlstate.starts_with("57P") {
                    self.shutdown_notice = Some(notice.message);
                }
            }
            Message::ParameterStatus(_) | Message::NotificationResponse(_) => {}
            Message::CopyInResponse(_) => {
                // The server waits for rows, and there are none to send.
                let mut out = BytesMut::new();
                frontend::copy_fail("this statement takes rows: use copy_in", &mut out)?;
                socket.write_all(&out)?;
            }
            _ => {
                return Err(unexpected(&format!("message {tag:?} where the end of a reply was expected")));
            }
        }
        Ok(())
    }

    /// Called at the end of a reply: returns `result`, or the error in the reply.
    #[inline]
    pub(super) fn conclude<T>(self, result: T) -> Result<T, ReplyError> {
        match self.error {
            None => Ok(result),
            Some(error) => Err(ReplyError::Rejected(error)),
        }
    }

    /// The error for a connection that broke in this reply.
    #[cold]
    pub(super) fn lost(self, cause: io::Error) -> ReplyError {
        ReplyError::lost(cause, self.error.map(|error| error.message).or(self.shutdown_notice))
    }
}

pub(super) fn decode(frame: &[u8]) -> io::Result<Message> {
    match Message::parse(&mut BytesMut::from(frame)) {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err(unexpected("a truncated message")),
        Err(error) => Err(unexpected(&error.to_string())),
    }
}

pub(super) fn server_error(mut fields: ErrorFields<'_>) -> io::Result<ServerError> {
    let (mut error, mut context) = (ServerError::default(), None);
    while let Some(field) = fields.next()? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => error.sqlstate = value,
            b'M' => error.message = value,
            b'D' => error.detail = Some(value.into()),
            b'H' => error.hint = Some(value.into()),
            b'W' => context = value.lines().next().map(str::to_owned),
            _ => {}
        }
    }
    // It tells the row of a COPY.
    if let Some(context) = context {
        let detail = error.detail.map_or_else(|| context.clone(), |detail| format!("{context}: {detail}"));
        error.detail = Some(detail.into());
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
