//! Whom a run tells, who tells it to end, and that it ends soon even where a server doesn't answer.

use crate::adapter::ADMIN_NAME;
use crate::adapter::Adapter;
use crate::arm::ActiveArm;
use crate::log::LOOK_THROUGH_LINES;
use crate::watch::Watcher;
use rqps_servers::Onlooker;
use rqps_wire::Endpoint;
use rustix::fs::statvfs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
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

/// A server at work, and how it is spoken to.
#[derive(Clone)]
pub(crate) struct Serving {
    adapter: &'static dyn Adapter,
    endpoint: Endpoint,
    server: Onlooker,
}

impl Serving {
    /// Whether it stands still until somebody makes room on its disk.
    fn waits_for_room(&self) -> bool {
        let Ok(disk) = statvfs(self.server.data_dir()) else {
            return false;
        };
        disk.f_bavail * disk.f_frsize < FULL_BELOW_BYTES
            && self.adapter.waits_for_room(&self.server.log_tail(LOOK_THROUGH_LINES))
    }
}

/// The outside of a run.
pub(crate) struct Outside<'a> {
    pub watcher: &'a mut dyn Watcher,
    pub stop: &'a AtomicBool,
    /// The servers that run, the one at work last.
    pub serving: &'a Mutex<Vec<Serving>>,
}

impl Outside<'_> {
    /// Whether the user wants the run to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Says which server is at work.
    pub fn serve(&self, arm: &ActiveArm) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        serving.retain(|other| other.server.is_alive() && other.server.data_dir() != arm.data_dir);
        serving.extend(arm.server.onlooker().map(|server| Serving {
            adapter: arm.adapter,
            endpoint: arm.endpoint.clone(),
            server,
        }));
    }
}

/// Does `work`, whose thread waits for servers' answers. Once `stop` is set, statements of that thread are ended: some
/// wait for a lock, or for hours. Those of load and clients are ended by the threads that wait for them. When that has
/// not ended the work, its servers are killed. A server that would wait for room on a full disk for ever is ended too,
/// so that the step ends with what its log says.
pub(crate) fn unless_stopped<T>(
    stop: &AtomicBool,
    serving: &Mutex<Vec<Serving>>,
    work: impl FnOnce() -> T,
) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let look = || {
            let (mut stopped_looks, mut full_looks) = (0, 0);
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(LOOK);
                let servers = serving.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if stop.load(Ordering::Relaxed) {
                    stopped_looks += 1;
                    end(&servers, stopped_looks);
                }
                let Some(at_work) = servers.last() else {
                    continue;
                };
                full_looks = if at_work.waits_for_room() { full_looks + 1 } else { 0 };
                if full_looks == FULL_LOOKS {
                    at_work.server.kill();
                }
            }
        };
        let looking = scope.spawn(look);
        let done = work();
        over.store(true, Ordering::Relaxed);
        looking.thread().unpark();
        done
    })
}

/// What is done to servers after so many looks that found the wish to end.
fn end(servers: &[Serving], stopped_looks: u32) {
    for server in servers.iter().filter(|serving| serving.server.is_alive()) {
        if stopped_looks > STOPPED_LOOKS_MAX {
            server.server.kill();
        } else if stopped_looks > 1 {
            server.adapter.end_statements(&server.endpoint, ADMIN_NAME);
        }
    }
}
