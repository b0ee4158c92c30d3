//! An arm at work: its server, and what is needed to talk to it and to watch it.

use crate::adapter::CLIENT_NAME;
use crate::adapter::{ADMIN_NAME, Adapter, Admin};
use crate::adapters::adapter;
use crate::error::{Death, Error, Result, tells_of_full_disk};
use crate::log::LOOK_THROUGH_LINES;
use crate::outside::Outside;
use rqps_builds::Build;
use rqps_model::{ServerSetting, Setting};
use rqps_probe::{PerfCounters, ServerTarget};
use rqps_servers::{Applied, Config, Server, ServerSpec};
use rqps_wire::{Endpoint, Host};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long it may take until the end of a server's main process shows, after its sessions have ended.
const DEATH_NOTICE: Duration = Duration::from_secs(2);
/// How often that is looked at.
const DEATH_POLL: Duration = Duration::from_millis(20);

/// What an arm is made of, resolved once before the run begins.
#[derive(Debug, Clone)]
pub struct Ingredients {
    pub build: Build,
    pub config: Config,
}

/// What an arm's server says of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Says {
    pub version_text: String,
    pub facts: Vec<Setting>,
    pub settings: Vec<ServerSetting>,
}

/// A running server of an arm.
pub(crate) struct ActiveArm {
    pub index: usize,
    pub name: String,
    /// How its DBMS is spoken to.
    pub adapter: &'static dyn Adapter,
    pub server: Server,
    pub endpoint: Endpoint,
    pub perf: PerfCounters,
    pub data_dir: PathBuf,
}

impl ActiveArm {
    /// Starts the server on a data directory that is ready, and attaches the counters before any client comes. Given up
    /// when the user wants to stop.
    pub fn start(index: usize, name: &str, spec: &ServerSpec, outside: &Outside<'_>) -> Result<Self> {
        let server = Server::start_unless(spec, outside.stop).map_err(not_started(name, &spec.data_dir))?;
        let perf = PerfCounters::attach(server.pid());
        let endpoint = endpoint(&server);
        let adapter = adapter(spec.build.dbms);
        let arm = Self {
            index,
            name: name.to_owned(),
            adapter,
            server,
            endpoint,
            perf,
            data_dir: spec.data_dir.clone(),
        };
        outside.serve(&arm);
        Ok(arm)
    }

    pub fn admin(&self, doing: &str) -> Result<Box<dyn Admin>> {
        self.adapter.connect(&self.endpoint, ADMIN_NAME).map_err(Error::session(&self.name, doing))
    }

    /// What a probe is to watch, at this moment.
    pub fn target(&self, admin: &mut dyn Admin) -> Result<ServerTarget> {
        Ok(ServerTarget { pid: self.server.pid(), work_in: admin.work_in()? })
    }

    /// Has the server write what finished work changed to where a killed server finds it again.
    pub fn make_durable(&self) -> Result<()> {
        let doing = "making a step's changes durable";
        self.admin(doing)?.make_durable().map_err(Error::session(&self.name, doing))
    }

    /// Has the server end what its measured sessions are doing.
    pub fn end_statements(&self) {
        self.adapter.end_statements(&self.endpoint, CLIENT_NAME);
    }

    /// What a failure in a step amounts to: a full disk, a dead server, or just what it says.
    pub fn judge(&mut self, step: &str, failure: Error) -> Error {
        let words = failure.to_string();
        if tells_of_full_disk(&words) && !failure.lost_server() {
            return self.disk_full(step, words);
        }
        let how = match failure.is_silence() && self.server.alive() {
            true => Some("it hangs: it does not answer a login".to_owned()),
            false => self.death(failure.lost_server()),
        };
        let Some(how) = how else {
            return failure.about(&self.name, step);
        };
        let log = self.adapter.telling_lines(&self.server.log_tail(LOOK_THROUGH_LINES));
        if tells_of_full_disk(&log) {
            return self.disk_full(step, log);
        }
        Error::ServerDied {
            arm: self.name.clone(),
            step: step.to_owned(),
            death: Box::new(Death { how, cause: words, log_path: self.server.log_path().to_owned(), log }),
        }
    }

    fn disk_full(&self, step: &str, words: String) -> Error {
        Error::DiskFull {
            arm: self.name.clone(),
            doing: step.to_owned(),
            place: self.data_dir.clone(),
            words,
        }
    }

    /// How the server died, if it did. A lost session is a sign of it: either all goes down, which may take a moment to
    /// be seen, or a process crashed and the server ends all others before it goes on, with its statistics gone.
    fn death(&mut self, lost_session: bool) -> Option<String> {
        let deadline = Instant::now() + DEATH_NOTICE;
        loop {
            if let Some(status) = self.server.exit_text() {
                return Some(format!("its main process ended ({status})"));
            }
            if !lost_session {
                return None;
            }
            if Instant::now() >= deadline {
                return Some(self.lost_session().to_owned());
            }
            std::thread::sleep(DEATH_POLL);
        }
    }

    /// What it means that a session is lost while the main process goes on.
    fn lost_session(&self) -> &'static str {
        match self.adapter.session_is_a_process() {
            true => "one of its processes crashed, or was ended from outside",
            false => "it dropped a session while its process went on",
        }
    }

    /// What the server says of itself.
    pub fn says(&self) -> Result<Says> {
        let doing = "asking the server what it is";
        let mut admin = self.admin(doing)?;
        let table = admin.query("SELECT version()").map_err(Error::session(&self.name, doing))?;
        let (facts, settings) = (admin.build_facts()?, admin.settings()?);
        Ok(Says {
            version_text: table.value().unwrap_or_default().to_owned(),
            facts: facts.into_iter().map(|(name, value)| Setting { name, value }).collect(),
            settings,
        })
    }
}

/// Wraps what kept a server from being made or started with whose it was.
pub(crate) fn not_started(arm: &str, data_dir: &Path) -> impl FnOnce(rqps_servers::Error) -> Error {
    move |source| match source {
        rqps_servers::Error::Interrupted { .. } => Error::Interrupted,
        source if tells_of_full_disk(&source.to_string()) => Error::DiskFull {
            arm: arm.to_owned(),
            doing: "starting its server".to_owned(),
            place: data_dir.to_owned(),
            words: source.to_string(),
        },
        source => Error::NotStarted { arm: arm.to_owned(), source: Box::new(source) },
    }
}

/// How measured and administrative sessions reach a server: over TCP where it listens there.
pub fn endpoint(server: &Server) -> Endpoint {
    let at = server.endpoint();
    Endpoint {
        host: at.tcp.map_or_else(|| Host::Unix(at.socket_dir.clone()), Host::Tcp),
        port: at.port,
        user: at.user.clone(),
        password: at.password.clone(),
        database: at.database.clone(),
    }
}

/// The arm's entry in the run folder.
pub(crate) fn record(
    arm: &rqps_plan::Arm,
    is_base: bool,
    ingredients: &Ingredients,
    applied: Option<&Applied>,
    says: Option<Says>,
) -> rqps_store::Arm {
    let is_known = says.is_some();
    let says = says.unwrap_or_default();
    let Ingredients { build, config } = ingredients;
    let fact = |(name, value): (&str, &str)| Setting { name: name.to_owned(), value: value.to_owned() };
    let family = build.family.facts().map(fact);
    let left_out = applied.map_or(&[][..], |applied| &applied.left_out);
    let managed = applied.map_or(&[][..], |applied| &applied.added);
    let text = applied.map_or(&config.text, |applied| &applied.config_as_used);
    rqps_store::Arm {
        name: arm.name.clone(),
        role: if is_base { rqps_store::Role::Base } else { rqps_store::Role::Candidate },
        dbms: build.dbms.to_string(),
        build_version: build.version.clone(),
        build_hash: build.hash.clone(),
        build_origin: build.origin.clone(),
        build_version_text: if is_known { says.version_text } else { build.version_text.clone() },
        config_name: config.name.clone(),
        config_hash: config.hash.clone(),
        config_text: text.to_owned(),
        left_out: left_out.to_vec(),
        managed: managed
            .iter()
            .map(|(name, value)| Setting { name: name.clone(), value: value.clone() })
            .collect(),
        control: arm.control,
        env: arm.env.clone(),
        after_load: arm.after_load.clone(),
        facts: says.facts.into_iter().chain(family).collect(),
        settings: says.settings,
    }
}
