//! The client for MySQL and MariaDB: protocol 4.1 over a Unix socket or TCP, for MySQL 5.6 and MariaDB 10.2
//! or later.
//!
//! It requests the same capabilities as libmariadb 3.3, the client library of Debian 12's sysbench, so that
//! the server does the same work for both (checked with strace on MySQL 5.7.22 and 8.0.31 and MariaDB
//! 10.11.5):
//!
//! - An EOF packet ends definitions and rows: `CLIENT_DEPRECATE_EOF` is not requested.
//! - MySQL sends column definitions with every execution; MariaDB sends those of a prepared statement once,
//!   because the client announces that it caches them (`MARIADB_CLIENT_CACHE_METADATA`).
//! - An UPDATE reports changed rows, not matched ones: `CLIENT_FOUND_ROWS` is not requested. An UPDATE that
//!   sets the same values changes none.
//! - Multiple statements in one text are allowed, and the server reports session state changes.
//! - Integers are bound as `LONGLONG`, texts as `VAR_STRING`; types are sent with a statement's first
//!   execution only. There is no cursor.
//! - A statement that the server can't prepare (error 1295: BEGIN, except in MariaDB 10.6 or later) runs as
//!   text.
//!
//! One difference: the connection's character set is always latin1, with collation latin1_swedish_ci, like
//! the tables of the tests. Client libraries have different defaults (Debian's has utf8mb4), for which the
//! server converts every text, and a default that differed between two libraries has been mistaken for a
//! change of the server.
//!
//! | limit | value |
//! | --- | --- |
//! | opening a TCP connection | 10 s |
//! | login | 30 s |
//! | prepared statements per connection | 10,000 |
//! | parameters per execution | 65,535, by the protocol |
//! | a statement including its parameters | shorter than the server's `max_allowed_packet` |
//! | a counted row | none |
//! | rows kept by one [`Connection::query`] | 256 MiB |
//! | time of a statement | none |

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

use std::io::Write;

use crate::channel::{Channel, Exchange, ReplyError};
use crate::{Error, Outcome};
use reply::collect;
use version::Version;

pub use params::{Binary, Params};
pub use statement::Statement;

/// One connection to a MySQL or MariaDB server. Dropping it closes it.
pub struct Connection {
    channel: Channel,
    version: Version,
    connection_id: u32,
    /// The server's limit on one statement.
    packet_bytes_max: usize,
    /// Number of statements prepared so far.
    statements: u32,
}

impl Connection {
    /// The server's version as one number: 80031 for MySQL 8.0.31, 101105 for MariaDB 10.11.5.
    #[must_use]
    pub fn server_version_num(&self) -> u32 {
        self.version.number
    }

    /// The server's version as text: `8.0.31`, `10.11.5-MariaDB`.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.version.text
    }

    /// Whether the server is MariaDB and not MySQL.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.version.is_mariadb
    }

    /// The server's `max_allowed_packet` at login, in bytes. A statement and its command byte must be
    /// shorter.
    #[must_use]
    pub fn packet_bytes_max(&self) -> usize {
        self.packet_bytes_max
    }

    /// Sends a command with `sql`.
    fn send_command(&mut self, command: u8, sql: &str) -> Result<(), Error> {
        if sql.len() + 1 >= self.packet_bytes_max {
            return Err(self.too_long(sql.len()));
        }
        packet::command(&mut self.channel.outbox, command, sql.as_bytes());
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
}

impl Exchange for Connection {
    const SERVER: &'static str = "MySQL or MariaDB";

    #[inline]
    fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    #[inline]
    fn collect(&mut self) -> Result<Outcome, ReplyError> {
        let number = packet::reply_number(self.channel.outbox.len());
        collect(&mut self.channel.inbox, &mut self.channel.socket, number)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        packet::command(&mut self.channel.outbox, packet::QUIT, b"");
        // The server may be gone already.
        let _ = self.channel.socket.write_all(&self.channel.outbox);
    }
}
