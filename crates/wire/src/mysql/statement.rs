//! Statements. The start of a prepared statement's execution message is built once, in `prepare`.

use std::cell::Cell;

use super::decode::Reader;
use super::packet::{self, HEADER_BYTES, Packets, seal};
use super::query::is_eof;
use super::{Binary, Connection, Params};
use crate::channel::{Exchange, ReplyError};
use crate::error::{STATEMENTS_MAX, shorten, too_many_statements};
use crate::{Error, Outcome, ParamType, Session, Table};

/// The protocol's ids of parameter types.
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 253;

/// The server's error for a statement that can only run as text.
const NOT_PREPARABLE: u16 = 1295;

/// A statement prepared on one [`Connection`].
#[derive(Debug)]
pub struct Statement {
    sql: Box<str>,
    params: usize,
    /// `None` if the server can't prepare it and it runs as text.
    prepared: Option<Prepared>,
}

/// The parts of an execution message.
#[derive(Debug)]
struct Prepared {
    /// Space for the header, the command, the statement's id, no cursor, one iteration; with parameters, also
    /// the NULL bitmap and a 0, which means that no types follow.
    head: Box<[u8]>,
    /// The parameters' types, two bytes each.
    types: Box<[u8]>,
    /// Whether the server has received the types.
    bound: Cell<bool>,
}

impl Session for Connection {
    type Statement = Statement;
    type Encoding = Binary;

    /// A statement that the server can't prepare runs as text; it must not have parameters.
    fn prepare(&mut self, sql: &str, types: &[ParamType]) -> Result<Statement, Error> {
        if self.statements == STATEMENTS_MAX {
            return Err(too_many_statements());
        }
        self.send_command(packet::PREPARE, sql)?;
        let prepared = match self.read_prepared().map_err(|error| self.failure(error, sql)) {
            Ok((number, params)) if params == types.len() => Some(Prepared::new(number, types)),
            Ok((_, params)) => return Err(miscounted(types.len(), params, sql)),
            Err(error) if error.code() == Some(NOT_PREPARABLE) && types.is_empty() => None,
            Err(error) => return Err(error),
        };
        self.statements += 1;
        Ok(Statement { sql: sql.into(), params: types.len(), prepared })
    }

    #[inline]
    fn execute(&mut self, statement: &Statement, params: &Params) -> Result<Outcome, Error> {
        let Some(prepared) = &statement.prepared else {
            return self.simple(&statement.sql);
        };
        if params.len() != statement.params {
            return Err(miscounted(params.len(), statement.params, &statement.sql));
        }
        prepared.execution(&mut self.channel.outbox, params);
        if self.channel.outbox.len() - HEADER_BYTES >= self.packet_bytes_max {
            return Err(self.too_long(self.channel.outbox.len()));
        }
        let outcome = self.exchange(&statement.sql)?;
        prepared.bound.set(true);
        Ok(outcome)
    }

    #[inline]
    fn simple(&mut self, sql: &str) -> Result<Outcome, Error> {
        self.send_command(packet::QUERY, sql)?;
        self.count_reply(sql)
    }

    fn query(&mut self, sql: &str) -> Result<Table, Error> {
        Connection::query(self, sql)
    }

    fn number(&mut self, sql: &str) -> Result<Option<i64>, Error> {
        self.query(sql)?.number(sql)
    }

    fn backend_id(&self) -> u32 {
        self.connection_id
    }
}

impl Connection {
    /// Reads the reply to a PREPARE: the statement's id and number of parameters.
    fn read_prepared(&mut self) -> Result<(u32, usize), ReplyError> {
        let mut packets = Packets { next: packet::reply_number(self.channel.outbox.len()) };
        let start = self.next_packet(&mut packets)?;
        let mut reader = Reader(&start);
        reader.bytes(1)?;
        let number = reader.int(4)? as u32;
        let (columns, params) = (reader.int(2)?, reader.int(2)? as usize);
        for definitions in [params as u64, columns] {
            if definitions > 0 {
                while !is_eof(&self.next_packet(&mut packets)?) {}
            }
        }
        Ok((number, params))
    }
}

impl Prepared {
    fn new(number: u32, types: &[ParamType]) -> Self {
        let mut head = vec![0; HEADER_BYTES];
        head.push(packet::EXECUTE);
        head.extend_from_slice(&number.to_le_bytes());
        head.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !types.is_empty() {
            head.resize(head.len() + types.len().div_ceil(8) + 1, 0);
        }
        let types = types.iter().flat_map(|kind| match kind {
            ParamType::Int8 => [LONGLONG, 0],
            ParamType::Text => [VAR_STRING, 0],
        });
        Self { head: head.into(), types: types.collect(), bound: Cell::new(false) }
    }

    /// Replaces `out` by an execution message.
    #[inline]
    fn execution(&self, out: &mut Vec<u8>, params: &Params) {
        let encoded = params.encoded();
        out.clear();
        out.extend_from_slice(&self.head);
        if !self.bound.get() {
            self.push_types(out);
        }
        out.extend_from_slice(encoded);
        seal(out, 0);
    }

    #[cold]
    fn push_types(&self, out: &mut Vec<u8>) {
        if !self.types.is_empty() {
            // The last byte of the head: types follow.
            if let Some(types_follow) = out.last_mut() {
                *types_follow = 1;
            }
            out.extend_from_slice(&self.types);
        }
    }
}

#[cold]
fn miscounted(given: usize, expected: usize, sql: &str) -> Error {
    Error::Misuse(format!("{given} parameters given, the statement has {expected}: {}", shorten(sql)))
}
