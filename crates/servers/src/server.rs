//! A server's life: made, started, watched, stopped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rqps_model::Dbms;
use rustix::process::Signal;

use crate::build::Build;
use crate::config::Config;
use crate::cpus::CpuSet;
use crate::data_dir::{self, DataDir, prepare_parent};
use crate::dbms;
use crate::error::{Error, Result};
use crate::freeze;
use crate::init;
use crate::launch::{Launch, listen};
use crate::log::{Log, TAIL_LINES};
use crate::process::{self, Identity};
use crate::spec::{Applied, ServerEndpoint, ServerSpec};
use crate::user::server_user;

/// The superuser of every server.
pub const USER: &str = "rqps";

/// The database made for the work.
pub const DATABASE: &str = "bench";

/// How often a start is tried when its cause of failure may pass.
const STARTS_MAX: u32 = 10;

/// How long a clean shutdown may take, a checkpoint of a large cache included.
const CLEAN_MAX: Duration = Duration::from_secs(600);

/// The same when somebody waits for rqps to end: what is not written by then is recovered at the next start.
const IMPATIENT_CLEAN_MAX: Duration = Duration::from_secs(5);

/// How long a server may take to end at once before it is killed; one that hangs never does.
const QUICK_MAX: Duration = Duration::from_secs(2);

/// How long the kernel may take to clear a killed one away: it frees all its memory.
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

/// What a data directory that this build makes with this config depends on: arms whose keys are equal can share one.
/// Whether a build really reads another's shows when it is started: builds from source may differ in what they write.
pub fn data_key(build: &Build, config: &Config) -> String {
    dbms::of(build.dbms).data_key(build, config)
}

impl Server {
    /// Makes the data directory, with an empty database [`DATABASE`] and superuser [`USER`]. A directory made by rqps
    /// before is replaced; any other must be empty or absent.
    ///
    /// # Errors
    /// Besides failures, a config with a value that the build refuses.
    pub fn init(spec: &ServerSpec) -> Result<Applied> {
        Server::init_unless(spec, &AtomicBool::new(false))
    }

    /// As [`Server::init`], given up when `interrupted` becomes true (a server's own program makes system tables for up
    /// to a minute).
    pub fn init_unless(spec: &ServerSpec, interrupted: &AtomicBool) -> Result<Applied> {
        let data_dir = DataDir::at(&spec.data_dir)?;
        let user = prepare_parent(&data_dir)?;
        let _lock = data_dir.lock()?;
        data_dir.reap()?;
        data_dir.remove()?;
        let listen = listen(spec, data_dir.socket_dir())?;
        let made = init::init(spec, &data_dir, &user, &listen, interrupted);
        if made.is_err() {
            // The first error is the one to tell.
            let _cleaned = data_dir.remove().and_then(|()| data_dir.remove_lock());
        }
        made
    }

    /// Starts a server on a data directory that [`Server::init`] made, and waits until it accepts sessions.
    /// The config is applied anew, so it may be another than at init.
    pub fn start(spec: &ServerSpec) -> Result<Server> {
        Server::start_unless(spec, &AtomicBool::new(false))
    }

    /// As [`Server::start`], given up when `interrupted` becomes true (crash recovery may take minutes).
    pub fn start_unless(spec: &ServerSpec, interrupted: &AtomicBool) -> Result<Server> {
        let data_dir = DataDir::at(&spec.data_dir)?;
        let user = server_user()?;
        let Some(marker) = data_dir.marker() else {
            return Err(if data_dir.path.exists() {
                Error::NotOurs { path: data_dir.path }
            } else {
                Error::BadDataDir {
                    path: data_dir.path,
                    reason: "it does not exist: init comes first".to_owned(),
                }
            });
        };
        let lock = data_dir.lock()?;
        data_dir.reap()?;
        if marker.dbms != spec.build.dbms {
            return Err(Error::BadDataDir {
                path: data_dir.path,
                reason: format!(
                    "it was made by {} and the build is {}: take a build of the same DBMS, or make it anew",
                    marker.build,
                    spec.build.label()
                ),
            });
        }
        let system = dbms::of(spec.build.dbms);
        system.check_data_dir(&data_dir, &spec.build, &marker)?;
        let password = data_dir.password()?;
        let launch =
            Launch { spec, data_dir: &data_dir, user: &user, password: &password, lock: &lock, interrupted };
        let mut attempt = 1;
        loop {
            match launch.once() {
                Err(Error::Died { tail, .. }) if attempt < STARTS_MAX && system.may_retry(&tail) => {
                    attempt += 1;
                    thread::sleep(Duration::from_millis(500));
                }
                other => return other,
            }
        }
    }

    /// Pid of the server's main process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn endpoint(&self) -> &ServerEndpoint {
        &self.endpoint
    }

    /// The options it runs with.
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

    /// What another thread needs to look after it; none when it has ended.
    pub fn onlooker(&self) -> Option<Onlooker> {
        let pid = self.child.id();
        let process = Identity::of(pid)?;
        Some(Onlooker { pid, process, log: self.log.clone(), data_dir: self.data_dir.path.clone() })
    }

    /// Whether its main process lives. When it has died by itself, what is left of its processes is ended too.
    pub fn alive(&mut self) -> bool {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.exit = Some(status);
            data_dir::end_stragglers(&self.data_dir.path, &self.program);
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

    /// Lets sessions that begin from now on run on these CPUs only. Background processes that are there stay where they
    /// are; those that the main process starts later, autovacuum and parallel workers among them, go with the sessions.
    ///
    /// # Errors
    /// When the server has ended, or none of these CPUs is there.
    pub fn place_sessions(&self, cpus: &CpuSet) -> Result<()> {
        cpus.place(self.pid())
    }

    /// Stops all its processes where they are, until [`Server::thaw`]: returns when none of them runs. What would have
    /// been due meanwhile, a checkpoint for instance, is due when they go on.
    ///
    /// # Errors
    /// When a process cannot be stopped within half a minute; all go on then.
    pub fn freeze(&mut self) -> Result<()> {
        if !self.alive() {
            return Err(Error::NotFrozen { pid: self.pid(), reason: "it has ended".to_owned() });
        }
        self.frozen = true;
        freeze::freeze(self.pid()).inspect_err(|_| self.thaw())
    }

    /// Whether somebody else has stopped one of its processes.
    pub fn stands_still(&self) -> bool {
        !self.frozen && process::family(self.pid()).iter().any(|member| matches!(member.state, 'T' | 't'))
    }

    /// Lets its processes go on; no matter when they already do.
    pub fn thaw(&mut self) {
        if self.frozen && self.alive() {
            freeze::thaw(self.pid());
        }
        self.frozen = false;
    }

    /// Shuts it down: sessions are ended, a checkpoint is written, all processes are gone when this returns.
    ///
    /// # Errors
    /// When it had ended by itself before, or had to be ended without a checkpoint after ten minutes. It is gone then
    /// too.
    pub fn stop(self) -> Result<()> {
        self.stop_unless(&AtomicBool::new(false))
    }

    /// As [`Server::stop`], with less patience once `interrupted` becomes true.
    pub fn stop_unless(mut self, interrupted: &AtomicBool) -> Result<()> {
        self.shut_down(CLEAN_MAX, interrupted)
    }

    /// Ends it as a crash would, without a checkpoint: the next start recovers. For tests, and for data not
    /// needed again.
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
            Some("it had ended before".to_owned())
        } else {
            self.send(self.signals().clean);
            if self.wait_until(over) {
                None
            } else {
                self.end_now();
                Some(format!("it was not done after {} s and was ended", begun.elapsed().as_secs()))
            }
        };
        self.data_dir.clear_record();
        let status = self.exit.map_or_else(|| "status unknown".to_owned(), |status| status.to_string());
        let clean = how.is_none() && self.exit.is_some_and(|status| status.success());
        if clean {
            return dbms::of(self.dbms).note_shut_down(&self.data_dir, &server_user()?);
        }
        Err(Error::UncleanStop {
            path: self.data_dir.path.clone(),
            how: how.map_or_else(|| status.clone(), |how| format!("{how} ({status})")),
            log: self.log.path.clone(),
            tail: self.log.tail(TAIL_LINES),
        })
    }

    fn signals(&self) -> dbms::Signals {
        dbms::of(self.dbms).signals()
    }

    /// The child has not been waited for, so its pid is still its own.
    fn send(&mut self, signal: Signal) {
        // A stopped process would not act on it.
        self.thaw();
        if self.alive() {
            // It can only fail when the process has just ended, which the next wait sees.
            let _sent = process::signal(self.child.id(), signal);
        }
    }

    /// Ends it at once, sessions and all, but keeps its place: for statements that would not end by
    /// themselves. The next start recovers.
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

    /// Waits for the end, at most so long.
    fn wait(&mut self, at_most: Duration) -> bool {
        let start = Instant::now();
        self.wait_until(|| start.elapsed() >= at_most)
    }

    /// Waits for the end until somebody has waited long enough.
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

/// A running server as seen by a thread that does not own it. It is of use while the [`Server`] lives.
#[derive(Debug, Clone)]
pub struct Onlooker {
    pid: u32,
    process: Identity,
    log: Log,
    data_dir: PathBuf,
}

impl Onlooker {
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The last lines of its log since this start.
    pub fn log_tail(&self, lines: usize) -> String {
        self.log.tail(lines)
    }

    /// Ends all its processes at once: some would answer their clients no sooner without the main one. The owner sees
    /// that it has died.
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

    /// Whether its main process lives.
    pub fn is_alive(&self) -> bool {
        self.process.alive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.alive() {
            // Nobody is there to be told.
            let _stopped = self.shut_down(IMPATIENT_CLEAN_MAX, &AtomicBool::new(true));
        } else {
            self.data_dir.clear_record();
        }
    }
}
