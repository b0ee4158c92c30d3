//! What the kernel's clock and scheduler cost: reading the clock, and two threads that wake each other.

use std::hint::black_box;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::Instant;

use rqps_model::HostQuantity;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::slices::{SHORT_SLICE, Slices, cpu_ns_per_operation, timed_slice};

/// Readings of the clock, or round trips, of one batch.
const BATCH: u64 = 50;

pub(super) struct Scheduler {
    /// The first and the last CPU that this process may use.
    first: Option<usize>,
    last: Option<usize>,
}

impl Scheduler {
    pub fn new() -> Self {
        let Ok(set) = sched_getaffinity(None) else { return Self { first: None, last: None } };
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
        Self { first: allowed.next(), last: allowed.next_back() }
    }

    pub fn add_slices(&self, slices: &mut Slices) {
        let read_ns = cpu_ns_per_operation(|| {
            (0..BATCH).for_each(|_| {
                black_box(Instant::now());
            });
            BATCH
        });
        slices.add(HostQuantity::ClockRead, read_ns);
        for (quantity, second) in
            [(HostQuantity::ContextSwitch, self.first), (HostQuantity::WakeUp, self.last)]
        {
            let (Some(first), Some(second)) = (self.first, second) else { continue };
            if let Ok(Some(us)) = half_round_trip_us(first, second) {
                slices.add(quantity, us);
            }
        }
    }
}

/// Microseconds from a thread's write into a pipe to the return of another thread's read, on these CPUs.
fn half_round_trip_us(first: usize, second: usize) -> std::io::Result<Option<f64>> {
    let (ping_out, ping_in) = std::io::pipe()?;
    let (pong_out, pong_in) = std::io::pipe()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin(second);
            echo(ping_out, pong_in);
        });
        let asking = scope.spawn(move || {
            pin(first);
            let (mut ping_in, mut pong_out) = (ping_in, pong_out);
            let trips = || {
                (0..BATCH).for_each(|_| {
                    let mut byte = [0];
                    // The other thread ends only after this one.
                    let _ = ping_in.write_all(&byte).and_then(|()| pong_out.read_exact(&mut byte));
                });
                BATCH
            };
            let slice = timed_slice(SHORT_SLICE, trips);
            slice.seconds * 1e6 / slice.operations / 2.0
        });
        Ok(asking.join().ok())
    })
}

fn echo(mut from: PipeReader, mut to: PipeWriter) {
    let mut byte = [0];
    while from.read_exact(&mut byte).is_ok() && to.write_all(&byte).is_ok() {}
}

/// Binds the calling thread to a CPU. Without permission it stays where the scheduler puts it.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}
