//! Whom a run tells, who tells it to end, and that it ends soon even where a server doesn't answer.

use crate::arm::ActiveArm;
use crate::progress::Progress;
use crate::system::Handle;
use rustix::fs::statvfs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// How often the wish to end is looked at, and how long a statement may go on after it. Rare enough to cost a measured
/// window nothing.
const LOOK: Duration = Duration::from_millis(1000);
/// After so many looks that found the wish, all servers are killed: a shutdown in good order takes less, and what else
/// is waited for would take more than anybody waits.
const STOPPED_LOOKS_MAX: u32 = 7;

/// A disk with less room than this is full, where a server says that it waits for some.
const FULL_BELOW_BYTES: u64 = 4 << 20;
/// So many looks in a row have to find it waiting before it is ended.
const FULL_LOOKS: u32 = 10;

/// Instances that run, as others than their owners see them.
pub(crate) type Instances = Vec<Arc<dyn Handle>>;

/// Whether an instance stands still until somebody makes room on its disk.
fn waits_for_room(instance: &dyn Handle) -> bool {
    let Ok(disk) = statvfs(instance.data_dir()) else {
        return false;
    };
    disk.f_bavail * disk.f_frsize < FULL_BELOW_BYTES && instance.waits_for_room()
}

/// What a run tells, and what can end it.
pub struct RunControl<'a> {
    pub progress: &'a mut dyn Progress,
    pub stop: &'a AtomicBool,
    /// The instances that run, the one at work last.
    pub(crate) instances: &'a Mutex<Instances>,
}

impl RunControl<'_> {
    /// Whether the user wants the run to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Says which instance is at work.
    pub(crate) fn serve(&self, arm: &ActiveArm) {
        let mut instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        instances.retain(|other| other.is_alive() && other.data_dir() != arm.data_dir);
        instances.extend(arm.instance.handle());
    }
}

/// Does `work`, whose thread waits for servers' answers. Once `stop` is set, statements of that thread are ended: some
/// wait for a lock, or for hours. Those of load and clients are ended by the threads that wait for them. When that has
/// not ended the work, its servers are killed. A server that would wait for room on a full disk for ever is ended too,
/// so that the step ends with what its log says.
pub(crate) fn unless_stopped<T>(
    stop: &AtomicBool,
    instances: &Mutex<Instances>,
    work: impl FnOnce() -> T,
) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let look = || {
            let (mut stopped_looks, mut full_looks) = (0, 0);
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(LOOK);
                let instances = instances.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if stop.load(Ordering::Relaxed) {
                    stopped_looks += 1;
                    end(&instances, stopped_looks);
                }
                let Some(at_work) = instances.last() else {
                    continue;
                };
                full_looks = if waits_for_room(&**at_work) { full_looks + 1 } else { 0 };
                if full_looks == FULL_LOOKS {
                    at_work.kill();
                }
            }
        };
        let looking = scope.spawn(look);
        let _over = Over { over: &over, looking: looking.thread().clone() };
        work()
    })
}

/// Ends the looking, also when the work panics: the scope would wait for ever else.
struct Over<'a> {
    over: &'a AtomicBool,
    looking: Thread,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.looking.unpark();
    }
}

/// What is done to instances after so many looks that found the wish to end.
fn end(instances: &Instances, stopped_looks: u32) {
    for instance in instances.iter().filter(|instance| instance.is_alive()) {
        if stopped_looks > STOPPED_LOOKS_MAX {
            instance.kill();
        } else if stopped_looks > 1 {
            instance.end_admin_statements();
        }
    }
}
