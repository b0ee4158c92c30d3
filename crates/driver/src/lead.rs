//! The coordinator: opens phases, waits for the clients, and gives up on those that hang.

use crate::client_threads::Stop;
use crate::control::{Control, Phase};
use crate::spec::{Flush, Observer};
use crate::warmup::{Detector, SAMPLE};
use std::time::{Duration, Instant};

/// How often the coordinator polls while clients work.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// How long clients may take to finish their current statement after a failure, and again after their
/// statements were cancelled.
const GRACE: Duration = Duration::from_secs(2);

/// Coordinates the clients of one step.
pub(crate) struct Lead<'a> {
    pub control: &'a Control,
    pub flush: Option<&'a Flush>,
    pub observer: &'a mut dyn Observer,
}

impl Lead<'_> {
    /// Opens `phase` and waits until all clients have finished it; ends it after `time`.
    pub fn phase(&mut self, phase: Phase, name: &'static str, time: Option<Duration>) -> Result<(), Stop> {
        self.control.open(phase);
        self.wait(name, time, None)
    }

    /// Waits out the idle time, then has sessions flush their statistics.
    pub fn flush(&mut self, phase: Phase) -> Result<(), Stop> {
        std::thread::sleep(self.flush_idle());
        self.flush_now(phase)
    }

    /// How long sessions must be idle before they flush their statistics.
    pub fn flush_idle(&self) -> Duration {
        self.flush.map(|flush| flush.idle).unwrap_or_default()
    }

    /// [`Lead::flush`] without the idle time.
    pub fn flush_now(&mut self, phase: Phase) -> Result<(), Stop> {
        self.phase(phase, "statistics", None)
    }

    /// Waits until all clients have finished the phase; ends it after `time` or once `detector` finds the
    /// rate settled.
    pub fn wait(
        &mut self,
        name: &'static str,
        time: Option<Duration>,
        mut detector: Option<Detector>,
    ) -> Result<(), Stop> {
        let start = Instant::now();
        let (mut sampled_at, mut sampled) = (SAMPLE, 0);
        for progress in &self.control.progress {
            progress.set(0);
        }
        loop {
            let elapsed = start.elapsed();
            let left = time.map_or(TICK, |time| time.saturating_sub(elapsed));
            if time.is_some() && left.is_zero() {
                self.control.end_phase();
            }
            let timeout = if left.is_zero() { TICK } else { left.min(TICK) };
            if self.control.wait_for_all(timeout) {
                return if self.control.aborted() { Err(Stop::ClientFailed) } else { Ok(()) };
            }
            let events = self.control.events();
            self.observer.progress(name, start.elapsed().as_secs_f64(), events);
            if let Some(detector) = &mut detector
                && start.elapsed() >= sampled_at
            {
                sampled_at += SAMPLE;
                if detector.settled(events - sampled) {
                    self.control.end_phase();
                }
                sampled = events;
            }
            if self.observer.cancelled() {
                self.control.abort();
                self.give_up();
                return Err(Stop::Cancelled);
            }
            if self.control.aborted() {
                self.give_up();
                return Err(Stop::ClientFailed);
            }
        }
    }

    /// Gives clients time to finish their current statement, then has the observer cancel it, by force if
    /// need be.
    fn give_up(&mut self) {
        if self.control.wait_for_all(GRACE) {
            return;
        }
        self.observer.end_statements();
        if !self.control.wait_for_all(GRACE) {
            self.observer.force();
        }
    }
}
