//! Whom a run tells, who tells it to end, and that it ends even where a server doesn't answer.

use crate::adapter::Adapter;
use crate::arm::ADMIN_NAME;
use crate::watch::Watcher;
use rqps_wire::Endpoint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often the wish to end is looked at, and how long a statement may go on after it. Rare enough to cost a measured
/// window nothing.
const LOOK: Duration = Duration::from_millis(1000);

/// A server at work, and how it is spoken to.
pub(crate) type Serving = (&'static dyn Adapter, Endpoint);

/// The outside of a run.
pub(crate) struct Outside<'a> {
    pub watcher: &'a mut dyn Watcher,
    pub stop: &'a AtomicBool,
    /// The server at work.
    pub serving: &'a Mutex<Option<Serving>>,
}

impl Outside<'_> {
    /// Whether the user wants the run to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Says which server is at work.
    pub fn serve(&self, adapter: &'static dyn Adapter, endpoint: &Endpoint) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        *serving = Some((adapter, endpoint.clone()));
    }
}

/// Does `work`, whose thread waits for a server's answers. Once `stop` is set, statements of that thread are
/// ended: some wait for a lock, or for hours. Those of load and clients are ended by the threads that wait
/// for them.
pub(crate) fn unless_stopped<T>(
    stop: &AtomicBool,
    serving: &Mutex<Option<Serving>>,
    work: impl FnOnce() -> T,
) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let look = || {
            let mut stopped_before = false;
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(LOOK);
                let stopped = stop.load(Ordering::Relaxed);
                let server = serving.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let (true, Some((adapter, endpoint))) = (stopped && stopped_before, server) {
                    adapter.end_statements(&endpoint, ADMIN_NAME);
                }
                stopped_before = stopped;
            }
        };
        let looking = scope.spawn(look);
        let done = work();
        over.store(true, Ordering::Relaxed);
        looking.thread().unpark();
        done
    })
}
