//! The certificate of a host: what its CPUs, memory, scheduler and disk can do now, in about four seconds.
//!
//! Every figure is measured in slices, so that it comes with its own noise: the median, and the range of the slices.
//! Slices of all figures take turns, so that each figure's are spread over the whole time: slices in a burst are alike,
//! and the next burst would look like another host.

mod cpu;
mod disk;
mod memory;
mod scheduler;
mod slices;

use std::path::Path;

use procfs::{CurrentSI, KernelStats};
use rqps_model::{HostFigure, HostQuantity};

use self::disk::Scratch;
use self::memory::Memory;
use self::scheduler::Scheduler;
use self::slices::{SLICES, Slices};
use crate::error::{Error, Result};
use crate::host::{HostCpu, SINCE};
use crate::process::process_cpu_ns;

/// Measures a certificate; the file of the disk's figures is in `dir` and removed at the end. Figures that this host
/// does not have are left out: a wake-up of another CPU where there is one CPU, reads where a file system has no direct
/// I/O.
///
/// # Errors
/// If no file can be written in `dir`.
pub fn certify(dir: &Path) -> Result<Vec<HostFigure>> {
    let (mut memory, scheduler) = (Memory::new(), Scheduler::new());
    let mut disk = Scratch::create(dir)?;
    let mut slices = Slices::default();
    for _ in 0..SLICES {
        let before = Usage::now()?;
        cpu::add_slices(&mut slices);
        memory.add_slices(&mut slices);
        scheduler.add_slices(&mut slices);
        before.add_others_since(&mut slices)?;
        disk.add_slices(&mut slices)?;
    }
    Ok(slices.figures())
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

    /// Adds the shares of all CPU time since then that other guests and other programs took.
    fn add_others_since(&self, slices: &mut Slices) -> Result<()> {
        let now = Self::now()?;
        let spent = now.host.combine(&self.host, SINCE);
        let all = spent.user_us + spent.system_us + spent.iowait_us + spent.steal_us + spent.idle_us;
        let busy = spent.user_us + spent.system_us;
        let others = busy.saturating_sub(now.own_us.saturating_sub(self.own_us));
        if all > 0 {
            slices.add(HostQuantity::Steal, 100.0 * spent.steal_us as f64 / all as f64);
            slices.add(HostQuantity::OtherPrograms, 100.0 * others as f64 / all as f64);
        }
        Ok(())
    }
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
