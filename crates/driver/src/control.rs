//! A barrier between the coordinator and the clients: clients work while a phase is open, then wait at the
//! gate until the next one opens.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Connect and prepare.
    Connect,
    /// Unmeasured work.
    Warmup,
    /// Flush statistics before the window.
    FlushBefore,
    /// Measured work.
    Window,
    /// One turn of the measured work; other arms take their turns between two slices.
    Slice,
    /// Flush statistics after the window.
    FlushAfter,
    /// Finish the remaining events of fixed work.
    Tail,
}

/// A client's event counter, padded to its own cache line to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Progress(AtomicU64);

impl Progress {
    pub fn set(&self, events: u64) {
        self.0.store(events, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Gate {
    /// The open phase and its number from 1: two slices in a row differ only by number.
    open: Option<(Phase, u64)>,
    /// Clients that have finished the open phase or left.
    arrived: u32,
}

/// Shared by the coordinator and all clients of a step.
#[derive(Debug)]
pub(crate) struct Control {
    gate: Mutex<Gate>,
    changed: Condvar,
    clients: u32,
    /// Ends the phase: clients finish their current event.
    stop: AtomicBool,
    /// Ends the step: it failed or was cancelled.
    abort: AtomicBool,
    pub progress: Vec<Progress>,
}

impl Control {
    pub fn new(clients: u32) -> Self {
        Self {
            gate: Mutex::new(Gate { open: None, arrived: 0 }),
            changed: Condvar::new(),
            clients,
            stop: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            progress: (0..clients).map(|_| Progress::default()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Gate> {
        // No panic can happen between the two assignments that change the gate.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Coordinator: opens `phase` to all clients.
    pub fn open(&self, phase: Phase) {
        let mut gate = self.lock();
        self.stop.store(false, Ordering::Relaxed);
        gate.arrived = 0;
        let opened = gate.open.map_or(0, |(_, number)| number);
        gate.open = Some((phase, opened + 1));
        self.changed.notify_all();
    }

    /// Coordinator: waits until all clients have arrived at the gate; false on timeout.
    pub fn wait_for_all(&self, timeout: Duration) -> bool {
        let gate = self.lock();
        let missing = |gate: &mut Gate| gate.arrived < self.clients;
        let (gate, _) =
            self.changed.wait_timeout_while(gate, timeout, missing).unwrap_or_else(PoisonError::into_inner);
        gate.arrived >= self.clients
    }

    /// Client: arrives after phase number `done` (`None` at the start), and waits for a later one.
    pub fn next_phase(&self, done: Option<u64>) -> (Phase, u64) {
        let mut gate = self.lock();
        if done.is_some() {
            gate.arrived += 1;
            self.changed.notify_all();
        }
        loop {
            match gate.open {
                Some((phase, number)) if Some(number) > done => return (phase, number),
                _ => {
                    gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Client: arrives for the last time.
    pub fn leave(&self) {
        self.lock().arrived += 1;
        self.changed.notify_all();
    }

    /// Ends the phase: clients stop after their current event.
    pub fn end_phase(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn abort(&self) {
        self.abort.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn phase_ended(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    /// Events of all clients in the open phase.
    pub fn events(&self) -> u64 {
        self.progress.iter().map(Progress::get).sum()
    }
}
