//! Integer speed of one core and of all, in slices.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use rqps_model::{HostFigure, HostQuantity};

use super::{LONG_SLICE, SLICES, timed_slice};
use crate::canary::mix;

/// Steps between two readings of the clock: some ten microseconds.
const STEPS: u64 = 10_000;

pub(super) fn figures() -> Vec<HostFigure> {
    let (mut by_time, mut by_cpu_time) = (Vec::new(), Vec::new());
    for _ in 0..SLICES {
        let slice = timed_slice(LONG_SLICE, spin);
        by_time.push(slice.operations / slice.seconds / 1e6);
        by_cpu_time.push(slice.operations / slice.cpu_s / 1e6);
    }
    let figures = [
        HostFigure::of_slices(HostQuantity::OneCore, by_time),
        HostFigure::of_slices(HostQuantity::OneCoreCpu, by_cpu_time),
        HostFigure::of_slices(HostQuantity::AllCores, all_cores()),
    ];
    figures.into_iter().flatten().collect()
}

/// A batch of dependent steps; returns their number.
fn spin() -> u64 {
    let mut state = black_box(1_u64);
    let mut step = 0;
    while step < STEPS {
        state = mix(state);
        step += 1;
    }
    black_box(state);
    STEPS
}

/// Million steps per second of a thread per CPU, together, slice by slice.
fn all_cores() -> Vec<f64> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let barrier = Barrier::new(threads);
    let work = || {
        barrier.wait();
        let start = Instant::now();
        let mut steps = [0_u64; SLICES];
        loop {
            let slice = (start.elapsed().as_nanos() / LONG_SLICE.as_nanos()) as usize;
            let Some(steps) = steps.get_mut(slice) else {
                return steps;
            };
            *steps += spin();
        }
    };
    let of_threads: Vec<[u64; SLICES]> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let rate = |slice: usize| {
        of_threads.iter().map(|steps| steps[slice]).sum::<u64>() as f64 / LONG_SLICE.as_secs_f64() / 1e6
    };
    (0..SLICES).map(rate).collect()
}
