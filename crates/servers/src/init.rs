//! Making a data directory: beside its place, renamed when it is whole. What it is filled with is its DBMS's business.

use std::fs::{self, DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rqps_builds::{Build, ServerUser, held_dir};

use crate::config::Config;
use crate::data_dir::{DataDir, Marker, prepare_parent, write_marker};
use crate::error::{Error, Result};
use crate::launch::listen;
use crate::making::Making;
use crate::server::Server;
use crate::spec::{Applied, Listen, ServerSpec};
use crate::system::System;
use crate::systems;

/// What a data directory that this build makes with this config depends on: arms whose keys are equal can share one.
/// Whether a build really reads another's shows when it is started: builds from source may differ in what they write.
pub fn data_key(build: &Build, config: &Config) -> String {
    systems::of(build.dbms).data_key(build, config)
}

impl Server {
    /// Makes the data directory, with an empty database [`crate::DATABASE`] and superuser [`crate::USER`]. A directory
    /// made by rqps before is replaced; any other must be empty or absent.
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
        let made = init(spec, &data_dir, &user, &listen, interrupted);
        if made.is_err() {
            // The first error is the one to tell.
            let _cleaned = data_dir.remove().and_then(|()| data_dir.remove_lock());
        }
        made
    }
}

/// Makes the data directory of `spec`, which must not exist or be empty. It appears only when it is whole.
fn init(
    spec: &ServerSpec,
    data_dir: &DataDir,
    user: &ServerUser,
    listen: &Listen,
    interrupted: &AtomicBool,
) -> Result<Applied> {
    let staging = data_dir.staging();
    let staged = staging.join("data");
    let marker = Marker { dbms: spec.build.dbms, build: spec.build.label() };
    let password = random_password()?;
    create_dir(&staging, 0o755)?;
    write_marker(&staging, &marker, user)?;
    create_dir(&staged, 0o700)?;
    held_dir::give(&staged, user)?;
    let making =
        Making { spec, data_dir, user, listen, staging, staged, password: password.clone(), interrupted };
    let system = systems::of(spec.build.dbms);
    let applied = system.fill(&making).map_err(|error| with_hint(error, system))?;
    let Making { staging, staged, .. } = making;
    write_marker(&staged, &marker, user)?;
    data_dir.keep_password(&password)?;
    fs::rename(&staged, &data_dir.path)
        .map_err(Error::file("move the new data directory to", &data_dir.path))?;
    fs::remove_dir_all(&staging).map_err(Error::file("remove", &staging))?;
    Ok(applied)
}

/// A step that failed, with advice where its last words show a cause that is known.
fn with_hint(mut error: Error, system: &dyn System) -> Error {
    if let Error::Init { tail, hint, .. } = &mut error {
        *hint = system.hint(tail);
    }
    error
}

fn create_dir(path: &Path, mode: u32) -> Result<()> {
    DirBuilder::new().mode(mode).create(path).map_err(Error::file("create", path))
}

fn random_password() -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 24];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::file("read", source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
