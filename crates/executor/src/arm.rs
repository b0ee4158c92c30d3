//! An arm at work: its server, and what is needed to talk to it and to watch it.

use crate::error::{Error, Result};
use rqps_probe::{PerfCounters, ServerTarget};
use rqps_servers::{Applied, Build, Config, Server, ServerSpec};
use rqps_store::Setting;
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Host};
use std::time::{Duration, Instant};

/// Lines of the server's log that are shown when it died.
const LOG_TAIL_LINES: usize = 15;
/// How long a failing server may take to be dead or well again.
const DEATH_NOTICE: Duration = Duration::from_secs(5);

/// What an arm is made of, resolved once before the run begins.
#[derive(Debug, Clone)]
pub struct Ingredients {
    /// The program.
    pub build: Build,
    /// Its options.
    pub config: Config,
}

/// A running server of an arm.
pub(crate) struct ActiveArm {
    pub index: usize,
    pub name: String,
    pub server: Server,
    pub endpoint: Endpoint,
    pub target: ServerTarget,
    pub perf: PerfCounters,
    pub version_num: u32,
}

impl ActiveArm {
    /// Starts the server on a data directory that is ready, and attaches the counters before any client comes.
    pub fn start(index: usize, name: &str, spec: &ServerSpec) -> Result<Self> {
        let server = Server::start(spec)?;
        let postmaster_pid = server.pid();
        let perf = PerfCounters::attach(postmaster_pid);
        let endpoint = endpoint(&server);
        let mut arm = Self {
            index,
            name: name.to_owned(),
            server,
            endpoint,
            target: ServerTarget { postmaster_pid },
            perf,
            version_num: 0,
        };
        arm.version_num = arm.admin("asking the version")?.server_version_num();
        Ok(arm)
    }

    /// A session for administration.
    pub fn admin(&self, doing: &str) -> Result<Connection> {
        Connection::connect(&self.endpoint, "rqps admin").map_err(Error::session(&self.name, doing))
    }

    /// What ended the server, if something did. A session's failure is a hint: the server may still be in its death
    /// throes, or have restarted its sessions after one of them crashed.
    pub fn death(&mut self, failure: Option<String>) -> Option<String> {
        let failure = failure?;
        let deadline = Instant::now() + DEATH_NOTICE;
        while Instant::now() < deadline {
            if !self.server.alive() {
                return Some(failure);
            }
            if self.admin("looking whether the server lives").is_ok() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(failure)
    }

    /// The error for a server that ended by itself.
    pub fn died(&self, step: &str, cause: String) -> Error {
        Error::ServerDied {
            arm: self.name.clone(),
            step: step.to_owned(),
            cause,
            log: self.server.log_tail(LOG_TAIL_LINES),
        }
    }

    /// What the server says of itself.
    pub fn version_text(&self) -> Result<String> {
        let doing = "asking the version";
        let table = self
            .admin(doing)?
            .query("SELECT version()")
            .map_err(Error::session(&self.name, doing))?;
        Ok(table.value().unwrap_or_default().to_owned())
    }
}

/// How measured and administrative sessions reach a server: over TCP where it listens there.
pub fn endpoint(server: &Server) -> Endpoint {
    let at = server.endpoint();
    Endpoint {
        host: at
            .tcp
            .map_or_else(|| Host::Unix(at.socket_dir.clone()), Host::Tcp),
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
    version_text: Option<String>,
) -> rqps_store::Arm {
    let Ingredients { build, config } = ingredients;
    let left_out = applied.map_or(&[][..], |applied| &applied.left_out);
    let managed = applied.map_or(&[][..], |applied| &applied.added);
    let text = applied.map_or(&config.text, |applied| &applied.config_as_used);
    rqps_store::Arm {
        name: arm.name.clone(),
        role: if is_base {
            rqps_store::Role::Base
        } else {
            rqps_store::Role::Candidate
        },
        dbms: build.dbms.to_string(),
        build_version: build.version.clone(),
        build_hash: build.hash.clone(),
        build_origin: build.origin.clone(),
        build_version_text: version_text.unwrap_or_else(|| build.version_text.clone()),
        config_name: config.name.clone(),
        config_hash: config.hash.clone(),
        config_text: text.to_owned(),
        left_out: left_out
            .iter()
            .map(|left| rqps_store::LeftOut {
                option: left.option.clone(),
                value: left.value.clone(),
                reason: left.reason.clone(),
            })
            .collect(),
        managed: managed
            .iter()
            .map(|(name, value)| Setting {
                name: name.clone(),
                value: value.clone(),
            })
            .collect(),
    }
}
