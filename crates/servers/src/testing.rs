//! A throw-away server for tests: made, started, and removed when dropped.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;

use rqps_builds::{Build, Dirs, install, list_builds};
use rqps_model::Dbms;
use rqps_wire::{Endpoint, Host};

use crate::config::Config;
use crate::configs::load_config_for;
use crate::error::{Error, Result};
use crate::host::HostLimits;
use crate::server::Server;
use crate::spec::ServerSpec;

/// A running server in a temporary directory. It dereferences to its [`Server`].
pub struct Scratch {
    // Dropped before the directory it works in.
    server: Option<Server>,
    spec: ServerSpec,
    _dir: tempfile::TempDir,
}

impl Scratch {
    /// Installs (cached in the usual place), makes and starts a Postgres of this version, such as `18` or
    /// `14.20`, with a small config and room for 40 clients, on its Unix socket.
    pub fn start(version: &str) -> Result<Scratch> {
        Scratch::start_with(version, |_spec| {})
    }

    /// As [`Scratch::start`], with changes to what is run.
    pub fn start_with(version: &str, change: impl FnOnce(&mut ServerSpec)) -> Result<Scratch> {
        Scratch::start_of(Dbms::Postgres, version, change)
    }

    /// As [`Scratch::start_with`], of any DBMS: MySQL `5.7.22`, MariaDB `10.11`.
    pub fn start_of(dbms: Dbms, version: &str, change: impl FnOnce(&mut ServerSpec)) -> Result<Scratch> {
        let (dir, mut spec) = Scratch::prepare_of(dbms, version)?;
        change(&mut spec);
        Server::init(&spec)?;
        let server = Server::start(&spec)?;
        Ok(Scratch { server: Some(server), spec, _dir: dir })
    }

    /// Only the directory and what would be run in it.
    pub fn prepare(version: &str) -> Result<(tempfile::TempDir, ServerSpec)> {
        Scratch::prepare_of(Dbms::Postgres, version)
    }

    /// As [`Scratch::prepare`], of any DBMS.
    pub fn prepare_of(dbms: Dbms, version: &str) -> Result<(tempfile::TempDir, ServerSpec)> {
        let dir = tempfile::Builder::new()
            .prefix("rqps-scratch-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .map_err(Error::file("create a directory in", std::env::temp_dir()))?;
        let spec = ServerSpec {
            build: cached_or_installed(dbms, version)?,
            config: small_config(dbms)?,
            data_dir: dir.path().join("data"),
            log_dir: dir.path().join("logs"),
            clients_max: 40,
            tcp: false,
            env: BTreeMap::new(),
            cpus: None,
            instrument: None,
            memory_bytes_max: None,
        };
        Ok((dir, spec))
    }

    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Stops it cleanly and starts it again on the same data.
    pub fn restart(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.stop()?;
        }
        self.server = Some(Server::start(&self.spec)?);
        Ok(())
    }
}

/// How a session reaches a server over its Unix socket.
pub fn by_socket(server: &Server) -> Endpoint {
    let at = server.endpoint();
    Endpoint {
        host: Host::Unix(at.socket_dir.clone()),
        port: at.port,
        user: at.user.clone(),
        password: at.password.clone(),
        database: at.database.clone(),
    }
}

/// The newest cached build of a version or series, without asking the network when there is one.
fn cached_or_installed(dbms: Dbms, version: &str) -> Result<Build> {
    let dirs = Dirs::from_env();
    let of_series = format!("{version}.");
    let cached = list_builds(&dirs)?
        .into_iter()
        .filter(|build| build.dbms == dbms)
        .find(|build| build.version == version || build.version.starts_with(&of_series));
    Ok(cached.map_or_else(|| install(&dirs, dbms, version), Ok)?)
}

/// The options of `sized` for a host with 512 MB.
fn small_config(dbms: Dbms) -> Result<Config> {
    let limits = HostLimits { memory_bytes: 512 << 20, disk_free_bytes: 20 << 30 };
    load_config_for(dbms, "sized", &limits)
}

impl Deref for Scratch {
    type Target = Server;

    fn deref(&self) -> &Server {
        // Only `restart` takes it out, and puts it back or fails the test.
        self.server.as_ref().expect("the server did not restart")
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut Server {
        self.server.as_mut().expect("the server did not restart")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // The data goes away with it.
            server.stop_immediately();
        }
    }
}
