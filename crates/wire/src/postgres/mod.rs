//! The Postgres client: protocol 3.0 over a Unix socket or TCP, for servers from 9.6 on.
//!
//! | limit | value |
//! | --- | --- |
//! | a TCP connection comes about within | 10 s |
//! | a login is answered within | 30 s |
//! | prepared statements of one connection | 10,000 |
//! | parameters of one execution | 65,535, 512 MiB in all |
//! | a counted row | as long as the protocol allows, 2 GiB |
//! | a message that is kept (an error, a row of [`Connection::query`]) | 16 MiB |
//! | rows kept by one [`Connection::query`] | 256 MiB |
//! | a statement, once logged in | no time limit |

mod connect;
mod copy;
mod frame;
mod message;
mod params;
mod query;
mod reply;
mod scan;
mod version;

use std::io::{self, Write};

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use crate::error::shorten;
use crate::inbox::Inbox;
use crate::socket::Socket;
use crate::{Error, Outcome, ParamType, Session};
use message::HEAD_BYTES;
use reply::{Reply, Trouble, collect};

pub use copy::CopyIn;
pub use params::{Params, Text};

/// What this client speaks to, for messages.
const SERVER: &str = "Postgres";

/// The type identifiers every Postgres version uses for `int8` and `varchar`.
const INT8_OID: u32 = 20;
const VARCHAR_OID: u32 = 1043;

/// One connection to a Postgres server. Dropping it says goodbye and closes it.
pub struct Connection {
    endpoint: String,
    socket: Socket,
    inbox: Inbox,
    outbox: Vec<u8>,
    backend_id: u32,
    server_version_num: u32,
    /// Statements prepared so far; the next one's number.
    statements: u32,
    /// The status byte of the last ReadyForQuery.
    transaction: u8,
}

/// A statement prepared on one [`Connection`].
#[derive(Debug)]
pub struct Statement {
    head: [u8; HEAD_BYTES],
    sql: Box<str>,
}

/// Where a connection stands between two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Not in a transaction block.
    Idle,
    Open,
    /// In a transaction block that failed and awaits its ROLLBACK.
    Failed,
}

impl Connection {
    /// The server's version as one number: 180001 for 18.1, 90624 for 9.6.24.
    #[must_use]
    pub fn server_version_num(&self) -> u32 {
        self.server_version_num
    }

    /// Whether a transaction block is open.
    #[must_use]
    pub fn transaction(&self) -> Transaction {
        match self.transaction {
            b'T' => Transaction::Open,
            b'E' => Transaction::Failed,
            _ => Transaction::Idle,
        }
    }

    /// Sends what is in the outbox.
    #[inline]
    fn send(&mut self, sql: &str) -> Result<(), Error> {
        match self.socket.write_all(&self.outbox) {
            Ok(()) => Ok(()),
            Err(cause) => Err(self.unsent(cause, sql)),
        }
    }

    /// Sends what is in the outbox and counts the reply.
    #[inline]
    fn exchange(&mut self, sql: &str) -> Result<Outcome, Error> {
        self.send(sql)?;
        let reply = collect(&mut self.inbox, &mut self.socket);
        self.conclude(reply, sql)
    }

    /// Notes the transaction status and turns trouble into an error.
    #[inline]
    fn conclude<T>(&mut self, reply: Result<Reply<T>, Trouble>, sql: &str) -> Result<T, Error> {
        match reply {
            Ok(Reply { result, transaction }) => {
                self.transaction = transaction;
                Ok(result)
            }
            Err(trouble) => Err(self.failure(trouble, sql)),
        }
    }

    /// The error for a message that could not be sent. The server may have said why.
    #[cold]
    fn unsent(&mut self, cause: io::Error, sql: &str) -> Error {
        // What has arrived can still be read, and no more is waited for.
        self.socket.shut_down();
        let last_words = match collect(&mut self.inbox, &mut self.socket) {
            Err(Trouble::Lost { last_words, .. }) => last_words,
            Err(Trouble::Rejected { error, .. }) => Some(error.message),
            _ => None,
        };
        self.failure(Trouble::Lost { cause, last_words }, sql)
    }

    #[cold]
    fn failure(&mut self, trouble: Trouble, sql: &str) -> Error {
        match trouble {
            Trouble::Rejected { error, transaction } => {
                self.transaction = transaction;
                Error::Db {
                    sqlstate: error.sqlstate,
                    code: None,
                    message: error.message,
                    detail: error.detail,
                    hint: error.hint,
                    statement: shorten(sql),
                }
            }
            Trouble::Lost { cause, last_words } => {
                self.socket.shut_down();
                Error::Closed { endpoint: self.endpoint.clone(), statement: shorten(sql), last_words, cause }
            }
            Trouble::Malformed(what) => {
                // What follows can't be told apart any more.
                self.socket.shut_down();
                Error::Protocol { server: SERVER, endpoint: self.endpoint.clone(), what }
            }
        }
    }
}

impl Session for Connection {
    type Statement = Statement;
    type Encoding = Text;

    fn prepare(&mut self, sql: &str, types: &[ParamType]) -> Result<Statement, Error> {
        if self.statements == message::STATEMENTS_MAX {
            return Err(Error::Limit {
                what: "one more prepared statement".to_owned(),
                limit: format!("{} a connection", message::STATEMENTS_MAX),
                remedy: "prepare once and execute often, or connect anew",
            });
        }
        let name = message::statement_name(self.statements);
        let oids = types.iter().map(|kind| match kind {
            ParamType::Int8 => INT8_OID,
            ParamType::Text => VARCHAR_OID,
        });
        let mut out = BytesMut::new();
        frontend::parse(&name, sql, oids, &mut out)
            .map_err(|cause| Error::Misuse(format!("cannot prepare {}: {cause}", shorten(sql))))?;
        frontend::sync(&mut out);
        self.outbox.clear();
        self.outbox.extend_from_slice(&out);
        self.exchange(sql)?;
        self.statements += 1;
        Ok(Statement { head: message::bind_head(&name), sql: sql.into() })
    }

    #[inline]
    fn execute(&mut self, statement: &Statement, params: &Params) -> Result<Outcome, Error> {
        message::execution(&mut self.outbox, &statement.head, params)?;
        self.exchange(&statement.sql)
    }

    #[inline]
    fn simple(&mut self, sql: &str) -> Result<Outcome, Error> {
        message::simple_query(&mut self.outbox, sql)?;
        self.exchange(sql)
    }

    fn number(&mut self, sql: &str) -> Result<Option<i64>, Error> {
        self.query(sql)?.number(sql)
    }

    fn backend_id(&self) -> u32 {
        self.backend_id
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        // The server may be gone already; there is nobody left to tell.
        let _ = self.socket.write_all(&out);
    }
}
