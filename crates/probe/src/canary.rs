//! Fixed work that should cost the same each time on this host, measured before and after a block. If its cost changes,
//! the host has changed, not the servers under test.
//!
//! Each figure is the best, or for the disk the median, of several short repeats, so that a single interruption does
//! not spoil it.

use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Repeats of the CPU and memory loops.
const REPEATS: usize = 5;

/// Iterations of one repeat: a few milliseconds.
const SPIN_ITERATIONS: u32 = 2_000_000;

const LOADS: u32 = 50_000;

/// Memory that is traversed: more than most processors' caches.
const MEMORY_BYTES: usize = 64 << 20;

pub(crate) const MEMORY_LINES: usize = MEMORY_BYTES / LINE_BYTES;

/// A cache line; each load is from another one.
const LINE_BYTES: usize = 64;

pub(crate) const LINE_LEN: usize = LINE_BYTES / size_of::<u32>();

const FLUSHES: usize = 16;

/// Bytes of each write: a database page.
const WRITE_BYTES: usize = 8192;

/// Time limit for a slow disk; the median is over the writes done by then.
const FLUSHES_MAX: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Canaries {
    /// Nanoseconds of an iteration of a loop of dependent instructions.
    pub spin_ns: f64,
    /// Nanoseconds of a dependent load from 64 MiB of memory.
    pub memory_ns: f64,
    /// Microseconds to overwrite 8 KiB and flush them to the disk.
    pub fsync_us: f64,
}

impl Canaries {
    /// Measures all of them, the disk in `dir`; takes a few tenths of a second.
    ///
    /// # Errors
    /// If a file cannot be created and flushed in `dir`.
    pub fn measure(dir: &Path) -> Result<Canaries> {
        Ok(Canaries { spin_ns: spin_ns(), memory_ns: memory_ns(), fsync_us: fsync_us(dir)? })
    }

    /// The figures by name, unit last.
    pub fn pairs(&self) -> [(&'static str, f64); 3] {
        [("spin_ns", self.spin_ns), ("memory_ns", self.memory_ns), ("fsync_us", self.fsync_us)]
    }
}

/// The fastest of several repeats, nanoseconds per step.
fn best_ns(steps: u32, mut repeat: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        repeat();
        start.elapsed().as_nanos() as f64
    };
    (0..REPEATS).map(timed).fold(f64::INFINITY, f64::min) / f64::from(steps)
}

fn spin_ns() -> f64 {
    best_ns(SPIN_ITERATIONS, || {
        let mut state = black_box(1_u64);
        let mut iteration = 0;
        while iteration < SPIN_ITERATIONS {
            state = mix(state);
            iteration += 1;
        }
        black_box(state);
    })
}

/// A step that compilers cannot combine with the next. Steps of a linear generator can be: four of them become one
/// multiplication, and the loop runs four times as fast as a processor multiplies. The shift needs each product (the
/// multiplier is that of Knuth's MMIX).
pub(crate) fn mix(state: u64) -> u64 {
    (state ^ (state >> 29)).wrapping_mul(6_364_136_223_846_793_005)
}

/// The next number of a linear congruential generator with a period of 2^64.
fn next(state: u64) -> u64 {
    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

fn memory_ns() -> f64 {
    let lines = cycle(MEMORY_LINES);
    let mut at = 0;
    best_ns(LOADS, || {
        let mut load = 0;
        while load < LOADS {
            at = lines[at as usize * LINE_LEN];
            load += 1;
        }
        black_box(at);
    })
}

/// Cache lines that each begin with the number of the next; `lines` is a power of two. They form a single cycle: such a
/// generator reaches every number below its modulus (Hull and Dobell: odd increment, multiplier one above a multiple of
/// four). The cycle is the same each time, so that pages and lines map to the caches in the same way.
pub(crate) fn cycle(lines: usize) -> Vec<u32> {
    let mut memory = vec![0; lines * LINE_LEN];
    for line in 0..lines {
        memory[line * LINE_LEN] = (next(line as u64) % lines as u64) as u32;
    }
    memory
}

fn fsync_us(dir: &Path) -> Result<f64> {
    let measure = || -> io::Result<f64> {
        let path = dir.join(format!(".rqps-canary-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        // The file stays open without a name, so it is deleted however this process ends.
        fs::remove_file(&path)?;
        let block = [0x5a; WRITE_BYTES];
        for number in 0..FLUSHES {
            file.write_all_at(&block, (number * WRITE_BYTES) as u64)?;
        }
        file.sync_all()?;
        let mut took_us = Vec::with_capacity(FLUSHES);
        let start = Instant::now();
        for number in 0..FLUSHES {
            let begin = Instant::now();
            file.write_all_at(&block, (number * WRITE_BYTES) as u64)?;
            file.sync_data()?;
            took_us.push(begin.elapsed().as_nanos() as f64 / 1e3);
            if start.elapsed() > FLUSHES_MAX {
                break;
            }
        }
        took_us.sort_by(f64::total_cmp);
        Ok(took_us[took_us.len() / 2])
    };
    measure().map_err(|source| Error::Canary { dir: dir.to_path_buf(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_form_a_single_cycle() {
        let lines = 1024;
        let memory = cycle(lines);
        let mut seen = vec![false; lines];
        let mut at = 0;
        for _ in 0..lines {
            assert!(!std::mem::replace(&mut seen[at], true), "line {at} comes twice");
            at = memory[at * LINE_LEN] as usize;
        }
        assert_eq!(at, 0);
    }

    /// An iteration is a shift, an exclusive or and a multiplication, each dependent on the one before: 5 cycles on
    /// every server processor since 2008, and none has 7 GHz.
    #[test]
    fn the_compiler_does_not_fold_iterations() {
        let spin_ns = spin_ns();
        assert!(spin_ns > 5.0 / 7.0, "{spin_ns} ns per iteration: the loop was folded");
    }

    #[test]
    fn canaries_are_plausible_and_leave_no_files() {
        let dir = tempfile::tempdir().unwrap();
        let canaries = Canaries::measure(dir.path()).unwrap();
        for (name, value) in canaries.pairs() {
            assert!(value > 0.05 && value < 1e6, "{name}: {value}");
        }
        assert!(canaries.memory_ns > canaries.spin_ns, "{canaries:?}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let message = Canaries::measure(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(message.contains("/nowhere"), "{message}");
    }
}
