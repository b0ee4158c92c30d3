//! A server's life: made, started, watched, stopped.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rqps_plan::Dbms;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::build::Build;
use crate::config::Config;
use crate::data_dir::{self, DataDir, prepare_parent};
use crate::error::{Error, Result};
use crate::guard::DeathSignal;
use crate::log::{Log, TAIL_LINES};
use crate::postgres;
use crate::postgres::settings::{Listen, Settings};
use crate::process;
use crate::user::{ServerUser, server_user};

/// The superuser of every server.
pub const USER: &str = "rqps";

/// The database made for the work.
pub const DATABASE: &str = "bench";

/// The port of servers that listen on their Unix socket alone: each has a directory of its own.
const SOCKET_PORT: u16 = 5432;

/// A start is given up after this long without a sign of progress (a longer log, CPU time used).
const IDLE_MAX: Duration = Duration::from_secs(60);

/// A start is given up after this long in any case: recovery of some 100 GB of WAL fits in.
const START_MAX: Duration = Duration::from_secs(2 * 3600);

/// How often a start is tried when its cause of failure may pass.
const STARTS_MAX: u32 = 10;

/// What is to be run, and where.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// The program.
    pub build: Build,
    /// Its options.
    pub config: Config,
    /// The directory of its data; files of the same name with a suffix are kept beside it.
    pub data_dir: PathBuf,
    /// Where its log goes: `<log_dir>/<name of data_dir>.log`, appended to.
    pub log_dir: PathBuf,
    /// How many clients will connect at the same time; probes are allowed for.
    pub clients_max: u32,
    /// Also listen on a free TCP port of the loopback interface.
    pub tcp: bool,
}

/// An option of the config that the server does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub option: String,
    /// The value in the config.
    pub value: String,
    /// Why it was left out, as a phrase.
    pub reason: String,
}

/// How a config became the options of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Options of the config that were left out.
    pub left_out: Vec<LeftOut>,
    /// Options that rqps set itself, with their values.
    pub added: Vec<(String, String)>,
    /// The whole `postgresql.conf`.
    pub config_as_used: String,
}

/// How to reach a server.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerEndpoint {
    /// The directory of its Unix socket.
    pub socket_dir: PathBuf,
    /// Its address, when it listens on TCP.
    pub tcp: Option<IpAddr>,
    /// The port, on TCP and in the socket's name.
    pub port: u16,
    /// The superuser.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The database for the work.
    pub database: String,
}

/// Without the password.
impl std::fmt::Debug for ServerEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerEndpoint")
            .field("socket_dir", &self.socket_dir)
            .field("tcp", &self.tcp)
            .field("port", &self.port)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// A running server. Dropping it stops it, with less patience than [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    build: Build,
    data_dir: DataDir,
    child: Child,
    exit: Option<ExitStatus>,
    endpoint: ServerEndpoint,
    applied: Applied,
    log: Log,
    _lock: File,
}

impl Server {
    /// Makes the data directory, with an empty database [`DATABASE`] and superuser [`USER`]. A directory made by rqps
    /// before is replaced; any other must be empty or absent.
    ///
    /// # Errors
    /// Besides failures, a config with a value that the build refuses.
    pub fn init(spec: &ServerSpec) -> Result<Applied> {
        let data_dir = DataDir::at(&spec.data_dir)?;
        let user = prepare_parent(&data_dir)?;
        let _lock = data_dir.lock()?;
        data_dir.reap()?;
        match spec.build.dbms {
            Dbms::Postgres => postgres::start::check_not_in_use(&data_dir)?,
        }
        data_dir.remove()?;
        let listen = listen(spec, data_dir.socket_dir())?;
        let made = match spec.build.dbms {
            Dbms::Postgres => postgres::init::init(spec, &data_dir, &user, &listen),
        };
        if made.is_err() {
            // The first error is the one to tell.
            let _cleaned = data_dir.remove();
        }
        made
    }

    /// Starts a server on a data directory that [`Server::init`] made, and waits until it accepts sessions. The config is
    /// applied anew, so it may be another than at init.
    pub fn start(spec: &ServerSpec) -> Result<Server> {
        Server::start_unless(spec, &AtomicBool::new(false))
    }

    /// As [`Server::start`], given up when `interrupted` becomes true (crash recovery may take minutes).
    pub fn start_unless(spec: &ServerSpec, interrupted: &AtomicBool) -> Result<Server> {
        let data_dir = DataDir::at(&spec.data_dir)?;
        let user = server_user()?;
        let Some(marker) = data_dir.marker() else {
            return Err(if data_dir.path.exists() {
                Error::NotOurs {
                    path: data_dir.path,
                }
            } else {
                Error::BadDataDir {
                    path: data_dir.path,
                    reason: "it does not exist: init comes first".to_owned(),
                }
            });
        };
        let mut lock = Some(data_dir.lock()?);
        data_dir.reap()?;
        match spec.build.dbms {
            Dbms::Postgres => postgres::start::check_data_dir(&data_dir, &spec.build)?,
        }
        let mut attempt = 1;
        loop {
            let outcome = launch(
                spec,
                &data_dir,
                &user,
                &marker.password,
                &mut lock,
                interrupted,
            );
            match outcome {
                Err(Error::Died { tail, .. })
                    if attempt < STARTS_MAX && postgres::start::may_retry(&tail) =>
                {
                    attempt += 1;
                    lock = Some(data_dir.lock()?);
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

    /// How to reach it.
    pub fn endpoint(&self) -> &ServerEndpoint {
        &self.endpoint
    }

    /// The options it runs with.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Its log file.
    pub fn log_path(&self) -> &Path {
        &self.log.path
    }

    /// The last lines of its log since this start.
    pub fn log_tail(&self, lines: usize) -> String {
        self.log.tail(lines)
    }

    /// Whether its main process lives. When it has died by itself, what is left of its processes is ended too.
    pub fn alive(&mut self) -> bool {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.exit = Some(status);
            data_dir::end_stragglers(&self.data_dir.path, &self.build.bin_dir.join("postgres"));
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

    /// Shuts it down: sessions are ended, a checkpoint is written, all processes are gone when this returns.
    ///
    /// # Errors
    /// When it had ended by itself before, or had to be ended without a checkpoint after ten minutes. It is gone then too.
    pub fn stop(mut self) -> Result<()> {
        self.shut_down(Duration::from_secs(600), Duration::from_secs(30))
    }

    /// Ends it as a crash would, without a checkpoint: the next start recovers. For tests, and for data not needed again.
    pub fn stop_immediately(mut self) {
        if self.alive() {
            self.send(Signal::QUIT);
            if !self.wait(Duration::from_secs(30)) {
                self.kill();
            }
        }
        self.data_dir.clear_record();
    }

    fn shut_down(&mut self, clean_max: Duration, quick_max: Duration) -> Result<()> {
        let how = if !self.alive() {
            Some("it had ended before".to_owned())
        } else {
            self.send(Signal::INT);
            if self.wait(clean_max) {
                None
            } else {
                self.send(Signal::QUIT);
                if self.wait(quick_max) {
                    Some(format!(
                        "it was not done after {} s and got SIGQUIT",
                        clean_max.as_secs()
                    ))
                } else {
                    self.kill();
                    Some("it ignored SIGINT and SIGQUIT and was killed".to_owned())
                }
            }
        };
        self.data_dir.clear_record();
        let status = self
            .exit
            .map_or_else(|| "status unknown".to_owned(), |status| status.to_string());
        let clean = how.is_none() && self.exit.is_some_and(|status| status.success());
        if clean {
            return Ok(());
        }
        Err(Error::UncleanStop {
            path: self.data_dir.path.clone(),
            how: how.map_or_else(|| status.clone(), |how| format!("{how} ({status})")),
            log: self.log.path.clone(),
            tail: self.log.tail(TAIL_LINES),
        })
    }

    /// The child has not been waited for, so its pid is still its own.
    fn send(&mut self, signal: Signal) {
        if self.alive() {
            // It can only fail when the process has just ended, which the next wait sees.
            let _sent = process::signal(self.child.id(), signal);
        }
    }

    /// Ends it at once, sessions and all, but keeps its place: for statements that would not end by themselves. The next
    /// start recovers.
    pub fn end_now(&mut self) {
        self.send(Signal::QUIT);
        if !self.wait(Duration::from_secs(10)) {
            self.kill();
        }
    }

    fn kill(&mut self) {
        self.send(Signal::KILL);
        self.wait(Duration::from_secs(30));
    }

    /// Waits for the end, at most so long.
    fn wait(&mut self, at_most: Duration) -> bool {
        let start = Instant::now();
        while self.alive() {
            if start.elapsed() >= at_most {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.alive() {
            // Nobody is there to be told.
            let _stopped = self.shut_down(Duration::from_secs(30), Duration::from_secs(10));
        } else {
            self.data_dir.clear_record();
        }
    }
}

/// Where a server will listen.
fn listen(spec: &ServerSpec, socket_dir: PathBuf) -> Result<Listen> {
    Ok(Listen {
        socket_dir,
        port: if spec.tcp { free_port()? } else { SOCKET_PORT },
        tcp: spec.tcp,
        clients_max: spec.clients_max,
    })
}

/// A port that is free now; the start is repeated when it is taken before the server has it.
fn free_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::file("find a free port on", "127.0.0.1"))
}

/// One attempt to start. Takes the lock into the server.
fn launch(
    spec: &ServerSpec,
    data_dir: &DataDir,
    user: &ServerUser,
    password: &str,
    lock: &mut Option<File>,
    interrupted: &AtomicBool,
) -> Result<Server> {
    let socket_dir = data_dir.create_socket_dir(user)?;
    let listen = listen(spec, socket_dir)?;
    let settings = Settings {
        build: &spec.build,
        user,
        data_dir: &data_dir.path,
    };
    let applied = settings.apply(&spec.config, &listen)?;
    let (log, file) = Log::open(&spec.log_dir, &data_dir.name())?;
    let held = match lock.take() {
        Some(held) => held,
        None => data_dir.lock()?,
    };
    let mut guarded =
        postgres::programs::program(&spec.build, "postgres", user, DeathSignal::Quit)?;
    let stdout = file.try_clone().map_err(Error::file("open", &log.path))?;
    guarded
        .command()
        .arg("-D")
        .arg(&data_dir.path)
        .stdout(stdout)
        .stderr(file);
    let child = guarded.spawn()?;
    let mut server = Server {
        build: spec.build.clone(),
        data_dir: data_dir.clone(),
        child,
        exit: None,
        endpoint: ServerEndpoint {
            socket_dir: listen.socket_dir,
            tcp: listen.tcp.then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port: listen.port,
            user: USER.to_owned(),
            password: password.to_owned(),
            database: DATABASE.to_owned(),
        },
        applied,
        log,
        _lock: held,
    };
    wait_until_ready(&mut server, interrupted)?;
    data_dir.write_record(server.pid(), &server.endpoint.socket_dir)?;
    Ok(server)
}

fn wait_until_ready(server: &mut Server, interrupted: &AtomicBool) -> Result<()> {
    let path = server.data_dir.path.clone();
    let socket = server
        .endpoint
        .socket_dir
        .join(format!(".s.PGSQL.{}", server.endpoint.port));
    let start = Instant::now();
    let mut progress = (0, 0);
    let (mut progressed, mut looked) = (start, start);
    let mut recorded = false;
    while !postgres::start::is_ready(&path, server.pid(), &server.build, &socket) {
        if !server.alive() {
            let tail = server.log.tail(TAIL_LINES);
            return Err(Error::Died {
                status: server.exit_text().unwrap_or_default(),
                log: server.log.path.clone(),
                hint: postgres::start::hint(&tail),
                tail,
                path,
            });
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted { path });
        }
        let now = Instant::now();
        if now - looked >= Duration::from_secs(1) {
            looked = now;
            if !recorded {
                // A long start: let a crash of ours find the process.
                server
                    .data_dir
                    .write_record(server.pid(), &server.endpoint.socket_dir)?;
                recorded = true;
            }
            let seen = (
                server.log.len_bytes(),
                process::family_cpu_ticks(server.pid()),
            );
            if seen != progress {
                (progress, progressed) = (seen, now);
            }
        }
        let (waited, idle) = (now - start, now - progressed);
        if idle > IDLE_MAX || waited > START_MAX {
            return Err(Error::NotReady {
                waited_s: waited.as_secs(),
                idle_s: idle.as_secs(),
                log: server.log.path.clone(),
                tail: server.log.tail(TAIL_LINES),
                path,
            });
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
