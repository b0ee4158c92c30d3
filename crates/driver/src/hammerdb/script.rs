//! The Tcl scripts that HammerDB runs for us.

use super::error::Error;
use super::{Build, System, Target, TimedRun};
use crate::private_dir::PrivateDir;
use rqps_wire::Host;
use rqps_workloads::tproc_c::HAMMERDB_STEP;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const HEAD: &str = include_str!("../../tcl/head.tcl");
const RUN: &str = include_str!("../../tcl/run.tcl");
const USER: &str = include_str!("../../tcl/user.tcl");
const STEPS_PER_MINUTE: u64 = 10;
/// The transactions of a virtual user, which must not run out.
const ITERATIONS: u64 = 1_000_000_000;

/// A script in a directory of its own, which is HammerDB's TMP, too: it keeps settings there from one run to the next.
pub(super) struct Files {
    dir: PrivateDir,
    pub script: PathBuf,
}

impl Files {
    pub fn write(script: &str) -> Result<Self, Error> {
        let memory = Path::new("/dev/shm");
        // HammerDB has SQLite write each of some hundred settings to the disk.
        let dir = PrivateDir::create(memory, "hammerdb")
            .or_else(|_| PrivateDir::create(&std::env::temp_dir(), "hammerdb"))
            .map_err(|(path, source)| Error::Scripts { path, source })?;
        let path = dir.path().join("rqps.tcl");
        std::fs::write(&path, script).map_err(|source| Error::Scripts { path: path.clone(), source })?;
        Ok(Self { dir, script: path })
    }

    pub fn tmp(&self) -> &Path {
        self.dir.path()
    }
}

pub(super) fn build(target: &Target, build: &Build) -> Result<String, Error> {
    let mut settings = Settings::of(target);
    settings.tpcc("count_ware", build.warehouses);
    settings.tpcc("num_vu", build.users.min(build.warehouses));
    settings.tpcc("partition", build.partitions);
    Ok(format!("{HEAD}{}buildschema\nexit\n", settings.script()?))
}

pub(super) fn run(target: &Target, run: &TimedRun) -> Result<String, Error> {
    let mut settings = Settings::of(target);
    let (rampup, duration) = (steps_of(run.rampup)?, steps_of(run.duration)?);
    let minutes = |steps: u64| steps.div_ceil(STEPS_PER_MINUTE);
    settings.tpcc("driver", "timed");
    settings.tpcc("total_iterations", ITERATIONS);
    settings.tpcc("rampup", minutes(rampup));
    settings.tpcc("duration", minutes(duration));
    settings.tpcc("allwarehouse", run.all_warehouses);
    settings.tpcc("keyandthink", run.keying_and_think_time);
    let mut script = format!("{HEAD}{}", settings.script()?);
    // For HammerDB only a limit: it goes on when the virtual users have ended.
    script.push_str("giset commandline keepalive_margin 86400\n");
    for (name, steps) in [("rampup", rampup), ("duration", duration)] {
        let _ =
            writeln!(script, "set rqps_tenths({name}) {steps}\nset rqps_minutes({name}) {}", minutes(steps));
    }
    let _ = writeln!(script, "set rqps_users {}", run.users);
    let _ = writeln!(script, "set rqps_session {{{}}}\nset rqps_user {{{USER}}}", session(target.system));
    script.push_str(RUN);
    Ok(script)
}

/// A time as steps of HammerDB's loops.
fn steps_of(time: Duration) -> Result<u64, Error> {
    if time.subsec_nanos() != 0 || !time.as_secs().is_multiple_of(HAMMERDB_STEP.as_secs()) {
        return Err(Error::CannotDo {
            what: format!("measures time in steps of 6 seconds, and {} s are none", time.as_secs_f64()),
            remedy: "give `rampup` and `duration` in multiples of 6 seconds",
        });
    }
    Ok(time.as_secs() / HAMMERDB_STEP.as_secs())
}

/// Has a virtual user print its session's id, in the variables of HammerDB's script.
fn session(system: System) -> &'static str {
    match system {
        System::Postgres { .. } => {
            "pg_select $lda \"select pg_backend_pid() as id\" rqps_row {puts \"Session $rqps_row(id)\"}"
        }
        System::Mysql => "puts \"Session [mysql::sel $mysql_handler {select connection_id()} -flatlist]\"",
        System::Mariadb => "puts \"Session [maria::sel $maria_handler {select connection_id()} -flatlist]\"",
    }
}

/// Settings of HammerDB, each a dictionary, a key and a value.
struct Settings {
    system: System,
    all: Vec<(&'static str, &'static str, String)>,
}

impl Settings {
    /// Those that lead to a server.
    fn of(target: &Target) -> Self {
        let Target { system, endpoint, .. } = target;
        let mut settings = Self { system: *system, all: Vec::new() };
        let directory = match &endpoint.host {
            Host::Unix(directory) => Some(directory.display().to_string()),
            Host::Tcp(_) => None,
        };
        let address = match &endpoint.host {
            Host::Unix(_) => "localhost".to_owned(),
            Host::Tcp(address) => address.to_string(),
        };
        settings.connection("port", endpoint.port);
        match system {
            System::Postgres { has_procedures } => {
                settings.connection("host", directory.unwrap_or(address));
                settings.connection("sslmode", "disable");
                settings.tpcc("superuser", &endpoint.user);
                settings.tpcc("superuserpass", &endpoint.password);
                settings.tpcc("defaultdbase", &endpoint.database);
                settings.tpcc("storedprocs", has_procedures);
            }
            System::Mysql | System::Mariadb => {
                settings.connection("host", address);
                let socket =
                    directory.map_or("null".to_owned(), |directory| format!("{directory}/mysqld.sock"));
                settings.connection("socket", socket);
            }
        }
        settings.tpcc("user", &endpoint.user);
        settings.tpcc("pass", &endpoint.password);
        settings.tpcc("dbase", &endpoint.database);
        settings
    }

    fn connection(&mut self, key: &'static str, value: impl ToString) {
        self.all.push(("connection", key, value.to_string()));
    }

    fn tpcc(&mut self, key: &'static str, value: impl ToString) {
        self.all.push(("tpcc", key, value.to_string()));
    }

    fn script(&self) -> Result<String, Error> {
        // HammerDB has Tcl evaluate some of these values again, unquoted.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,~".contains(c);
        let (database, prefix) = match self.system {
            System::Postgres { .. } => ("pg", "pg"),
            System::Mysql => ("mysql", "mysql"),
            System::Mariadb => ("maria", "maria"),
        };
        let mut script = format!("dbset db {database}\ndbset bm TPC-C\n");
        for (dictionary, key, value) in &self.all {
            if value.is_empty() || !value.chars().all(is_plain) {
                return Err(Error::CannotDo {
                    what: format!("can't be given {prefix}_{key}: it would not survive Tcl"),
                    remedy: "use paths, names and passwords of letters, digits, and - _ . / : @ % + = , ~",
                });
            }
            let _ = writeln!(script, "diset {dictionary} {prefix}_{key} {value}");
        }
        Ok(script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_wire::Endpoint;

    fn target(system: System, password: &str) -> Target {
        let endpoint = Endpoint {
            host: Host::Unix("/run/x".into()),
            port: 5432,
            user: "rqps".to_owned(),
            password: password.to_owned(),
            database: "bench".to_owned(),
        };
        Target { system, endpoint, session_name: "client".to_owned() }
    }

    fn timed(duration_s: u64) -> TimedRun {
        TimedRun {
            users: 2,
            rampup: Duration::from_secs(60),
            duration: Duration::from_secs(duration_s),
            all_warehouses: true,
            keying_and_think_time: false,
        }
    }

    #[test]
    fn times_are_multiples_of_six_seconds() {
        let target = target(System::Mysql, "secret");
        let script = run(&target, &timed(72)).unwrap();
        for line in
            ["diset tpcc mysql_duration 2", "set rqps_tenths(duration) 12", "set rqps_tenths(rampup) 10"]
        {
            assert!(script.lines().any(|each| each == line), "{line} in\n{script}");
        }
        assert!(run(&target, &timed(70)).is_err());
    }

    #[test]
    fn what_tcl_would_evaluate_is_refused() {
        let postgres = System::Postgres { has_procedures: true };
        let refused = run(&target(postgres, "a[exit]b"), &timed(60)).unwrap_err().to_string();
        assert!(refused.contains("pg_superuserpass") && !refused.contains("exit"), "{refused}");
    }
}
