//! Slices: short measurements whose median is a figure, and whose range is its noise.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use rqps_model::{HostFigure, HostQuantity};

/// Slices of each figure. With 8 on each side, ranges of one distribution do not overlap once in 6,000 times, if slices
/// are independent.
pub(super) const SLICES: usize = 8;

/// Slices of CPU speed and of the disk's writes.
pub(super) const LONG_SLICE: Duration = Duration::from_millis(100);

/// Slices of everything else.
pub(super) const SHORT_SLICE: Duration = Duration::from_millis(20);

/// The slices of all figures.
#[derive(Default)]
pub(super) struct Slices(BTreeMap<HostQuantity, Vec<f64>>);

impl Slices {
    pub fn add(&mut self, quantity: HostQuantity, value: f64) {
        self.0.entry(quantity).or_default().push(value);
    }

    pub fn figures(self) -> Vec<HostFigure> {
        let figure = |(quantity, slices): (HostQuantity, Vec<f64>)| {
            let mean = slices.iter().sum::<f64>() / slices.len() as f64;
            let figure = HostFigure::of_slices(quantity, slices)?;
            // A slice has some 60 ticks of the kernel's clock, so a small share is 0 in most of them.
            Some(if quantity.is_share() { HostFigure { value: mean, ..figure } } else { figure })
        };
        self.0.into_iter().filter_map(figure).collect()
    }
}

/// Repeats `batch`, which returns how many operations it did, until the slice is over.
pub(super) fn timed_slice(length: Duration, mut batch: impl FnMut() -> u64) -> Slice {
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
pub(super) struct Slice {
    pub seconds: f64,
    /// CPU time of the thread.
    pub cpu_s: f64,
    pub operations: f64,
}

fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

/// Nanoseconds of CPU time per operation in a short slice: other programs that want the CPU do not count.
pub(super) fn cpu_ns_per_operation(batch: impl FnMut() -> u64) -> f64 {
    let slice = timed_slice(SHORT_SLICE, batch);
    slice.cpu_s * 1e9 / slice.operations
}
