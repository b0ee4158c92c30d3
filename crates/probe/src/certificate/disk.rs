//! What the file system of the data takes to write and sync 16 KiB and to read, past the page cache where it can.
//!
//! The file keeps its name while it is measured: btrfs and ZFS do not sync files that have none.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rqps_model::random::Stream;
use rqps_model::{HostFigure, HostQuantity};
use rustix::fs::OFlags;

use super::{LONG_SLICE, SHORT_SLICE, SLICES, timed_slice};
use crate::error::{Error, Result};

/// Prefix of the file's name, followed by the PID of its process.
const PREFIX: &str = ".rqps-certificate-";

/// Size of the file, unless the disk is too slow to write it in [`FILL_MAX`].
const FILE_BYTES: u64 = 64 << 20;
const FILL_MAX: Duration = Duration::from_secs(1);

/// Bytes of a write at a commit: an InnoDB page, two of Postgres.
const WRITE_BYTES: usize = 16 << 10;

/// Bytes of a sequential read, and of writes that fill the file.
const CHUNK_BYTES: usize = 1 << 20;

/// What direct I/O wants of addresses in memory.
const ALIGNMENT: usize = 4096;

pub(super) fn figures(dir: &Path) -> Result<Vec<HostFigure>> {
    remove_left_files(dir);
    let measure = || {
        let file = Scratch::create(dir)?;
        file.measure()
    };
    measure().map_err(|source| Error::Canary { dir: dir.to_path_buf(), source })
}

/// Removes files of processes that were killed.
fn remove_left_files(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The file, removed when dropped.
struct Scratch {
    path: PathBuf,
    file: File,
    is_direct: bool,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Scratch {
    fn create(dir: &Path) -> io::Result<Self> {
        let path = dir.join(format!("{PREFIX}{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let direct = options.clone().custom_flags(OFlags::DIRECT.bits() as i32).open(&path);
        match direct {
            Ok(file) => Ok(Self { path, file, is_direct: true }),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let file = options.open(&path)?;
                Ok(Self { path, file, is_direct: false })
            }
            Err(error) => Err(error),
        }
    }

    fn measure(&self) -> io::Result<Vec<HostFigure>> {
        let mut memory = vec![0x5a; CHUNK_BYTES + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        let chunk = &mut memory[start..start + CHUNK_BYTES];
        let size = self.fill(chunk)?;
        let mut random = Stream::new(&[size]);
        let mut place = move || (random.key(size / WRITE_BYTES as u64) - 1) * WRITE_BYTES as u64;
        let (mut writes_us, mut syncs_us) = (Vec::new(), Vec::new());
        for _ in 0..SLICES {
            let (write_us, sync_us) = self.write_and_sync(&chunk[..WRITE_BYTES], &mut place)?;
            writes_us.push(write_us);
            syncs_us.push(sync_us);
        }
        let mut figures = vec![
            HostFigure::of_slices(HostQuantity::Write, writes_us),
            HostFigure::of_slices(HostQuantity::Sync, syncs_us),
        ];
        if self.is_direct {
            figures.push(HostFigure::of_slices(
                HostQuantity::SequentialRead,
                self.sequential_reads(chunk, size)?,
            ));
            let block = &mut chunk[..WRITE_BYTES];
            figures
                .push(HostFigure::of_slices(HostQuantity::RandomRead, self.random_reads(block, &mut place)?));
        }
        Ok(figures.into_iter().flatten().collect())
    }

    /// Writes the file and syncs it; returns its size.
    fn fill(&self, chunk: &[u8]) -> io::Result<u64> {
        let start = Instant::now();
        let mut size = 0;
        while size < FILE_BYTES && (size == 0 || start.elapsed() < FILL_MAX) {
            self.file.write_all_at(chunk, size)?;
            size += chunk.len() as u64;
        }
        self.file.sync_all()?;
        Ok(size)
    }

    /// Median microseconds of writes, and of the syncs after them, in one slice.
    fn write_and_sync(&self, block: &[u8], place: &mut impl FnMut() -> u64) -> io::Result<(f64, f64)> {
        let start = Instant::now();
        let (mut writes_us, mut syncs_us) = (Vec::new(), Vec::new());
        while writes_us.is_empty() || start.elapsed() < LONG_SLICE {
            let begin = Instant::now();
            self.file.write_all_at(block, place())?;
            let written = Instant::now();
            self.file.sync_data()?;
            writes_us.push((written - begin).as_secs_f64() * 1e6);
            syncs_us.push(written.elapsed().as_secs_f64() * 1e6);
        }
        Ok((median(writes_us), median(syncs_us)))
    }

    fn sequential_reads(&self, chunk: &mut [u8], size: u64) -> io::Result<Vec<f64>> {
        let mut at = 0;
        self.reads(chunk, || {
            let from = at;
            at = (at + CHUNK_BYTES as u64) % size;
            from
        })
        .map(|us| us.into_iter().map(|us| CHUNK_BYTES as f64 / us).collect())
    }

    fn random_reads(&self, block: &mut [u8], place: &mut impl FnMut() -> u64) -> io::Result<Vec<f64>> {
        self.reads(block, place)
    }

    /// Mean microseconds of a read, slice by slice.
    fn reads(&self, buffer: &mut [u8], mut place: impl FnMut() -> u64) -> io::Result<Vec<f64>> {
        let mut failed = None;
        let mut slice = |_| {
            let slice = timed_slice(SHORT_SLICE, || {
                if let Err(error) = self.file.read_exact_at(buffer, place()) {
                    failed = Some(error);
                }
                1
            });
            slice.seconds * 1e6 / slice.operations
        };
        let slices = (0..SLICES).map(&mut slice).collect();
        failed.map_or(Ok(slices), Err)
    }
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
    fn files_of_killed_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        // Above the largest PID that Linux assigns.
        let left = dir.path().join(format!("{PREFIX}4194305"));
        let used = dir.path().join(format!("{PREFIX}{}", std::process::id()));
        let foreign = dir.path().join(format!("{PREFIX}x"));
        for path in [&left, &used, &foreign] {
            fs::write(path, "x").unwrap();
        }
        remove_left_files(dir.path());
        assert!(!left.exists() && used.exists() && foreign.exists());
    }

    #[test]
    fn reads_are_left_out_where_they_would_come_from_the_page_cache() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let scratch = Scratch::create(dir.path()).unwrap();
        let names: Vec<_> = scratch.measure().unwrap().iter().map(|figure| figure.quantity.key()).collect();
        let all = ["write_16k_us", "fdatasync_16k_us", "sequential_read_mb_per_s", "random_read_16k_us"];
        // tmpfs has direct I/O since Linux 6.6.
        assert_eq!(names, all[..if scratch.is_direct { 4 } else { 2 }]);
    }
}
