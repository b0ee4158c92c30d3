//! The read buffer: one block of memory, reused for every reply. It grows only for a single message
//! that must be seen whole, up to a limit.

use std::io::{self, Read};

/// Bytes that any protocol's header fits into.
const HEADER_BYTES_MAX: usize = 8;

/// Size of one read. Larger than any reply of the small statements, so those take one read.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// Longest message that is kept whole (an error, one row of an administrative query).
pub(crate) const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes read from the server and not consumed yet.
pub(crate) struct Inbox {
    buffer: Vec<u8>,
    /// The buffer's ordinary size, in bytes.
    ordinary: usize,
    start: usize,
    end: usize,
}

impl Inbox {
    /// An empty buffer of `bytes`; at least a header must fit.
    pub(crate) fn new(bytes: usize) -> Self {
        let ordinary = bytes.max(HEADER_BYTES_MAX);
        Self { buffer: vec![0; ordinary], ordinary, start: 0, end: 0 }
    }

    /// The unconsumed bytes.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Marks the first `bytes` unread ones as done.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Reads more behind the unread bytes, making room if needed.
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

    /// Reads `bytes` more and throws them away, and keeps what came behind them. Only when nothing
    /// is unread.
    pub(crate) fn skip(&mut self, source: &mut impl Read, mut bytes: usize) -> io::Result<()> {
        while bytes > 0 {
            self.fill(source)?;
            let skipped = bytes.min(self.end - self.start);
            self.start += skipped;
            bytes -= skipped;
        }
        Ok(())
    }

    /// The next `bytes` bytes, read if they aren't there yet, not consumed. At most
    /// [`FRAME_BYTES_MAX`] may be asked for, by the caller's check.
    pub(crate) fn peek(&mut self, source: &mut impl Read, bytes: usize) -> io::Result<&[u8]> {
        while self.unread().len() < bytes {
            self.fill(source)?;
        }
        Ok(self.buffer.get(self.start..self.start + bytes).unwrap_or_default())
    }

    /// The next `bytes` bytes, consumed; as for [`Inbox::peek`].
    pub(crate) fn take(&mut self, source: &mut impl Read, bytes: usize) -> io::Result<&[u8]> {
        self.peek(source, bytes)?;
        let start = self.start;
        self.start += bytes;
        Ok(self.buffer.get(start..start + bytes).unwrap_or_default())
    }

    /// Gives back the memory that a large message took, if nothing is unread.
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

/// The server closed its end.
pub(crate) fn end_of_stream() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the server")
}

/// An error of kind `InvalidData`: the protocol was not kept.
pub(crate) fn unexpected(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
