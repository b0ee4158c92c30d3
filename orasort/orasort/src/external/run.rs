//! A run: records in order, each key without the bytes that it shares with the one before.
//!
//! A record is three numbers of 7 bits a byte, least significant first (shared bytes, other bytes of the key, bytes
//! of the payload), the key's other bytes, and the payload. Numbers and bytes go on across blocks.

use super::ExternalError;
use super::file::{BlockWriter, Extent, Space};
use std::vec::Vec;

/// Bytes of the longest number: 32 bits.
const NUMBER_BYTES_MAX: usize = 5;

/// A run in a file. Copies share the file.
#[derive(Clone, Debug)]
pub(super) struct Run {
    extent: Extent,
    records: u64,
    key_bytes_max: usize,
    payload_bytes_max: usize,
}

impl Run {
    /// Bytes in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.extent.end - self.extent.start
    }

    /// A number for its file.
    #[cfg(test)]
    #[cfg(not(miri))]
    pub(super) fn file(&self) -> usize {
        std::sync::Arc::as_ptr(&self.extent.file).addr()
    }

    /// Memory to read it, beside a block.
    pub(super) fn record_bytes_max(&self) -> usize {
        self.key_bytes_max + self.payload_bytes_max
    }
}

/// Writes a run.
pub(super) struct RunWriter<'a> {
    blocks: BlockWriter<'a>,
    records: u64,
    key_bytes_max: usize,
    payload_bytes_max: usize,
}

impl<'a> RunWriter<'a> {
    pub(super) fn new(space: &'a mut Space) -> Result<Self, ExternalError> {
        Ok(Self { blocks: BlockWriter::new(space)?, records: 0, key_bytes_max: 0, payload_bytes_max: 0 })
    }

    /// Adds a record whose key shares `lcp` bytes with the one before.
    pub(super) fn push(&mut self, lcp: usize, key: &[u8], payload: &[u8]) -> Result<(), ExternalError> {
        let rest = &key[lcp..];
        let mut head = [0; 3 * NUMBER_BYTES_MAX];
        let mut length = 0;
        for number in [lcp, rest.len(), payload.len()] {
            length += write_number(number, &mut head[length..]);
        }
        self.blocks.put(&head[..length])?;
        self.blocks.put(rest)?;
        self.blocks.put(payload)?;
        self.records += 1;
        self.key_bytes_max = self.key_bytes_max.max(key.len());
        self.payload_bytes_max = self.payload_bytes_max.max(payload.len());
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Run, ExternalError> {
        let Self { blocks, records, key_bytes_max, payload_bytes_max } = self;
        Ok(Run { extent: blocks.finish()?, records, key_bytes_max, payload_bytes_max })
    }
}

fn write_number(mut number: usize, out: &mut [u8]) -> usize {
    let mut length = 0;
    while number >= 0x80 {
        out[length] = number as u8 | 0x80;
        number >>= 7;
        length += 1;
    }
    out[length] = number as u8;
    length + 1
}

/// Reads a run from its beginning.
pub(super) struct RunReader {
    run: Run,
    /// Records not read yet.
    left: u64,
    /// Where the next block begins.
    next: u64,
    block: Vec<u8>,
    at: usize,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl RunReader {
    pub(super) fn new(run: Run) -> Self {
        let (key, payload) =
            (Vec::with_capacity(run.key_bytes_max), Vec::with_capacity(run.payload_bytes_max));
        Self { left: run.records, next: run.extent.start, run, block: Vec::new(), at: 0, key, payload }
    }

    /// The key of the current record.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The payload of the current record.
    #[inline]
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Goes to the next record, and returns how many bytes its key shares with the one before.
    pub(super) fn advance(&mut self) -> Result<Option<usize>, ExternalError> {
        if self.left == 0 {
            let read_all = self.at == self.block.len() && self.next == self.run.extent.end;
            return if read_all {
                Ok(None)
            } else {
                Err(self.damaged("bytes are left behind the last record"))
            };
        }
        self.left -= 1;
        let (lcp, rest, payload) = (self.number()?, self.number()?, self.number()?);
        let fits = lcp <= self.key.len() && lcp + rest <= self.run.key_bytes_max;
        if !fits || payload > self.run.payload_bytes_max {
            return Err(self.damaged("a record's length is wrong"));
        }
        self.key.truncate(lcp);
        let mut key = core::mem::take(&mut self.key);
        let read = self.read(rest, &mut key);
        self.key = key;
        read?;
        let mut bytes = core::mem::take(&mut self.payload);
        bytes.clear();
        let read = self.read(payload, &mut bytes);
        self.payload = bytes;
        read?;
        Ok(Some(lcp))
    }

    fn damaged(&self, what: &'static str) -> ExternalError {
        self.run.extent.file.damaged(self.next, what)
    }

    #[inline]
    fn number(&mut self) -> Result<usize, ExternalError> {
        let mut number = 0;
        for byte_at in 0..NUMBER_BYTES_MAX {
            if self.at == self.block.len() {
                self.refill()?;
            }
            let byte = self.block[self.at];
            self.at += 1;
            number |= usize::from(byte & 0x7f) << (7 * byte_at);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged("a record's length is too long"))
    }

    /// Appends the next `length` bytes of the run to `to`.
    #[inline]
    fn read(&mut self, mut length: usize, to: &mut Vec<u8>) -> Result<(), ExternalError> {
        loop {
            let here = length.min(self.block.len() - self.at);
            to.extend_from_slice(&self.block[self.at..self.at + here]);
            self.at += here;
            length -= here;
            if length == 0 {
                return Ok(());
            }
            self.refill()?;
        }
    }

    fn refill(&mut self) -> Result<(), ExternalError> {
        let extent = &self.run.extent;
        if self.next == extent.end {
            return Err(self.damaged("the run ends before its last record"));
        }
        self.next = extent.file.read_block(self.next, extent.end, &mut self.block)?;
        self.at = 0;
        Ok(())
    }
}
