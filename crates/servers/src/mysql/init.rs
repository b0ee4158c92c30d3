//! Creates the contents of a data directory: the system tables, then the accounts and the benchmark's
//! database.
//!
//! The build's own programs create the system tables: `--initialize-insecure` from MySQL 5.7 on,
//! `--bootstrap` with the build's SQL before, and a script for MariaDB. The accounts are created by a server
//! that executes statements before it accepts sessions. So no client is needed, and no other process ever
//! sees an account without a password.

use std::fs::{self, File};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rqps_builds::Error as BuildError;
use rqps_builds::guard::Guarded;
use rqps_builds::mysql::Layout;
use rqps_model::Dbms;
use rustix::process::Signal;

use super::settings::{self, Settings};
use super::start::{SOCKET, is_ready, note_shut_down};
use crate::data_dir::make_private_dir;
use crate::error::{Error, Result};
use crate::log::TAIL_LINES;
use crate::new_data_dir::{NewDataDir, SECRET_INPUT, secret_input};
use crate::process;
use crate::spec::{Applied, DATABASE, Listen, USER};
use crate::system::START_MAX;

/// The first MySQL version that creates its system tables itself.
const SELF_INITIALIZING_SINCE: u32 = 50_700;

/// The first MariaDB version whose accounts are not in `mysql.user`.
const GLOBAL_PRIV_SINCE: u32 = 100_400;

/// SQL files of builds that do not initialize themselves; they expect the database `mysql`.
const SYSTEM_TABLES: [&str; 2] = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"];

/// The password of rqps's account need not satisfy the policy of the config's plugins.
const NO_PASSWORD_POLICY: [&str; 3] = [
    "--loose-validate-password=OFF",
    "--loose-simple-password-check=OFF",
    "--loose-cracklib-password-check=OFF",
];

/// Hosts of clients.
const HOSTS: [&str; 2] = ["localhost", "127.0.0.1"];

pub(crate) fn fill(new: &NewDataDir<'_>) -> Result<Applied> {
    let layout = Layout::find(&new.spec.build.root)?;
    let temp_dir = new.staging.join("tmp");
    make_private_dir(&temp_dir, new.user)?;
    let settings = Settings {
        build: &new.spec.build,
        layout: &layout,
        user: new.user,
        data_dir: &new.staged,
        temp_dir,
        instrumented: false,
        placed: false,
    };
    let initialization = Initialization { new, layout: &layout, file: new.staging.join(settings::FILE) };
    // Must not be reachable before it is complete.
    let listen = Listen { tcp: false, ..new.listen.clone() };
    let applied = settings.apply(&new.spec.config, &listen, &initialization.file)?;
    initialization.create_system_tables()?;
    initialization.create_accounts()?;
    note_shut_down(&new.staged, new.user)?;
    Ok(applied)
}

struct Initialization<'a> {
    new: &'a NewDataDir<'a>,
    layout: &'a Layout,
    /// The options file of this phase.
    file: std::path::PathBuf,
}

impl Initialization<'_> {
    fn version_num(&self) -> u32 {
        self.new.spec.build.version_num()
    }

    fn is_mariadb(&self) -> bool {
        self.new.spec.build.dbms == Dbms::Mariadb
    }

    fn defaults_file(&self) -> String {
        format!("--defaults-file={}", self.file.display())
    }

    fn create_system_tables(&self) -> Result<()> {
        if self.is_mariadb() {
            self.run_script()
        } else if self.version_num() >= SELF_INITIALIZING_SINCE {
            self.run_server("initialize", "--initialize-insecure", Stdio::null())
        } else {
            self.run_bootstrap()
        }
    }

    fn run_script(&self) -> Result<()> {
        let missing = || BuildError::NotABuild {
            path: self.layout.basedir.clone(),
            reason: "it has neither mariadb-install-db nor mysql_install_db".to_owned(),
        };
        let script = self.layout.install_db.as_ref().ok_or_else(missing)?;
        let mut guarded = Guarded::new(script, self.new.user, Signal::KILL)?;
        guarded
            .command()
            .arg(self.defaults_file())
            .arg(format!("--basedir={}", self.layout.basedir.display()))
            .arg(format!("--datadir={}", self.new.staged.display()))
            // No lookups of host names.
            .args(["--force", "--skip-name-resolve"]);
        self.new.run("install-db", guarded).map(|_log| ())
    }

    fn run_bootstrap(&self) -> Result<()> {
        let database = self.new.staged.join("mysql");
        make_private_dir(&database, self.new.user)?;
        let mut sql = "USE mysql;\n".to_owned();
        for name in SYSTEM_TABLES {
            let path = self.layout.share_dir.join(name);
            sql.push_str(&fs::read_to_string(&path).map_err(Error::file("read", &path))?);
            sql.push('\n');
        }
        // In our own directory, as our own file: the server gets only an open descriptor.
        let path = self.new.staging.join("system.sql");
        fs::write(&path, sql).map_err(Error::file("write", &path))?;
        let file = File::open(&path).map_err(Error::file("open", &path))?;
        self.run_server("bootstrap", "--bootstrap", file.into())
    }

    fn run_server(&self, step: &'static str, option: &str, stdin: Stdio) -> Result<()> {
        let mut guarded = Guarded::new(&self.layout.server, self.new.user, Signal::KILL)?;
        guarded.command().arg(self.defaults_file()).arg(option).stdin(stdin);
        self.new.run(step, guarded).map(|_log| ())
    }

    /// Has a server execute the statements, and stops it. At a failed statement it exits, or continues
    /// without the rest; so the database is created last.
    fn create_accounts(&self) -> Result<()> {
        let NewDataDir { data_dir, user, staged, .. } = self.new;
        let socket = data_dir.create_socket_dir(user)?.join(SOCKET);
        let mut guarded = Guarded::new(&self.layout.server, user, Signal::KILL)?;
        guarded
            .command()
            .arg(self.defaults_file())
            .arg(format!("--init-file={SECRET_INPUT}"))
            .args(NO_PASSWORD_POLICY)
            .stdin(secret_input(&self.account_statements(), user)?);
        let (mut child, log) = self.new.start(guarded)?;
        let start = Instant::now();
        let mut stop_sent = false;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Error::file("wait for", &self.layout.server))? {
                break status;
            }
            let interrupted = self.new.interrupted.load(Ordering::Relaxed);
            if interrupted || start.elapsed() > START_MAX {
                // It must not stay.
                let _ended = child.kill().and_then(|()| child.wait());
            }
            if interrupted {
                return Err(Error::Interrupted { path: data_dir.path.clone() });
            }
            if start.elapsed() > START_MAX {
                return Err(self.new.failed("create accounts", "not ready", log.tail(TAIL_LINES)));
            }
            if !stop_sent && is_ready(&socket) {
                stop_sent = true;
                // Fails only if the process has just ended.
                let _sent = process::signal(child.id(), Signal::TERM);
            }
            thread::sleep(Duration::from_millis(10));
        };
        self.new.check_status("create accounts", status, &log)?;
        if staged.join(DATABASE).is_dir() {
            return Ok(());
        }
        Err(self.new.failed("create accounts", "a statement failed", log.tail(TAIL_LINES)))
    }

    /// One statement per line. Removes the accounts that came with the system tables. From 8.0 on such a
    /// session does not use the config's character set by default.
    fn account_statements(&self) -> String {
        let mut sql = "SET SESSION sql_log_bin = 0;\n".to_owned();
        for host in HOSTS {
            sql.push_str(&format!(
                "CREATE USER '{USER}'@'{host}' IDENTIFIED BY '{}';\nGRANT ALL PRIVILEGES ON *.* TO '{USER}'@'{host}' \
                 WITH GRANT OPTION;\n",
                self.new.password
            ));
        }
        sql.push_str(&match (self.is_mariadb(), self.version_num()) {
            (false, SELF_INITIALIZING_SINCE..) => "DROP USER 'root'@'localhost';\n".to_owned(),
            (true, GLOBAL_PRIV_SINCE..) => format!(
                "DELETE FROM mysql.global_priv WHERE User NOT IN ('{USER}', 'mariadb.sys', 'PUBLIC');\nDELETE FROM \
                 mysql.db;\n"
            ),
            _ => format!("DELETE FROM mysql.user WHERE User <> '{USER}';\nDELETE FROM mysql.db;\n"),
        });
        sql.push_str(&format!(
            "FLUSH PRIVILEGES;\nDROP DATABASE IF EXISTS test;\nSET SESSION collation_server = \
             @@GLOBAL.collation_server;\nCREATE DATABASE {DATABASE};\n"
        ));
        sql
    }
}
