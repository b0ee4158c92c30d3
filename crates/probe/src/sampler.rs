//! A time series of the host, one sample per second from the start of a window, taken by a thread that keeps its files
//! open and its samples in memory. It shows the course of a window; totals never come from it.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use procfs::prelude::*;
use procfs::{DiskStats, KernelStats, Meminfo};

use crate::background::Background;
use crate::error::{Error, Result};
use crate::host::{DiskTotals, HostCpu, SINCE, SUM, is_whole_disk};
use crate::perf::PerfCounters;

/// Maximum number of samples: 24 hours. Later ones are dropped, and the series is marked as cut.
pub const SAMPLES_MAX: usize = 24 * 3600;

const PERIOD: Duration = Duration::from_secs(1);
/// A shorter last interval is left out: its rates are too noisy.
const LAST_SAMPLE_MIN: Duration = Duration::from_millis(500);

/// A running sampler. Dropping it loses the samples.
pub struct Sampler(Background<Series>);

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// One sample a second, in order.
    pub samples: Vec<Sample>,
    /// CPU time of the sampler's own thread, microseconds.
    pub own_cpu_us: u64,
    /// Whether the limit of samples was reached.
    pub cut: bool,
}

/// The figures of one interval. Disk figures are summed over whole disks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// End of the interval, microseconds after the sampler's start.
    pub at_us: u64,
    /// Length of the interval, microseconds: a second, or the remainder.
    pub interval_us: u64,
    pub cpu: HostCpu,
    pub context_switches: u64,
    pub disks: DiskTotals,
    /// Memory waiting to be written to disks at the end of the interval, units of 1024 bytes.
    pub dirty_kb: u64,
    /// Memory available without swapping at the end of the interval, units of 1024 bytes.
    pub available_kb: u64,
    /// Instructions of the server in user space; `None` if they are not counted.
    pub server_instructions_user: Option<u64>,
}

/// One figure over time: name, unit, one value per sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Such as `host_user`.
    pub name: &'static str,
    /// Such as `cpus` (CPU seconds per second), `1/s`, `KB/s`, `KB`.
    pub unit: &'static str,
    pub values: Vec<f64>,
}

impl Sample {
    /// The change since an earlier reading; memory figures are current values.
    fn since(&self, before: &Self, at: Duration, interval: Duration) -> Sample {
        let instructions = self.server_instructions_user.zip(before.server_instructions_user);
        Sample {
            at_us: at.as_micros() as u64,
            interval_us: interval.as_micros() as u64,
            cpu: self.cpu.combine(&before.cpu, SINCE),
            context_switches: self.context_switches.saturating_sub(before.context_switches),
            disks: self.disks.combine(&before.disks, SINCE),
            server_instructions_user: instructions.map(|(after, before)| after.saturating_sub(before)),
            ..*self
        }
    }
}

impl Series {
    /// The samples as columns; rates are per second of the sample's own interval. The server's instructions are left
    /// out if they are not counted.
    pub fn columns(&self) -> Vec<Column> {
        let column = |name, unit, value: &dyn Fn(&Sample) -> f64| Column {
            name,
            unit,
            values: self.samples.iter().map(value).collect(),
        };
        let seconds = |sample: &Sample| sample.interval_us as f64 / 1e6;
        let rate = |name, unit, value: &dyn Fn(&Sample) -> f64| {
            column(name, unit, &|sample| value(sample) / seconds(sample))
        };
        let mut columns = vec![
            rate("host_user", "cpus", &|sample| sample.cpu.user_us as f64 / 1e6),
            rate("host_system", "cpus", &|sample| sample.cpu.system_us as f64 / 1e6),
            rate("host_iowait", "cpus", &|sample| sample.cpu.iowait_us as f64 / 1e6),
            rate("host_steal", "cpus", &|sample| sample.cpu.steal_us as f64 / 1e6),
            rate("host_context_switches", "1/s", &|sample| sample.context_switches as f64),
            rate("disk_reads", "1/s", &|sample| sample.disks.reads as f64),
            rate("disk_read_kb", "KB/s", &|sample| sample.disks.read_kb),
            rate("disk_writes", "1/s", &|sample| sample.disks.writes as f64),
            rate("disk_write_kb", "KB/s", &|sample| sample.disks.write_kb),
            rate("disk_flushes", "1/s", &|sample| sample.disks.flushes as f64),
            column("memory_dirty", "KB", &|sample| sample.dirty_kb as f64),
            column("memory_available", "KB", &|sample| sample.available_kb as f64),
        ];
        if self.samples.iter().any(|sample| sample.server_instructions_user.is_some()) {
            let instructions = |sample: &Sample| sample.server_instructions_user.unwrap_or(0) as f64;
            columns.push(rate("server_instructions_user", "1/s", &instructions));
        }
        columns
    }
}

impl Sampler {
    /// Takes the first reading now, and then a sample every second.
    pub fn start(perf: Option<PerfCounters>) -> Result<Self> {
        let mut source = Source::open(perf)?;
        let started = Instant::now();
        let first = source.read()?;
        let sample = move |stopped: &Receiver<()>| run(source, first, started, stopped);
        Ok(Sampler(Background::start("rqps-sampler", "the host", sample)?))
    }

    /// Takes the last reading, ends the thread and returns the samples.
    pub fn stop(self) -> Result<Series> {
        self.0.stop()
    }
}

fn run(mut source: Source, first: Sample, started: Instant, stopped: &Receiver<()>) -> Result<Series> {
    let mut series = Series::default();
    let mut last = first;
    let mut last_at = started;
    let mut wake_at = started + PERIOD;
    loop {
        let wait = wake_at.saturating_duration_since(Instant::now());
        let ending = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
        let now = Instant::now();
        if !ending || now - last_at >= LAST_SAMPLE_MIN {
            let reading = source.read()?;
            if series.samples.len() < SAMPLES_MAX {
                series.samples.push(reading.since(&last, now - started, now - last_at));
            } else {
                series.cut = true;
            }
            (last, last_at) = (reading, now);
        }
        if ending {
            series.own_cpu_us = thread_cpu_us();
            return Ok(series);
        }
        // Keeps to whole seconds of the window; missed seconds are skipped.
        while wake_at <= now {
            wake_at += PERIOD;
        }
    }
}

fn thread_cpu_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

/// The open files, and the names of whole disks.
struct Source {
    stat: ProcFile,
    diskstats: ProcFile,
    meminfo: ProcFile,
    whole_disks: HashSet<String>,
    perf: Option<PerfCounters>,
}

impl Source {
    fn open(perf: Option<PerfCounters>) -> Result<Self> {
        let disks = procfs::diskstats().map_err(Error::proc("/proc/diskstats"))?;
        let names = disks.into_iter().map(|disk| disk.name);
        Ok(Source {
            stat: ProcFile::open("/proc/stat")?,
            diskstats: ProcFile::open("/proc/diskstats")?,
            meminfo: ProcFile::open("/proc/meminfo")?,
            whole_disks: names.filter(|name| is_whole_disk(name)).collect(),
            perf,
        })
    }

    fn read(&mut self) -> Result<Sample> {
        let stats = KernelStats::from_read(self.stat.read()?, procfs::current_system_info());
        let stats = stats.map_err(Error::proc("/proc/stat"))?;
        let DiskStats(disks) =
            DiskStats::from_read(self.diskstats.read()?).map_err(Error::proc("/proc/diskstats"))?;
        let memory = Meminfo::from_read(self.meminfo.read()?).map_err(Error::proc("/proc/meminfo"))?;
        let whole = disks.iter().filter(|disk| self.whole_disks.contains(&disk.name));
        let totals = whole.map(DiskTotals::since_boot);
        Ok(Sample {
            cpu: HostCpu::since_boot(&stats),
            context_switches: stats.ctxt,
            disks: totals.fold(DiskTotals::default(), |sum, disk| sum.combine(&disk, SUM)),
            dirty_kb: (memory.dirty + memory.writeback) / 1024,
            available_kb: memory.mem_available.unwrap_or(memory.mem_free) / 1024,
            server_instructions_user: self.perf.as_ref().and_then(PerfCounters::read_instructions_user),
            ..Sample::default()
        })
    }
}

/// A file of /proc that is opened once and read repeatedly from its start.
struct ProcFile {
    path: &'static str,
    file: File,
    buffer: Vec<u8>,
}

impl ProcFile {
    fn open(path: &'static str) -> Result<Self> {
        let file = File::open(path).map_err(|source| Error::Sampler { what: path.to_string(), source })?;
        Ok(ProcFile { path, file, buffer: vec![0; 16 * 1024] })
    }

    fn read(&mut self) -> Result<&[u8]> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            match self.file.read_at(&mut self.buffer[filled..], filled as u64) {
                Ok(0) => return Ok(&self.buffer[..filled]),
                Ok(count) => filled += count,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(Error::Sampler { what: self.path.to_string(), source });
                }
            }
        }
    }
}
