//! The client of MySQL and MariaDB: protocol 4.1 over a Unix socket or TCP, for MySQL from 5.6 and
//! MariaDB from 10.2 on.
//!
//! It asks for what libmariadb 3.3 asks for, the client library of Debian 12's sysbench, so that the
//! server does the same work for both (seen with strace on MySQL 5.7.22 and 8.0.31 and MariaDB
//! 10.11.5):
//!
//! - An EOF packet ends definitions and rows: `CLIENT_DEPRECATE_EOF` is not asked for.
//! - MySQL sends column definitions with every execution; MariaDB sends those of a prepared statement
//!   once, because the client says that it keeps them (`MARIADB_CLIENT_CACHE_METADATA`).
//! - An UPDATE reports the rows it changed, not those it found: `CLIENT_FOUND_ROWS` is not asked for.
//!   One that sets what is there already has changed none.
//! - Several statements in one text are let through, and changes of the session are told.
//! - Integers are bound as `LONGLONG`, texts as `VAR_STRING`; types are sent with a statement's first
//!   execution only. There is no cursor.
//! - A statement that the server can't prepare (BEGIN, everywhere but MariaDB from 10.6 on: error 1295)
//!   runs as text.
//!
//! It differs in one thing. The connection's character set is always latin1, the collation
//! latin1_swedish_ci, as the tables of the tests have it; a client library has a default of its own
//! (utf8mb4 with Debian's), for which the server converts every text, and a change of it between two
//! libraries has been mistaken for a change of the server.
//!
//! | limit | value |
//! | --- | --- |
//! | a TCP connection comes about within | 10 s |
//! | a login is answered within | 30 s |
//! | prepared statements of one connection | 10,000 |
//! | parameters of one execution | 65,535, by the protocol |
//! | a statement, its parameters included | shorter than the server's `max_allowed_packet` |
//! | a counted row | as long as the server sends one |
//! | rows kept by one [`Connection::query`] | 256 MiB |
//! | a statement, once logged in | no time limit |

mod connect;
mod decode;
mod packet;
mod params;
mod password;
mod query;
mod reply;
mod rsa;
mod scan;
mod statement;
mod version;

use std::io::{self, Write};

use crate::error::shorten;
use crate::inbox::Inbox;
use crate::socket::Socket;
use crate::{Error, Outcome, ParamType, Session};
use reply::{Reply, Trouble, collect};
use version::Version;

pub use params::{Binary, Params};
pub use statement::Statement;

/// What this client speaks to, for messages.
const SERVER: &str = "MySQL or MariaDB";

/// One connection to a MySQL or MariaDB server. Dropping it says goodbye and closes it.
pub struct Connection {
    endpoint: String,
    socket: Socket,
    inbox: Inbox,
    outbox: Vec<u8>,
    version: Version,
    connection_id: u32,
    /// The server's limit on one statement.
    packet_bytes_max: usize,
    statements: u32,
    /// The server's status bits at the end of the last reply.
    status: u16,
}

impl Connection {
    /// The server's version as one number: 80031 for MySQL 8.0.31, 101105 for MariaDB 10.11.5.
    #[must_use]
    pub fn server_version_num(&self) -> u32 {
        self.version.number
    }

    /// The server's version as it says it: `8.0.31`, `10.11.5-MariaDB`.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.version.text
    }

    /// Whether it is MariaDB, otherwise MySQL.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.version.is_mariadb
    }

    /// The server's `max_allowed_packet` at the login, in bytes: every statement must be shorter, by at
    /// least one byte and the command's one.
    #[must_use]
    pub fn packet_bytes_max(&self) -> usize {
        self.packet_bytes_max
    }

    /// Whether a transaction was open at the end of the last statement.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.status & scan::IN_TRANSACTION != 0
    }

    /// Sends one command with `sql`.
    fn ask(&mut self, command: u8, sql: &str) -> Result<(), Error> {
        if sql.len() + 1 >= self.packet_bytes_max {
            return Err(self.too_long(sql.len()));
        }
        packet::command(&mut self.outbox, command, sql.as_bytes());
        self.send(sql)
    }

    #[cold]
    fn too_long(&self, bytes: usize) -> Error {
        Error::Limit {
            what: format!("a statement of {bytes} bytes"),
            limit: format!("{} bytes, the server's max_allowed_packet", self.packet_bytes_max),
            remedy: "split it, or raise max_allowed_packet in the server's configuration",
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
        self.count_reply(sql)
    }

    /// Counts the reply to what is in the outbox.
    #[inline]
    fn count_reply(&mut self, sql: &str) -> Result<Outcome, Error> {
        let number = packet::reply_number(self.outbox.len());
        let reply = collect(&mut self.inbox, &mut self.socket, number);
        self.conclude(reply, sql)
    }

    /// Notes the status and turns trouble into an error.
    #[inline]
    fn conclude<T>(&mut self, reply: Result<Reply<T>, Trouble>, sql: &str) -> Result<T, Error> {
        match reply {
            Ok(Reply { result, status }) => {
                self.status = status;
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
        let last_words =
            match collect(&mut self.inbox, &mut self.socket, packet::reply_number(self.outbox.len())) {
                Err(Trouble::Lost { last_words, .. }) => last_words,
                Err(Trouble::Rejected(error)) => Some(error.message),
                _ => None,
            };
        self.failure(Trouble::Lost { cause, last_words }, sql)
    }

    #[cold]
    fn failure(&mut self, trouble: Trouble, sql: &str) -> Error {
        match trouble {
            Trouble::Rejected(error) => Error::Db {
                sqlstate: error.sqlstate,
                code: Some(error.code),
                message: error.message,
                detail: None,
                hint: None,
                statement: shorten(sql),
            },
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
    type Encoding = Binary;

    fn prepare(&mut self, sql: &str, types: &[ParamType]) -> Result<Statement, Error> {
        self.prepare_statement(sql, types)
    }

    #[inline]
    fn execute(&mut self, statement: &Statement, params: &Params) -> Result<Outcome, Error> {
        self.execute_statement(statement, params)
    }

    #[inline]
    fn simple(&mut self, sql: &str) -> Result<Outcome, Error> {
        self.ask(packet::QUERY, sql)?;
        self.count_reply(sql)
    }

    fn number(&mut self, sql: &str) -> Result<Option<i64>, Error> {
        self.query(sql)?.number(sql)
    }

    fn backend_id(&self) -> u32 {
        self.connection_id
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        packet::command(&mut self.outbox, packet::QUIT, b"");
        // The server may be gone already; there is nobody left to tell.
        let _ = self.socket.write_all(&self.outbox);
    }
}
