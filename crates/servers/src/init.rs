//! Creates a data directory: fills a staging directory as the DBMS requires, and renames it when complete.

use std::fs::{self, DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rqps_builds::Build;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker, make_private_dir, prepare_parent, write_marker};
use crate::empty;
use crate::error::{Error, Result};
use crate::launch::listen;
use crate::leftover::remove_marker_last;
use crate::new_data_dir::NewDataDir;
use crate::server::Server;
use crate::spec::{Applied, ServerSpec};
use crate::system::{Start, System};
use crate::systems;

/// A key for the contents of a data directory: arms with equal keys can share one. Whether a build can read
/// another's files shows only at the start, because builds from source may differ in what they write.
pub fn data_key(build: &Build, config: &Config) -> String {
    systems::get(build.dbms).data_key(build, config)
}

impl Server {
    /// Creates the data directory with an empty database [`crate::DATABASE`] and superuser [`crate::USER`].
    /// Replaces a directory made by rqps; any other must be empty or absent.
    ///
    /// # Errors
    /// Fails also if the build rejects a value of the config.
    pub fn init(spec: &ServerSpec) -> Result<Applied> {
        Server::init_unless(spec, &AtomicBool::new(false))
    }

    /// Like [`Server::init`], but stops when `interrupted` becomes true (creating system tables may take a
    /// minute).
    pub fn init_unless(spec: &ServerSpec, interrupted: &AtomicBool) -> Result<Applied> {
        let data_dir = DataDir::at(&spec.data_dir)?;
        let user = prepare_parent(&data_dir)?;
        let _lock = data_dir.lock()?;
        data_dir.reap()?;
        data_dir.remove()?;
        let listen = listen(spec, data_dir.socket_dir())?;
        let start = Start { spec, data_dir: &data_dir, user: &user, listen: &listen };
        let created = create(&start, interrupted);
        if created.is_err() {
            // Report the first error.
            let _cleaned = data_dir.remove().and_then(|()| data_dir.remove_lock());
        }
        created
    }
}

/// Copies the kept empty cluster into the data directory, which must be absent, or creates one.
fn create(start: &Start<'_>, interrupted: &AtomicBool) -> Result<Applied> {
    let Start { spec, data_dir, user, .. } = *start;
    if empty::copy(spec, data_dir, user, interrupted)? {
        return systems::get(spec.build.dbms).apply(start);
    }
    let applied = init(start, interrupted)?;
    empty::keep(spec, data_dir, user);
    Ok(applied)
}

/// Creates the data directory, which must be absent. It appears only when complete.
fn init(start: &Start<'_>, interrupted: &AtomicBool) -> Result<Applied> {
    let Start { spec, data_dir, user, listen } = *start;
    let staging = data_dir.staging();
    let staged = staging.join("data");
    let marker = Marker { dbms: spec.build.dbms, build: spec.build.label() };
    let password = random_password()?;
    DirBuilder::new().mode(0o755).create(&staging).map_err(Error::file("create", &staging))?;
    write_marker(&staging, &marker, user)?;
    make_private_dir(&staged, user)?;
    let new =
        NewDataDir { spec, data_dir, user, listen, staging, staged, password: password.clone(), interrupted };
    let system = systems::get(spec.build.dbms);
    let applied = system.fill(&new).map_err(|error| with_cause(error, system, &spec.config))?;
    let NewDataDir { staging, staged, .. } = new;
    write_marker(&staged, &marker, user)?;
    data_dir.write_password(&password)?;
    fs::rename(&staged, &data_dir.path)
        .map_err(Error::file("move the new data directory to", &data_dir.path))?;
    remove_marker_last(&staging)?;
    Ok(applied)
}

/// Adds to a failed step what its output shows of the cause.
fn with_cause(mut error: Error, system: &dyn System, config: &Config) -> Error {
    if let Error::Init { tail, why, .. } = &mut error {
        **why = system.why(config, tail);
    }
    error
}

fn random_password() -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 24];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::file("read", source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
