//! Latency and bandwidth of memory, as one thread sees them.

use std::hint::black_box;

use rqps_model::HostQuantity;

use super::slices::{Slices, cpu_ns_per_operation};
use crate::canary::{LINE_LEN, MEMORY_LINES, cycle};

/// Loads of one batch: some tens of microseconds.
const LOADS: u64 = 1000;

/// Bytes of one copy: with its source more than the caches of most processors.
const COPY_BYTES: usize = 32 << 20;

pub(super) struct Memory {
    /// See [`cycle`].
    lines: Vec<u32>,
    at: u32,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Memory {
    pub fn new() -> Self {
        // Zeros would be pages that the first copy has to get.
        Self { lines: cycle(MEMORY_LINES), at: 0, from: vec![0x5a; COPY_BYTES], to: vec![0xa5; COPY_BYTES] }
    }

    pub fn add_slices(&mut self, slices: &mut Slices) {
        let Self { lines, at, from, to } = self;
        let latency_ns = cpu_ns_per_operation(|| {
            let mut load = 0;
            while load < LOADS {
                *at = lines[*at as usize * LINE_LEN];
                load += 1;
            }
            black_box(*at);
            LOADS
        });
        slices.add(HostQuantity::MemoryLatency, latency_ns);
        let copy_ns = cpu_ns_per_operation(|| {
            to.copy_from_slice(black_box(from));
            black_box(&mut *to);
            1
        });
        slices.add(HostQuantity::MemoryCopy, COPY_BYTES as f64 / copy_ns * 1e3);
    }
}
