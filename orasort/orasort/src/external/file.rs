//! Temporary files without a name, and blocks in them that prove to be what was written.

use super::ExternalError;
use core::sync::atomic::{AtomicU64, Ordering};
use std::format;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::Vec;

/// Runs in one file: its space is free again when the last of them is merged.
const RUNS_PER_FILE: usize = 16;

/// Before each block: its length, 4 bytes, and its checksum, 8 bytes.
pub(super) const HEADER_BYTES: usize = 12;

/// Names tried before it is an error that they are taken.
const NAMES_MAX: usize = 100;

/// A temporary file.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    directory: PathBuf,
    /// The file's name, where the system would not remove it from an open file.
    name: Option<PathBuf>,
}

impl SpillFile {
    fn create(directory: &Path) -> Result<Self, ExternalError> {
        let mut tried = 0;
        loop {
            let name = directory.join(new_name());
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&name) {
                Ok(file) => {
                    let name = std::fs::remove_file(&name).is_err().then_some(name);
                    return Ok(Self { file, directory: directory.into(), name });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < NAMES_MAX => tried += 1,
                Err(source) => return Err(ExternalError::Create { directory: directory.into(), source }),
            }
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), ExternalError> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes)).map_err(|source| {
            ExternalError::Write { directory: self.directory.clone(), file_bytes: at, source }
        })
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), ExternalError> {
        let mut file = &self.file;
        match file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes)) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.damaged(at, "the file ends before the run does"))
            }
            Err(source) => {
                Err(ExternalError::Read { directory: self.directory.clone(), file_bytes: at, source })
            }
        }
    }

    pub(super) fn damaged(&self, at: u64, what: &'static str) -> ExternalError {
        ExternalError::Damaged { directory: self.directory.clone(), file_bytes: at, what }
    }

    /// Reads the block at `at` of a run that ends at `end` into `block`, and returns where the next one begins.
    pub(super) fn read_block(&self, at: u64, end: u64, block: &mut Vec<u8>) -> Result<u64, ExternalError> {
        let mut header = [0; HEADER_BYTES];
        self.read(at, &mut header)?;
        let (length, sum) = header.split_at(4);
        let length = u32::from_le_bytes(length.try_into().unwrap_or_default());
        let sum = u64::from_le_bytes(sum.try_into().unwrap_or_default());
        let next = at + HEADER_BYTES as u64 + u64::from(length);
        if length == 0 || next > end {
            return Err(self.damaged(at, "a block's length is wrong"));
        }
        block.resize(length as usize, 0);
        self.read(at + HEADER_BYTES as u64, block)?;
        if checksum(at, block) != sum {
            return Err(self.damaged(at, "a block's checksum is wrong"));
        }
        Ok(next)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nobody is left to be told; the name says which process it was.
            let _ = std::fs::remove_file(name);
        }
    }
}

/// A name that no other sort takes, in this process or another.
fn new_name() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = since_epoch.map_or(0, |elapsed| elapsed.as_nanos());
    format!("orasort-{}-{nanos}-{number}.run", std::process::id()).into()
}

/// A checksum that tells lost, mixed up and changed blocks. It is no defence against intent.
fn checksum(at: u64, bytes: &[u8]) -> u64 {
    /// The 64-bit golden ratio, odd: multiplying by it spreads every bit upwards.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = at ^ bytes.len() as u64;
    let mut mix = |word: u64| sum = (sum.rotate_left(29) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(u64::from_le_bytes(last));
    sum ^ sum >> 32
}

/// Where new runs go: one file after the other.
#[derive(Debug)]
pub(super) struct Space {
    directory: PathBuf,
    block_bytes: usize,
    file: Option<Arc<SpillFile>>,
    /// Of the current file: where it ends, and its runs.
    end: u64,
    runs: usize,
}

impl Space {
    pub(super) fn new(directory: PathBuf, block_bytes: usize) -> Self {
        Self { directory, block_bytes, file: None, end: 0, runs: 0 }
    }

    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Makes the next run begin a file of its own.
    pub(super) fn next_file(&mut self) {
        self.file = None;
    }

    fn file(&mut self) -> Result<&Arc<SpillFile>, ExternalError> {
        if self.runs == RUNS_PER_FILE {
            self.file = None;
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                (self.end, self.runs) = (0, 0);
                Arc::new(SpillFile::create(&self.directory)?)
            }
        };
        Ok(self.file.insert(file))
    }
}

/// Writes bytes as blocks at the end of the current file.
pub(super) struct BlockWriter<'a> {
    space: &'a mut Space,
    file: Arc<SpillFile>,
    start: u64,
    at: u64,
    /// A header's room and the bytes of the block.
    block: Vec<u8>,
}

/// A stretch of a file.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) file: Arc<SpillFile>,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl<'a> BlockWriter<'a> {
    pub(super) fn new(space: &'a mut Space) -> Result<Self, ExternalError> {
        let file = Arc::clone(space.file()?);
        let mut block = Vec::with_capacity(space.block_bytes);
        block.resize(HEADER_BYTES, 0);
        Ok(Self { start: space.end, at: space.end, space, file, block })
    }

    #[inline]
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> Result<(), ExternalError> {
        while bytes.len() > self.space.block_bytes - self.block.len() {
            let (now, later) = bytes.split_at(self.space.block_bytes - self.block.len());
            self.block.extend_from_slice(now);
            self.flush()?;
            bytes = later;
        }
        self.block.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ExternalError> {
        let (header, bytes) = self.block.split_at_mut(HEADER_BYTES);
        if bytes.is_empty() {
            return Ok(());
        }
        // At most BLOCK_BYTES_MAX.
        header[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        header[4..].copy_from_slice(&checksum(self.at, bytes).to_le_bytes());
        self.file.write(self.at, &self.block)?;
        self.at += self.block.len() as u64;
        self.block.truncate(HEADER_BYTES);
        Ok(())
    }

    /// Writes the last block. Before this call the file's end is where it was: what a failure leaves is written over.
    pub(super) fn finish(mut self) -> Result<Extent, ExternalError> {
        self.flush()?;
        self.space.end = self.at;
        self.space.runs += 1;
        Ok(Extent { file: self.file, start: self.start, end: self.at })
    }
}

#[cfg(test)]
#[cfg(not(miri))]
impl Space {
    /// Makes the next run go to this file.
    pub(super) fn use_file(&mut self, file: File) {
        let file = SpillFile { file, directory: self.directory.clone(), name: None };
        (self.file, self.end, self.runs) = (Some(Arc::new(file)), 0, 0);
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_kept_its_name_is_removed_when_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("kept");
        let file = SpillFile {
            file: File::create_new(&name).unwrap(),
            directory: directory.path().into(),
            name: Some(name.clone()),
        };
        assert!(name.exists());
        drop(file);
        assert!(!name.exists());
    }

    #[test]
    fn a_checksum_changes_with_every_bit_the_length_and_the_place() {
        let mut bytes: Vec<u8> = (0..29).collect();
        let sum = checksum(5, &bytes);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(5, &bytes), sum, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        bytes.push(0);
        assert_ne!(checksum(5, &bytes), sum);
        assert_ne!(checksum(6, &bytes[..29]), sum);
    }
}
