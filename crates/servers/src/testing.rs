//! Temporary servers for tests: created, started, and removed on drop.

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

/// A running server in a temporary directory. Dereferences to [`Server`].
pub struct Scratch {
    // Dropped before its directory.
    server: Option<Server>,
    spec: ServerSpec,
    _dir: tempfile::TempDir,
}

impl Scratch {
    /// Installs (in the usual cache), creates and starts a Postgres of this version, such as `18` or `14.20`,
    /// with a small config, for 40 clients, on its Unix socket.
    pub fn start(version: &str) -> Result<Scratch> {
        Scratch::start_with(version, |_spec| {})
    }

    /// Like [`Scratch::start`], with changes to the spec.
    pub fn start_with(version: &str, change: impl FnOnce(&mut ServerSpec)) -> Result<Scratch> {
        Scratch::start_of(Dbms::Postgres, version, change)
    }

    /// Like [`Scratch::start_with`], for any DBMS: MySQL `5.7.22`, MariaDB `10.11`.
    pub fn start_of(dbms: Dbms, version: &str, change: impl FnOnce(&mut ServerSpec)) -> Result<Scratch> {
        let (dir, mut spec) = Scratch::prepare_of(dbms, version)?;
        change(&mut spec);
        Server::init(&spec)?;
        let server = Server::start(&spec)?;
        Ok(Scratch { server: Some(server), spec, _dir: dir })
    }

    /// Creates only the directory and the spec.
    pub fn prepare(version: &str) -> Result<(tempfile::TempDir, ServerSpec)> {
        Scratch::prepare_of(Dbms::Postgres, version)
    }

    /// Like [`Scratch::prepare`], for any DBMS.
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

    /// Stops the server cleanly and starts it on the same data.
    pub fn restart(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.stop()?;
        }
        self.server = Some(Server::start(&self.spec)?);
        Ok(())
    }
}

/// The endpoint of a server's Unix socket.
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

/// The newest cached build of a version or series; asks the network only if there is none.
fn cached_or_installed(dbms: Dbms, version: &str) -> Result<Build> {
    let dirs = Dirs::from_env();
    let series_prefix = format!("{version}.");
    let cached = list_builds(&dirs)?
        .into_iter()
        .filter(|build| build.dbms == dbms)
        .find(|build| build.version == version || build.version.starts_with(&series_prefix));
    Ok(cached.map_or_else(|| install(&dirs, dbms, version), Ok)?)
}

/// Config `sized` for a host with 512 MB.
fn small_config(dbms: Dbms) -> Result<Config> {
    let limits = HostLimits { memory_bytes: 512 << 20, disk_free_bytes: 20 << 30 };
    load_config_for(dbms, "", "sized", &limits)
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
            // The data is deleted anyway.
            server.stop_immediately();
        }
    }
}
