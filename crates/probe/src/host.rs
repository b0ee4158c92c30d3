//! The whole machine's counters: CPU, context switches, memory pressure and block devices. A cost is always the
//! difference of two readings; nothing is averaged.

use std::path::Path;

use procfs::{Current, CurrentSI, DiskStat, KernelStats, Meminfo};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// One reading of the host's cumulative counters.
#[derive(Debug, Clone)]
pub struct HostSnapshot {
    pub(crate) cpu: CpuTicks,
    cpus: u32,
    context_switches: u64,
    forks: u64,
    major_faults: u64,
    swap_in_pages: u64,
    swap_out_pages: u64,
    devices: Vec<DiskStat>,
}

/// What a stretch of time cost the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostCost {
    pub cpus: u32,
    /// CPU time in user space over all CPUs (nice included), microseconds.
    pub user_us: u64,
    /// CPU time in the kernel over all CPUs (interrupts included, as vmstat counts), microseconds.
    pub system_us: u64,
    /// Time CPUs were idle while a task waited for a disk, microseconds.
    pub iowait_us: u64,
    /// Time the hypervisor gave to others, microseconds.
    pub steal_us: u64,
    /// Idle time over all CPUs (iowait excluded), microseconds.
    pub idle_us: u64,
    /// Context switches over all CPUs.
    pub context_switches: u64,
    pub forks: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    pub swap_in_pages: u64,
    pub swap_out_pages: u64,
    /// Every block device that was ever used, partitions and mapped devices included: not to be summed.
    pub devices: Vec<DeviceCost>,
    /// Sum over whole disks only, so that nothing is counted twice.
    pub disks: DiskTotals,
}

impl HostCost {
    /// CPU time that was used, microseconds.
    pub fn busy_us(&self) -> u64 {
        self.user_us + self.system_us
    }
}

/// What a stretch of time cost one block device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceCost {
    /// Kernel name, such as `nvme0n1` or `md2`.
    pub name: String,
    /// Whether it is a disk of its own: not a partition, not built from other devices, not memory.
    pub whole_disk: bool,
    pub totals: DiskTotals,
}

/// Requests and volume of one or more block devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskTotals {
    pub reads: u64,
    /// Volume read, units of 1024 bytes.
    pub read_kb: f64,
    pub writes: u64,
    /// Volume written, units of 1024 bytes.
    pub write_kb: f64,
    /// Cache flush requests completed; 0 on kernels before 5.5, which do not count them.
    pub flushes: u64,
}

impl DiskTotals {
    pub(crate) fn since_boot(disk: &DiskStat) -> Self {
        let sectors_to_kb = |sectors: u64| sectors as f64 / 2.0;
        DiskTotals {
            reads: disk.reads,
            read_kb: sectors_to_kb(disk.sectors_read),
            writes: disk.writes,
            write_kb: sectors_to_kb(disk.sectors_written),
            flushes: disk.flushes.unwrap_or(0),
        }
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        DiskTotals {
            reads: self.reads.saturating_sub(before.reads),
            read_kb: (self.read_kb - before.read_kb).max(0.0),
            writes: self.writes.saturating_sub(before.writes),
            write_kb: (self.write_kb - before.write_kb).max(0.0),
            flushes: self.flushes.saturating_sub(before.flushes),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.read_kb += other.read_kb;
        self.writes += other.writes;
        self.write_kb += other.write_kb;
        self.flushes += other.flushes;
    }
}

/// CPU time over all CPUs since boot, in clock ticks, folded as vmstat folds it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    pub user: u64,
    pub system: u64,
    pub iowait: u64,
    pub steal: u64,
    pub idle: u64,
}

impl CpuTicks {
    pub(crate) fn of(stats: &KernelStats) -> Self {
        let total = &stats.total;
        CpuTicks {
            user: total.user + total.nice,
            system: total.system + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0),
            iowait: total.iowait.unwrap_or(0),
            steal: total.steal.unwrap_or(0),
            idle: total.idle,
        }
    }

    /// Difference; iowait may run backwards on some kernels, hence saturating.
    pub(crate) fn since(&self, before: &Self) -> Self {
        CpuTicks {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            iowait: self.iowait.saturating_sub(before.iowait),
            steal: self.steal.saturating_sub(before.steal),
            idle: self.idle.saturating_sub(before.idle),
        }
    }
}

/// Microseconds of one clock tick of /proc.
pub(crate) fn tick_us() -> u64 {
    1_000_000 / procfs::ticks_per_second().max(1)
}

impl HostSnapshot {
    pub fn take() -> Result<Self> {
        let stats = KernelStats::current().map_err(Error::proc("/proc/stat"))?;
        let paging = procfs::vmstat().map_err(Error::proc("/proc/vmstat"))?;
        let page_count = |name: &str| paging.get(name).map_or(0, |&count| count.max(0) as u64);
        Ok(HostSnapshot {
            cpu: CpuTicks::of(&stats),
            cpus: stats.cpu_time.len() as u32,
            context_switches: stats.ctxt,
            forks: stats.processes,
            major_faults: page_count("pgmajfault"),
            swap_in_pages: page_count("pswpin"),
            swap_out_pages: page_count("pswpout"),
            devices: procfs::diskstats().map_err(Error::proc("/proc/diskstats"))?,
        })
    }

    /// What happened from `before` to this reading.
    pub fn since(&self, before: &Self) -> HostCost {
        let cpu = self.cpu.since(&before.cpu);
        let us = |ticks: u64| ticks * tick_us();
        let devices = self.devices_since(before);
        let mut disks = DiskTotals::default();
        for device in devices.iter().filter(|device| device.whole_disk) {
            disks.add(&device.totals);
        }
        HostCost {
            cpus: self.cpus,
            user_us: us(cpu.user),
            system_us: us(cpu.system),
            iowait_us: us(cpu.iowait),
            steal_us: us(cpu.steal),
            idle_us: us(cpu.idle),
            context_switches: self.context_switches.saturating_sub(before.context_switches),
            forks: self.forks.saturating_sub(before.forks),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            swap_in_pages: self.swap_in_pages.saturating_sub(before.swap_in_pages),
            swap_out_pages: self.swap_out_pages.saturating_sub(before.swap_out_pages),
            devices,
            disks,
        }
    }

    /// Goes on by what happened from `before` to `after`: what lies between two such stretches is left out.
    pub(crate) fn go_on(&mut self, before: &Self, after: &Self) {
        let by = |now: u64, earlier: u64| now.saturating_sub(earlier);
        let cpu = after.cpu.since(&before.cpu);
        self.cpu.user += cpu.user;
        self.cpu.system += cpu.system;
        self.cpu.iowait += cpu.iowait;
        self.cpu.steal += cpu.steal;
        self.cpu.idle += cpu.idle;
        self.context_switches += by(after.context_switches, before.context_switches);
        self.forks += by(after.forks, before.forks);
        self.major_faults += by(after.major_faults, before.major_faults);
        self.swap_in_pages += by(after.swap_in_pages, before.swap_in_pages);
        self.swap_out_pages += by(after.swap_out_pages, before.swap_out_pages);
        for device in &mut self.devices {
            let named = |all: &Self| all.devices.iter().find(|other| other.name == device.name).cloned();
            if let (Some(before), Some(after)) = (named(before), named(after)) {
                device.reads += by(after.reads, before.reads);
                device.sectors_read += by(after.sectors_read, before.sectors_read);
                device.writes += by(after.writes, before.writes);
                device.sectors_written += by(after.sectors_written, before.sectors_written);
                let flushes = by(after.flushes.unwrap_or(0), before.flushes.unwrap_or(0));
                device.flushes = device.flushes.map(|all| all + flushes);
            }
        }
    }

    fn devices_since(&self, before: &Self) -> Vec<DeviceCost> {
        let ever_used = |device: &&DiskStat| device.reads + device.writes > 0;
        self.devices
            .iter()
            .filter(ever_used)
            .filter_map(|after| {
                let same = |device: &&DiskStat| device.name == after.name;
                let before = before.devices.iter().find(same)?;
                Some(DeviceCost {
                    name: after.name.clone(),
                    whole_disk: is_whole_disk(&after.name),
                    totals: DiskTotals::since_boot(after).since(&DiskTotals::since_boot(before)),
                })
            })
            .collect()
    }
}

/// Whether the device's traffic is its own: not a partition of a disk, not put together from other devices (dm, md),
/// not a file seen as a disk (loop), not memory.
pub(crate) fn is_whole_disk(name: &str) -> bool {
    let folder = Path::new("/sys/block").join(name.replace('/', "!"));
    let has_parts = std::fs::read_dir(folder.join("slaves")).is_ok_and(|mut parts| parts.next().is_some());
    let is_memory = name.starts_with("ram") || name.starts_with("zram");
    folder.exists() && !has_parts && !is_memory && !folder.join("loop/backing_file").exists()
}

/// Kernel name of the block device that holds `path`; none for file systems without one (tmpfs, overlay, btrfs).
pub fn device_of(path: &Path) -> Option<String> {
    let device = rustix::fs::stat(path).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_string_lossy().replace('!', "/"))
}

/// Memory that the kernel still has to write to disks (dirty and under write-back), bytes.
pub fn dirty_bytes() -> Result<u64> {
    let memory = Meminfo::current().map_err(Error::proc("/proc/meminfo"))?;
    Ok(memory.dirty + memory.writeback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(line: &str) -> DiskStat {
        DiskStat::from_line(line).unwrap()
    }

    #[test]
    fn sectors_become_kb_and_old_kernels_have_no_flushes() {
        let before = disk("254 0 vda 100 0 2000 5 50 0 1001 9 0 10 20 0 0 0 0 7 3");
        let after = disk("254 0 vda 110 0 2100 5 60 0 1004 9 0 10 20 0 0 0 0 12 3");
        let totals = DiskTotals::since_boot(&after).since(&DiskTotals::since_boot(&before));
        assert_eq!((totals.reads, totals.writes, totals.flushes), (10, 10, 5));
        assert_eq!((totals.read_kb, totals.write_kb), (50.0, 1.5));
        let old = disk("8 0 sda 110 0 2100 5 60 0 1004 9 0 10 20");
        assert_eq!(DiskTotals::since_boot(&old).flushes, 0);
    }

    #[test]
    fn a_file_system_on_a_disk_has_a_device_and_proc_has_none() {
        assert_eq!(device_of(Path::new("/proc")), None);
        if let Some(name) = device_of(Path::new("/var/tmp")) {
            assert!(procfs::diskstats().unwrap().iter().any(|disk| disk.name == name), "{name}");
        }
    }
}
