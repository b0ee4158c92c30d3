//! Administrative queries that return their rows: statistics views, settings, query plans. Not hot.

use std::io;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, Message};

use super::frame::{frame, peek_tag};
use super::reply::{SideMessages, decode};
use super::{Connection, message};
use crate::channel::{Exchange, ReplyError};
use crate::table::Answer;
use crate::{Error, Table};

impl Connection {
    /// Runs SQL text and returns the rows, all values as text. For several statements separated by
    /// semicolons, returns the last result that has columns.
    ///
    /// # Errors
    /// If the server rejects a statement or returns more than 256 MiB (the connection stays usable), or if
    /// the connection is lost.
    pub fn query(&mut self, sql: &str) -> Result<Table, Error> {
        message::simple_query(&mut self.channel.outbox, sql)?;
        self.send(sql)?;
        let mut answer = Answer::default();
        let reply = self.read_answer(&mut answer);
        self.channel.inbox.shrink();
        reply.map_err(|error| self.failure(error, sql))?;
        answer.finish()
    }

    fn read_answer(&mut self, answer: &mut Answer) -> Result<(), ReplyError> {
        let mut side = SideMessages::default();
        loop {
            match self.read_part(answer, &mut side) {
                Ok(true) => return side.conclude(()),
                Ok(false) => {}
                Err(cause) => return Err(side.lost(cause)),
            }
        }
    }

    /// Reads one message; returns true at the end of the reply.
    fn read_part(&mut self, answer: &mut Answer, side: &mut SideMessages) -> io::Result<bool> {
        if !matches!(
            peek_tag(&mut self.channel.inbox, &mut self.channel.socket)?,
            b'T' | b'D' | b'C' | b'I' | b'Z'
        ) {
            side.handle(&mut self.channel.inbox, &mut self.channel.socket)?;
            return Ok(false);
        }
        let frame = frame(&mut self.channel.inbox, &mut self.channel.socket)?;
        let frame_bytes = frame.len();
        match decode(frame)? {
            Message::RowDescription(body) => {
                answer.start(body.fields().map(|field| Ok(field.name().to_owned())).collect()?);
            }
            Message::DataRow(body) => answer.push(frame_bytes, |_| values(&body))?,
            Message::ReadyForQuery(_) => return Ok(true),
            _ => {}
        }
        Ok(false)
    }
}

fn values(row: &DataRowBody) -> io::Result<Vec<Option<String>>> {
    let text = |range| row.buffer().get(range).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    row.ranges().map(|range| Ok(range.and_then(text))).collect()
}
