//! The open loop: events are due at even intervals, whether or not earlier ones are answered.

use crate::clock::Moment;
use crate::spec::Pace;
use std::time::Duration;

/// One client's schedule. Clients are offset from each other, so that the events of all clients are evenly
/// spaced too.
#[derive(Debug)]
pub(crate) struct Pacer {
    start: Moment,
    offset_s: f64,
    interval_s: f64,
    sent: u64,
}

impl Pacer {
    /// The schedule of client `client` of `clients`; `None` in the closed loop.
    pub fn new(pace: Pace, client: u32, clients: u32, start: Moment) -> Option<Self> {
        let Pace::EventsPerSecond(rate) = pace else {
            return None;
        };
        let interval_s = f64::from(clients) / rate;
        Some(Self {
            start,
            offset_s: interval_s * f64::from(client) / f64::from(clients),
            interval_s,
            sent: 0,
        })
    }

    /// Returns when the next event is due.
    pub fn next(&mut self) -> Moment {
        let due_s = self.offset_s + self.interval_s * self.sent as f64;
        self.sent += 1;
        self.start + Duration::from_secs_f64(due_s)
    }
}

/// Sleeps until `due`, and checks `stop` every 50 ms. Returns false if stopped.
pub(crate) fn sleep_until(due: Moment, mut stop: impl FnMut() -> bool) -> bool {
    const NAP: Duration = Duration::from_millis(50);
    loop {
        if stop() {
            return false;
        }
        match due.ns_since(Moment::now()) {
            0 => return true,
            left => std::thread::sleep(Duration::from_nanos(left).min(NAP)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_share_the_rate_evenly_and_never_drift() {
        let start = Moment::now();
        let mut due: Vec<Duration> = (0..4)
            .flat_map(|client| {
                let mut pacer = Pacer::new(Pace::EventsPerSecond(1000.0), client, 4, start).unwrap();
                (0..250).map(|_| Duration::from_nanos(pacer.next().ns_since(start))).collect::<Vec<_>>()
            })
            .collect();
        due.sort();
        for (i, at) in due.iter().enumerate() {
            let expected = Duration::from_millis(i as u64);
            assert!(at.abs_diff(expected) < Duration::from_micros(1), "{i}: {at:?}");
        }
    }
}
