//! Other programs to calibrate beside: processes that keep CPUs, memory and the disk busy.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// What a process keeps busy. It does nothing else, and never ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// A loop in registers.
    Cpu,
    /// Changes one word in each cache line of 256 MB.
    Memory,
    /// Writes and flushes a megabyte at a time.
    Disk,
}

const ALL: [(Noise, &str); 3] = [(Noise::Cpu, "cpu"), (Noise::Memory, "memory"), (Noise::Disk, "disk")];
const WORDS: usize = (256 << 20) / size_of::<u64>();
const WORDS_PER_LINE: usize = 8;
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks of the file before it is written from its beginning again.
const CHUNKS: usize = 256;
/// Work between two looks whether to go on.
const TURNS: u64 = 1 << 20;

impl Noise {
    /// `count` processes: the kinds in turn.
    pub fn of(count: u32) -> Vec<Self> {
        ALL.into_iter().cycle().map(|(noise, _)| noise).take(count as usize).collect()
    }

    pub fn key(self) -> &'static str {
        ALL.into_iter().find(|(noise, _)| *noise == self).map_or("", |(_, key)| key)
    }

    pub fn by_key(key: &str) -> Option<Self> {
        ALL.into_iter().find(|(_, known)| *known == key).map(|(noise, _)| noise)
    }

    /// Keeps busy while `goes_on`. The disk's file lies in `directory` and has no name, so that nothing is left of
    /// a killed process.
    ///
    /// # Errors
    /// If the file cannot be made or written.
    pub fn make(self, directory: &Path, goes_on: impl Fn() -> bool) -> io::Result<()> {
        match self {
            Self::Cpu => {
                while goes_on() {
                    black_box((0..TURNS).fold(1u64, |value, turn| black_box(value.wrapping_mul(turn | 1))));
                }
            }
            Self::Memory => {
                let mut words = vec![0u64; WORDS];
                while goes_on() {
                    words.iter_mut().step_by(WORDS_PER_LINE).for_each(|word| *word = word.wrapping_add(1));
                    black_box(&words);
                }
            }
            Self::Disk => {
                let mut file = unnamed_file(directory)?;
                let chunk = vec![0x5a; CHUNK_BYTES];
                for at in (0..CHUNKS).cycle().take_while(|_| goes_on()) {
                    file.seek(SeekFrom::Start((at * CHUNK_BYTES) as u64))?;
                    file.write_all(&chunk)?;
                    file.sync_data()?;
                }
            }
        }
        Ok(())
    }
}

fn unnamed_file(directory: &Path) -> io::Result<File> {
    let path = directory.join(format!("noise-{}", std::process::id()));
    let file = File::create_new(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn every_kind_works_until_it_is_ended_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        for noise in Noise::of(4) {
            assert_eq!(Noise::by_key(noise.key()), Some(noise));
            let looks = Cell::new(0);
            noise
                .make(directory.path(), || {
                    looks.set(looks.get() + 1);
                    looks.get() < 3
                })
                .unwrap();
            assert_eq!(looks.get(), 3, "{noise:?}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
