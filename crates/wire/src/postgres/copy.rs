//! Bulk load: rows in COPY text format, sent in large messages.

use std::io::{self, Write};

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::frame::{frame, peek_tag};
use super::reply::{SideMessages, collect};
use super::{Connection, message};
use crate::channel::{Channel, Exchange, ReplyError};
use crate::{Error, Outcome};

/// Size of one CopyData message with its header.
const CHUNK_BYTES: usize = 256 * 1024;

/// Tag and length of CopyData.
const HEADER_BYTES: usize = 5;

/// A `COPY ... FROM STDIN` in progress. If dropped before [`CopyIn::finish`], it is aborted: no row is
/// loaded, and the connection stays usable.
pub struct CopyIn<'a> {
    connection: &'a mut Connection,
    sql: String,
    /// The next CopyData message, beginning with its header.
    chunk: Vec<u8>,
    /// Whether the server still accepts rows.
    open: bool,
}

impl Connection {
    /// Begins a `COPY ... FROM STDIN`.
    ///
    /// # Errors
    /// If the server rejects the statement, if it is a different statement (which was then executed; the
    /// connection stays usable), or if the connection is lost.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, Error> {
        message::simple_query(&mut self.channel.outbox, sql)?;
        self.send(sql)?;
        match self.await_copy() {
            Ok(None) => {
                let mut chunk = Vec::with_capacity(CHUNK_BYTES);
                chunk.extend_from_slice(b"d\0\0\0\0");
                Ok(CopyIn { connection: self, sql: sql.to_owned(), chunk, open: true })
            }
            Ok(Some(_)) => {
                Err(Error::Misuse(format!("not a COPY ... FROM STDIN: {sql}; run it as a plain statement")))
            }
            Err(error) => Err(self.failure(error, sql)),
        }
    }

    /// Reads until the server accepts rows, or until the statement is over; then returns its outcome.
    fn await_copy(&mut self) -> Result<Option<Outcome>, ReplyError> {
        let mut side = SideMessages::default();
        loop {
            let tag = match peek_tag(&mut self.channel.inbox, &mut self.channel.socket) {
                Ok(tag) => tag,
                Err(cause) => return Err(side.lost(cause)),
            };
            let read = match tag {
                b'G' => frame(&mut self.channel.inbox, &mut self.channel.socket).map(|_| true),
                b'N' | b'S' | b'A' => {
                    side.handle(&mut self.channel.inbox, &mut self.channel.socket).map(|()| false)
                }
                _ => return collect(&mut self.channel.inbox, &mut self.channel.socket).map(Some),
            };
            match read {
                Ok(true) => return Ok(None),
                Ok(false) => {}
                Err(cause) => return Err(side.lost(cause)),
            }
        }
    }
}

impl CopyIn<'_> {
    /// Adds rows, or parts of rows, in the format that the statement names.
    ///
    /// # Errors
    /// If the server has rejected earlier rows (noticed at the next full message) or the connection is lost.
    /// The COPY is then over.
    pub fn write(&mut self, mut rows: &[u8]) -> Result<(), Error> {
        while !rows.is_empty() {
            let room = CHUNK_BYTES - self.chunk.len();
            let (now, later) = rows.split_at(room.min(rows.len()));
            self.chunk.extend_from_slice(now);
            rows = later;
            if self.chunk.len() == CHUNK_BYTES {
                self.send_chunk()?;
            }
        }
        Ok(())
    }

    /// Ends the COPY and returns the number of rows loaded.
    ///
    /// # Errors
    /// If the server rejects a row (none is loaded then) or the connection is lost.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.send_chunk()?;
        let mut out = BytesMut::new();
        frontend::copy_done(&mut out);
        self.send(&out)?;
        self.open = false;
        Ok(self.connection.count_reply(&self.sql)?.affected)
    }

    fn send_chunk(&mut self) -> Result<(), Error> {
        if !self.open {
            return Err(Error::Misuse(format!(
                "this COPY has already failed: {}; start a new one",
                self.sql
            )));
        }
        self.check_for_error()?;
        let rows_bytes = self.chunk.len() - HEADER_BYTES;
        if rows_bytes == 0 {
            return Ok(());
        }
        let length = (rows_bytes as u32 + 4).to_be_bytes();
        if let Some(field) = self.chunk.get_mut(1..HEADER_BYTES) {
            field.copy_from_slice(&length);
        }
        let chunk = std::mem::take(&mut self.chunk);
        self.send(&chunk)?;
        self.chunk = chunk;
        self.chunk.truncate(HEADER_BYTES);
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Err(cause) = self.connection.channel.socket.write_all(bytes) else {
            return Ok(());
        };
        self.open = false;
        Err(self.connection.send_failed(cause, &self.sql))
    }

    /// Fails early if the server has already rejected a row.
    fn check_for_error(&mut self) -> Result<(), Error> {
        match self.has_error() {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.open = false;
                self.connection.count_reply(&self.sql)?;
                Err(Error::Misuse(format!("the server ended the COPY on its own: {}", self.sql)))
            }
            Err(cause) => {
                self.open = false;
                Err(self.connection.send_failed(cause, &self.sql))
            }
        }
    }

    /// Reads the messages that have arrived, up to an error; returns whether there is one.
    fn has_error(&mut self) -> io::Result<bool> {
        let Channel { inbox, socket, .. } = &mut self.connection.channel;
        while !inbox.unread().is_empty() || socket.is_readable()? {
            match peek_tag(inbox, socket)? {
                b'N' | b'S' | b'A' => SideMessages::default().handle(inbox, socket)?,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        let mut out = BytesMut::new();
        let abort = "the client cancelled this COPY";
        if frontend::copy_fail(abort, &mut out).is_ok() && self.send(&out).is_ok() {
            // The server answers CopyFail with an error.
            let _ = self.connection.count_reply(&self.sql);
        }
    }
}
