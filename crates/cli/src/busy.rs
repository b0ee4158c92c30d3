//! What others use of the CPUs, beside an estimate of time: it is one of a quiet host.

use rqps_plan::estimate::duration_text;
use rqps_probe::CpusInUse;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// From this share of all CPUs on.
const BUSY_SHARE: f64 = 0.25;
/// Clocks of the kernel have ticks of 10 ms.
const LOOK: Duration = Duration::from_millis(400);
/// A start asks several times, and all that it says should rest on one look.
const HOLDS: Duration = Duration::from_secs(60);

/// CPUs that others use. Look before anything is started.
#[derive(Clone, Copy)]
pub struct Busy(CpusInUse);

impl Busy {
    pub fn now() -> Self {
        static LAST: Mutex<Option<(Instant, Busy)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, busy)) = last.filter(|(at, _)| at.elapsed() < HOLDS) {
            return busy;
        }
        let unknown = CpusInUse { used: 0.0, cpus: 1, threads: 0.0 };
        let busy = Self(rqps_probe::cpus_in_use(LOOK).unwrap_or(unknown));
        *last = Some((Instant::now(), busy));
        busy
    }

    pub fn is_busy(&self) -> bool {
        self.0.used >= BUSY_SHARE * self.0.cpus as f64
    }

    /// `, longer while others use 1.9 of 2 CPUs, as now`; empty on a quiet host.
    pub fn note(&self) -> String {
        if self.is_busy() {
            format!(", longer while others use {}, as now", self.used())
        } else {
            String::new()
        }
    }

    /// `, 9 min on a quiet host: others use 1.9 of 2 CPUs with 30 threads`; empty on a quiet host.
    pub fn note_of(&self, seconds: f64) -> String {
        match self.is_busy() {
            true => format!(", {} on a quiet host: others use {}", duration_text(seconds), self.used()),
            false => String::new(),
        }
    }

    fn used(&self) -> String {
        let CpusInUse { used, cpus, threads } = self.0;
        let crowd = if threads > cpus as f64 { format!(" with {threads:.0} threads") } else { String::new() };
        format!("{used:.1} of {cpus} CPUs{crowd}")
    }

    /// Seconds of what takes `quiet_s` on a quiet host, `windows_s` of them in windows, whose length is given.
    pub fn seconds(&self, quiet_s: f64, windows_s: f64) -> f64 {
        windows_s + (quiet_s - windows_s).max(0.0) * self.longer()
    }

    /// How many times as long work takes that shares the CPUs with them: 2 beside others that could use all.
    pub fn longer(&self) -> f64 {
        let CpusInUse { used, cpus, threads } = self.0;
        if self.is_busy() { 1.0 + used.max(threads) / cpus as f64 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_host_is_told_of_and_a_quiet_one_is_not() {
        let of = |used, cpus| Busy(CpusInUse { used, cpus, threads: 0.0 });
        assert_eq!(of(1.94, 2).note(), ", longer while others use 1.9 of 2 CPUs, as now");
        assert_eq!(of(0.3, 2).note(), "");
        assert_eq!(of(2.0, 64).note(), "");
        assert_eq!([of(2.0, 2), of(1.0, 2), of(0.3, 2)].map(|busy| busy.longer()), [2.0, 1.5, 1.0]);
        // Threads that wait for a CPU take their turns, too.
        let crowded = Busy(CpusInUse { used: 2.0, cpus: 2, threads: 30.0 });
        assert_eq!(
            crowded.note_of(540.0),
            ", 9 min on a quiet host: others use 2.0 of 2 CPUs with 30 threads"
        );
        assert_eq!(crowded.longer(), 16.0);
    }
}
