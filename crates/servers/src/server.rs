//! A running server: monitoring, freezing, stopping. `init` creates its data directory, `launch` starts it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rqps_builds::{CpuSet, server_user};
use rqps_model::Dbms;
use rustix::process::Signal;

use crate::data_dir::DataDir;
use crate::error::{Error, Result};
use crate::freeze;
use crate::log::{Log, TAIL_LINES};
use crate::postgres::shared_memory::Control;
use crate::process::{self, Identity};
use crate::spec::{Applied, ServerEndpoint};
use crate::system::Signals;
use crate::systems;

/// Time limit of a clean shutdown, including a checkpoint of a large cache.
const CLEAN_MAX: Duration = Duration::from_secs(600);

/// The same while rqps is being interrupted: the next start recovers what is not written by then.
const INTERRUPTED_CLEAN_MAX: Duration = Duration::from_secs(5);

/// Time limit of an immediate shutdown before the server is killed; a hung server never exits.
const QUICK_MAX: Duration = Duration::from_secs(2);

/// Time limit for the kernel to remove a killed server, whose memory it has to free.
const KILLED_MAX: Duration = Duration::from_secs(30);

/// A running server. Dropping it stops it, with a shorter time limit than [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    pub(crate) dbms: Dbms,
    pub(crate) program: PathBuf,
    pub(crate) data_dir: DataDir,
    pub(crate) child: Child,
    pub(crate) exit: Option<ExitStatus>,
    /// Whether [`Server::freeze`] stopped its processes.
    pub(crate) frozen: bool,
    pub(crate) endpoint: ServerEndpoint,
    pub(crate) applied: Applied,
    pub(crate) log: Log,
    /// What it would leave in /dev/shm if it were killed.
    pub(crate) shared_memory: Option<Control>,
    pub(crate) _lock: File,
}

impl Server {
    /// Pid of the server's main process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn endpoint(&self) -> &ServerEndpoint {
        &self.endpoint
    }

    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    pub fn log_path(&self) -> &Path {
        &self.log.path
    }

    /// The last lines of its log since this start.
    pub fn log_tail(&self, lines: usize) -> String {
        self.log.tail(lines)
    }

    /// A handle for other threads; None if the server has exited.
    pub fn handle(&self) -> Option<ServerHandle> {
        let pid = self.child.id();
        let process = Identity::read(pid)?;
        Some(ServerHandle { pid, process, log: self.log.clone(), data_dir: self.data_dir.path.clone() })
    }

    /// Whether its main process is running. If that has died, kills the remaining processes.
    pub fn alive(&mut self) -> bool {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.exit = Some(status);
            process::end_stragglers(&self.data_dir.path, &self.program);
            if let Some(left) = self.shared_memory.take() {
                left.remove();
            }
        }
        self.exit.is_none()
    }

    /// The exit status of its main process; None while it runs.
    pub fn exit_text(&mut self) -> Option<String> {
        if self.alive() {
            return None;
        }
        self.exit.map(|status| status.to_string())
    }

    /// Pins sessions that start from now on to these CPUs. Existing background processes stay where they are;
    /// later children of the main process, such as autovacuum and parallel workers, follow the sessions.
    ///
    /// # Errors
    /// If the server has exited, or none of these CPUs is available.
    pub fn pin_sessions(&self, cpus: &CpuSet) -> Result<()> {
        Ok(cpus.place(self.pid())?)
    }

    /// Suspends all its processes until [`Server::thaw`]; returns when none runs. Work that becomes due
    /// meanwhile, such as a checkpoint, is due when they resume. No effect if it has exited: who needs it next finds
    /// that it died, and says so of its own arm.
    ///
    /// # Errors
    /// If a process does not stop within 30 s; all are resumed then.
    pub fn freeze(&mut self) -> Result<()> {
        if !self.alive() {
            return Ok(());
        }
        self.frozen = true;
        freeze::freeze(self.pid()).inspect_err(|_| self.thaw())
    }

    /// Whether one of its processes was suspended, but not by [`Server::freeze`].
    pub fn is_paused(&self) -> bool {
        !self.frozen && process::family(self.pid()).iter().any(|member| matches!(member.state, 'T' | 't'))
    }

    /// Resumes its processes; no effect if they are running.
    pub fn thaw(&mut self) {
        if self.frozen && self.alive() {
            freeze::thaw(self.pid());
        }
        self.frozen = false;
    }

    /// Shuts the server down: ends sessions, writes a checkpoint, and returns when all processes are gone.
    ///
    /// # Errors
    /// If it had already exited, or had to be killed without a checkpoint after 10 minutes. It is gone in
    /// these cases, too.
    pub fn stop(self) -> Result<()> {
        self.stop_unless(&AtomicBool::new(false))
    }

    /// Like [`Server::stop`], with a shorter time limit once `interrupted` becomes true.
    pub fn stop_unless(mut self, interrupted: &AtomicBool) -> Result<()> {
        self.shut_down(CLEAN_MAX, interrupted)
    }

    /// Stops the server like a crash, without a checkpoint: the next start recovers. For tests, and for data
    /// that is not needed again.
    pub fn stop_immediately(mut self) {
        if self.alive() {
            self.end_now();
        }
        self.data_dir.clear_record();
    }

    fn shut_down(&mut self, clean_max: Duration, interrupted: &AtomicBool) -> Result<()> {
        let start = Instant::now();
        let mut interrupted_at = None;
        let give_up = || {
            if interrupted.load(Ordering::Relaxed) {
                interrupted_at.get_or_insert_with(Instant::now);
            }
            start.elapsed() >= clean_max
                || interrupted_at.is_some_and(|instant: Instant| instant.elapsed() >= INTERRUPTED_CLEAN_MAX)
        };
        let problem = if !self.alive() {
            Some("it had already exited".to_owned())
        } else {
            self.send(self.signals().clean);
            if self.wait_until(give_up) {
                None
            } else {
                self.end_now();
                Some(format!("it did not exit within {} s and was killed", start.elapsed().as_secs()))
            }
        };
        self.data_dir.clear_record();
        let status = self.exit.map_or_else(|| "status unknown".to_owned(), |status| status.to_string());
        let clean = problem.is_none() && self.exit.is_some_and(|status| status.success());
        if clean {
            return systems::get(self.dbms).note_shut_down(&self.data_dir, &server_user()?);
        }
        Err(Error::UncleanStop {
            path: self.data_dir.path.clone(),
            how: problem.map_or_else(|| status.clone(), |problem| format!("{problem} ({status})")),
            log: self.log.path.clone(),
            tail: self.log.tail(TAIL_LINES),
        })
    }

    fn signals(&self) -> Signals {
        systems::get(self.dbms).signals()
    }

    /// The child has not been waited for, so its pid is still valid.
    fn send(&mut self, signal: Signal) {
        // A suspended process would not handle it.
        self.thaw();
        if self.alive() {
            // Fails only if the process has just exited, which the next wait notices.
            let _sent = process::signal(self.child.id(), signal);
        }
    }

    /// Stops the server immediately with all sessions, for statements that would not end by themselves. Keeps
    /// its data directory; the next start recovers.
    pub fn end_now(&mut self) {
        self.send(self.signals().quick);
        if !self.wait(QUICK_MAX) {
            self.send(Signal::KILL);
            self.wait(KILLED_MAX);
        }
    }

    /// Waits for the exit; returns false after this time.
    fn wait(&mut self, at_most: Duration) -> bool {
        let start = Instant::now();
        self.wait_until(|| start.elapsed() >= at_most)
    }

    /// Waits for the exit; returns false if `give_up` returns true first.
    fn wait_until(&mut self, mut give_up: impl FnMut() -> bool) -> bool {
        while self.alive() {
            if give_up() {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// A handle to a running server for a thread that does not own it; valid as long as the [`Server`].
#[derive(Debug, Clone)]
pub struct ServerHandle {
    pid: u32,
    process: Identity,
    log: Log,
    data_dir: PathBuf,
}

impl ServerHandle {
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The last lines of its log since this start.
    pub fn log_tail(&self, lines: usize) -> String {
        self.log.tail(lines)
    }

    /// Kills all its processes: if only the main one died, some would keep serving their clients. The owner
    /// notices the death.
    pub fn kill(&self) {
        let members = process::family(self.pid);
        // Another process may have its pid by now.
        if !self.process.alive() {
            return;
        }
        for member in members {
            // Fails only if the process has ended.
            let _sent = process::signal(member.pid, Signal::KILL);
        }
    }

    pub fn is_alive(&self) -> bool {
        self.process.alive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.alive() {
            // Nobody to report an error to.
            let _stopped = self.shut_down(INTERRUPTED_CLEAN_MAX, &AtomicBool::new(true));
        } else {
            self.data_dir.clear_record();
        }
    }
}
