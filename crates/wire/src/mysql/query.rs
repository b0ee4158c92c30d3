//! Administrative queries that return their rows: status, settings, query plans. Not hot.

use super::Connection;
use super::decode::{Reader, text};
use super::packet::{self, EOF, EOF_BYTES, ERROR, OK, Packets};
use super::reply::{rejected, server_error};
use super::scan::MORE_RESULTS;
use crate::channel::{Exchange, ReplyError};
use crate::inbox::unexpected;
use crate::table::{Answer, TABLE_BYTES_MAX};
use crate::{Error, Table};

impl Connection {
    /// Runs SQL text and returns the rows, all values as text. For several statements separated by
    /// semicolons, returns the last result that has columns.
    ///
    /// # Errors
    /// If the server rejects a statement or returns more than 256 MiB (the connection stays usable), or if
    /// the connection is lost.
    pub fn query(&mut self, sql: &str) -> Result<Table, Error> {
        self.send_command(packet::QUERY, sql)?;
        let mut answer = Answer::default();
        let reply = self.read_answer(&mut answer);
        self.channel.inbox.shrink();
        reply.map_err(|error| self.failure(error, sql))?;
        answer.finish()
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

    /// Reads the definitions and rows of a result set; returns the status at its end.
    fn read_rows(&mut self, packets: &mut Packets, answer: &mut Answer) -> Result<u16, ReplyError> {
        let mut columns = Vec::new();
        loop {
            let definition = self.next_packet(packets)?;
            if is_eof(&definition) {
                break;
            }
            columns.push(column_name(&definition)?);
        }
        answer.start(columns);
        loop {
            let row = self.next_packet(packets)?;
            if is_eof(&row) {
                return Ok(eof_status(&row)?);
            }
            answer.push(row.len(), |columns| values(&row, columns))?;
        }
    }

    /// Reads the next payload of a reply, truncated just above the limit on a table; fails on an error
    /// packet.
    pub(super) fn next_packet(&mut self, packets: &mut Packets) -> Result<Vec<u8>, ReplyError> {
        let payload = packets.read(&mut self.channel.inbox, &mut self.channel.socket, TABLE_BYTES_MAX + 1)?;
        match payload.first() {
            Some(&ERROR) => Err(rejected(server_error(&payload)?)),
            _ => Ok(payload),
        }
    }
}

/// Whether a payload ends definitions or rows.
pub(super) fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&EOF) && payload.len() < EOF_BYTES
}

/// The status of an EOF packet, which follows the number of warnings.
fn eof_status(payload: &[u8]) -> std::io::Result<u16> {
    let mut reader = Reader(payload);
    reader.bytes(3)?;
    Ok(reader.int(2)? as u16)
}

/// The status of an OK packet, which follows the number of rows and the last AUTO_INCREMENT value.
fn ok_status(payload: &[u8]) -> std::io::Result<u16> {
    let mut reader = Reader(payload);
    reader.bytes(1)?;
    reader.length()?;
    reader.length()?;
    Ok(reader.int(2)? as u16)
}

/// The name in a column definition, which follows catalog, database, table alias and table.
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
