//! Making a data directory: initdb, the database for the work, and the config.
//!
//! Clusters are made with UTF8 and the C locale (no system locale differs between hosts), data checksums, password
//! authentication (scram-sha-256, md5 before 10) and without waiting for the disk.

use rqps_builds::guard::{DeathSignal, Guarded};

use super::settings::Settings;
use crate::error::Result;
use crate::log::TAIL_LINES;
use crate::making::{Making, PASSED, passed};
use crate::spec::{Applied, DATABASE, USER};

pub(crate) fn fill(making: &Making<'_>) -> Result<Applied> {
    let Making { spec, user, staged, .. } = making;
    let work = Work { making };
    work.initdb()?;
    work.create_database()?;
    let settings = Settings { build: &spec.build, user, data_dir: staged };
    settings.keep_stock()?;
    settings.apply(&spec.config, making.listen)
}

struct Work<'a> {
    making: &'a Making<'a>,
}

impl Work<'_> {
    fn initdb(&self) -> Result<()> {
        let Making { spec, user, staged, .. } = self.making;
        let authentication = if spec.build.version_num() < 100_000 { "md5" } else { "scram-sha-256" };
        let mut initdb = Guarded::new(&spec.build.bin_dir.join("initdb"), user, DeathSignal::Kill)?;
        initdb
            .command()
            .arg("-D")
            .arg(staged)
            .args(["-U", USER, "-A", authentication])
            // Not a file: whoever runs code as the server's user could read it.
            .args(["--pwfile", PASSED])
            .stdin(passed(&self.making.password, user)?)
            .args(["--encoding=UTF8", "--no-locale", "--data-checksums", "-N"]);
        self.making.run("initdb", initdb).map(|_log| ())
    }

    /// In single-user mode, which needs no client.
    fn create_database(&self) -> Result<()> {
        let Making { spec, user, staged, .. } = self.making;
        let mut postgres = Guarded::new(&spec.build.bin_dir.join("postgres"), user, DeathSignal::Kill)?;
        postgres
            .command()
            .args(["--single", "-F", "-D"])
            .arg(staged)
            .arg("postgres")
            .stdin(passed(&format!("CREATE DATABASE {DATABASE}"), user)?);
        let tail = self.making.run("create database", postgres)?.tail(TAIL_LINES);
        if tail.contains("ERROR:") {
            return Err(self.making.failed("create database", "a statement failed", tail));
        }
        Ok(())
    }
}
