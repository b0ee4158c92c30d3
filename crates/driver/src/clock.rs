//! The clients' clock: nanoseconds in one `u64`. It is read around every statement, and each reading is
//! subtracted several times. Subtracting two `std::time::Instant`s costs about forty instructions each time;
//! here they are spent once per reading.

use nix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// The first reading: the epoch of [`Moment`].
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A reading of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    /// Nanoseconds since the first reading; 64 bits last for 584 years.
    ns: u64,
}

impl Moment {
    #[inline]
    pub fn now() -> Self {
        let time = FIRST.elapsed();
        Self { ns: time.as_secs() * NS_PER_S + u64::from(time.subsec_nanos()) }
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
