//! What a piece of work costs: CPU time of the thread, and the processor's own counters where it shows them.

use nix::time::ClockId;
use perf_event::events::Hardware;
use perf_event::{Builder, Counter};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::time::Instant;

/// The cost of one piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time of this thread, ns.
    pub cpu_ns: u64,
    /// Time that passed, ns.
    pub elapsed_ns: u64,
    /// Instructions in user mode, where the processor counts them.
    pub instructions: Option<u64>,
    /// Misses of the last level of caches, likewise.
    pub cache_misses: Option<u64>,
}

/// Measures pieces of work of the thread that made it.
#[derive(Debug, Default)]
pub struct Meter {
    counters: Option<(Counter, Counter)>,
}

/// Asks the C library, whose clock also works where valgrind runs the program.
fn thread_cpu_ns() -> u64 {
    ClockId::CLOCK_THREAD_CPUTIME_ID
        .now()
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

impl Meter {
    /// A meter; with counters where the processor and the system give them.
    #[must_use]
    pub fn new() -> Self {
        let counter = |event| Builder::new(event).exclude_kernel(true).exclude_hv(true).build().ok();
        let counters = counter(Hardware::INSTRUCTIONS).zip(counter(Hardware::CACHE_MISSES));
        Self { counters }
    }

    /// Whether instructions are counted.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.counters.is_some()
    }

    /// Does the work once.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> (T, Cost) {
        if let Some((instructions, misses)) = &mut self.counters {
            for counter in [instructions, misses] {
                let _ = counter.reset().and_then(|()| counter.enable());
            }
        }
        let (start, cpu_start_ns) = (Instant::now(), thread_cpu_ns());
        let result = work();
        let cpu_ns = thread_cpu_ns() - cpu_start_ns;
        let elapsed_ns = start.elapsed().as_nanos() as u64;
        let mut cost = Cost { cpu_ns, elapsed_ns, instructions: None, cache_misses: None };
        if let Some((instructions, misses)) = &mut self.counters {
            cost.instructions = instructions.disable().and_then(|()| instructions.read()).ok();
            cost.cache_misses = misses.disable().and_then(|()| misses.read()).ok();
        }
        (result, cost)
    }
}

impl Cost {
    /// The smaller of each figure: what the work costs when nothing else disturbs it.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        let smaller =
            |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| one.min(other));
        Self {
            cpu_ns: self.cpu_ns.min(other.cpu_ns),
            elapsed_ns: self.elapsed_ns.min(other.elapsed_ns),
            instructions: smaller(self.instructions, other.instructions),
            cache_misses: smaller(self.cache_misses, other.cache_misses),
        }
    }
}

/// Keeps this thread on one core.
///
/// # Errors
/// When there is no such core, or the thread may not run there.
pub fn pin(core: usize) -> rustix::io::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_takes_more_cpu_time() {
        let mut meter = Meter::new();
        let mut spin = |rounds: u64| {
            let (sum, cost) = meter.measure(|| (0..rounds).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
            std::hint::black_box(sum);
            cost
        };
        let (little, much) = (spin(1_000), spin(3_000_000));
        assert!(much.cpu_ns > little.cpu_ns, "{much:?} against {little:?}");
        assert_eq!(little.min(much).cpu_ns, little.cpu_ns);
    }
}
