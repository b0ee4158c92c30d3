//! What the file system of the data takes to write and sync 16 KiB and to read, past the page cache where it can.
//!
//! The file keeps its name while it is measured: btrfs and ZFS do not sync files that have none.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rqps_model::HostQuantity;
use rqps_model::random::Stream;
use rustix::fs::{AtFlags, OFlags, StatxFlags, fstatvfs, statx};

use super::slices::{LONG_SLICE, SHORT_SLICE, Slices, timed_slice};
use crate::error::{Error, Result};

/// Prefix of the file's name, followed by the PID of its process.
const PREFIX: &str = ".rqps-certificate-";

/// Size of the file, unless the disk is too slow to write it in [`FILL_MAX`], or it would take more than half of the
/// free space.
const FILE_BYTES: u64 = 64 << 20;
const FILL_MAX: Duration = Duration::from_secs(1);

/// Bytes of a write at a commit: an InnoDB page, two of Postgres.
const WRITE_BYTES: usize = 16 << 10;

/// Bytes of a sequential read, and of writes that fill the file.
const CHUNK_BYTES: usize = 1 << 20;

/// What direct I/O wants of addresses in memory.
const ALIGNMENT: usize = 4096;

/// The file. It has no name any more, so nothing of it stays, however the process ends.
pub(super) struct Scratch {
    dir: PathBuf,
    file: File,
    is_direct: bool,
    size: u64,
    /// Where the next sequential read begins.
    next: u64,
    places: Stream,
    memory: Vec<u8>,
}

impl Scratch {
    /// Writes the file.
    pub fn create(dir: &Path) -> Result<Self> {
        let failed = |source| Error::Canary { dir: dir.to_path_buf(), source };
        let mut scratch = Self::open(dir).map_err(failed)?;
        scratch.fill().map_err(failed)?;
        Ok(scratch)
    }

    fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join(format!("{PREFIX}{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let direct = options.clone().custom_flags(OFlags::DIRECT.bits() as i32).open(&path);
        let (file, is_direct) = match direct {
            Ok(file) => {
                let is_direct = has_direct_io(&file);
                (file, is_direct)
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => (options.open(&path)?, false),
            Err(error) => return Err(error),
        };
        fs::remove_file(&path)?;
        let memory = vec![0x5a; CHUNK_BYTES + ALIGNMENT];
        Ok(Self {
            dir: dir.to_path_buf(),
            file,
            is_direct,
            size: 0,
            next: 0,
            places: Stream::new(&[FILE_BYTES]),
            memory,
        })
    }

    pub fn add_slices(&mut self, slices: &mut Slices) -> Result<()> {
        self.measure(slices).map_err(|source| Error::Canary { dir: self.dir.clone(), source })
    }

    fn measure(&mut self, slices: &mut Slices) -> io::Result<()> {
        let Self { file, is_direct, size, next, places, memory, .. } = self;
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        let chunk = &mut memory[start..start + CHUNK_BYTES];
        let mut place = || (places.key(*size / WRITE_BYTES as u64) - 1) * WRITE_BYTES as u64;
        let (write_us, sync_us) = write_and_sync(file, &chunk[..WRITE_BYTES], &mut place)?;
        slices.add(HostQuantity::Write, write_us);
        slices.add(HostQuantity::Sync, sync_us);
        if *is_direct {
            let sequential_us = read_us(file, chunk, || {
                let from = *next;
                *next = (*next + CHUNK_BYTES as u64) % *size;
                from
            })?;
            slices.add(HostQuantity::SequentialRead, CHUNK_BYTES as f64 / sequential_us);
            slices.add(HostQuantity::RandomRead, read_us(file, &mut chunk[..WRITE_BYTES], place)?);
        }
        Ok(())
    }

    /// Writes the file and syncs it.
    fn fill(&mut self) -> io::Result<()> {
        let chunk_start = self.memory.as_ptr().align_offset(ALIGNMENT);
        let chunk = &self.memory[chunk_start..chunk_start + CHUNK_BYTES];
        let space = fstatvfs(&self.file)?;
        let size_max = FILE_BYTES.min(space.f_bavail * space.f_frsize / 2);
        let (start, step) = (Instant::now(), chunk.len() as u64);
        while self.size == 0 || self.size + step <= size_max && start.elapsed() < FILL_MAX {
            self.file.write_all_at(chunk, self.size)?;
            self.size += step;
        }
        self.file.sync_all()
    }
}

/// Whether a file opened with O_DIRECT has direct I/O: some file systems open it and use the page cache, such as ext4
/// with `data=journal`. Kernels before 6.1 do not tell.
fn has_direct_io(file: &File) -> bool {
    statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        .is_ok_and(|stat| stat.stx_mask & StatxFlags::DIOALIGN.bits() == 0 || stat.stx_dio_mem_align > 0)
}

/// Median microseconds of writes, and of the syncs after them, in one slice.
fn write_and_sync(file: &File, block: &[u8], place: &mut impl FnMut() -> u64) -> io::Result<(f64, f64)> {
    let start = Instant::now();
    let (mut writes_us, mut syncs_us) = (Vec::new(), Vec::new());
    while writes_us.is_empty() || start.elapsed() < LONG_SLICE {
        let begin = Instant::now();
        file.write_all_at(block, place())?;
        let written = Instant::now();
        file.sync_data()?;
        writes_us.push((written - begin).as_secs_f64() * 1e6);
        syncs_us.push(written.elapsed().as_secs_f64() * 1e6);
    }
    Ok((median(writes_us), median(syncs_us)))
}

/// Mean microseconds of a read in one slice.
fn read_us(file: &File, buffer: &mut [u8], mut place: impl FnMut() -> u64) -> io::Result<f64> {
    let mut failed = None;
    let slice = timed_slice(SHORT_SLICE, || {
        if let Err(error) = file.read_exact_at(buffer, place()) {
            failed = Some(error);
        }
        1
    });
    failed.map_or(Ok(slice.seconds * 1e6 / slice.operations), Err)
}

/// The upper of the middle values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_file_is_left_by_a_process_that_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let _scratch = Scratch::create(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn reads_are_left_out_where_they_would_come_from_the_page_cache() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut scratch = Scratch::create(dir.path()).unwrap();
        let mut slices = Slices::default();
        scratch.measure(&mut slices).unwrap();
        let names: Vec<_> = slices.figures().iter().map(|figure| figure.quantity.key()).collect();
        let all = ["write_16k_us", "fdatasync_16k_us", "sequential_read_mb_per_s", "random_read_16k_us"];
        // tmpfs has direct I/O since Linux 6.6.
        assert_eq!(names, all[..if scratch.is_direct { 4 } else { 2 }]);
    }
}
