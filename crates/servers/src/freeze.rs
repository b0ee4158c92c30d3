//! Suspends and resumes all processes of a server: it must neither vacuum nor flush while another one is
//! measured.
//!
//! If rqps is killed while a server is stopped, the signal sent by the parent's death stays pending until the
//! server resumes. The kernel resumes it: a process group that loses its last connection to its session and
//! has a stopped member gets SIGCONT. The server then ends its children, if necessary by SIGKILL, which also
//! ends stopped processes. If another process of the same session adopts the server, it stays stopped, and
//! the next rqps that uses its data directory ends it.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::error::{Error, Result};
use crate::process::{family, signal};

/// Time limit for a process to stop: one waiting for a disk stops only after that.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Stops a server's main process, then all others, including those forked before it stopped.
pub(crate) fn freeze(main_pid: u32) -> Result<()> {
    let failed = |reason: String| Error::NotFrozen { pid: main_pid, reason };
    signal(main_pid, Signal::STOP).map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + STOP_MAX;
    loop {
        let members = family(main_pid);
        let Some(running) = members.iter().find(|member| !member.is_stopped()) else {
            return Ok(());
        };
        // Wait for the main process first: it may fork until it stops.
        if running.pid != main_pid {
            for member in members.iter().filter(|member| !member.is_stopped()) {
                // Fails only if the process has just ended.
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

/// Resumes all processes, the main one last, so that it finds the others running.
pub(crate) fn thaw(main_pid: u32) {
    for member in family(main_pid).iter().rev() {
        // Fails only if the process has just ended.
        let _sent = signal(member.pid, Signal::CONT);
    }
}
