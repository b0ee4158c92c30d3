//! The read buffer: one block of memory, reused for every reply. It grows only for a single message
//! that must be seen whole, up to a limit.

use std::io::{self, Read};

use super::scan::HEADER_BYTES;

/// Size of one read. Larger than any reply of the small statements, so those take one read.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// Longest message that is kept whole (an error, one row of an administrative query).
pub(super) const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes read from the server and not consumed yet.
pub(super) struct Inbox {
    buffer: Vec<u8>,
    /// The buffer's ordinary size, in bytes.
    ordinary: usize,
    start: usize,
    end: usize,
}

impl Inbox {
    /// An empty buffer of `bytes`; at least a header must fit.
    pub(super) fn new(bytes: usize) -> Self {
        let ordinary = bytes.max(HEADER_BYTES);
        Self { buffer: vec![0; ordinary], ordinary, start: 0, end: 0 }
    }

    /// The unconsumed bytes.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Marks the first `bytes` unread ones as done.
    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Reads more behind the unread bytes, making room if needed.
    #[inline]
    pub(super) fn fill(&mut self, source: &mut impl Read) -> io::Result<()> {
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
    pub(super) fn skip(&mut self, source: &mut impl Read, mut bytes: usize) -> io::Result<()> {
        while bytes > 0 {
            self.fill(source)?;
            let skipped = bytes.min(self.end - self.start);
            self.start += skipped;
            bytes -= skipped;
        }
        Ok(())
    }

    /// The tag of the next message, read if it isn't there yet, not consumed.
    pub(super) fn peek_tag(&mut self, source: &mut impl Read) -> io::Result<u8> {
        loop {
            match self.unread().first() {
                Some(tag) => return Ok(*tag),
                None => self.fill(source)?,
            }
        }
    }

    /// The next message whole, header included, consumed.
    pub(super) fn frame(&mut self, source: &mut impl Read) -> io::Result<&[u8]> {
        let bytes = loop {
            if let Some(&[_, l0, l1, l2, l3]) = self.unread().first_chunk::<HEADER_BYTES>() {
                let bytes = u32::from_be_bytes([l0, l1, l2, l3]) as usize + 1;
                if !(HEADER_BYTES..=FRAME_BYTES_MAX).contains(&bytes) {
                    let what =
                        format!("a message of {bytes} bytes where at most {FRAME_BYTES_MAX} are expected");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                if self.unread().len() >= bytes {
                    break bytes;
                }
            }
            self.fill(source)?;
        };
        let start = self.start;
        self.start += bytes;
        Ok(self.buffer.get(start..start + bytes).unwrap_or_default())
    }

    /// Gives back the memory that a large message took, if nothing is unread.
    pub(super) fn shrink(&mut self) {
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
pub(super) fn end_of_stream() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed it")
}
