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
/// Looks take at most this share of the work that they tell of.
const SHARE_MAX: f64 = 0.01;

/// How many times as long work takes that shares the CPUs with others.
#[derive(Clone, Copy)]
pub struct Busy(f64);

impl Busy {
    /// Looks, before anything is started, for an estimate of `work_s` on a quiet host. Of work that is over before a
    /// look would tell much, nothing is said.
    pub fn beside(work_s: f64) -> Self {
        static LAST: Mutex<Option<(Instant, Looked, Busy)>> = Mutex::new(None);
        let wanted = Looked::for_work(work_s);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., busy)) = last.filter(|(at, looked, _)| at.elapsed() < HOLDS && *looked >= wanted) {
            return busy;
        }
        let busy = match wanted {
            Looked::No => return Self(1.0),
            Looked::Short => Self(rqps_probe::times_as_long(LOOK)),
            Looked::Long => {
                let short = Self(rqps_probe::times_as_long(LOOK));
                if short.is_busy() { Self(rqps_probe::times_as_long(LONG_LOOK)) } else { short }
            }
        };
        *last = Some((Instant::now(), wanted, busy));
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

/// For how long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Looked {
    No,
    Short,
    Long,
}

impl Looked {
    fn for_work(work_s: f64) -> Self {
        let most_s = SHARE_MAX * work_s;
        match most_s >= (LOOK + LONG_LOOK).as_secs_f64() {
            true => Self::Long,
            false if most_s >= LOOK.as_secs_f64() => Self::Short,
            false => Self::No,
        }
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

    #[test]
    fn looks_are_short_beside_the_work() {
        let looked = [39.0, 41.0, 199.0, 201.0].map(Looked::for_work);
        assert_eq!(looked, [Looked::No, Looked::Short, Looked::Short, Looked::Long]);
    }
}
