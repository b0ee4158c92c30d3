//! Dumps of databases that a plan names by their address, taken by the programs of their DBMS.

use crate::context::Context;
use crate::progress::Spinner;
use crate::{Usage, human};
use anyhow::Context as _;
use rqps_builds::{Dirs, list_builds};
use rqps_plan::Plan;
use rqps_workloads::Dialect;
use rqps_workloads::sql::{Dump, SqlPlan, dialect_of_address};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of looking whether a dump is complete.
const CHECK: Duration = Duration::from_millis(100);
/// A server that does not answer within this many seconds does not exist.
const CONNECT_SECONDS: &str = "10";
/// What `mysqldump` and `mariadb-dump` are told.
const MYSQL_OPTIONS: [&str; 4] = ["--hex-blob", "--single-transaction", "--routines", "--no-tablespaces"];
/// The same for MySQL's only; versions that do not know them ignore them.
const MYSQL_ONLY: [&str; 2] = ["--loose-column-statistics=0", "--loose-set-gtid-purged=OFF"];

/// A dump that was taken. It is removed unless a run takes it over.
pub struct Taken {
    pub file: PathBuf,
    /// The plan with it.
    pub plan: String,
}

impl Drop for Taken {
    fn drop(&mut self) {
        // It is gone if the run has it.
        let _ = fs::remove_file(&self.file);
    }
}

/// What databases answered, by their address: a command reads its plan several times.
static STRUCTURES: Mutex<BTreeMap<String, Result<Vec<u8>, String>>> = Mutex::new(BTreeMap::new());

/// The statements that create a database's tables, without their rows. Each database is asked once.
///
/// # Errors
/// Why they cannot be had.
pub fn structure(address: &str) -> Result<Vec<u8>, String> {
    let mut known = STRUCTURES.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(address.to_owned()).or_insert_with(|| ask_structure(address)).clone()
}

fn ask_structure(address: &str) -> Result<Vec<u8>, String> {
    let program = Program::of(address)?;
    let mut command = program.command(address)?;
    command.arg(program.structure_option());
    let done = command.output().map_err(|error| program.failed(&error.to_string()))?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => Err(program.failed(String::from_utf8_lossy(&done.stderr).trim())),
    }
}

/// Takes the dump of the database that a plan names, if it does, into `file`.
///
/// # Errors
/// If it cannot be taken.
pub fn take_dump(context: &Context, plan: &Plan, file: &Path) -> anyhow::Result<Option<Taken>> {
    let dump = plan.work.of::<SqlPlan>().and_then(SqlPlan::dump);
    let Some(address) = dump.and_then(Dump::address) else { return Ok(None) };
    let program = Program::of(address).map_err(Usage)?;
    let mut taken = Taken { file: std::path::absolute(file)?, plan: String::new() };
    let output = File::create(&taken.file).with_context(|| format!("creating {}", taken.file.display()))?;
    let mut command = program.command(address).map_err(Usage)?;
    command.stdout(output);
    let status = watched(context, command, &format!("taking the dump of {address}"), &taken.file)
        .with_context(|| program.path.display().to_string())?;
    if !status.success() {
        return Err(Usage(program.failed(&format!("{status}, for the reason above"))).into());
    }
    let mut text: toml::Table = plan.to_toml()?.parse()?;
    if let Some(dump) = text.get_mut("sql").and_then(|sql| sql.get_mut("dump")) {
        *dump = taken.file.to_string_lossy().as_ref().into();
    }
    taken.plan = toml::to_string_pretty(&text)?;
    Ok(Some(taken))
}

/// Runs a program that writes `file`, and shows how far it is.
fn watched(context: &Context, mut command: Command, what: &str, file: &Path) -> anyhow::Result<ExitStatus> {
    let spinner = Spinner::start(what);
    let mut child = command.spawn()?;
    let caught = context.catches_signals();
    context.catch_signals();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if context.stop.load(Ordering::Relaxed) {
            child.kill()?;
            child.wait()?;
            return Err(rqps_executor::Error::Interrupted.into());
        }
        let (elapsed_s, bytes) = (start.elapsed().as_secs_f64(), fs::metadata(file)?.len());
        spinner.set_message(format!("{what}: {}, {elapsed_s:.0} s", human::bytes(bytes)));
        std::thread::sleep(CHECK);
    };
    drop(spinner);
    if !caught {
        context.release_signals();
    }
    Ok(status)
}

/// A program that takes dumps.
struct Program {
    dialect: Dialect,
    path: PathBuf,
    /// `pg_dump (PostgreSQL) 17.2`.
    version: String,
}

/// The environment variable and the file by which programs of a DBMS get passwords.
fn passwords(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::Postgres => ("PGPASSWORD", "~/.pgpass"),
        Dialect::Mysql => ("MYSQL_PWD", "[client] in ~/.my.cnf"),
    }
}

impl Program {
    fn of(address: &str) -> Result<Self, String> {
        let dialect = dialect_of_address(address).ok_or("this is not the address of a database")?;
        let names: &[&str] = match dialect {
            Dialect::Postgres => &["pg_dump"],
            // Each takes dumps of the other's servers too, but MariaDB's does not know all of MySQL's ways to log in.
            Dialect::Mysql if address.starts_with("mariadb:") => &["mariadb-dump", "mysqldump"],
            Dialect::Mysql => &["mysqldump", "mariadb-dump"],
        };
        if has_password(address) {
            let (variable, file) = passwords(dialect);
            return Err(format!(
                "it has a password, which a run would keep: remove it from the address and give it by {variable} or {file}"
            ));
        }
        let mut found: Vec<Self> = candidates(names)
            .into_iter()
            .map(|path| Self { dialect, path, version: String::new() })
            .collect();
        for program in &mut found {
            let asked = Command::new(&program.path).arg("--version").output();
            program.version = asked
                .map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        if dialect == Dialect::Postgres {
            // Of equals, the first of PATH.
            found.sort_by_key(|program| std::cmp::Reverse(major(&program.version)));
        }
        found.into_iter().next().ok_or_else(|| {
            let package = match dialect {
                Dialect::Postgres => "postgresql-client",
                Dialect::Mysql => "default-mysql-client",
            };
            format!(
                "{} is not there, which takes the dump: install it (Debian: {package}), or add its directory to PATH",
                names.join(" or ")
            )
        })
    }

    /// A dump of the whole database.
    fn command(&self, address: &str) -> Result<Command, String> {
        let mut command = Command::new(&self.path);
        command.stdin(Stdio::null());
        match self.dialect {
            Dialect::Postgres => {
                if std::env::var_os("PGCONNECT_TIMEOUT").is_none() {
                    command.env("PGCONNECT_TIMEOUT", CONNECT_SECONDS);
                }
                // A subscription's connection may have a password.
                command.args(["--no-owner", "--no-privileges", "--no-subscriptions", "--no-password"]);
                command.arg(format!("--dbname={address}"));
            }
            Dialect::Mysql => {
                command.args(MYSQL_OPTIONS);
                if !self.version.contains("MariaDB") {
                    command.args(MYSQL_ONLY);
                }
                command.args(mysql_arguments(address)?);
            }
        }
        Ok(command)
    }

    fn structure_option(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "--schema-only",
            Dialect::Mysql => "--no-data",
        }
    }

    fn failed(&self, why: &str) -> String {
        // What MySQL's print as their version begins with their path.
        let version = match self.dialect {
            Dialect::Postgres => {
                format!(" ({}, which takes dumps of servers up to its major version)", self.version)
            }
            Dialect::Mysql => String::new(),
        };
        let (variable, file) = passwords(self.dialect);
        let end = if why.ends_with(['.', '?', '!']) { "" } else { "." };
        let password = match std::env::var_os(variable) {
            Some(_) => String::new(),
            None => format!("{end} If the database asks for a password, give it by {variable} or {file}"),
        };
        format!("{}{version} could not take the dump: {why}{password}", self.path.display())
    }
}

/// The programs of these names: in PATH, where Debian has those of all versions, and in installed builds.
fn candidates(names: &[&str]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let builds = list_builds(&Dirs::from_env()).unwrap_or_default().into_iter();
    // Packages have the server in `usr/sbin` and its tools in `usr/bin`.
    let of_builds = builds.flat_map(|build| [build.root.join("usr/bin"), build.bin_dir]);
    let directories: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(debian.map(|entry| entry.path().join("bin")))
        .chain(of_builds)
        .collect();
    let all = names.iter().flat_map(|name| directories.iter().map(move |directory| directory.join(name)));
    all.filter(|path| path.is_file()).collect()
}

/// `17` of `pg_dump (PostgreSQL) 17.2 (Debian 17.2-1)`.
fn major(version: &str) -> u32 {
    let number =
        version.split_whitespace().nth(2).and_then(|number| number.split(['.', 'b', 'd', 'r']).next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Whether an address has a password: `//user:password@host` or `?password=…`.
fn has_password(address: &str) -> bool {
    let (_, rest) = address.split_once("://").unwrap_or_default();
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split('/').next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
        || options.split('&').any(|option| option.contains("password="))
}

/// What `mysqldump` is told of `mysql://user@host:port/database?socket=/path`.
fn mysql_arguments(address: &str) -> Result<Vec<String>, String> {
    let (_, rest) = address.split_once("://").unwrap_or_default();
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = host.split_once(':').unwrap_or((host, ""));
    let socket = match options {
        "" => "",
        _ => options.strip_prefix("socket=").ok_or_else(|| {
            format!("`?{options}` is not supported: write ?socket=/PATH, and other options into ~/.my.cnf")
        })?,
    };
    if database.is_empty() || database.starts_with('-') {
        return Err("it names no database: write mysql://USER@HOST:PORT/DATABASE".to_owned());
    }
    let named = [("host", host), ("port", port), ("user", user), ("socket", socket)];
    let mut arguments: Vec<String> = named
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("--{name}={value}"))
        .collect();
    if !port.is_empty() {
        // Else `localhost` means a socket.
        arguments.push("--protocol=tcp".to_owned());
    }
    arguments.push(database.to_owned());
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_password_is_refused_without_showing_it() {
        for address in [
            "postgresql://me:secret@db.example.com/shop",
            "postgresql:///shop?host=/run&password=secret",
            "mysql://me:secret@db/shop",
        ] {
            let why = structure(address).unwrap_err();
            assert!(why.contains("has a password") && !why.contains("secret"), "{why}");
        }
        assert!(!has_password("postgresql://me@db:5432/shop?sslmode=require"));
        let program = Program { dialect: Dialect::Mysql, path: "mysqldump".into(), version: String::new() };
        let failed = program.failed("Access denied.");
        assert!(
            failed.ends_with(
                "Access denied. If the database asks for a password, give it by MYSQL_PWD or \
            [client] in ~/.my.cnf"
            ),
            "{failed}"
        );
    }

    #[test]
    fn the_parts_of_an_address_become_arguments() {
        let arguments = |address| mysql_arguments(address);
        assert_eq!(
            arguments("mysql://me@db:3307/shop").unwrap(),
            ["--host=db", "--port=3307", "--user=me", "--protocol=tcp", "shop"]
        );
        assert_eq!(
            arguments("mariadb:///shop?socket=/run/my.sock").unwrap(),
            ["--socket=/run/my.sock", "shop"]
        );
        assert!(arguments("mysql://db").unwrap_err().contains("names no database"));
        assert!(arguments("mysql://db/shop?ssl=1").unwrap_err().contains("write ?socket=/PATH"));
        assert_eq!(major("pg_dump (PostgreSQL) 17.2 (Debian 17.2-1)"), 17);
        assert_eq!(major("pg_dump (PostgreSQL) 18beta1"), 18);
    }
}
