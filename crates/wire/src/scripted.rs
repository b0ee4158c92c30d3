//! A fake server for tests: sends given bytes in pieces of given sizes, and records what it receives.

use std::io::{self, Read, Write};

pub(crate) struct Scripted<'a> {
    pub(crate) bytes: &'a [u8],
    cuts: &'a [usize],
    reads: usize,
    pub(crate) received: Vec<u8>,
}

impl<'a> Scripted<'a> {
    /// Without `cuts`, each read returns as much as fits.
    pub(crate) fn new(bytes: &'a [u8], cuts: &'a [usize]) -> Self {
        Self { bytes, cuts, reads: 0, received: Vec::new() }
    }
}

impl Read for Scripted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let cut = self.cuts.get(self.reads % self.cuts.len().max(1)).copied().unwrap_or(usize::MAX);
        self.reads += 1;
        let (piece, rest) = self.bytes.split_at(cut.min(buffer.len()).min(self.bytes.len()));
        buffer[..piece.len()].copy_from_slice(piece);
        self.bytes = rest;
        Ok(piece.len())
    }
}

impl Write for Scripted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.received.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
