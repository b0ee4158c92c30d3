//! Starts a server and waits until it accepts sessions.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rqps_builds::guard::Guarded;
use rqps_builds::{ServerUser, server_user};
use rqps_model::Dbms;

use crate::data_dir::DataDir;
use crate::environment;
use crate::error::{Error, Result};
use crate::log::{Log, TAIL_LINES};
use crate::memory::MemoryGroup;
use crate::postgres::shared_memory::Control;
use crate::process;
use crate::server::Server;
use crate::spec::{DATABASE, Listen, ServerEndpoint, ServerSpec, USER};
use crate::system::{START_MAX, Start, System};
use crate::systems;

/// Time limit of a start without progress (log growth or CPU time).
const IDLE_MAX: Duration = Duration::from_secs(60);

/// Maximum number of attempts after transient failures.
const STARTS_MAX: u32 = 10;

impl Server {
    /// Starts a server on a data directory created by [`Server::init`], and waits until it accepts sessions.
    /// Applies the config again, so it may differ from the one at init.
    pub fn start(spec: &ServerSpec) -> Result<Server> {
        Server::start_unless(spec, &AtomicBool::new(false))
    }

    /// Like [`Server::start`], but stops when `interrupted` becomes true (crash recovery may take minutes).
    pub fn start_unless(spec: &ServerSpec, interrupted: &AtomicBool) -> Result<Server> {
        let data_dir = DataDir::at(&spec.data_dir)?;
        let user = server_user()?;
        let Some(marker) = data_dir.marker() else {
            return Err(if data_dir.path.exists() {
                Error::NotOurs { path: data_dir.path }
            } else {
                Error::BadDataDir {
                    path: data_dir.path,
                    reason: "it does not exist: run init first".to_owned(),
                }
            });
        };
        let lock = data_dir.lock()?;
        data_dir.reap()?;
        if marker.dbms != spec.build.dbms {
            return Err(Error::BadDataDir {
                path: data_dir.path,
                reason: format!(
                    "it was created by {}, but the build is {}: use a build of the same DBMS, or create it again",
                    marker.build,
                    spec.build.label()
                ),
            });
        }
        let system = systems::get(spec.build.dbms);
        system.check_data_dir(&data_dir, &spec.build, &marker)?;
        let password = data_dir.password()?;
        let launch =
            Launch { spec, data_dir: &data_dir, user: &user, password: &password, lock: &lock, interrupted };
        let mut attempts = 1;
        loop {
            match launch.attempt() {
                Err(Error::Died { tail, .. }) if attempts < STARTS_MAX && system.is_transient(&tail) => {
                    attempts += 1;
                    thread::sleep(Duration::from_millis(500));
                }
                other => return other,
            }
        }
    }
}

/// The addresses of a server to be started.
pub(crate) fn listen(spec: &ServerSpec, socket_dir: PathBuf) -> Result<Listen> {
    Ok(Listen {
        socket_dir,
        port: if spec.tcp { free_port()? } else { systems::get(spec.build.dbms).socket_port() },
        tcp: spec.tcp,
        clients_max: spec.clients_max,
    })
}

/// Finds a free port; the start is retried if another program takes it first.
fn free_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::file("find a free port on", "127.0.0.1"))
}

struct Launch<'a> {
    spec: &'a ServerSpec,
    data_dir: &'a DataDir,
    user: &'a ServerUser,
    password: &'a str,
    lock: &'a File,
    /// Set by another thread to cancel.
    interrupted: &'a AtomicBool,
}

impl Launch<'_> {
    /// Starts the server and waits until it is ready. After a failed attempt no process is left.
    fn attempt(&self) -> Result<Server> {
        let Launch { spec, data_dir, user, .. } = *self;
        let listen = listen(spec, data_dir.create_socket_dir(user)?)?;
        let command = self.system().command(&Start { spec, data_dir, user, listen: &listen })?;
        let (log, file) = Log::open(&spec.log_dir, &data_dir.name())?;
        let stdout = file.try_clone().map_err(Error::file("open", &log.path))?;
        let lock = self.lock.try_clone().map_err(Error::file("lock", &data_dir.path))?;
        let mut guarded = self.guarded(&command.program)?;
        guarded.command().args(&command.arguments).stdout(stdout).stderr(file);
        let limit = spec.memory_bytes_max;
        let group = limit.map(|bytes| MemoryGroup::create(&data_dir.path, bytes)).transpose()?;
        let mut server = Server {
            dbms: spec.build.dbms,
            program: command.program,
            data_dir: data_dir.clone(),
            child: guarded.spawn()?,
            exit: None,
            frozen: false,
            endpoint: ServerEndpoint {
                socket_dir: listen.socket_dir,
                tcp: listen.tcp.then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                port: listen.port,
                user: USER.to_owned(),
                password: self.password.to_owned(),
                database: DATABASE.to_owned(),
            },
            applied: command.applied,
            log,
            shared_memory: None,
            _lock: lock,
        };
        if let Some(group) = &group {
            group.join(server.pid())?;
        }
        self.wait_until_ready(&mut server)?;
        if let Some(group) = &group {
            // Children that it forked before it joined the group.
            process::family(server.pid()).iter().try_for_each(|member| group.join(member.pid))?;
        }
        // With an instrument, the executable is the instrument's.
        if let Some(program) = process::exe_of(server.pid()) {
            server.program = program;
        }
        if spec.build.dbms == Dbms::Postgres {
            server.shared_memory = Control::of(server.pid());
        }
        environment::check_loaded(&spec.env, server.pid(), &server.log.tail(usize::MAX))?;
        data_dir.write_record(server.pid())?;
        Ok(server)
    }

    fn system(&self) -> &'static dyn System {
        systems::get(self.spec.build.dbms)
    }

    /// The command: environment variables, instrument, program.
    fn guarded(&self, program: &Path) -> Result<Guarded> {
        let Launch { spec, user, .. } = *self;
        environment::check(&spec.env, user)?;
        let mut words = environment::command(&spec.env);
        if let Some(instrument) = &spec.instrument {
            instrument.prepare(user)?;
            words.extend(instrument.command()?);
        }
        words.push(program.as_os_str().to_owned());
        let mut guarded = Guarded::new(Path::new(&words[0]), user, self.system().signals().death)?;
        guarded.command().args(&words[1..]);
        guarded.place(spec.cpus.as_ref());
        Ok(guarded)
    }

    /// A hint for a killed server with a memory limit.
    fn memory_limit_hint(&self, status: &str) -> Option<String> {
        let limit = self.spec.memory_bytes_max.filter(|_| status.contains("SIGKILL"))?;
        Some(format!(
            "\nperhaps its memory limit, {} MiB, is too small for this config: raise the limit, or use smaller buffers",
            limit >> 20
        ))
    }

    fn wait_until_ready(&self, server: &mut Server) -> Result<()> {
        let path = &self.data_dir.path;
        let system = self.system();
        let socket = server.endpoint.socket_dir.join(system.socket_name(server.endpoint.port));
        let mut progress = Progress::new();
        while !system.is_ready(path, &self.spec.build, server.pid(), &socket) {
            if !server.alive() {
                let tail = server.log.tail(TAIL_LINES);
                let status = server.exit_text().unwrap_or_default();
                let mut why = system.why(&self.spec.config, &tail);
                why.hint = self.memory_limit_hint(&status).unwrap_or(why.hint);
                return Err(Error::Died {
                    path: path.clone(),
                    log: server.log.path.clone(),
                    status,
                    tail,
                    why: Box::new(why),
                });
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Error::Interrupted { path: path.clone() });
            }
            if progress.check_due() {
                // During a long start, lets a later rqps find the process if this one crashes.
                self.data_dir.write_record(server.pid())?;
                progress.check(server);
            }
            if progress.idle() > IDLE_MAX || progress.waited() > START_MAX {
                return Err(Error::NotReady {
                    path: path.clone(),
                    waited_s: progress.waited().as_secs(),
                    idle_s: progress.idle().as_secs(),
                    log: server.log.path.clone(),
                    tail: server.log.tail(TAIL_LINES),
                });
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

/// Checks once a second whether a starting server makes progress.
struct Progress {
    start: Instant,
    checked: Instant,
    progressed: Instant,
    /// Log size in bytes and CPU time in ticks.
    seen: (u64, u64),
}

impl Progress {
    fn new() -> Progress {
        let now = Instant::now();
        Progress { start: now, checked: now, progressed: now, seen: (0, 0) }
    }

    fn check_due(&self) -> bool {
        self.checked.elapsed() >= Duration::from_secs(1)
    }

    fn check(&mut self, server: &Server) {
        self.checked = Instant::now();
        let seen = (server.log.len_bytes(), process::family_cpu_ticks(server.pid()));
        if seen != self.seen {
            (self.seen, self.progressed) = (seen, self.checked);
        }
    }

    fn waited(&self) -> Duration {
        self.start.elapsed()
    }

    fn idle(&self) -> Duration {
        self.progressed.elapsed()
    }
}
