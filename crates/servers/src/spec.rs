//! The specification of a server, and how to reach it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use rqps_builds::{Build, CpuSet};
use rqps_model::LeftOut;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::instrument::Instrument;

/// The superuser of every server.
pub const USER: &str = "rqps";

/// The database made for the work.
pub const DATABASE: &str = "bench";

/// A server to run.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    pub build: Build,
    pub config: Config,
    /// The directory of its data; files of the same name with a suffix are kept beside it.
    pub data_dir: PathBuf,
    /// Where its log goes: `<log_dir>/<name of data_dir>.log`, appended to.
    pub log_dir: PathBuf,
    /// How many clients will connect at the same time; probes are allowed for.
    pub clients_max: u32,
    /// Also listen on a free TCP port of the loopback interface.
    pub tcp: bool,
    /// Variables in the environment of the server program alone, such as `LD_PRELOAD`.
    pub env: BTreeMap<String, String>,
    /// Where all its processes run; none for wherever the kernel puts them. See [`crate::Server::place_sessions`].
    pub cpus: Option<CpuSet>,
    pub instrument: Option<Instrument>,
    /// The most memory that all its processes together may have, the page cache of what they read and write included;
    /// none for what the host has. A host that does not let it be limited refuses the start.
    pub memory_bytes_max: Option<u64>,
}

/// Where one server listens, and for how many.
#[derive(Debug, Clone)]
pub(crate) struct Listen {
    pub socket_dir: PathBuf,
    pub port: u16,
    pub tcp: bool,
    pub clients_max: u32,
}

/// How a config became the options of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Options of the config that were left out.
    pub left_out: Vec<LeftOut>,
    /// Options that rqps set itself, with their values.
    pub added: Vec<(String, String)>,
    /// The text of the server's own file.
    pub config_as_used: String,
}

#[derive(Clone, PartialEq, Eq)]
pub struct ServerEndpoint {
    pub socket_dir: PathBuf,
    /// Its address, when it listens on TCP.
    pub tcp: Option<IpAddr>,
    /// The port, on TCP and in the socket's name.
    pub port: u16,
    pub user: String,
    pub password: String,
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
