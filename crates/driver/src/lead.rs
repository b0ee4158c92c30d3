//! The coordinator: opens phases, waits for the clients, and gives up on those that don't come back.

use crate::client_threads::Stop;
use crate::control::{Control, Phase};
use crate::spec::{Flush, Observer};
use crate::warmup::{Detector, SAMPLE};
use std::time::{Duration, Instant};

/// How often the coordinator looks up while clients work.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// How long clients may take to finish the statement in hand when a step is lost, and again once their statements
/// were ended.
const GRACE: Duration = Duration::from_secs(2);

/// Leads the clients of one step.
pub(crate) struct Lead<'a> {
    pub control: &'a Control,
    pub flush: Option<&'a Flush>,
    pub observer: &'a mut dyn Observer,
}

impl Lead<'_> {
    /// Opens `phase` and waits until every client stands; ends it after `time`.
    pub fn phase(&mut self, phase: Phase, name: &'static str, time: Option<Duration>) -> Result<(), Stop> {
        self.control.open(phase);
        self.wait(name, time, None)
    }

    /// A phase in which sessions hand their statistics in.
    pub fn flush(&mut self, phase: Phase) -> Result<(), Stop> {
        std::thread::sleep(self.flush_idle());
        self.hand_in(phase)
    }

    /// How long sessions must have stood still before they hand their statistics in.
    pub fn flush_idle(&self) -> Duration {
        self.flush.map(|flush| flush.idle).unwrap_or_default()
    }

    /// The same phase once they have.
    pub fn hand_in(&mut self, phase: Phase) -> Result<(), Stop> {
        self.phase(phase, "statistics", None)
    }

    /// Waits until every client stands, ending the phase after `time` or when the detector says so.
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
            let patience = if left.is_zero() { TICK } else { left.min(TICK) };
            if self.control.all_stand(patience) {
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

    /// Waits for clients to come back from the statement in hand, then has the observer end it, gently at first.
    fn give_up(&mut self) {
        if self.control.all_stand(GRACE) {
            return;
        }
        self.observer.end_statements();
        if !self.control.all_stand(GRACE) {
            self.observer.force();
        }
    }
}
