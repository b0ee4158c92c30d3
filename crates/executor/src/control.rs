//! A run's progress display and stop flag, and the watchdog that ends a stopped run even if a server does not
//! answer.

use crate::arm::{ActiveArm, is_full};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::system::Handle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// How often the watchdog checks the stop flag, and how long a statement may run on after it is set. Rare
/// enough not to disturb a measured window.
const POLL: Duration = Duration::from_millis(1000);
/// Polls with the stop flag set after which all servers are killed. A clean shutdown takes less, and nobody
/// would wait longer for anything else.
const STOPPED_POLLS_MAX: u32 = 7;

/// Consecutive polls that must find a server waiting for space before it is killed.
const FULL_POLLS: u32 = 10;

/// Handles of the running instances.
pub(crate) type Instances = Vec<Arc<dyn Handle>>;

/// Whether an instance waits for space on a full disk.
fn waits_for_room(instance: &dyn Handle) -> bool {
    is_full(instance.data_dir()) && instance.waits_for_room()
}

/// Where a run reports its progress, and what stops it.
pub struct RunControl<'a> {
    pub progress: &'a mut dyn Progress,
    /// Set when the user wants the run to stop.
    pub stop: &'a AtomicBool,
    /// The running instances; the last one is being measured or worked on.
    pub(crate) instances: &'a Mutex<Instances>,
}

impl RunControl<'_> {
    /// Whether the user wants the run to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Fails with [`Error::Interrupted`] if the user wants the run to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Says what the current action is doing from now on.
    pub(crate) fn doing(&mut self, what: &str) {
        self.progress.action_progress(what, 0.0, None);
    }

    /// Makes this arm's instance the last of the running ones.
    pub(crate) fn set_current(&self, arm: &ActiveArm) {
        let mut instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        instances.retain(|other| other.is_alive() && other.data_dir() != arm.data_dir);
        instances.extend(arm.instance.handle());
    }
}

/// Runs `work` beside a watchdog thread. Once `stop` is set, the watchdog cancels the statements of admin
/// sessions, which may wait for a lock or run for hours; those of loads and clients are cancelled by the
/// threads that wait for them. If the work does not end by that, its servers are killed. A server that would
/// wait forever for space on a full disk is killed too, so that the step fails with what its log says.
pub(crate) fn with_watchdog<T>(
    stop: &AtomicBool,
    instances: &Mutex<Instances>,
    work: impl FnOnce() -> T,
) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = || {
            let (mut stopped_polls, mut full_polls) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                std::thread::park_timeout(POLL);
                let instances = instances.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if stop.load(Ordering::Relaxed) {
                    stopped_polls += 1;
                    interrupt(&instances, stopped_polls);
                }
                let Some(current) = instances.last() else {
                    continue;
                };
                full_polls = if waits_for_room(&**current) { full_polls + 1 } else { 0 };
                if full_polls == FULL_POLLS {
                    current.kill();
                }
            }
        };
        let watchdog = scope.spawn(watch);
        let _done = EndWatchdog { done: &done, thread: watchdog.thread().clone() };
        work()
    })
}

/// Ends the watchdog when dropped, also when the work panics: the scope would otherwise wait forever.
struct EndWatchdog<'a> {
    done: &'a AtomicBool,
    thread: Thread,
}

impl Drop for EndWatchdog<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

fn interrupt(instances: &Instances, stopped_polls: u32) {
    for instance in instances.iter().filter(|instance| instance.is_alive()) {
        if stopped_polls > STOPPED_POLLS_MAX {
            instance.kill();
        } else if stopped_polls > 1 {
            instance.end_admin_statements();
        }
    }
}
