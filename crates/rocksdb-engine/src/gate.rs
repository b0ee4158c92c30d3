//! Where client threads wait between phases, and how their lead tells them to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Error;

pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether clients must end the phase after their current operation.
    stop: AtomicBool,
    /// Operations of each client in the phase, for the progress display.
    done: Vec<AtomicU64>,
}

#[derive(Default)]
struct State {
    /// Phases that were released.
    phase: u32,
    /// Threads that have ended the current phase: clients, and the background writer.
    clients_ended: u32,
    writers_ended: u32,
    /// Whether no thread waits any more.
    is_over: bool,
    failure: Option<Error>,
}

impl Gate {
    pub fn new(clients: u32) -> Self {
        let done = (0..clients).map(|_| AtomicU64::new(0)).collect();
        Self { state: Mutex::default(), changed: Condvar::new(), stop: AtomicBool::new(false), done }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counter of a client's operations.
    pub fn counter(&self, client: u32) -> &AtomicU64 {
        &self.done[client as usize]
    }

    pub fn operations(&self) -> u64 {
        self.done.iter().map(|done| done.load(Ordering::Relaxed)).sum()
    }

    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A thread has ended its phase: waits until the next one is released.
    pub fn pass(&self, is_client: bool) {
        let mut state = self.lock();
        let phase = state.phase;
        if is_client {
            state.clients_ended += 1;
        } else {
            state.writers_ended += 1;
        }
        self.changed.notify_all();
        while state.phase == phase && !state.is_over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Keeps the first error and ends the phase.
    pub fn fail(&self, error: Error) {
        self.lock().failure.get_or_insert(error);
        self.stop();
    }

    pub fn take_failure(&self) -> Option<Error> {
        self.lock().failure.take()
    }

    /// Lets all threads begin the next phase.
    pub fn release(&self) {
        let mut state = self.lock();
        state.phase += 1;
        (state.clients_ended, state.writers_ended) = (0, 0);
        self.done.iter().for_each(|done| done.store(0, Ordering::Relaxed));
        self.stop.store(false, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Lets all threads run to their end without working.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.stop();
        self.changed.notify_all();
    }

    /// Waits until this many clients and writers have ended the phase, at most this long; returns whether they have.
    pub fn wait(&self, clients: u32, writers: u32, at_most: Duration) -> bool {
        let ended = |state: &State| state.clients_ended >= clients && state.writers_ended >= writers;
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, at_most, |state| !ended(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        ended(&state)
    }
}
