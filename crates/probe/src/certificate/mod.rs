//! The certificate of a host: what its CPUs, memory, scheduler and disk can do now, in about four seconds.
//!
//! Every figure is measured in slices, so that it comes with its own noise: the median, and the range of the slices.

mod cpu;
mod disk;
mod memory;
mod scheduler;

use std::path::Path;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use procfs::{CurrentSI, KernelStats};
use rqps_model::{HostFigure, HostQuantity};

use crate::error::{Error, Result};
use crate::host::{HostCpu, SINCE};
use crate::process::process_cpu_ns;

/// Slices of each figure. With 8 on each side, ranges of one distribution do not overlap once in 6,000 times.
const SLICES: usize = 8;

/// Slices of CPU speed and of the disk's writes.
const LONG_SLICE: Duration = Duration::from_millis(100);

/// Slices of everything else.
const SHORT_SLICE: Duration = Duration::from_millis(20);

/// Measures a certificate; the file of the disk's figures is in `dir` and removed at the end. Figures that this host
/// does not have are left out: a wake-up of another CPU where there is one CPU, reads where a file system has no direct
/// I/O.
///
/// # Errors
/// If no file can be written in `dir`.
pub fn certify(dir: &Path) -> Result<Vec<HostFigure>> {
    let before = Usage::now()?;
    let mut figures = cpu::figures();
    let memory = memory::figures();
    let scheduler = scheduler::figures();
    let others = before.others_since()?;
    figures.extend(others);
    figures.extend(memory);
    figures.extend(scheduler);
    figures.extend(disk::figures(dir)?);
    Ok(figures)
}

/// CPU time of the host and of this process.
struct Usage {
    host: HostCpu,
    own_us: u64,
}

impl Usage {
    fn now() -> Result<Self> {
        let stats = KernelStats::current().map_err(Error::proc("/proc/stat"))?;
        let own_us = process_cpu_ns(std::process::id()).unwrap_or(0) / 1000;
        Ok(Self { host: HostCpu::since_boot(&stats), own_us })
    }

    /// The shares of all CPU time since then that other guests and other programs took.
    fn others_since(&self) -> Result<Vec<HostFigure>> {
        let now = Self::now()?;
        let spent = now.host.combine(&self.host, SINCE);
        let all = spent.user_us + spent.system_us + spent.iowait_us + spent.steal_us + spent.idle_us;
        let busy = spent.user_us + spent.system_us;
        let others = busy.saturating_sub(now.own_us.saturating_sub(self.own_us));
        if all == 0 {
            return Ok(Vec::new());
        }
        let share = |us: u64| vec![100.0 * us as f64 / all as f64];
        let figures = [
            HostFigure::of_slices(HostQuantity::Steal, share(spent.steal_us)),
            HostFigure::of_slices(HostQuantity::OtherPrograms, share(others)),
        ];
        Ok(figures.into_iter().flatten().collect())
    }
}

/// Repeats `batch`, which returns how many operations it did, until the slice is over.
fn timed_slice(length: Duration, mut batch: impl FnMut() -> u64) -> Slice {
    let (start, cpu_before) = (Instant::now(), thread_cpu_s());
    let mut operations = 0;
    loop {
        operations += batch();
        let elapsed = start.elapsed();
        if elapsed >= length {
            let cpu_s = thread_cpu_s() - cpu_before;
            return Slice { seconds: elapsed.as_secs_f64(), cpu_s, operations: operations as f64 };
        }
    }
}

/// What one slice took and did.
struct Slice {
    seconds: f64,
    /// CPU time of the thread.
    cpu_s: f64,
    operations: f64,
}

fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

/// Nanoseconds of CPU time per operation, in short slices: other programs that want the CPU do not count.
fn cpu_ns_per_operation(mut batch: impl FnMut() -> u64) -> Vec<f64> {
    let slice = |_| {
        let slice = timed_slice(SHORT_SLICE, &mut batch);
        slice.cpu_s * 1e9 / slice.operations
    };
    (0..SLICES).map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_certificate_is_plausible_and_leaves_no_file() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let figures = certify(dir.path()).unwrap();
        let value =
            |quantity| figures.iter().find(|figure| figure.quantity == quantity).map(|figure| figure.value);
        for figure in &figures {
            assert!(figure.low <= figure.value && figure.value <= figure.high, "{figure:?}");
            assert!(figure.quantity.is_share() || figure.low > 0.0, "{figure:?}");
        }
        // A step of the loop takes 5 cycles at least, and no processor has 7 GHz.
        assert!(value(HostQuantity::OneCoreCpu).unwrap() < 1400.0, "{figures:?}");
        assert!(
            value(HostQuantity::MemoryLatency) > value(HostQuantity::ClockRead).map(|_| 1.0),
            "{figures:?}"
        );
        assert!(value(HostQuantity::Sync).is_some(), "{figures:?}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let message = certify(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(message.contains("/nowhere"), "{message}");
    }
}
