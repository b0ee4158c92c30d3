//! Making a data directory: initdb, the database for the work, and the config.
//!
//! Clusters are made with UTF8 and the C locale (no system locale differs between hosts), data checksums, password
//! authentication (scram-sha-256, md5 before 10) and without waiting for the disk.

use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use super::programs;
use super::settings::{Listen, Settings};
use crate::data_dir::{DataDir, Marker, write_marker, write_private};
use crate::error::{Error, Result};
use crate::guard::DeathSignal;
use crate::log::{Log, TAIL_LINES};
use crate::postgres::start::hint;
use crate::server::{DATABASE, USER};
use crate::spec::{Applied, ServerSpec};
use crate::user::ServerUser;

/// Makes the data directory of `spec`, which must not exist or be empty. It appears only when it is whole.
pub(crate) fn init(
    spec: &ServerSpec,
    data_dir: &DataDir,
    user: &ServerUser,
    listen: &Listen,
) -> Result<Applied> {
    let staging = data_dir.staging();
    let staged = staging.join("data");
    let marker = Marker { dbms: spec.build.dbms, build: spec.build.label(), password: random_password()? };
    create_dir(&staging, 0o755)?;
    write_marker(&staging, &marker, user)?;
    create_dir(&staged, 0o700)?;
    user.give(&staged)?;
    let password_path = staging.join("password");
    write_private(&password_path, format!("{}\n", marker.password).as_bytes(), user)?;
    let work = Work { spec, data_dir, user };
    work.initdb(&staged, &password_path)?;
    work.create_database(&staged)?;
    let settings = Settings { build: &spec.build, user, data_dir: &staged };
    settings.keep_stock()?;
    let applied = settings.apply(&spec.config, listen)?;
    write_marker(&staged, &marker, user)?;
    fs::rename(&staged, &data_dir.path)
        .map_err(Error::file("move the new data directory to", &data_dir.path))?;
    fs::remove_dir_all(&staging).map_err(Error::file("remove", &staging))?;
    Ok(applied)
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

struct Work<'a> {
    spec: &'a ServerSpec,
    data_dir: &'a DataDir,
    user: &'a ServerUser,
}

impl Work<'_> {
    fn initdb(&self, staged: &Path, password_path: &Path) -> Result<()> {
        let authentication = if self.spec.build.version_num() < 100_000 { "md5" } else { "scram-sha-256" };
        let (log, file) = self.log()?;
        let mut initdb = programs::program(&self.spec.build, "initdb", self.user, DeathSignal::Kill)?;
        initdb
            .command()
            .arg("-D")
            .arg(staged)
            .args(["-U", USER, "-A", authentication])
            .arg("--pwfile")
            .arg(password_path)
            .args(["--encoding=UTF8", "--no-locale", "--data-checksums", "-N"])
            .stdout(clone(&file, &log)?)
            .stderr(file);
        let mut child = initdb.spawn()?;
        let status = child.wait().map_err(Error::file("wait for", "initdb"))?;
        self.outcome("initdb", status, &log)
    }

    /// In single-user mode, which needs no client.
    fn create_database(&self, staged: &Path) -> Result<()> {
        let (log, file) = self.log()?;
        let mut postgres = programs::program(&self.spec.build, "postgres", self.user, DeathSignal::Kill)?;
        postgres
            .command()
            .args(["--single", "-F", "-D"])
            .arg(staged)
            .arg("postgres")
            .stdin(Stdio::piped())
            .stdout(clone(&file, &log)?)
            .stderr(file);
        let mut child = postgres.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A server that does not read has ended, which its status and log tell better.
            let _written = writeln!(stdin, "CREATE DATABASE {DATABASE}");
        }
        let status = child.wait().map_err(Error::file("wait for", "postgres --single"))?;
        self.outcome("create database", status, &log)?;
        let tail = log.tail(TAIL_LINES);
        if tail.contains("ERROR:") {
            return Err(self.failed("create database", status, tail));
        }
        Ok(())
    }

    fn log(&self) -> Result<(Log, File)> {
        Log::open(&self.spec.log_dir, &format!("{}.init", self.data_dir.name()))
    }

    fn outcome(&self, step: &'static str, status: ExitStatus, log: &Log) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        Err(self.failed(step, status, log.tail(TAIL_LINES)))
    }

    fn failed(&self, step: &'static str, status: ExitStatus, tail: String) -> Error {
        Error::Init {
            step,
            path: self.data_dir.path.clone(),
            status: status.to_string(),
            hint: hint(&tail),
            tail,
        }
    }
}

fn clone(file: &File, log: &Log) -> Result<File> {
    file.try_clone().map_err(Error::file("open", &log.path))
}
