//! Creates the contents of a data directory: initdb, the benchmark's database, and the config.
//!
//! Clusters have UTF8 and the C locale (system locales differ between hosts), data checksums, and password
//! authentication (scram-sha-256, md5 before 10). initdb does not wait for the disk.

use rqps_builds::guard::Guarded;
use rustix::process::Signal;

use super::settings::Settings;
use crate::error::Result;
use crate::log::TAIL_LINES;
use crate::new_data_dir::{NewDataDir, SECRET_INPUT, secret_input};
use crate::spec::{Applied, DATABASE, USER};

pub(crate) fn fill(new: &NewDataDir<'_>) -> Result<Applied> {
    let NewDataDir { spec, user, staged, .. } = new;
    initdb(new)?;
    create_database(new)?;
    let settings = Settings { build: &spec.build, user, data_dir: staged };
    settings.keep_stock()?;
    settings.apply(&spec.config, new.listen)
}

fn initdb(new: &NewDataDir<'_>) -> Result<()> {
    let NewDataDir { spec, user, staged, .. } = new;
    let authentication = if spec.build.version_num() < 100_000 { "md5" } else { "scram-sha-256" };
    let mut initdb = Guarded::new(&spec.build.bin_dir.join("initdb"), user, Signal::KILL)?;
    initdb
        .command()
        .arg("-D")
        .arg(staged)
        .args(["-U", USER, "-A", authentication])
        // Not a file, which code running as the server's user could read.
        .args(["--pwfile", SECRET_INPUT])
        .stdin(secret_input(&new.password, user)?)
        .args(["--encoding=UTF8", "--no-locale", "--data-checksums", "-N"]);
    new.run("initdb", initdb).map(|_log| ())
}

/// Uses single-user mode, which needs no client.
fn create_database(new: &NewDataDir<'_>) -> Result<()> {
    let NewDataDir { spec, user, staged, .. } = new;
    let mut postgres = Guarded::new(&spec.build.bin_dir.join("postgres"), user, Signal::KILL)?;
    postgres
        .command()
        .args(["--single", "-F", "-D"])
        .arg(staged)
        .arg("postgres")
        .stdin(secret_input(&format!("CREATE DATABASE {DATABASE}"), user)?);
    let tail = new.run("create database", postgres)?.tail(TAIL_LINES);
    if tail.contains("ERROR:") {
        return Err(new.failed("create database", "a statement failed", tail));
    }
    Ok(())
}
