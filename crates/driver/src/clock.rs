//! The clients' clock: nanoseconds as one number. The clock is read around every statement, and readings are
//! subtracted from each other more than once; between two `std::time::Instant`s that costs some forty instructions
//! each time, here it costs them once, in the reading.

use nix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const NS_PER_S: u64 = 1_000_000_000;

/// When the clock was first read.
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A reading of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    /// Since the first reading; 64 bits last for 584 years.
    ns: u64,
}

impl Moment {
    #[inline]
    pub fn now() -> Self {
        let time = FIRST.elapsed();
        Self { ns: time.as_secs() * NS_PER_S + u64::from(time.subsec_nanos()) }
    }

    /// Nanoseconds since `earlier`, 0 when that is later.
    #[inline]
    pub fn ns_since(self, earlier: Self) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self { ns: self.ns.saturating_add(ns) }
    }
}

/// CPU time of the calling thread so far, nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    time.as_secs() * NS_PER_S + u64::from(time.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_as_fast_as_the_standard_clock() {
        let before = Instant::now();
        let first = Moment::now();
        let after = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        let least = after.elapsed();
        let ours = Duration::from_nanos(Moment::now().ns_since(first));
        let most = before.elapsed();
        assert!(least <= ours && ours <= most, "{least:?} {ours:?} {most:?}");
        assert_eq!(u128::from((first + ours).ns_since(first)), ours.as_nanos());
        assert_eq!(first.ns_since(first + ours), 0);
    }
}
