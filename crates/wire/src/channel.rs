//! Shared by the connections of all protocols: sends a statement, and turns a failed reply into an [`Error`].

use std::io::{self, Write};

use crate::error::shorten;
use crate::inbox::{Inbox, READ_BYTES};
use crate::socket::Socket;
use crate::{Endpoint, Error, Outcome};

/// A logged-in socket with its buffers.
pub(crate) struct Channel {
    endpoint: String,
    pub(crate) socket: Socket,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Vec<u8>,
}

/// Why a reply failed.
#[derive(Debug)]
pub(crate) enum ReplyError {
    /// The server reported an error. The reply was read to its end and the connection is usable.
    Rejected(Box<ServerError>),
    /// The connection broke, or the server announced its end. `last_words` is the server's last message.
    Lost { cause: io::Error, last_words: Option<String> },
    /// The bytes violate the protocol.
    Malformed(String),
}

/// An error reported by the server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub(crate) sqlstate: String,
    /// MySQL's error number; Postgres has none.
    pub(crate) code: Option<u16>,
    pub(crate) message: String,
    pub(crate) detail: Option<Box<str>>,
    pub(crate) hint: Option<Box<str>>,
}

impl ReplyError {
    /// The error for a connection that broke in a reply, after the message `last_words`.
    #[cold]
    pub(crate) fn lost(cause: io::Error, last_words: Option<String>) -> Self {
        match cause.kind() {
            io::ErrorKind::InvalidData => Self::Malformed(cause.to_string()),
            _ => Self::Lost { cause, last_words },
        }
    }
}

impl From<io::Error> for ReplyError {
    #[cold]
    fn from(cause: io::Error) -> Self {
        Self::lost(cause, None)
    }
}

impl Channel {
    pub(crate) fn new(endpoint: &Endpoint, socket: Socket, inbox: Inbox) -> Self {
        let outbox = Vec::with_capacity(READ_BYTES);
        Self { endpoint: endpoint.to_string(), socket, inbox, outbox }
    }
}

/// A connection that sends one statement at a time and reads its reply. Error handling is out of line:
/// inlined, it costs 13 instructions per query (cachegrind, `examples/point_query.rs`).
pub(crate) trait Exchange {
    /// The kind of server, for error messages.
    const SERVER: &'static str;

    fn channel(&mut self) -> &mut Channel;

    /// Reads the whole reply to the outbox and counts its rows.
    fn collect(&mut self) -> Result<Outcome, ReplyError>;

    /// Sends the outbox.
    #[inline]
    fn send(&mut self, sql: &str) -> Result<(), Error> {
        let channel = self.channel();
        match channel.socket.write_all(&channel.outbox) {
            Ok(()) => Ok(()),
            Err(cause) => Err(self.send_failed(cause, sql)),
        }
    }

    /// Sends the outbox and counts the rows of the reply.
    #[inline]
    fn exchange(&mut self, sql: &str) -> Result<Outcome, Error> {
        self.send(sql)?;
        self.count_reply(sql)
    }

    /// Counts the rows of the reply to the outbox.
    #[inline]
    fn count_reply(&mut self, sql: &str) -> Result<Outcome, Error> {
        match self.collect() {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.failure(error, sql)),
        }
    }

    /// The error for a message that could not be sent, with the server's last message if it sent one.
    #[cold]
    #[inline(never)]
    fn send_failed(&mut self, cause: io::Error, sql: &str) -> Error {
        // Data that has arrived can still be read, without blocking.
        self.channel().socket.shut_down();
        let last_words = match self.collect() {
            Err(ReplyError::Lost { last_words, .. }) => last_words,
            Err(ReplyError::Rejected(error)) => Some(error.message),
            _ => None,
        };
        self.failure(ReplyError::Lost { cause, last_words }, sql)
    }

    #[cold]
    #[inline(never)]
    fn failure(&mut self, error: ReplyError, sql: &str) -> Error {
        let channel = self.channel();
        match error {
            ReplyError::Rejected(error) => {
                let ServerError { sqlstate, code, message, detail, hint } = *error;
                Error::Db { sqlstate, code, message, detail, hint, statement: shorten(sql) }
            }
            ReplyError::Lost { cause, last_words } => {
                channel.socket.shut_down();
                let endpoint = channel.endpoint.clone();
                Error::Closed { endpoint, statement: shorten(sql), last_words, cause }
            }
            ReplyError::Malformed(what) => {
                // The start of the next message is unknown.
                channel.socket.shut_down();
                self.protocol_error(what)
            }
        }
    }

    #[cold]
    fn protocol_error(&mut self, what: String) -> Error {
        Error::Protocol { server: Self::SERVER, endpoint: self.channel().endpoint.clone(), what }
    }
}
