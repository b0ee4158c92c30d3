//! A running server: monitored, frozen, stopped. `init` makes its data directory, `launch` starts it.

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
use crate::process::{self, Identity};
use crate::spec::{Applied, ServerEndpoint};
use crate::system::Signals;
use crate::systems;

/// How long a clean shutdown may take, a checkpoint of a large cache included.
const CLEAN_MAX: Duration = Duration::from_secs(600);

/// The same while somebody waits for rqps to exit: the next start recovers what is not written by then.
const IMPATIENT_CLEAN_MAX: Duration = Duration::from_secs(5);

/// How long an immediate shutdown may take before the server is killed; one that hangs never exits.
const QUICK_MAX: Duration = Duration::from_secs(2);

/// How long the kernel may take to remove a killed server: it frees all its memory.
const KILLED_MAX: Duration = Duration::from_secs(30);

/// A running server. Dropping it stops it, with less patience than [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    pub(crate) dbms: Dbms,
    pub(crate) program: PathBuf,
    pub(crate) data_dir: DataDir,
    pub(crate) child: Child,
    pub(crate) exit: Option<ExitStatus>,
    /// Whether its processes were stopped by [`Server::freeze`].
    pub(crate) frozen: bool,
    pub(crate) endpoint: ServerEndpoint,
    pub(crate) applied: Applied,
    pub(crate) log: Log,
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

    /// A handle for other threads; none when it has exited.
    pub fn handle(&self) -> Option<ServerHandle> {
        let pid = self.child.id();
        let process = Identity::read(pid)?;
        Some(ServerHandle { pid, process, log: self.log.clone(), data_dir: self.data_dir.path.clone() })
    }

    /// Whether its main process is running. If it died, its remaining processes are killed too.
    pub fn alive(&mut self) -> bool {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.exit = Some(status);
            process::end_stragglers(&self.data_dir.path, &self.program);
        }
        self.exit.is_none()
    }

    /// How its main process ended, when it has.
    pub fn exit_text(&mut self) -> Option<String> {
        if self.alive() {
            return None;
        }
        self.exit.map(|status| status.to_string())
    }

    /// Restricts sessions that begin from now on to these CPUs. Existing background processes stay where they are;
    /// those that the main process starts later, such as autovacuum and parallel workers, go with the sessions.
    ///
    /// # Errors
    /// When the server has ended, or none of these CPUs is there.
    pub fn place_sessions(&self, cpus: &CpuSet) -> Result<()> {
        Ok(cpus.place(self.pid())?)
    }

    /// Suspends all its processes until [`Server::thaw`]; returns when none of them runs. What was due meanwhile, such
    /// as a checkpoint, is due when they resume.
    ///
    /// # Errors
    /// When a process cannot be stopped within half a minute; all resume then.
    pub fn freeze(&mut self) -> Result<()> {
        if !self.alive() {
            return Err(Error::NotFrozen { pid: self.pid(), reason: "it has exited".to_owned() });
        }
        self.frozen = true;
        freeze::freeze(self.pid()).inspect_err(|_| self.thaw())
    }

    /// Whether somebody else has suspended one of its processes.
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

    /// Shuts it down: sessions are ended, a checkpoint is written, all processes are gone when this returns.
    ///
    /// # Errors
    /// When it had already exited, or had to be killed without a checkpoint after ten minutes. It is gone then, too.
    pub fn stop(self) -> Result<()> {
        self.stop_unless(&AtomicBool::new(false))
    }

    /// As [`Server::stop`], with less patience once `interrupted` becomes true.
    pub fn stop_unless(mut self, interrupted: &AtomicBool) -> Result<()> {
        self.shut_down(CLEAN_MAX, interrupted)
    }

    /// Ends it like a crash, without a checkpoint: the next start recovers. For tests, and for data not needed again.
    pub fn stop_immediately(mut self) {
        if self.alive() {
            self.end_now();
        }
        self.data_dir.clear_record();
    }

    fn shut_down(&mut self, clean_max: Duration, interrupted: &AtomicBool) -> Result<()> {
        let begun = Instant::now();
        let mut asked_at = None;
        let over = || {
            if interrupted.load(Ordering::Relaxed) {
                asked_at.get_or_insert_with(Instant::now);
            }
            begun.elapsed() >= clean_max
                || asked_at.is_some_and(|asked: Instant| asked.elapsed() >= IMPATIENT_CLEAN_MAX)
        };
        let how = if !self.alive() {
            Some("it had already exited".to_owned())
        } else {
            self.send(self.signals().clean);
            if self.wait_until(over) {
                None
            } else {
                self.end_now();
                Some(format!("it was not done after {} s and was killed", begun.elapsed().as_secs()))
            }
        };
        self.data_dir.clear_record();
        let status = self.exit.map_or_else(|| "status unknown".to_owned(), |status| status.to_string());
        let clean = how.is_none() && self.exit.is_some_and(|status| status.success());
        if clean {
            return systems::get(self.dbms).note_shut_down(&self.data_dir, &server_user()?);
        }
        Err(Error::UncleanStop {
            path: self.data_dir.path.clone(),
            how: how.map_or_else(|| status.clone(), |how| format!("{how} ({status})")),
            log: self.log.path.clone(),
            tail: self.log.tail(TAIL_LINES),
        })
    }

    fn signals(&self) -> Signals {
        systems::get(self.dbms).signals()
    }

    /// The child has not been waited for, so its pid is still its own.
    fn send(&mut self, signal: Signal) {
        // A suspended process would not handle it.
        self.thaw();
        if self.alive() {
            // It fails only if the process has just exited, which the next wait sees.
            let _sent = process::signal(self.child.id(), signal);
        }
    }

    /// Ends it at once with all sessions, for statements that would not end on their own; its data directory stays. The
    /// next start recovers.
    pub fn end_now(&mut self) {
        self.send(self.signals().quick);
        if !self.wait(QUICK_MAX) {
            self.kill();
        }
    }

    fn kill(&mut self) {
        self.send(Signal::KILL);
        self.wait(KILLED_MAX);
    }

    /// Waits for the exit, up to this time.
    fn wait(&mut self, at_most: Duration) -> bool {
        let start = Instant::now();
        self.wait_until(|| start.elapsed() >= at_most)
    }

    /// Waits for the exit until `over` says to give up.
    fn wait_until(&mut self, mut over: impl FnMut() -> bool) -> bool {
        while self.alive() {
            if over() {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// A running server for a thread that does not own it; valid as long as the [`Server`].
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

    /// Kills all its processes: without the main one alone, some would go on serving their clients. The owner sees that
    /// it has died.
    pub fn kill(&self) {
        let members = process::family(self.pid);
        // Another process may have its pid by now.
        if !self.process.alive() {
            return;
        }
        for member in members {
            // It can only fail when the process has ended.
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
            // Nobody can be told.
            let _stopped = self.shut_down(IMPATIENT_CLEAN_MAX, &AtomicBool::new(true));
        } else {
            self.data_dir.clear_record();
        }
    }
}
