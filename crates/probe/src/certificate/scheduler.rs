//! What the kernel's clock and scheduler cost: reading the clock, and two threads that wake each other.

use std::hint::black_box;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::Instant;

use rqps_model::{HostFigure, HostQuantity};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{SHORT_SLICE, SLICES, cpu_ns_per_operation, timed_slice};

/// Readings of the clock, or round trips, of one batch.
const BATCH: u64 = 50;

pub(super) fn figures() -> Vec<HostFigure> {
    let reads = cpu_ns_per_operation(|| {
        (0..BATCH).for_each(|_| {
            black_box(Instant::now());
        });
        BATCH
    });
    let allowed =
        sched_getaffinity(None).map(|set| (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect());
    let allowed: Vec<usize> = allowed.unwrap_or_default();
    let us = |first: Option<&usize>, second: Option<&usize>| match (first, second) {
        (Some(first), Some(second)) => half_round_trips_us(*first, *second).unwrap_or_default(),
        _ => Vec::new(),
    };
    let figures = [
        HostFigure::of_slices(HostQuantity::ClockRead, reads),
        HostFigure::of_slices(HostQuantity::ContextSwitch, us(allowed.first(), allowed.first())),
        HostFigure::of_slices(
            HostQuantity::WakeUp,
            us(allowed.first(), allowed.last().filter(|_| allowed.len() > 1)),
        ),
    ];
    figures.into_iter().flatten().collect()
}

/// Microseconds from a thread's write into a pipe to the return of another thread's read, on these CPUs.
fn half_round_trips_us(first: usize, second: usize) -> std::io::Result<Vec<f64>> {
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
            let mut trips = || {
                (0..BATCH).for_each(|_| {
                    let mut byte = [0];
                    // The other thread ends only after this one.
                    let _ = ping_in.write_all(&byte).and_then(|()| pong_out.read_exact(&mut byte));
                });
                BATCH
            };
            let half_us = |_| {
                let slice = timed_slice(SHORT_SLICE, &mut trips);
                slice.seconds * 1e6 / slice.operations / 2.0
            };
            (0..SLICES).map(half_us).collect()
        });
        Ok(asking.join().unwrap_or_default())
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
