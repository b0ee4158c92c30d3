//! Suspending all processes of a server and resuming them: a server must neither vacuum nor flush while another one is
//! measured.
//!
//! When rqps is killed over a stopped server, the signal that ties their lives is pending until it goes on. The kernel
//! sees to that: a process group that loses the last tie to its session, and has a stopped member, is sent SIGCONT. The
//! server then ends its children, at last by SIGKILL, which needs no going on. Where something else of the same session
//! has adopted it, it stays, and the next rqps that uses its data directory ends it.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::error::{Error, Result};
use crate::process::{family, signal};

/// How long a process may take to stop: one that waits for a disk stops after that.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Stops a server's main process, then all others, also those that it forked before it stopped.
pub(crate) fn freeze(main_pid: u32) -> Result<()> {
    let failed = |reason: String| Error::NotFrozen { pid: main_pid, reason };
    signal(main_pid, Signal::STOP).map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + STOP_MAX;
    loop {
        let members = family(main_pid);
        let Some(running) = members.iter().find(|member| !member.is_still()) else {
            return Ok(());
        };
        // The main one is first: while it runs, it may fork more.
        if running.pid != main_pid {
            for member in members.iter().filter(|member| !member.is_still()) {
                // It can only fail when the process has just ended.
                let _sent = signal(member.pid, Signal::STOP);
            }
        }
        if Instant::now() >= deadline {
            let waited_s = STOP_MAX.as_secs();
            return Err(failed(format!(
                "process {} is still in state {} after {waited_s} s",
                running.pid, running.state
            )));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Resumes all processes of a server, the main one last, so that it finds the others running.
pub(crate) fn thaw(main_pid: u32) {
    for member in family(main_pid).iter().rev() {
        // It can only fail when the process has just ended.
        let _sent = signal(member.pid, Signal::CONT);
    }
}
