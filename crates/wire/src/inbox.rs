//! The read buffer: one block of memory, reused for every reply. It grows only for a message that must be
//! parsed whole, up to a limit.

use std::io::{self, Read};

/// Larger than any protocol's header.
const HEADER_BYTES_MAX: usize = 8;

/// Size of one read. Small statements have shorter replies, so each takes one read.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// Longest message that is parsed whole (an error, one row of an administrative query).
pub(crate) const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes read from the server but not yet consumed.
pub(crate) struct Inbox {
    buffer: Vec<u8>,
    /// The buffer's size unless a large message is in it.
    ordinary: usize,
    start: usize,
    end: usize,
}

impl Inbox {
    /// An empty buffer of `bytes`, or of a header if that is larger.
    pub(crate) fn new(bytes: usize) -> Self {
        let ordinary = bytes.max(HEADER_BYTES_MAX);
        Self { buffer: vec![0; ordinary], ordinary, start: 0, end: 0 }
    }

    /// The unconsumed bytes.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Consumes the first `bytes` unread bytes.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Reads more bytes after the unread ones, and makes room for them if needed.
    #[inline]
    pub(crate) fn fill(&mut self, source: &mut impl Read) -> io::Result<()> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else {
            self.make_room();
        }
        let space = self.buffer.get_mut(self.end..).unwrap_or_default();
        match source.read(space)? {
            0 => Err(end_of_stream()),
            bytes => {
                self.end += bytes;
                Ok(())
            }
        }
    }

    /// Reads and discards `bytes` more bytes; keeps bytes that arrive after them. Only if nothing is unread.
    pub(crate) fn skip(&mut self, source: &mut impl Read, mut bytes: usize) -> io::Result<()> {
        while bytes > 0 {
            self.fill(source)?;
            let skipped = bytes.min(self.end - self.start);
            self.start += skipped;
            bytes -= skipped;
        }
        Ok(())
    }

    /// Returns the next `bytes` bytes without consuming them; reads them if needed. Callers must limit
    /// `bytes` to [`FRAME_BYTES_MAX`].
    pub(crate) fn peek(&mut self, source: &mut impl Read, bytes: usize) -> io::Result<&[u8]> {
        while self.unread().len() < bytes {
            self.fill(source)?;
        }
        Ok(self.buffer.get(self.start..self.start + bytes).unwrap_or_default())
    }

    /// Consumes and returns the next `bytes` bytes; see [`Inbox::peek`].
    pub(crate) fn take(&mut self, source: &mut impl Read, bytes: usize) -> io::Result<&[u8]> {
        self.peek(source, bytes)?;
        let start = self.start;
        self.start += bytes;
        Ok(self.buffer.get(start..start + bytes).unwrap_or_default())
    }

    /// Frees the memory of a large message, if nothing is unread.
    pub(crate) fn shrink(&mut self) {
        if self.start == self.end && self.buffer.len() > self.ordinary {
            (self.start, self.end) = (0, 0);
            self.buffer.truncate(self.ordinary);
            self.buffer.shrink_to_fit();
        }
    }

    #[cold]
    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}

pub(crate) fn end_of_stream() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the server")
}

/// The error for a protocol violation, of kind `InvalidData`.
pub(crate) fn unexpected(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
