//! Figures of the host beside imported results: vmstat and iostat count all programs.

use crate::entry::{Entry, waiting, work};
use crate::figures::host_cpu_us;
use crate::model::Cause;

pub(super) static ENTRIES: [Entry; 4] = [
    work(Cause::CpuTime, "CPU time of the host", "us", 0.0)
        .phrase("takes {} us of the host's CPU time")
        .value(|cell| host_cpu_us(|name| cell.metric(name))),
    waiting(Cause::Waiting, "context switches of the host", "switches", 0.05)
        .phrase("makes {} context switches")
        .value(|cell| cell.metric("host_context_switches")),
    work(Cause::Reads, "kB read from the host's disks", "kB", 0.01)
        .phrase("reads {} kB from the host's disks")
        .value(|cell| cell.metric("disk_read_kb")),
    work(Cause::DiskWrites, "kB written to the host's disks", "kB", 0.01)
        .phrase("writes {} kB to the host's disks")
        .value(|cell| cell.metric("disk_write_kb")),
];
