//! What others' use of the CPUs does to an estimate of time: it is one of a quiet host.

use rqps_plan::estimate::duration_text;
use rqps_plan::isolated::seconds_beside_others;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Below this, an estimate is no better than without.
const BUSY: f64 = 1.2;
/// A hundred turns of the scheduler.
const LOOK: Duration = Duration::from_millis(400);
/// Where others take some of them, it takes more to tell how many: looks of 0.4 s told 5 to 11 times at a load of 29.
const LONG_LOOK: Duration = Duration::from_millis(1_600);
/// A start asks several times, and all that it says should rest on one look.
const HOLDS: Duration = Duration::from_secs(60);

/// How many times as long work takes that shares the CPUs with others.
#[derive(Clone, Copy)]
pub struct Busy(f64);

impl Busy {
    /// Look before anything is started.
    pub fn now() -> Self {
        static LAST: Mutex<Option<(Instant, Busy)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, busy)) = last.filter(|(at, _)| at.elapsed() < HOLDS) {
            return busy;
        }
        let short = Self(rqps_probe::times_as_long(LOOK));
        let busy = if short.is_busy() { Self(rqps_probe::times_as_long(LONG_LOOK)) } else { short };
        *last = Some((Instant::now(), busy));
        busy
    }

    pub fn is_busy(&self) -> bool {
        self.0 >= BUSY
    }

    /// `, up to 1.9 times as long while others use the CPUs as they do now`; empty on a quiet host.
    pub fn note(&self) -> String {
        match self.is_busy() {
            true => format!(", up to {:.1} times as long while others use the CPUs as they do now", self.0),
            false => String::new(),
        }
    }

    /// `, 9 min on a quiet host: work takes 1.9 times as long while others use the CPUs as they do now`; empty on a
    /// quiet host.
    pub fn note_of(&self, seconds: f64) -> String {
        let quiet = duration_text(seconds);
        let longer =
            format!("work takes {:.1} times as long while others use the CPUs as they do now", self.0);
        if self.is_busy() { format!(", {quiet} on a quiet host: {longer}") } else { String::new() }
    }

    /// Seconds of what takes `quiet_s` on a quiet host, `windows_s` of them in windows, whose length is given.
    pub fn seconds(&self, quiet_s: f64, windows_s: f64) -> f64 {
        seconds_beside_others(quiet_s, windows_s, self.longer())
    }

    /// How many times as long work takes; 1 on a quiet host.
    pub fn longer(&self) -> f64 {
        if self.is_busy() { self.0 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_host_is_told_of_and_a_quiet_one_is_not() {
        assert_eq!(Busy(1.94).note(), ", up to 1.9 times as long while others use the CPUs as they do now");
        let note =
            ", 9 min on a quiet host: work takes 1.9 times as long while others use the CPUs as they do now";
        assert_eq!(Busy(1.94).note_of(540.0), note);
        assert_eq!((Busy(1.1).note(), Busy(1.1).note_of(540.0)), Default::default());
        assert_eq!(Busy(2.0).seconds(100.0, 40.0), 160.0, "windows have their length");
        assert_eq!(Busy(1.1).seconds(100.0, 40.0), 100.0);
    }
}
