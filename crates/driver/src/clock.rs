//! The clients' clock: nanoseconds in one `u64`. It is read around every statement, and each reading is
//! subtracted several times. A reading and a subtraction of `std::time::Instant` cost a hundred instructions. `rustix`
//! reads it in a way that valgrind does not survive.

use nix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::time::Duration;

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// A reading of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    /// Nanoseconds since the host started; 64 bits last for 584 years.
    ns: u64,
}

impl Moment {
    #[inline]
    pub fn now() -> Self {
        Self { ns: ns_of(ClockId::CLOCK_MONOTONIC) }
    }

    /// Nanoseconds since `earlier`, or 0 if that is later.
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

/// CPU time of the calling thread, in ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    ns_of(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// 0 on a kernel without this clock.
#[inline]
fn ns_of(clock: ClockId) -> u64 {
    clock_gettime(clock)
        .map_or(0, |time| time.tv_sec().cast_unsigned() * NS_PER_S + time.tv_nsec().cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

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
