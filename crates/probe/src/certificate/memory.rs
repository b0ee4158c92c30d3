//! Latency and bandwidth of memory, as one thread sees them.

use std::hint::black_box;

use rqps_model::{HostFigure, HostQuantity};

use super::cpu_ns_per_operation;
use crate::canary::{LINE_LEN, MEMORY_LINES, cycle};

/// Loads of one batch: some tens of microseconds.
const LOADS: u64 = 1000;

/// Bytes of one copy: with its source more than the caches of most processors.
const COPY_BYTES: usize = 32 << 20;

pub(super) fn figures() -> Vec<HostFigure> {
    let figures = [
        HostFigure::of_slices(HostQuantity::MemoryLatency, latency_ns()),
        HostFigure::of_slices(HostQuantity::MemoryCopy, copy_mb_per_s()),
    ];
    figures.into_iter().flatten().collect()
}

fn latency_ns() -> Vec<f64> {
    let lines = cycle(MEMORY_LINES);
    let mut at = 0;
    cpu_ns_per_operation(|| {
        let mut load = 0;
        while load < LOADS {
            at = lines[at as usize * LINE_LEN];
            load += 1;
        }
        black_box(at);
        LOADS
    })
}

fn copy_mb_per_s() -> Vec<f64> {
    let (from, mut to) = (vec![0x5a_u8; COPY_BYTES], vec![0_u8; COPY_BYTES]);
    let copies = cpu_ns_per_operation(|| {
        to.copy_from_slice(black_box(&from));
        black_box(&to);
        1
    });
    copies.into_iter().map(|ns| COPY_BYTES as f64 / ns * 1e3).collect()
}
