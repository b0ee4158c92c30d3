//! Integer speed of one core and of all, in slices.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use rqps_model::HostQuantity;

use super::slices::{LONG_SLICE, Slices, timed_slice};
use crate::canary::mix;

/// Steps between two readings of the clock: some ten microseconds.
const STEPS: u64 = 10_000;

pub(super) fn add_slices(slices: &mut Slices) {
    let slice = timed_slice(LONG_SLICE, spin);
    slices.add(HostQuantity::OneCore, slice.operations / slice.seconds / 1e6);
    slices.add(HostQuantity::OneCoreCpu, slice.operations / slice.cpu_s / 1e6);
    slices.add(HostQuantity::AllCores, all_cores());
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

/// Million steps per second of a thread per CPU, together.
fn all_cores() -> f64 {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let barrier = Barrier::new(threads);
    let work = || {
        barrier.wait();
        let start = Instant::now();
        let mut steps = 0;
        while start.elapsed() < LONG_SLICE {
            steps += spin();
        }
        steps
    };
    let steps: u64 = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).sum()
    });
    steps as f64 / LONG_SLICE.as_secs_f64() / 1e6
}
