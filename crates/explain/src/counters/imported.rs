//! Figures of the host beside imported results: vmstat and iostat count all programs.

use crate::entry::{Entry, waiting, work};
use crate::figures::Cell;
use crate::model::Cause;

pub(super) static ENTRIES: [Entry; 4] = [
    work(Cause::CpuTime, "CPU time of the host", "us", 0.0)
        .phrase("takes {} us of the host's CPU time")
        .value(cpu_us),
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

/// A result may have the sum alone.
fn cpu_us(cell: Cell<'_>) -> Option<f64> {
    let sum = || Some(cell.metric("host_user_us")? + cell.metric("host_system_us")?);
    sum().or_else(|| cell.metric("host_busy_us"))
}
