//! The Postgres client: protocol 3.0 over a Unix socket or TCP, for servers 9.3 or later.
//!
//! | limit | value |
//! | --- | --- |
//! | opening a TCP connection | 10 s |
//! | login | 30 s |
//! | prepared statements per connection | 10,000 |
//! | parameters per execution | 65,535, 512 MiB in total |
//! | a counted row | 2 GiB, by the protocol |
//! | a message that is kept (an error, a row of [`Connection::query`]) | 16 MiB |
//! | rows kept by one [`Connection::query`] | 256 MiB |
//! | time of a statement | none |

mod connect;
mod copy;
mod frame;
mod message;
mod params;
mod query;
mod reply;
mod scan;
mod version;

use std::io::Write;

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use crate::channel::{Channel, Exchange, ReplyError};
use crate::error::{STATEMENTS_MAX, shorten, too_many_statements};
use crate::{Error, Outcome, ParamType, Session, Table};
use message::HEAD_BYTES;
use reply::collect;

pub use copy::CopyIn;
pub use params::{Params, Text};

/// The OIDs of `int8` and `varchar`, the same in every version.
const INT8_OID: u32 = 20;
const VARCHAR_OID: u32 = 1043;

/// One connection to a Postgres server. Dropping it closes it.
pub struct Connection {
    channel: Channel,
    backend_id: u32,
    server_version_num: u32,
    /// Number of statements prepared so far, which is also the number of the next one.
    statements: u32,
}

/// A statement prepared on one [`Connection`].
#[derive(Debug)]
pub struct Statement {
    head: [u8; HEAD_BYTES],
    sql: Box<str>,
}

impl Connection {
    /// The server's version as one number: 180001 for 18.1, 90624 for 9.6.24.
    #[must_use]
    pub fn server_version_num(&self) -> u32 {
        self.server_version_num
    }
}

impl Exchange for Connection {
    const SERVER: &'static str = "Postgres";

    #[inline]
    fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    #[inline]
    fn collect(&mut self) -> Result<Outcome, ReplyError> {
        collect(&mut self.channel.inbox, &mut self.channel.socket)
    }
}

impl Session for Connection {
    type Statement = Statement;
    type Encoding = Text;

    fn prepare(&mut self, sql: &str, types: &[ParamType]) -> Result<Statement, Error> {
        if self.statements == STATEMENTS_MAX {
            return Err(too_many_statements());
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
        self.channel.outbox.clear();
        self.channel.outbox.extend_from_slice(&out);
        self.exchange(sql)?;
        self.statements += 1;
        Ok(Statement { head: message::bind_head(&name), sql: sql.into() })
    }

    #[inline]
    fn execute(&mut self, statement: &Statement, params: &Params) -> Result<Outcome, Error> {
        message::execution(&mut self.channel.outbox, &statement.head, params)?;
        self.exchange(&statement.sql)
    }

    #[inline]
    fn simple(&mut self, sql: &str) -> Result<Outcome, Error> {
        message::simple_query(&mut self.channel.outbox, sql)?;
        self.exchange(sql)
    }

    fn query(&mut self, sql: &str) -> Result<Table, Error> {
        Connection::query(self, sql)
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
        // The server may be gone already.
        let _ = self.channel.socket.write_all(&out);
    }
}
