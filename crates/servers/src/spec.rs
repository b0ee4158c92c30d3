//! A server's specification, and its addresses.

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

/// The benchmark's database.
pub const DATABASE: &str = "bench";

/// A server to run.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    pub build: Build,
    pub config: Config,
    /// The data directory; rqps keeps files next to it, named like it with a suffix.
    pub data_dir: PathBuf,
    /// Its log is `<log_dir>/<name of data_dir>.log`, which is appended to.
    pub log_dir: PathBuf,
    /// Maximum number of concurrent clients; rqps adds connections for probes.
    pub clients_max: u32,
    /// Whether to listen on a free TCP port of the loopback interface, too.
    pub tcp: bool,
    /// Environment variables of the server program alone, such as `LD_PRELOAD`.
    pub env: BTreeMap<String, String>,
    /// CPUs of all its processes; None for no restriction. See [`crate::Server::pin_sessions`].
    pub cpus: Option<CpuSet>,
    pub instrument: Option<Instrument>,
    /// Memory limit in bytes for all its processes together, including the page cache of their I/O; None for
    /// no limit. If the host cannot limit memory, the start fails.
    pub memory_bytes_max: Option<u64>,
}

/// A server's addresses and number of clients.
#[derive(Debug, Clone)]
pub(crate) struct Listen {
    pub socket_dir: PathBuf,
    pub port: u16,
    pub tcp: bool,
    pub clients_max: u32,
}

/// How a config was applied to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Options of the config that were left out.
    pub left_out: Vec<LeftOut>,
    /// Options that rqps set itself, with their values.
    pub added: Vec<(String, String)>,
    /// The text of the server's configuration file.
    pub config_as_used: String,
}

#[derive(Clone, PartialEq, Eq)]
pub struct ServerEndpoint {
    pub socket_dir: PathBuf,
    /// The IP address, if it listens on TCP.
    pub tcp: Option<IpAddr>,
    /// The port, for TCP and in the socket's name.
    pub port: u16,
    pub user: String,
    pub password: String,
    pub database: String,
}

/// Omits the password.
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
