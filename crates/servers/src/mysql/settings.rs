//! From a config to the `my.cnf` of one server: the config's options as far as the build knows them, then what rqps
//! itself sets. The build reads the result, without a server, before one is started with it.
//!
//! The rule for options: one is known when the build lists it. An unknown option is left out and reported; a known one
//! with a value that the build refuses is an error, one whose value it changes is reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use rqps_builds::log_tail::last_lines;
use rqps_builds::mysql::Layout;
use rqps_builds::{Build, ServerUser};
use rqps_model::LeftOut;

use super::conf::rendered;
use super::options::{self, Known};
use super::start::SOCKET;
use crate::applied::{self, Options};
use crate::config::Config;
use crate::data_dir::make_private_dir;
use crate::error::{Error, Result};
use crate::private::write_private;
use crate::spec::{Applied, Listen};

/// The file in a data directory that holds the server's options.
pub(crate) const FILE: &str = "my.cnf";

/// Options that say where a server lives and who may reach it, which is rqps's business.
const OWN_OPTIONS: [&str; 25] = [
    "basedir",
    "bind_address",
    "character_sets_dir",
    "chroot",
    "console",
    "datadir",
    "init_file",
    "language",
    "lc_messages_dir",
    "log_error",
    "mysqlx",
    "mysqlx_bind_address",
    "mysqlx_port",
    "mysqlx_socket",
    "pid_file",
    "plugin_dir",
    "port",
    "secure_file_priv",
    "skip_grant_tables",
    "skip_mysqlx",
    "skip_networking",
    "slow_query_log_file",
    "socket",
    "tmpdir",
    "user",
];

/// Options that make others meaningless for builds that know them.
const SUPERSEDED: [(&str, &[&str]); 2] = [
    ("innodb_redo_log_capacity", &["innodb_log_file_size", "innodb_log_files_in_group"]),
    ("innodb_data_file_buffering", &["innodb_flush_method"]),
];

/// The first MySQL that takes NULL for `secure_file_priv`, and to which its compiled-in directory is a must.
const SECURE_FILE_PRIV_SINCE: u32 = 50_706;

/// The first MariaDB that makes a key for TLS whenever it starts, unless it is told where one lies: seconds of CPU
/// time, and minutes under an instrument.
const MAKES_KEYS_SINCE: u32 = 110_400;

/// The buffer pool, and what it may grow to.
const POOL_SIZE: &str = "innodb_buffer_pool_size";
const POOL_SIZE_MAX: &str = "innodb_buffer_pool_size_max";

/// What a server says of values that it does not take.
const COMPLAINTS: [&str; 5] =
    ["Error while setting value", "Unknown suffix", "unknown variable", "unknown option", "ambiguous option"];

/// A build working on a data directory.
pub(crate) struct Settings<'a> {
    pub build: &'a Build,
    pub layout: &'a Layout,
    pub user: &'a ServerUser,
    pub data_dir: &'a Path,
    pub temp_dir: PathBuf,
    /// Whether it runs under an instrument.
    pub instrumented: bool,
    /// Whether sessions are placed on CPUs.
    pub placed: bool,
}

impl Settings<'_> {
    /// Writes the server's options to `path` and has the build read them.
    pub fn apply(&self, config: &Config, listen: &Listen, path: &Path) -> Result<Applied> {
        let known = options::known(self.build, self.layout, self.user)?;
        let (kept, left_out) = self.select_options(config, &known)?;
        let mut applied = Applied {
            left_out,
            added: self.own_settings(listen, &known, &kept),
            config_as_used: String::new(),
        };
        let taken = self.write(path, config, &kept, &mut applied)?;
        let connections: u32 =
            taken.value("max_connections").and_then(|value| value.parse().ok()).unwrap_or(0);
        if applied.raise_max_connections(&kept, listen, connections) {
            self.write(path, config, &kept, &mut applied)?;
        }
        Ok(applied)
    }

    /// Writes the file; returns what the build makes of it. Values that it changes are added to those left out.
    fn write(&self, path: &Path, config: &Config, kept: &Options, applied: &mut Applied) -> Result<Known> {
        applied.config_as_used = applied.rendered(config, kept, "[mysqld]\n", rendered);
        write_private(path, applied.config_as_used.as_bytes(), Some(self.user))?;
        let (taken, output) = self.read_by_build(path)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let complaints = complaints(&said);
        if output.status.success() && complaints.is_empty() {
            note_adjusted(&taken, kept, applied);
            return Ok(taken);
        }
        Err(Error::ConfigRefused {
            dbms: self.build.dbms,
            version: self.build.version.clone(),
            config: config.name.clone(),
            message: if complaints.is_empty() {
                format!("  its server program exited with {}:\n{}", output.status, last_lines(&said, 5))
            } else {
                complaints
            },
        })
    }

    fn read_by_build(&self, path: &Path) -> Result<(Known, Output)> {
        let scratch = self.temp_dir.join("read");
        make_private_dir(&scratch, self.user)?;
        let read = options::with_file(self.layout, self.user, path, &scratch);
        fs::remove_dir_all(&scratch).map_err(Error::file("remove", &scratch))?;
        read
    }

    /// Options that the build takes, and those left out.
    fn select_options(&self, config: &Config, known: &Known) -> Result<(Options, Vec<LeftOut>)> {
        let (kept, mut left_out) = applied::select_options(config, self.build, &OWN_OPTIONS, |option| {
            Ok(if !known.has(option) {
                Some(format!("unknown to {} {}", self.build.dbms, self.build.version))
            } else {
                superseded_by(option, config, known).map(|other| format!("superseded by {other}"))
            })
        })?;
        left_out.extend(config.other_sections.iter().map(|section| LeftOut {
            option: format!("[{section}]"),
            value: String::new(),
            reason: "not a section of the server".to_owned(),
        }));
        Ok((kept, left_out))
    }

    fn own_settings(&self, listen: &Listen, known: &Known, kept: &[(String, String)]) -> Options {
        let Layout { basedir, share_dir, plugin_dir, .. } = self.layout;
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let mut own = vec![
            ("basedir", shown(basedir)),
            ("datadir", shown(self.data_dir)),
            ("lc_messages_dir", shown(share_dir)),
            ("tmpdir", shown(&self.temp_dir)),
            ("socket", shown(&listen.socket_dir.join(SOCKET))),
            ("pid_file", shown(&listen.socket_dir.join("mysqld.pid"))),
            ("slow_query_log_file", "slow.log".to_owned()),
        ];
        let charsets = share_dir.join("charsets");
        if charsets.is_dir() {
            own.push(("character_sets_dir", shown(&charsets)));
        }
        own.extend(plugin_dir.as_ref().map(|plugin_dir| ("plugin_dir", shown(plugin_dir))));
        if listen.tcp {
            own.extend([("bind_address", "127.0.0.1".to_owned()), ("port", listen.port.to_string())]);
        } else {
            own.push(("skip_networking", "ON".to_owned()));
        }
        if known.has("mysqlx") {
            own.push(("mysqlx", "OFF".to_owned()));
        }
        if self.build.dbms == rqps_model::Dbms::Mysql && self.build.version_num() >= SECURE_FILE_PRIV_SINCE {
            own.push(("secure_file_priv", "NULL".to_owned()));
        }
        let is_of_tls = |(name, _): &(String, String)| name == "ssl" || name.starts_with("ssl_");
        if self.build.dbms == rqps_model::Dbms::Mariadb
            && self.build.version_num() >= MAKES_KEYS_SINCE
            && !kept.iter().any(is_of_tls)
        {
            own.push(("ssl", "OFF".to_owned()));
        }
        if self.instrumented {
            // What an instrument does not know of the kernel's asynchronous I/O, it does wrong.
            own.push(("innodb_use_native_aio", "OFF".to_owned()));
            // Nor has it the address space that some versions keep for a larger pool.
            let pool = kept.iter().find(|(name, _)| name == POOL_SIZE).map(|(_, value)| value.as_str());
            if known.has(POOL_SIZE_MAX)
                && let Some(pool) = pool.or_else(|| known.value(POOL_SIZE))
            {
                own.push((POOL_SIZE_MAX, pool.to_owned()));
            }
        }
        if self.placed {
            // A thread that was kept for the next session stays where the last one ran.
            own.push(("thread_cache_size", "0".to_owned()));
        }
        own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The option that takes the place of this one, when the config has it and the build knows it.
fn superseded_by(option: &str, config: &Config, known: &Known) -> Option<&'static str> {
    let given = |name: &str| config.options.iter().any(|(given, _)| given == name);
    SUPERSEDED
        .iter()
        .find(|(newer, older)| older.contains(&option) && known.has(newer) && given(newer))
        .map(|(newer, _)| *newer)
}

/// What the server says about options that it does not take, without times.
fn complaints(stderr: &str) -> String {
    let lines: Vec<String> = stderr
        .lines()
        .filter(|line| COMPLAINTS.iter().any(|sign| line.contains(sign)))
        .map(|line| line.find("[ERROR]").map_or(line, |at| &line[at..]))
        .map(|line| format!("  {line}"))
        .collect();
    lines.join("\n")
}

/// Notes values that the server changes to what it can take.
fn note_adjusted(taken: &Known, kept: &[(String, String)], applied: &mut Applied) {
    for (option, value) in kept {
        let Some(in_force) = taken.value(option).filter(|in_force| is_other_number(value, in_force)) else {
            continue;
        };
        let left = LeftOut {
            option: option.clone(),
            value: value.clone(),
            reason: format!("the server adjusted it to {in_force}"),
        };
        if !applied.left_out.contains(&left) {
            applied.left_out.push(left);
        }
    }
}

/// Whether a value as written is another number than the one in force. Texts, and switches in their many spellings, are
/// taken for equal: a server refuses those that it does not know.
fn is_other_number(written: &str, in_force: &str) -> bool {
    match (number(written), number(in_force)) {
        (Some(written), Some(in_force)) => (written - in_force).abs() > f64::EPSILON * written.abs(),
        _ => false,
    }
}

/// A number, perhaps with one of the suffixes that stand for powers of 1024.
fn number(text: &str) -> Option<f64> {
    let last = text.chars().last()?.to_ascii_uppercase();
    let power = "KMGTPE".find(last).and_then(|at| i32::try_from(at + 1).ok());
    match power {
        Some(power) => Some(text[..text.len() - 1].parse::<f64>().ok()? * 1024_f64.powi(power)),
        None => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_short() {
        let stderr = "2026-11-22T06:52:10.188572Z 0 [ERROR] Unknown suffix 'Q' used for variable 'a' (value '12Q')\n\
                      2026-11-22T06:52:10.188762Z 0 [ERROR] Aborting\n";
        assert_eq!(complaints(stderr), "  [ERROR] Unknown suffix 'Q' used for variable 'a' (value '12Q')");
    }

    #[test]
    fn only_numbers_can_be_adjusted() {
        for (written, in_force) in [("5", "100"), ("1G", "1073741825"), ("0.5", "1.000000")] {
            assert!(is_other_number(written, in_force), "{written} {in_force}");
        }
        for (written, in_force) in
            [("2g", "2147483648"), ("90", "90.000000"), ("1", "TRUE"), ("ON", "2"), ("", "1"), ("all", "all")]
        {
            assert!(!is_other_number(written, in_force), "{written} {in_force}");
        }
    }
}
