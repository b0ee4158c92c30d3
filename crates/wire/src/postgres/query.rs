//! Administrative queries whose rows are wanted: statistics views, settings, query plans. Not hot.

use std::io;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, Message};

use super::reply::{Aside, Reply, Trouble, decode};
use super::{Connection, message};
use crate::Error;

/// Most bytes of rows that one query may return.
const TABLE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Result rows as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Column names, as the server gives them.
    pub columns: Vec<String>,
    /// One value per column in each row; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// The first value of the first row; `None` without a row or when it is NULL.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// The position of the column called `name`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

impl Connection {
    /// Runs SQL text and keeps the rows, all values as text. Of several statements separated by
    /// semicolons, the last one that returns rows counts.
    ///
    /// # Errors
    /// When the server rejects a statement or more than 256 MiB come back (the connection stays
    /// usable), or when the connection is lost.
    pub fn query(&mut self, sql: &str) -> Result<Table, Error> {
        message::simple_query(&mut self.outbox, sql)?;
        self.send(sql)?;
        let mut answer = Answer::default();
        let reply = self.read_answer(&mut answer);
        self.inbox.shrink();
        self.conclude(reply, sql)?;
        if answer.bytes > TABLE_BYTES_MAX {
            return Err(Error::Limit {
                what: format!("a result of {} bytes", answer.bytes),
                limit: format!("{TABLE_BYTES_MAX} bytes"),
                remedy: "ask for fewer rows or columns",
            });
        }
        Ok(answer.table)
    }

    fn read_answer(&mut self, answer: &mut Answer) -> Result<Reply<()>, Trouble> {
        let mut aside = Aside::default();
        loop {
            match self.read_part(answer, &mut aside) {
                Ok(Some(transaction)) => return aside.conclude((), transaction),
                Ok(None) => {}
                Err(cause) => return Err(aside.lost(cause)),
            }
        }
    }

    /// Reads one message; gives the transaction status at the reply's end.
    fn read_part(&mut self, answer: &mut Answer, aside: &mut Aside) -> io::Result<Option<u8>> {
        if !matches!(self.inbox.peek_tag(&mut self.socket)?, b'T' | b'D' | b'C' | b'I' | b'Z') {
            aside.attend(&mut self.inbox, &mut self.socket)?;
            return Ok(None);
        }
        let frame = self.inbox.frame(&mut self.socket)?;
        let frame_bytes = frame.len();
        match decode(frame)? {
            Message::RowDescription(body) => {
                answer.table.columns = body.fields().map(|field| Ok(field.name().to_owned())).collect()?;
                answer.table.rows.clear();
                answer.bytes = 0;
            }
            Message::DataRow(body) => {
                answer.bytes += frame_bytes;
                if answer.bytes <= TABLE_BYTES_MAX {
                    answer.table.rows.push(values(&body)?);
                }
            }
            Message::ReadyForQuery(body) => return Ok(Some(body.status())),
            _ => {}
        }
        Ok(None)
    }
}

/// A table as it grows.
#[derive(Default)]
struct Answer {
    table: Table,
    bytes: usize,
}

fn values(row: &DataRowBody) -> io::Result<Vec<Option<String>>> {
    let text = |range| row.buffer().get(range).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    row.ranges().map(|range| Ok(range.and_then(text))).collect()
}
