//! Counters of the whole machine: CPU, context switches, memory pressure and block devices. Costs are differences of
//! two readings; nothing is averaged.

use std::path::Path;
use std::time::{Duration, Instant};

use procfs::{Current, CurrentSI, DiskStat, KernelStats, Meminfo};

use crate::error::{Error, Result};

/// The host's counters: since boot, or over a stretch of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostCost {
    pub cpus: u32,
    pub cpu: HostCpu,
    /// Context switches over all CPUs.
    pub context_switches: u64,
    pub forks: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    pub swap_in_pages: u64,
    pub swap_out_pages: u64,
    /// Every block device, including partitions and mapped devices; their sum would count traffic twice.
    pub devices: Vec<DeviceCost>,
}

/// CPU time over all CPUs, microseconds, in vmstat's groups.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostCpu {
    /// In user space, nice included.
    pub user_us: u64,
    /// In the kernel, interrupts included.
    pub system_us: u64,
    /// Idle while a task waited for a disk.
    pub iowait_us: u64,
    /// Given to other guests by the hypervisor.
    pub steal_us: u64,
    /// Idle, without iowait.
    pub idle_us: u64,
}

/// The counters of one block device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceCost {
    /// Kernel name, such as `nvme0n1` or `md2`.
    pub name: String,
    pub totals: DiskTotals,
}

/// Requests and volume of one or more block devices.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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

/// How to combine two readings, counter by counter.
#[derive(Clone, Copy)]
pub(crate) struct Combine {
    count: fn(u64, u64) -> u64,
    kb: fn(f64, f64) -> f64,
}

/// A later reading minus an earlier one, at least 0: on some kernels iowait decreases.
pub(crate) const SINCE: Combine =
    Combine { count: u64::saturating_sub, kb: |after, before| (after - before).max(0.0) };

pub(crate) const SUM: Combine = Combine { count: |a, b| a + b, kb: |a, b| a + b };

impl HostCost {
    /// Reads all counters.
    pub(crate) fn since_boot() -> Result<Self> {
        let stats = KernelStats::current().map_err(Error::proc("/proc/stat"))?;
        let [major_faults, swap_in_pages, swap_out_pages] = page_counts(["pgmajfault", "pswpin", "pswpout"])?;
        let devices = procfs::diskstats().map_err(Error::proc("/proc/diskstats"))?;
        let device = |disk: DiskStat| DeviceCost { totals: DiskTotals::since_boot(&disk), name: disk.name };
        Ok(HostCost {
            cpus: stats.cpu_time.len() as u32,
            cpu: HostCpu::since_boot(&stats),
            context_switches: stats.ctxt,
            forks: stats.processes,
            major_faults,
            swap_in_pages,
            swap_out_pages,
            devices: devices.into_iter().map(device).collect(),
        })
    }

    /// Combines two readings; devices that `other` lacks are left out.
    pub(crate) fn combine(&self, other: &Self, how: Combine) -> Self {
        let device = |own: &DeviceCost| {
            let other = other.devices.iter().find(|other| other.name == own.name)?;
            Some(DeviceCost { name: own.name.clone(), totals: own.totals.combine(&other.totals, how) })
        };
        HostCost {
            cpus: self.cpus,
            cpu: self.cpu.combine(&other.cpu, how),
            context_switches: (how.count)(self.context_switches, other.context_switches),
            forks: (how.count)(self.forks, other.forks),
            major_faults: (how.count)(self.major_faults, other.major_faults),
            swap_in_pages: (how.count)(self.swap_in_pages, other.swap_in_pages),
            swap_out_pages: (how.count)(self.swap_out_pages, other.swap_out_pages),
            devices: self.devices.iter().filter_map(device).collect(),
        }
    }

    /// Used CPU time, microseconds.
    pub fn busy_us(&self) -> u64 {
        self.cpu.user_us + self.cpu.system_us
    }

    /// The sum over whole disks, which counts nothing twice.
    pub fn disks(&self) -> DiskTotals {
        let whole = self.devices.iter().filter(|device| device.is_whole_disk());
        whole.fold(DiskTotals::default(), |sum, device| sum.combine(&device.totals, SUM))
    }
}

impl HostCpu {
    pub(crate) fn since_boot(stats: &KernelStats) -> Self {
        let total = &stats.total;
        let us = |ticks: u64| ticks * tick_us();
        HostCpu {
            user_us: us(total.user + total.nice),
            system_us: us(total.system + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0)),
            iowait_us: us(total.iowait.unwrap_or(0)),
            steal_us: us(total.steal.unwrap_or(0)),
            idle_us: us(total.idle),
        }
    }

    pub(crate) fn combine(&self, other: &Self, how: Combine) -> Self {
        HostCpu {
            user_us: (how.count)(self.user_us, other.user_us),
            system_us: (how.count)(self.system_us, other.system_us),
            iowait_us: (how.count)(self.iowait_us, other.iowait_us),
            steal_us: (how.count)(self.steal_us, other.steal_us),
            idle_us: (how.count)(self.idle_us, other.idle_us),
        }
    }
}

impl DeviceCost {
    /// False for partitions, devices built from others (dm, md), files used as disks (loop), and memory.
    pub fn is_whole_disk(&self) -> bool {
        is_whole_disk(&self.name)
    }
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

    pub(crate) fn combine(&self, other: &Self, how: Combine) -> Self {
        DiskTotals {
            reads: (how.count)(self.reads, other.reads),
            read_kb: (how.kb)(self.read_kb, other.read_kb),
            writes: (how.count)(self.writes, other.writes),
            write_kb: (how.kb)(self.write_kb, other.write_kb),
            flushes: (how.count)(self.flushes, other.flushes),
        }
    }
}

/// Counters of `/proc/vmstat`; 0 for those that the kernel does not have. It is read before and after every turn, so
/// its two hundred lines are searched rather than parsed.
fn page_counts<const N: usize>(names: [&str; N]) -> Result<[u64; N]> {
    let path = "/proc/vmstat";
    let text = std::fs::read_to_string(path).map_err(|error| Error::proc(path)(error.into()))?;
    let count_of = |line: &str, name: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    Ok(names.map(|name| text.lines().find_map(|line| count_of(line, name)).unwrap_or(0)))
}

/// Microseconds of one clock tick of /proc.
pub(crate) fn tick_us() -> u64 {
    1_000_000 / procfs::ticks_per_second().max(1)
}

/// See [`DeviceCost::is_whole_disk`].
pub(crate) fn is_whole_disk(name: &str) -> bool {
    let folder = Path::new("/sys/block").join(name.replace('/', "!"));
    let has_parts = std::fs::read_dir(folder.join("slaves")).is_ok_and(|mut parts| parts.next().is_some());
    let is_memory = name.starts_with("ram") || name.starts_with("zram");
    folder.exists() && !has_parts && !is_memory && !folder.join("loop/backing_file").exists()
}

/// Kernel name of the block device of `path`; `None` for file systems without one (tmpfs, overlay, btrfs).
pub fn device_of(path: &Path) -> Option<String> {
    let device = rustix::fs::stat(path).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_string_lossy().replace('!', "/"))
}

/// Memory that the kernel has yet to write to disks (dirty and under write-back), bytes.
pub fn dirty_bytes() -> Result<u64> {
    let memory = Meminfo::current().map_err(Error::proc("/proc/meminfo"))?;
    Ok(memory.dirty + memory.writeback)
}

/// A running thread that sees the clock jump by more was not running: interrupts take less.
const AWAY_MIN: Duration = Duration::from_micros(50);

/// How many times as long work of one thread takes as it would alone, on the CPUs as others use them now: 2 if it runs
/// half of the time. Runs for this long. Counting threads would not tell: the kernel also shares by session, by group
/// and by niceness, and hypervisors take their part.
pub fn times_as_long(look: Duration) -> f64 {
    let began = Instant::now();
    let (mut last, mut away) = (began, Duration::ZERO);
    while last - began < look {
        let now = Instant::now();
        away += Some(now - last).filter(|gap| *gap > AWAY_MIN).unwrap_or_default();
        last = now;
    }
    let took = last - began;
    took.as_secs_f64() / (took - away).max(AWAY_MIN).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Threads of one CPU get a third of it each.
    #[test]
    fn work_takes_longer_beside_others_on_its_cpu() {
        let looking = std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let mut one = CpuSet::new();
            one.set((0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap());
            sched_setaffinity(None, &one).unwrap();
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    // On the same CPU.
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Relaxed) {
                            std::hint::spin_loop()
                        }
                    });
                }
                let longer = times_as_long(Duration::from_millis(300));
                is_over.store(true, Ordering::Relaxed);
                longer
            })
        });
        let longer = looking.join().unwrap();
        assert!(longer > 1.5, "{longer}");
    }

    fn disk(line: &str) -> DiskStat {
        DiskStat::from_line(line).unwrap()
    }

    #[test]
    fn sectors_become_kb_and_old_kernels_have_no_flushes() {
        let before = disk("254 0 vda 100 0 2000 5 50 0 1001 9 0 10 20 0 0 0 0 7 3");
        let after = disk("254 0 vda 110 0 2100 5 60 0 1004 9 0 10 20 0 0 0 0 12 3");
        let totals = DiskTotals::since_boot(&after).combine(&DiskTotals::since_boot(&before), SINCE);
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
