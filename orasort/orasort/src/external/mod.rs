//! Sorts more records than fit into memory: sorted runs go to files, and a merge gives the records back in order.
//!
//! A record is a key and a payload, both byte strings. [`ExternalSorter::push`] collects records up to a memory limit.
//! When it is reached they are sorted and written as a *run*. [`ExternalSorter::finish`] merges all runs:
//!
//! ```
//! use orasort::external::{ExternalOptions, ExternalSorter};
//!
//! let mut sorter = ExternalSorter::new(ExternalOptions::new(1 << 20));
//! for number in (0..50_000u32).rev() {
//!     sorter.push(format!("key {number:09}").as_bytes(), &number.to_le_bytes())?;
//! }
//! let mut records = sorter.finish()?;
//! let mut expected = 0u32;
//! while let Some(record) = records.next_record()? {
//!     assert_eq!(record.payload, expected.to_le_bytes());
//!     expected += 1;
//! }
//! assert_eq!(expected, 50_000);
//! # Ok::<(), orasort::external::ExternalError>(())
//! ```
//!
//! # What the sort tells the merge
//!
//! The sort in memory gives its rows in order long before it is done, and with each row a number of bytes that the key
//! shares with the one before (their *LCP*, longest common prefix). Three things follow:
//!
//! - A run is written while it is being sorted. There is never a list of sorted rows.
//! - A run holds only what a key does not share with the key before it. Keys of databases and URLs shrink to a
//!   fraction.
//! - The merge compares numbers, not keys. Each run's next key carries an *offset-value code*: how many bytes it shares
//!   with the record that left the merge last, and the bytes that follow. Of two keys the one that shares more comes
//!   first, without a look at either. Only where both share the same number the bytes after are compared, and what is
//!   learnt is the loser's new code. So every byte of a key is compared about once in the whole merge, not once a level
//!   (Conner, "Offset-value coding", IBM Technical Disclosure Bulletin 20(7), 1977; Do and Graefe, "Robust and
//!   efficient sorting with offset-value coding", ACM TODS 48(1), 2023).
//!
//! The merge is a tree of losers: one path from leaf to root for each record, one comparison a level (Knuth, The Art of
//! Computer Programming, volume 3, section 5.4.1).
//!
//! # Memory
//!
//! The limit counts records, what the sort needs for each, and the buffers of files. It is never below
//! [`MEMORY_BYTES_MIN`]. When the buffers of all runs do not fit into it, neighbouring runs are merged into one
//! first, in as many passes as it takes, those with the fewest bytes first. A record that is larger than the limit is
//! sorted all the same: a merge needs room for at least one key and payload of each of two runs.
//!
//! Records of the last run stay in memory if the merge of the others fits beside them.
//!
//! # Files
//!
//! Files are made in the directory of the options, can be read by their owner only, and lose their name as soon as they
//! are open. So they are gone with the process, also when it is killed. Where a system refuses to remove the name of an
//! open file, it is removed when the file is dropped, which a panic does too. A file is closed when the last of its
//! runs is merged.
//!
//! Blocks of a run carry a checksum over their bytes and their place: a file that was cut off, or a block that the disk
//! lost, is an error and never a missing record. A run that could not be written, for want of space, leaves all records
//! where they were: the call can be repeated.

mod buffer;
mod error;
mod file;
mod merge;
mod plan;
mod records;
mod run;
#[cfg(test)]
#[cfg(not(miri))]
mod tests;

pub use error::ExternalError;
pub use records::{Record, Records};

use crate::{Options, Sorter};
use buffer::Buffer;
use file::Space;
use merge::{Merge, Source};
use run::{Run, RunReader, RunWriter};
use std::path::PathBuf;
use std::vec::Vec;

/// The smallest memory limit: a lower one counts as this.
pub const MEMORY_BYTES_MIN: usize = 64 << 10;

/// Runs that may wait for the final merge. At more of them some are merged at once, if they are too many for it anyway:
/// their list, and the files that hold them, stay few.
const RUNS_MAX: usize = 1024;

/// Bytes of a block of a file: large enough that a disk is not kept waiting, small enough that many runs fit.
const BLOCK_BYTES_MIN: usize = 2 << 10;
const BLOCK_BYTES_MAX: usize = 256 << 10;

/// Blocks that the memory limit is worth.
const BLOCKS: usize = 64;

/// Where an external sort works, with how much memory, and in which order.
#[derive(Clone, Debug)]
pub struct ExternalOptions {
    /// Memory for records, sort and buffers, in bytes. At least [`MEMORY_BYTES_MIN`].
    pub memory_bytes: usize,
    /// Where files are made. It has to exist once the first run is written.
    pub directory: PathBuf,
    /// The order of the records. With `stable`, those with equal keys stay in the order in which they were pushed.
    pub sort: Options,
}

impl ExternalOptions {
    /// Ascending, not stable, in the system's directory for temporary files.
    pub fn new(memory_bytes: usize) -> Self {
        Self { memory_bytes, directory: std::env::temp_dir(), sort: Options::default() }
    }
}

/// What an external sort has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalStats {
    /// Records pushed.
    pub records: u64,
    /// Runs written from memory.
    pub runs: u64,
    /// Merges of runs into a longer run, before the final merge.
    pub merges: u64,
    /// Bytes written to files by runs and merges.
    pub written_bytes: u64,
}

/// Collects records and gives them back in order, with a limited amount of memory.
///
/// See the [module](self) for an example.
#[derive(Debug)]
pub struct ExternalSorter {
    options: ExternalOptions,
    sorter: Sorter,
    buffer: Buffer,
    /// In the order in which their records were pushed, which a stable merge keeps.
    runs: Vec<Run>,
    space: Space,
    stats: ExternalStats,
    /// Whether `finish` has given the records away.
    finished: bool,
}

impl ExternalSorter {
    /// A sorter without records. Nothing is allocated and no file is made before there is need.
    pub fn new(mut options: ExternalOptions) -> Self {
        options.memory_bytes = options.memory_bytes.max(MEMORY_BYTES_MIN);
        let block_bytes = (options.memory_bytes / BLOCKS).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        Self {
            sorter: Sorter::new(),
            buffer: Buffer::new(options.memory_bytes - block_bytes),
            runs: Vec::new(),
            space: Space::new(options.directory.clone(), block_bytes),
            stats: ExternalStats::default(),
            finished: false,
            options,
        }
    }

    /// What was done since the sorter was made, or since the first push after [`ExternalSorter::finish`].
    pub fn stats(&self) -> ExternalStats {
        self.stats
    }

    /// Adds a record. The first one after [`ExternalSorter::finish`] begins a new sort.
    ///
    /// # Errors
    /// When a run has to be written and cannot be, or the key or payload is longer than 4 GiB. The record is not added
    /// then, and no other is lost.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), ExternalError> {
        if self.finished {
            self.clear();
        }
        let (Ok(key_len), Ok(payload_len)) = (u32::try_from(key.len()), u32::try_from(payload.len())) else {
            return Err(ExternalError::TooLong { key_bytes: key.len(), payload_bytes: payload.len() });
        };
        if !self.buffer.has_room(key.len() + payload.len()) {
            self.spill()?;
        }
        self.buffer.push(key, key_len, payload, payload_len);
        self.stats.records += 1;
        Ok(())
    }

    /// Merges everything pushed. Records come in order, the first ones before the rest is sorted.
    ///
    /// The sorter keeps its memory and files until the next push, which begins a new sort. Without one, calling this
    /// again gives the same records again.
    ///
    /// # Errors
    /// When a run cannot be written or read. No record is lost by that: the call can be repeated.
    pub fn finish(&mut self) -> Result<Records<'_>, ExternalError> {
        if !self.runs.is_empty() {
            // It was enough for a full run: the last one needs less, and the rest is for buffers.
            self.sorter.shrink();
            let merge_bytes = plan::merge_bytes(&self.runs, self.space.block_bytes());
            if self.buffer.used_bytes() + merge_bytes > self.options.memory_bytes {
                self.spill()?;
                self.release();
            }
        }
        while self.buffer.len() == 0 && self.merge_some()? {}
        let mut sources = Vec::with_capacity(self.runs.len() + 1);
        for run in &self.runs {
            sources.push(Source::Run(RunReader::new(run.clone())));
        }
        if self.buffer.len() > 0 {
            let sorted = self.sorter.sorted_lcp(&self.buffer, self.options.sort);
            sources.push(Source::Memory { sorted, buffer: &self.buffer, row: None });
        }
        let merge = Merge::new(sources, self.options.sort.order)?;
        self.finished = true;
        Ok(Records::new(merge))
    }

    fn clear(&mut self) {
        self.buffer.clear();
        self.runs.clear();
        self.space.next_file();
        self.stats = ExternalStats::default();
        self.finished = false;
    }

    /// Gives back the memory of records and sort, for the buffers of a merge.
    fn release(&mut self) {
        self.buffer.release();
        self.sorter.shrink();
    }

    /// Writes the records in memory as a run while they are being sorted.
    fn spill(&mut self) -> Result<(), ExternalError> {
        if self.buffer.len() == 0 {
            return Ok(());
        }
        let mut writer = RunWriter::new(&mut self.space)?;
        for (row, lcp) in self.sorter.sorted_lcp(&self.buffer, self.options.sort) {
            let (key, payload) = self.buffer.record(row as usize);
            writer.push(lcp, key, payload)?;
        }
        let run = writer.finish()?;
        self.stats.runs += 1;
        self.stats.written_bytes += run.bytes();
        self.runs.push(run);
        self.buffer.clear();
        if self.runs.len() > RUNS_MAX {
            self.release();
            self.merge_some()?;
        }
        Ok(())
    }

    /// Merges some neighbouring runs into one, if all together are too many. Returns whether it did.
    fn merge_some(&mut self) -> Result<bool, ExternalError> {
        let block_bytes = self.space.block_bytes();
        // A block is for writing.
        let budget_bytes = self.options.memory_bytes - block_bytes;
        match plan::next_window(&self.runs, budget_bytes, block_bytes) {
            Some(window) => self.merge_window(window).map(|()| true),
            None => Ok(false),
        }
    }

    fn merge_window(&mut self, window: core::ops::Range<usize>) -> Result<(), ExternalError> {
        let sources =
            self.runs[window.clone()].iter().map(|run| Source::Run(RunReader::new(run.clone()))).collect();
        let mut merge = Merge::new(sources, self.options.sort.order)?;
        let mut writer = RunWriter::new(&mut self.space)?;
        while merge.advance()? {
            let record = merge.record();
            writer.push(record.lcp, record.key, record.payload)?;
        }
        let run = writer.finish()?;
        self.stats.merges += 1;
        self.stats.written_bytes += run.bytes();
        self.runs.splice(window, [run]);
        Ok(())
    }
}
