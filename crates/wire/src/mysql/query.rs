//! Administrative queries whose rows are wanted: status, settings, query plans. Not hot.

use super::Connection;
use super::decode::{Reader, text};
use super::packet::{self, EOF, EOF_BYTES, ERROR, OK, Packets};
use super::reply::{rejected, server_error};
use super::scan::MORE_RESULTS;
use crate::channel::{Exchange, ReplyError};
use crate::inbox::unexpected;
use crate::table::{self, TABLE_BYTES_MAX};
use crate::{Error, Table};

impl Connection {
    /// Runs SQL text and keeps the rows, all values as text. Of several results the last one with rows
    /// counts.
    ///
    /// # Errors
    /// When the server rejects a statement or more than 256 MiB come back (the connection stays
    /// usable), or when the connection is lost.
    pub fn query(&mut self, sql: &str) -> Result<Table, Error> {
        self.send_command(packet::QUERY, sql)?;
        let mut answer = Answer::default();
        let reply = self.read_answer(&mut answer);
        self.channel.inbox.shrink();
        reply.map_err(|error| self.failure(error, sql))?;
        if answer.bytes > TABLE_BYTES_MAX {
            return Err(table::too_large(answer.bytes));
        }
        Ok(answer.table)
    }

    fn read_answer(&mut self, answer: &mut Answer) -> Result<(), ReplyError> {
        let mut packets = Packets { next: packet::reply_number(self.channel.outbox.len()) };
        loop {
            let start = self.next_packet(&mut packets)?;
            let status = match start.first() {
                Some(&OK) => ok_status(&start)?,
                Some(_) => self.read_rows(&mut packets, answer)?,
                None => return Err(ReplyError::Malformed("an empty packet".to_owned())),
            };
            if status & MORE_RESULTS == 0 {
                return Ok(());
            }
        }
    }

    /// The definitions and rows behind the start of a result set; gives the status at its end.
    fn read_rows(&mut self, packets: &mut Packets, answer: &mut Answer) -> Result<u16, ReplyError> {
        *answer = Answer::default();
        loop {
            let definition = self.next_packet(packets)?;
            if is_eof(&definition) {
                break;
            }
            answer.table.columns.push(column_name(&definition)?);
        }
        loop {
            let row = self.next_packet(packets)?;
            if is_eof(&row) {
                return Ok(eof_status(&row)?);
            }
            answer.bytes += row.len();
            if answer.bytes <= TABLE_BYTES_MAX {
                answer.table.rows.push(values(&row, answer.table.columns.len())?);
            }
        }
    }

    /// The next payload of a reply, cut where a table may be no longer; an error ends the reply.
    pub(super) fn next_packet(&mut self, packets: &mut Packets) -> Result<Vec<u8>, ReplyError> {
        let payload = packets.read(&mut self.channel.inbox, &mut self.channel.socket, TABLE_BYTES_MAX + 1)?;
        match payload.first() {
            Some(&ERROR) => Err(rejected(server_error(&payload)?)),
            _ => Ok(payload),
        }
    }
}

/// A table as it grows.
#[derive(Default)]
struct Answer {
    table: Table,
    bytes: usize,
}

/// Whether a payload ends definitions or rows.
pub(super) fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&EOF) && payload.len() < EOF_BYTES
}

/// The status bits of an EOF: behind the number of warnings.
fn eof_status(payload: &[u8]) -> std::io::Result<u16> {
    let mut reader = Reader(payload);
    reader.bytes(3)?;
    Ok(reader.int(2)? as u16)
}

/// The status bits of an OK: behind the number of rows and the last number of AUTO_INCREMENT.
fn ok_status(payload: &[u8]) -> std::io::Result<u16> {
    let mut reader = Reader(payload);
    reader.bytes(1)?;
    reader.length()?;
    reader.length()?;
    Ok(reader.int(2)? as u16)
}

/// The name in a column definition: behind catalog, database, table and the table's own name.
fn column_name(definition: &[u8]) -> std::io::Result<String> {
    let mut reader = Reader(definition);
    for _ in 0..4 {
        reader.text()?;
    }
    Ok(reader.text()?.map(text).unwrap_or_default())
}

fn values(row: &[u8], columns: usize) -> std::io::Result<Vec<Option<String>>> {
    let mut reader = Reader(row);
    let values = (0..columns).map(|_| Ok(reader.text()?.map(text))).collect();
    match reader.0 {
        [] => values,
        _ => Err(unexpected("a row with more values than columns")),
    }
}
