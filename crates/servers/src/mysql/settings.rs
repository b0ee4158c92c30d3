//! Turns a config into the `my.cnf` of one server: the config's options that the build accepts, then rqps's
//! own. The build reads the file before a server is started with it.
//!
//! An option is known if the build lists it. Those that it does not list and yet accepts, with a warning, are left out:
//! they have no effect. Unknown options are left out and reported. A known option with a
//! value that the build rejects is an error; one whose value it adjusts is reported. Options of plugins that the config
//! loads are known; they are written with `loose_`, since `--initialize` loads no plugins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use rqps_builds::log_tail::last_lines;
use rqps_builds::mysql::Layout;
use rqps_builds::{Build, ServerUser};
use rqps_model::LeftOut;

use super::conf::{self, format_option};
use super::options::{self, KnownOptions};
use super::plugins;
use super::start::SOCKET;
use crate::applied::{self, Options};
use crate::config::Config;
use crate::data_dir::make_private_dir;
use crate::error::{Error, Result};
use crate::outside;
use crate::private::write_private;
use crate::spec::{Applied, Listen};
use crate::system::Known;
use crate::unknown::refused_value;

/// Name of the options file in a data directory.
pub(crate) const FILE: &str = "my.cnf";

/// Options for where a server is and who can reach it, which rqps sets.
pub(crate) const OWN_OPTIONS: [&str; 25] = [
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

/// Options that replace others in builds that know them.
const SUPERSEDED: [(&str, &[&str]); 2] = [
    ("innodb_redo_log_capacity", &["innodb_log_file_size", "innodb_log_files_in_group"]),
    ("innodb_data_file_buffering", &["innodb_flush_method"]),
];

/// The first MySQL version that accepts NULL for `secure_file_priv`, and that otherwise requires its
/// compiled-in directory.
const SECURE_FILE_PRIV_SINCE: u32 = 50_706;

/// The first MariaDB version that creates a TLS key at every start unless one is configured: seconds of CPU
/// time, and minutes under an instrument.
const CREATES_TLS_KEY_SINCE: u32 = 110_400;

/// The buffer pool size, and its upper limit.
const POOL_SIZE: &str = "innodb_buffer_pool_size";
const POOL_SIZE_MAX: &str = "innodb_buffer_pool_size_max";

/// Options whose values a server checks only once its system tables are there: accounts depend on them.
const CHECKED_AT_START: [&str; 1] = ["authentication_policy"];

/// Variables that servers list and nobody can set, beside those whose names begin with `have_` or `version_`.
const READ_ONLY: [&str; 18] = [
    "error_count",
    "external_user",
    "gtid_executed",
    "gtid_owned",
    "hostname",
    "innodb_version",
    "large_files_support",
    "large_page_size",
    "license",
    "locked_in_memory",
    "lower_case_file_system",
    "protocol_version",
    "proxy_user",
    "server_uuid",
    "statement_id",
    "system_time_zone",
    "version",
    "warning_count",
];

/// What becomes of an unknown option with that prefix.
const IGNORED: &str = "; ignored because of its prefix loose";

/// Messages about rejected values.
const COMPLAINTS: [&str; 6] = [
    "Error while setting value",
    "Unknown suffix",
    "unknown variable",
    "unknown option",
    "ambiguous option",
    "is not a compiled character set",
];

/// A build and the data directory that it serves.
pub(crate) struct Settings<'a> {
    pub build: &'a Build,
    pub layout: &'a Layout,
    pub user: &'a ServerUser,
    pub data_dir: &'a Path,
    pub temp_dir: PathBuf,
    pub instrumented: bool,
    /// Whether sessions are pinned to CPUs.
    pub placed: bool,
}

impl Settings<'_> {
    /// Writes the options file and has the build read it.
    pub fn apply(&self, config: &Config, listen: &Listen, path: &Path) -> Result<Applied> {
        let of_build = (self.build, self.layout, self.user);
        let known = options::known(of_build, &plugins::loaded_by(&config.options, self.layout)?)?;
        let (mut kept, left_out) = self.select_options(config, &known)?;
        let without_plugins = options::known(of_build, "")?;
        for (option, _) in kept.iter_mut().filter(|(option, _)| !without_plugins.has(option)) {
            *option = conf::loose(option);
        }
        let mut applied = Applied {
            left_out,
            added: self.own_settings(listen, &known, &kept),
            config_as_used: String::new(),
        };
        let effective_options = self.write(path, config, &kept, &mut applied)?;
        let connections: u32 =
            effective_options.value("max_connections").and_then(|value| value.parse().ok()).unwrap_or(0);
        if applied.raise_max_connections(&kept, listen, connections) {
            self.write(path, config, &kept, &mut applied)?;
        }
        Ok(applied)
    }

    /// Writes the file and returns the options as the build reads them. Adds adjusted values to those left
    /// out.
    fn write(
        &self,
        path: &Path,
        config: &Config,
        kept: &Options,
        applied: &mut Applied,
    ) -> Result<KnownOptions> {
        applied.config_as_used = applied.render(config, kept, "[mysqld]\n", format_option);
        write_private(path, applied.config_as_used.as_bytes(), Some(self.user))?;
        let (effective_options, output) = self.have_build_read(path)?;
        let Some(message) = refusal(&output) else {
            report_adjusted(&effective_options, kept, applied);
            return Ok(effective_options);
        };
        Err(Error::ConfigRefused {
            dbms: self.build.dbms,
            version: self.build.version.clone(),
            config: config.name.clone(),
            message,
        })
    }

    fn have_build_read(&self, path: &Path) -> Result<(KnownOptions, Output)> {
        let scratch = self.temp_dir.join("read");
        make_private_dir(&scratch, self.user)?;
        let read = options::with_file(self.layout, self.user, path, &scratch);
        fs::remove_dir_all(&scratch).map_err(Error::file("remove", &scratch))?;
        read
    }

    /// Splits the config into options that the build accepts and those left out.
    fn select_options(&self, config: &Config, known: &KnownOptions) -> Result<(Options, Vec<LeftOut>)> {
        let names = config.options.iter().map(|(option, _)| option.as_str());
        let without_effect = known.without_effect(self.layout, self.user, names)?;
        let (mut kept, mut left_out) =
            applied::select_options(config, self.build, &OWN_OPTIONS, |option, value| {
                if without_effect.contains(option) {
                    let reason = "accepted without effect".to_owned();
                    return Ok(Some(LeftOut { reason, without_effect: true, ..LeftOut::default() }));
                }
                if known.has(option) {
                    let reason = |other| format!("superseded by {other}");
                    let superseded = superseded_by(option, config, known).map(reason);
                    return Ok(superseded.map(|reason| LeftOut { reason, ..LeftOut::default() }));
                }
                let left = unknown((self.build, self.layout, self.user), (option, value))?;
                let is_loose = config.loose.iter().any(|loose| loose == option);
                let reason = left.reason.clone() + if is_loose { IGNORED } else { "" };
                Ok(Some(LeftOut { reason, unknown: left.unknown && !is_loose, ..left }))
            })?;
        let files = plugins::files(self.layout)?;
        for (option, value) in &mut kept {
            let missing = plugins::missing(&files, (option, value));
            if let Some((left, here)) = missing.or_else(|| outside::of_mysql(option, value)) {
                left_out.push(left);
                *value = here;
            }
        }
        kept.retain(|(option, value)| {
            !value.is_empty() || !left_out.iter().any(|left| left.option == *option)
        });
        left_out.extend(config.other_sections.iter().filter_map(|section| {
            let reason = conf::why_not_read(section)?;
            Some(LeftOut { option: format!("[{section}]"), reason, ..LeftOut::default() })
        }));
        Ok((kept, left_out))
    }

    fn own_settings(&self, listen: &Listen, known: &KnownOptions, kept: &[(String, String)]) -> Options {
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
            && self.build.version_num() >= CREATES_TLS_KEY_SINCE
            && !kept.iter().any(is_of_tls)
        {
            own.push(("ssl", "OFF".to_owned()));
        }
        if self.instrumented {
            // Valgrind does not handle all of the kernel's asynchronous I/O correctly.
            own.push(("innodb_use_native_aio", "OFF".to_owned()));
            // It lacks the address space that some versions reserve for a larger pool.
            let pool = kept.iter().find(|(name, _)| name == POOL_SIZE).map(|(_, value)| value.as_str());
            if known.has(POOL_SIZE_MAX)
                && let Some(pool) = pool.or_else(|| known.value(POOL_SIZE))
            {
                own.push((POOL_SIZE_MAX, pool.to_owned()));
            }
        }
        if self.placed {
            // A cached thread would stay on the CPUs of its last session.
            own.push(("thread_cache_size", "0".to_owned()));
        }
        own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Why a build does not take an option that it does not list.
fn unknown(
    (build, layout, user): (&Build, &Layout, &ServerUser),
    (option, value): (&str, &str),
) -> Result<LeftOut> {
    match plugins::is_of_a_plugin(option) {
        true => plugins::without_plugin((build, layout, user), (option, value)),
        false => Ok(applied::unknown_option()),
    }
}

/// The options of a build with the plugins that a config loads. It is asked in the empty directory `place` of the user.
pub(crate) struct OfBuild<'a> {
    pub build: &'a Build,
    pub layout: Layout,
    pub user: &'a ServerUser,
    pub place: &'a Path,
    pub plugins: String,
    pub known: Arc<KnownOptions>,
}

impl OfBuild<'_> {
    /// Why the build does not create a data directory with a value.
    fn refusal_at_start(&self, (option, value): (&str, &str)) -> Result<Option<String>> {
        let path = self.place.join(FILE);
        let text = format!("[mysqld]\nsecure_file_priv = NULL\n{}\n", format_option(option, value));
        write_private(&path, text.as_bytes(), Some(self.user))?;
        let data_dir = self.place.join("data");
        make_private_dir(&data_dir, self.user)?;
        let output = options::initialized(&self.layout, self.user, &path, &data_dir)?;
        fs::remove_dir_all(&data_dir).map_err(Error::file("remove", &data_dir))?;
        Ok(refusal(&output))
    }

    /// Has the build read a file with these options, after those that load plugins.
    fn read(&self, options: &[(&str, &str)]) -> Result<(KnownOptions, Output)> {
        let path = self.place.join(FILE);
        let dir = self.layout.plugin_dir.as_ref().map(|dir| dir.to_string_lossy());
        let plugins = dir.iter().filter(|_| !self.plugins.is_empty());
        let plugins =
            plugins.flat_map(|dir| [("plugin_dir", &**dir), ("plugin_load_add", self.plugins.as_str())]);
        let options = options.iter().copied().filter(|(option, _)| !plugins::is_loading(option));
        let lines =
            plugins.chain(options).map(|(option, value)| format!("{}\n", format_option(option, value)));
        let text = format!("[mysqld]\n{}", lines.collect::<String>());
        write_private(&path, text.as_bytes(), Some(self.user))?;
        options::with_file(&self.layout, self.user, &path, self.place)
    }
}

impl Known for OfBuild<'_> {
    fn has(&self, option: &str) -> Result<bool> {
        Ok(self.known.has(option))
    }

    fn unknown(&self, options: &[&str]) -> Result<Vec<String>> {
        let accepted = self.known.without_effect(&self.layout, self.user, options.iter().copied())?;
        let unknown = options.iter().filter(|option| !self.known.has(option) && !accepted.contains(**option));
        Ok(unknown.map(|option| (*option).to_owned()).collect())
    }

    fn why_unknown(&self, option: (&str, &str)) -> Result<Option<LeftOut>> {
        unknown((self.build, &self.layout, self.user), option).map(Some)
    }

    fn lacking(&self, _config: &Config, option: (&str, &str)) -> Result<Option<LeftOut>> {
        Ok(plugins::missing(&plugins::files(&self.layout)?, option).map(|(left, _)| left))
    }

    fn refusal(&self, options: &[(&str, &str)]) -> Result<Option<String>> {
        Ok(refusal(&self.read(options)?.1))
    }

    fn adjusted(&self, options: &[(&str, &str)]) -> Result<Vec<LeftOut>> {
        let (effective, _) = self.read(options)?;
        Ok(options.iter().filter_map(|one| adjusted(&effective, *one)).collect())
    }

    fn is_read_only(&self, option: &str) -> bool {
        ["have_", "version_"].iter().any(|start| option.starts_with(start)) || READ_ONLY.contains(&option)
    }

    fn refused_at_start(&self, options: &[(&str, &str)]) -> Result<Vec<LeftOut>> {
        let mut refused = Vec::new();
        for one in options.iter().filter(|(option, _)| CHECKED_AT_START.contains(option)) {
            refused.extend(self.refusal_at_start(*one)?.map(|message| refused_value(*one, &message)));
        }
        Ok(refused)
    }

    fn default_of(&self, option: &str) -> Option<&str> {
        self.known.value(option)
    }

    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.known.names())
    }
}

/// The option that replaces this one, if the config has it and the build knows it.
fn superseded_by(option: &str, config: &Config, known: &KnownOptions) -> Option<&'static str> {
    let configured = |name: &str| config.options.iter().any(|(configured, _)| configured == name);
    SUPERSEDED
        .iter()
        .find(|(newer, older)| older.contains(&option) && known.has(newer) && configured(newer))
        .map(|(newer, _)| *newer)
}

/// What a server program says that does not accept its options file.
fn refusal(output: &Output) -> Option<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let complaints = complaints(&stderr);
    if output.status.success() && complaints.is_empty() {
        return None;
    }
    // What follows the first error follows from it.
    let first_error = || stderr.lines().find(|line| line.contains(ERROR_TAG)).map(message);
    Some(match (complaints.is_empty(), first_error()) {
        (false, _) => complaints,
        (true, Some(error)) => format!("  {error}"),
        (true, None) => {
            format!("  its server program exited with {}:\n{}", output.status, last_lines(&stderr, 5))
        }
    })
}

/// The server's complaints about options, without timestamps, codes and its path.
fn complaints(stderr: &str) -> String {
    let is_complaint = |line: &&str| COMPLAINTS.iter().any(|sign| line.contains(sign));
    let mut lines: Vec<String> =
        stderr.lines().filter(is_complaint).map(|line| format!("  {}", message(line))).collect();
    lines.dedup();
    lines.join("\n")
}

const ERROR_TAG: &str = "[ERROR]";

/// What a line of the log says.
fn message(line: &str) -> &str {
    let mut text = line.split_once(ERROR_TAG).map_or(line, |(_, text)| text);
    // MariaDB rings a bell.
    text = text.trim_start_matches(char::is_control).trim();
    // `[MY-010119] [Server]`
    while let Some((_, rest)) = text.strip_prefix('[').and_then(|tag| tag.split_once(']')) {
        text = rest.trim_start();
    }
    match text.split_once(": ") {
        Some((program, rest)) if is_server(program) => rest,
        _ => text,
    }
}

/// Whether a message begins with the server's program.
fn is_server(program: &str) -> bool {
    program == "mysqld" || program.starts_with('/') && !program.contains(' ')
}

/// Reports values that the server adjusts.
fn report_adjusted(effective_options: &KnownOptions, kept: &[(String, String)], applied: &mut Applied) {
    let written = kept.iter().filter(|(option, _)| !applied.added.iter().any(|(own, _)| own == option));
    for (option, value) in written {
        let adjusted = adjusted(effective_options, (&conf::canonical(option), value));
        applied.left_out.extend(adjusted.filter(|one| !applied.left_out.contains(one)));
    }
}

/// An option that the server does not take with the value as written.
fn adjusted(effective_options: &KnownOptions, (option, value): (&str, &str)) -> Option<LeftOut> {
    let effective = effective_options.value(option)?;
    is_different_number(value, effective).then(|| LeftOut {
        option: option.to_owned(),
        value: value.to_owned(),
        reason: format!("the server adjusted it to {effective}"),
        taken: Some(effective.to_owned()),
        ..LeftOut::default()
    })
}

/// Whether a value as written is a different number than the effective one. Texts, and switches with their
/// many spellings, count as equal: a server rejects unknown ones.
fn is_different_number(written: &str, effective: &str) -> bool {
    match (number(written), number(effective)) {
        (Some(written), Some(effective)) => (written - effective).abs() > f64::EPSILON * written.abs(),
        _ => false,
    }
}

/// Parses a number with an optional suffix for a power of 1024.
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
    fn complaints_have_no_timestamps() {
        let stderr = "2026-11-22T06:52:10.188572Z 0 [ERROR] Unknown suffix 'Q' used for variable 'a' (value '12Q')\n\
                      2026-11-22T06:52:10.188762Z 0 [ERROR] Aborting\n";
        assert_eq!(complaints(stderr), "  Unknown suffix 'Q' used for variable 'a' (value '12Q')");
    }

    #[test]
    fn a_message_has_neither_codes_nor_the_program_s_path() {
        for (line, said) in [
            ("2026-11-29T21:48:56Z 0 [ERROR] [MY-015642] [Server] Unknown: 'utf8'.", "Unknown: 'utf8'."),
            ("2026-11-29 21:35:10 0 [ERROR] /opt/bin/mariadbd: Error while setting", "Error while setting"),
            ("mysqld: [ERROR] unknown option", "unknown option"),
            ("mysqld: Character set 'utf9' is not", "Character set 'utf9' is not"),
            ("\u{7}/opt/bin/mariadbd: Character set 'utf9' is not", "Character set 'utf9' is not"),
        ] {
            assert_eq!(message(line), said);
        }
    }

    #[test]
    fn only_numbers_can_be_adjusted() {
        for (written, effective) in [("5", "100"), ("1G", "1073741825"), ("0.5", "1.000000")] {
            assert!(is_different_number(written, effective), "{written} {effective}");
        }
        for (written, effective) in
            [("2g", "2147483648"), ("90", "90.000000"), ("1", "TRUE"), ("ON", "2"), ("", "1"), ("all", "all")]
        {
            assert!(!is_different_number(written, effective), "{written} {effective}");
        }
    }
}
