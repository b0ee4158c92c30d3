//! Creating a data directory: the system tables, then the accounts and the database for the work.
//!
//! A server's own program makes the system tables: `--initialize-insecure` from 5.7 on, `--bootstrap` with the SQL of
//! the build before, the build's script for MariaDB. The accounts are made by a server that reads statements before it
//! takes sessions, so no client is needed, and nobody but that server ever sees an account without a password.

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

/// The first MySQL that creates its system tables itself.
const INITIALIZES_SINCE: u32 = 50_700;

/// The first MariaDB that keeps accounts in another table than `mysql.user`.
const GLOBAL_PRIV_SINCE: u32 = 100_400;

/// Directories and SQL of builds that do not initialize themselves; they speak of the database `mysql`.
const SYSTEM_TABLES: [&str; 2] = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"];

/// Where sessions come from.
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
    let creation = Creation { new, layout: &layout, file: new.staging.join(settings::FILE) };
    // It must not be reachable before it is complete.
    let listen = Listen { tcp: false, ..new.listen.clone() };
    let applied = settings.apply(&new.spec.config, &listen, &creation.file)?;
    creation.system_tables()?;
    creation.accounts()?;
    note_shut_down(&new.staged, new.user)?;
    Ok(applied)
}

struct Creation<'a> {
    new: &'a NewDataDir<'a>,
    layout: &'a Layout,
    /// The server's options while it is made.
    file: std::path::PathBuf,
}

impl Creation<'_> {
    fn version_num(&self) -> u32 {
        self.new.spec.build.version_num()
    }

    fn is_mariadb(&self) -> bool {
        self.new.spec.build.dbms == Dbms::Mariadb
    }

    fn defaults_file(&self) -> String {
        format!("--defaults-file={}", self.file.display())
    }

    fn system_tables(&self) -> Result<()> {
        if self.is_mariadb() {
            self.by_script()
        } else if self.version_num() >= INITIALIZES_SINCE {
            self.by_server("initialize", "--initialize-insecure", Stdio::null())
        } else {
            self.by_bootstrap()
        }
    }

    fn by_script(&self) -> Result<()> {
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
            // Without asking for the host's name.
            .args(["--force", "--skip-name-resolve"]);
        self.new.run("install-db", guarded).map(|_log| ())
    }

    fn by_bootstrap(&self) -> Result<()> {
        let database = self.new.staged.join("mysql");
        make_private_dir(&database, self.new.user)?;
        let mut sql = "USE mysql;\n".to_owned();
        for name in SYSTEM_TABLES {
            let path = self.layout.share_dir.join(name);
            sql.push_str(&fs::read_to_string(&path).map_err(Error::file("read", &path))?);
            sql.push('\n');
        }
        // Our own directory, and our own file: the server only gets it opened.
        let path = self.new.staging.join("system.sql");
        fs::write(&path, sql).map_err(Error::file("write", &path))?;
        let file = File::open(&path).map_err(Error::file("open", &path))?;
        self.by_server("bootstrap", "--bootstrap", file.into())
    }

    fn by_server(&self, step: &'static str, option: &str, stdin: Stdio) -> Result<()> {
        let mut guarded = Guarded::new(&self.layout.server, self.new.user, Signal::KILL)?;
        guarded.command().arg(self.defaults_file()).arg(option).stdin(stdin);
        self.new.run(step, guarded).map(|_log| ())
    }

    /// Has a server execute the statements, and stops it. It stops by itself at the first that fails, or goes on
    /// without the rest; the database is made last.
    fn accounts(&self) -> Result<()> {
        let NewDataDir { data_dir, user, staged, .. } = self.new;
        let socket = data_dir.create_socket_dir(user)?.join(SOCKET);
        let mut guarded = Guarded::new(&self.layout.server, user, Signal::KILL)?;
        guarded
            .command()
            .arg(self.defaults_file())
            .arg(format!("--init-file={SECRET_INPUT}"))
            .stdin(secret_input(&self.statements(), user)?);
        let (mut child, log) = self.new.start(guarded)?;
        let start = Instant::now();
        let mut told = false;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Error::file("wait for", &self.layout.server))? {
                break status;
            }
            let interrupted = self.new.interrupted.load(Ordering::Relaxed);
            if interrupted || start.elapsed() > START_MAX {
                // It has no place any more.
                let _ended = child.kill().and_then(|()| child.wait());
            }
            if interrupted {
                return Err(Error::Interrupted { path: data_dir.path.clone() });
            }
            if start.elapsed() > START_MAX {
                return Err(self.new.failed("create accounts", "not ready", log.tail(TAIL_LINES)));
            }
            if !told && is_ready(&socket) {
                told = true;
                // It can only fail when the process has just ended.
                let _sent = process::signal(child.id(), Signal::TERM);
            }
            thread::sleep(Duration::from_millis(10));
        };
        self.new.outcome("create accounts", status, &log)?;
        if staged.join(DATABASE).is_dir() {
            return Ok(());
        }
        Err(self.new.failed("create accounts", "a statement failed", log.tail(TAIL_LINES)))
    }

    /// One statement a line. The accounts that the system tables came with go. From 8.0 on such a session does not have
    /// the character set of the config by itself.
    fn statements(&self) -> String {
        let mut sql = "SET SESSION sql_log_bin = 0;\n".to_owned();
        for host in HOSTS {
            sql.push_str(&format!(
                "CREATE USER '{USER}'@'{host}' IDENTIFIED BY '{}';\nGRANT ALL PRIVILEGES ON *.* TO '{USER}'@'{host}' \
                 WITH GRANT OPTION;\n",
                self.new.password
            ));
        }
        sql.push_str(&match (self.is_mariadb(), self.version_num()) {
            (false, INITIALIZES_SINCE..) => "DROP USER 'root'@'localhost';\n".to_owned(),
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
