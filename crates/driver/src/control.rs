//! How the coordinator and the clients agree on phases: clients work while a phase is open, then stand still at the
//! gate until the next one opens.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Connect and prepare; then stand still.
    Connect,
    /// Work, unmeasured.
    Warmup,
    /// Hand statistics in; then stand still.
    FlushBefore,
    /// Work, measured.
    Window,
    /// A part of that work; others' parts come between this one and the next.
    Slice,
    /// Hand statistics in; then stand still.
    FlushAfter,
    /// Finish the events that are owed.
    Tail,
}

/// A client's counter, alone in its cache line so that clients don't slow each other down.
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
    /// What is open, and how many phases were opened so far: slices follow each other.
    open: Option<(Phase, u64)>,
    standing: u32,
}

/// Shared by the coordinator and all clients of a step.
#[derive(Debug)]
pub(crate) struct Control {
    gate: Mutex<Gate>,
    moved: Condvar,
    clients: u32,
    /// The phase is over: finish the event in hand.
    stop: AtomicBool,
    /// The step is over: something failed or it was cancelled.
    abort: AtomicBool,
    pub progress: Vec<Progress>,
}

impl Control {
    pub fn new(clients: u32) -> Self {
        Self {
            gate: Mutex::new(Gate { open: None, standing: 0 }),
            moved: Condvar::new(),
            clients,
            stop: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            progress: (0..clients).map(|_| Progress::default()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Gate> {
        // A client that panicked can't have left the two words half written.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Coordinator: lets the clients into `phase`.
    pub fn open(&self, phase: Phase) {
        let mut gate = self.lock();
        self.stop.store(false, Ordering::Relaxed);
        gate.standing = 0;
        let opened = gate.open.map_or(0, |(_, number)| number);
        gate.open = Some((phase, opened + 1));
        self.moved.notify_all();
    }

    /// Coordinator: true once every client stands still, waiting at most `wait`.
    pub fn all_stand(&self, wait: Duration) -> bool {
        let gate = self.lock();
        let all = |gate: &mut Gate| gate.standing < self.clients;
        let (gate, _) =
            self.moved.wait_timeout_while(gate, wait, all).unwrap_or_else(PoisonError::into_inner);
        gate.standing >= self.clients
    }

    /// Client: says that the phase number `done` is over (`None` at the start), and waits for one after it.
    pub fn next_phase(&self, done: Option<u64>) -> (Phase, u64) {
        let mut gate = self.lock();
        if done.is_some() {
            gate.standing += 1;
            self.moved.notify_all();
        }
        loop {
            match gate.open {
                Some((phase, number)) if Some(number) > done => return (phase, number),
                _ => {
                    gate = self.moved.wait(gate).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Client: says that it is gone for good, whatever phases follow.
    pub fn leave(&self) {
        self.lock().standing += 1;
        self.moved.notify_all();
    }

    /// Ends the phase: clients stop after the event in hand.
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
