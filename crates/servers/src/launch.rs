//! One attempt to start a server, and waiting until it accepts sessions.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::data_dir::DataDir;
use crate::dbms::{self, Start, System};
use crate::environment;
use crate::error::{Error, Result};
use crate::guard::Guarded;
use crate::log::{Log, TAIL_LINES};
use crate::memory::MemoryGroup;
use crate::process;
use crate::server::{DATABASE, Server, USER};
use crate::spec::{ServerEndpoint, ServerSpec};
use crate::user::ServerUser;

/// A start is given up after this long without a sign of progress (a longer log, CPU time used).
const IDLE_MAX: Duration = Duration::from_secs(60);

/// A start is given up after this long in any case: recovery of some 100 GB of WAL fits in.
pub(crate) const START_MAX: Duration = Duration::from_secs(2 * 3600);

/// Where one server listens, and for how many.
#[derive(Debug, Clone)]
pub(crate) struct Listen {
    pub socket_dir: PathBuf,
    pub port: u16,
    pub tcp: bool,
    pub clients_max: u32,
}

/// Where a server will listen.
pub(crate) fn listen(spec: &ServerSpec, socket_dir: PathBuf) -> Result<Listen> {
    Ok(Listen {
        socket_dir,
        port: if spec.tcp { free_port()? } else { dbms::of(spec.build.dbms).socket_port() },
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

/// What a start works with.
pub(crate) struct Launch<'a> {
    pub spec: &'a ServerSpec,
    pub data_dir: &'a DataDir,
    pub user: &'a ServerUser,
    pub password: &'a str,
    pub lock: &'a File,
    /// Set by somebody else when the start is to be given up.
    pub interrupted: &'a AtomicBool,
}

impl Launch<'_> {
    /// Starts it and waits until it is ready. The server of a failed attempt is gone when this returns.
    pub fn once(&self) -> Result<Server> {
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
            _lock: lock,
        };
        if let Some(group) = &group {
            group.join(server.pid())?;
        }
        self.wait_until_ready(&mut server)?;
        if let Some(group) = &group {
            // It may have started one or the other before it was in the group itself.
            process::family(server.pid()).iter().try_for_each(|member| group.join(member.pid))?;
        }
        // Under an instrument it is that which runs.
        if let Some(program) = process::exe_of(server.pid()) {
            server.program = program;
        }
        environment::check_loaded(&spec.env, server.pid(), &server.log.tail(usize::MAX))?;
        data_dir.write_record(server.pid(), &server.endpoint.socket_dir)?;
        Ok(server)
    }

    fn system(&self) -> &'static dyn System {
        dbms::of(self.spec.build.dbms)
    }

    /// The program, after what sets its environment and what it is run under.
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

    /// What may have killed a server whose memory is limited.
    fn hint_of_limit(&self, status: &str) -> Option<String> {
        let limit = self.spec.memory_bytes_max.filter(|_| status.contains("SIGKILL"))?;
        Some(format!(
            "\nperhaps its limit of memory, {} MiB, is too small for this config: raise it, or give the server smaller \
             buffers",
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
                return Err(Error::Died {
                    path: path.clone(),
                    log: server.log.path.clone(),
                    hint: self.hint_of_limit(&status).unwrap_or_else(|| system.hint(&tail)),
                    status,
                    tail,
                });
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Error::Interrupted { path: path.clone() });
            }
            if progress.look_due() {
                // A start this long: let a later rqps find the process should this one crash.
                self.data_dir.write_record(server.pid(), &server.endpoint.socket_dir)?;
                progress.look(server);
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

/// Whether a starting server still gets somewhere, looked at once a second.
struct Progress {
    start: Instant,
    looked: Instant,
    progressed: Instant,
    /// Bytes of log, ticks of CPU.
    seen: (u64, u64),
}

impl Progress {
    fn new() -> Progress {
        let now = Instant::now();
        Progress { start: now, looked: now, progressed: now, seen: (0, 0) }
    }

    fn look_due(&self) -> bool {
        self.looked.elapsed() >= Duration::from_secs(1)
    }

    fn look(&mut self, server: &Server) {
        self.looked = Instant::now();
        let seen = (server.log.len_bytes(), process::family_cpu_ticks(server.pid()));
        if seen != self.seen {
            (self.seen, self.progressed) = (seen, self.looked);
        }
    }

    fn waited(&self) -> Duration {
        self.start.elapsed()
    }

    fn idle(&self) -> Duration {
        self.progressed.elapsed()
    }
}
