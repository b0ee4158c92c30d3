//! Turns a config into the `postgresql.conf` of one server: initdb's stock file, the config's options that
//! the build accepts, then rqps's own. The build checks the file before a server is started with it.
//!
//! An option is known if the build lists it in `postgres --describe-config` or answers `postgres -C <name>`;
//! names with a dot belong to extensions and are kept, unless they misspell one. Unknown options are left out and
//! reported, and so are values that this machine or the build lacks. A known option with another value that the build
//! rejects is an error.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use rqps_builds::guard::Guarded;
use rqps_builds::{Build, Error as BuildError, ServerUser};
use rqps_model::{LeftOut, did_you_mean};
use rustix::process::Signal;

use crate::applied::{self, Options};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::option::quoted;
use crate::outside;
use crate::postgres::{available, contrib, preloaded};
use crate::private::{read_private, write_private};
use crate::spec::{Applied, Listen};
use crate::system::Known;

/// initdb's stock file, kept in the data directory for later starts.
const STOCK: &str = "rqps-stock.conf";

/// Options for where a server is and where it logs, which rqps sets, and `ssl`, whose files are elsewhere: clients do
/// not encrypt.
pub(crate) const OWN_OPTIONS: [&str; 13] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "log_destination",
    "log_line_prefix",
    "logging_collector",
    "port",
    "ssl",
    "unix_socket_directories",
    "unix_socket_permissions",
];

/// A build and the data directory that it serves.
pub(crate) struct Settings<'a> {
    pub build: &'a Build,
    pub user: &'a ServerUser,
    pub data_dir: &'a Path,
}

impl Settings<'_> {
    /// Saves the stock file after initdb.
    pub fn keep_stock(&self) -> Result<()> {
        let path = self.data_dir.join("postgresql.conf");
        let stock = read_private(&path, self.user.uid)?;
        write_private(&self.data_dir.join(STOCK), &stock, Some(self.user))
    }

    /// Writes the server's `postgresql.conf` and has the build check it.
    pub fn apply(&self, config: &Config, listen: &Listen) -> Result<Applied> {
        let stock = read_private(&self.data_dir.join(STOCK), self.user.uid)?;
        let stock = String::from_utf8_lossy(&stock);
        self.write(&stock)?;
        let (kept, left_out) = self.select_options(config)?;
        let mut applied = Applied { left_out, added: own_settings(listen), config_as_used: String::new() };
        self.write_all(&stock, config, &kept, &mut applied)?;
        if applied.raise_max_connections(&kept, listen, self.checked_max_connections(config)?) {
            self.write_all(&stock, config, &kept, &mut applied)?;
            self.checked_max_connections(config)?;
        }
        Ok(applied)
    }

    fn write_all(&self, stock: &str, config: &Config, kept: &Options, applied: &mut Applied) -> Result<()> {
        applied.config_as_used = format!("{stock}\n{}", applied.render(config, kept, "", format_option));
        self.write(&applied.config_as_used)
    }

    fn write(&self, text: &str) -> Result<()> {
        write_private(&self.data_dir.join("postgresql.conf"), text.as_bytes(), Some(self.user))
    }

    /// The options that the build knows, in an empty data directory.
    pub fn known(self) -> Result<impl Known> {
        self.write("")?;
        Ok(KnownOptions { listed: self.listed_options()?, settings: self })
    }

    /// Splits the config into options that the build accepts and those left out. Call while `postgresql.conf`
    /// is the stock file.
    fn select_options(&self, config: &Config) -> Result<(Options, Vec<LeftOut>)> {
        let known = KnownOptions { listed: self.listed_options()?, settings: self };
        let (mut kept, mut left_out) =
            applied::select_options(config, self.build, &OWN_OPTIONS, |option, value| {
                Ok(match known.has(option)? {
                    true if outside::OF_POSTGRES.contains(&option) => Some(outside::left_out()),
                    true if !self.machine_has(option, value)? => Some(available::not_on_this_machine()),
                    true => self.lacking_for_start(config, option, value)?,
                    false => Some(applied::unknown_option()),
                })
            })?;
        for (option, value) in &mut kept {
            if let Some((left, here)) = available::missing(&self.build.bin_dir, (option, value)) {
                left_out.push(left);
                *value = here;
            }
        }
        kept.retain(|(option, value)| {
            !value.is_empty() || !left_out.iter().any(|left| left.option == *option)
        });
        Ok((kept, left_out))
    }

    /// Whether this machine has the locale or the time zone that an option names.
    fn machine_has(&self, option: &str, value: &str) -> Result<bool> {
        Ok(!available::OF_MACHINE.contains(&option) || self.accepts(&format!("{option}={value}"))?)
    }

    /// Why a server would not start here with a value for shared memory that other machines or builds take.
    fn lacking_for_start(&self, config: &Config, option: &str, value: &str) -> Result<Option<LeftOut>> {
        if !available::needs_kernel(option, value) {
            return Ok(None);
        }
        let setting = format!("{option}={value}");
        if !self.accepts(&setting)? {
            return Ok(
                available::depends_on_build(option, value).then(|| available::not_in_this_build(value))
            );
        }
        // Of the size that the config gives shared memory.
        let is_of_size = |name: &str| ["max_connections", "shared_buffers"].contains(&name);
        let sizes = config.options.iter().filter(|(name, _)| is_of_size(name));
        let mut settings: Vec<String> = sizes.map(|(name, value)| format!("{name}={value}")).collect();
        let starts_without = self.makes_shared_memory(&settings)?;
        settings.push(setting);
        let lacks = starts_without && !self.makes_shared_memory(&settings)?;
        Ok(lacks.then(available::not_on_this_machine))
    }

    /// Whether the build takes a value for valid.
    fn accepts(&self, setting: &str) -> Result<bool> {
        let data_dir = self.data_dir.to_string_lossy();
        let output = self.run_postgres(&["-D", &data_dir, "-c", setting, "-C", "max_connections"])?;
        Ok(output.status.success())
    }

    /// Whether a server with these settings gets its shared memory, huge pages and rings of io_uring included: as
    /// initdb asks it.
    fn makes_shared_memory(&self, settings: &[String]) -> Result<bool> {
        let data_dir = self.data_dir.to_string_lossy();
        let mode: &[&str] =
            if self.build.version_num() >= 150_000 { &["--check"] } else { &["--boot", "-x0"] };
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        let arguments: Vec<&str> = mode.iter().copied().chain(["-D", &data_dir]).chain(settings).collect();
        Ok(self.run_postgres(&arguments)?.status.success())
    }

    fn listed_options(&self) -> Result<BTreeSet<String>> {
        let output = self.run_postgres(&["--describe-config"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names: BTreeSet<String> = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        if names.is_empty() {
            return Err(BuildError::CannotRun {
                program: self.build.bin_dir.join("postgres"),
                user: self.user.name.clone(),
                reason: format!("it lists no options: {}", String::from_utf8_lossy(&output.stderr).trim()),
            }
            .into());
        }
        Ok(names)
    }

    /// The listing omits developer options; the server knows all.
    fn server_knows(&self, option: &str) -> Result<bool> {
        let output = self.query_option(option)?;
        Ok(output.status.success()
            || !String::from_utf8_lossy(&output.stderr).contains("unrecognized configuration parameter"))
    }

    fn query_option(&self, option: &str) -> Result<Output> {
        let data_dir = self.data_dir.to_string_lossy();
        self.run_postgres(&["-D", &data_dir, "-C", option])
    }

    fn run_postgres(&self, arguments: &[&str]) -> Result<Output> {
        let mut postgres = Guarded::new(&self.build.bin_dir.join("postgres"), self.user, Signal::KILL)?;
        postgres.command().args(arguments);
        Ok(postgres.output()?)
    }

    /// Has the build read the whole file. It prints `max_connections` only if every line is valid.
    fn checked_max_connections(&self, config: &Config) -> Result<u32> {
        let output = self.query_option("max_connections")?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        if output.status.success()
            && let Ok(connections) = stdout.trim().parse()
        {
            return Ok(connections);
        }
        Err(Error::ConfigRefused {
            dbms: self.build.dbms,
            version: self.build.version.clone(),
            config: config.name.clone(),
            message: complaints(&String::from_utf8_lossy(&output.stderr)),
        })
    }
}

pub(crate) fn format_option(option: &str, value: &str) -> String {
    format!("{option} = {}", quoted(value))
}

struct KnownOptions<S> {
    listed: BTreeSet<String>,
    settings: S,
}

impl<'a, S: Borrow<Settings<'a>>> Known for KnownOptions<S> {
    fn has(&self, option: &str) -> Result<bool> {
        if option.contains('.') {
            return Ok(contrib::meant(option).is_none());
        }
        Ok(self.listed.contains(option) || self.settings.borrow().server_knows(option)?)
    }

    fn question(&self, option: &str) -> Option<String> {
        match contrib::meant(option) {
            Some(meant) => Some(format!("Did you mean `{meant}`?")),
            None => did_you_mean(option, self.names()),
        }
    }

    fn refusal(&self, options: &[(&str, &str)]) -> Result<Option<String>> {
        let settings = self.settings.borrow();
        // Whether it takes a locale depends on the machine, not on the version, and io_uring is left out of builds.
        let of_build = options.iter().filter(|(option, value)| {
            !available::OF_MACHINE.contains(option) && !available::depends_on_build(option, value)
        });
        let lines = of_build.map(|(option, value)| format!("{}\n", format_option(option, value)));
        settings.write(&lines.collect::<String>())?;
        let output = settings.query_option("max_connections")?;
        Ok((!output.status.success()).then(|| {
            let complaints = complaints(&String::from_utf8_lossy(&output.stderr));
            // Without the level of each.
            let messages =
                complaints.lines().map(|line| line.split_once(": ").map_or(line, |(_, said)| said));
            messages.collect::<Vec<_>>().join("; ")
        }))
    }

    fn refused_at_start(&self, options: &[(&str, &str)]) -> Result<Vec<LeftOut>> {
        let settings = self.settings.borrow();
        preloaded::refused((settings.build, settings.user), options, settings.data_dir)
    }

    fn lacking(&self, config: &Config, (option, value): (&str, &str)) -> Result<Option<LeftOut>> {
        let settings = self.settings.borrow();
        let left = match settings.machine_has(option, value)? {
            true => settings.lacking_for_start(config, option, value)?,
            false => Some(available::not_on_this_machine()),
        };
        if let Some(left) = left {
            return Ok(Some(LeftOut { option: option.to_owned(), value: value.to_owned(), ..left }));
        }
        Ok(available::missing(&settings.build.bin_dir, (option, value)).map(|(left, _)| left))
    }

    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.listed.iter().map(String::as_str))
    }
}

fn own_settings(listen: &Listen) -> Options {
    let addresses = if listen.tcp { "127.0.0.1" } else { "" };
    [
        ("listen_addresses", addresses.to_owned()),
        ("port", listen.port.to_string()),
        ("unix_socket_directories", listen.socket_dir.to_string_lossy().into_owned()),
        ("log_destination", "stderr".to_owned()),
        ("logging_collector", "off".to_owned()),
        ("log_line_prefix", "%m [%p] ".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// Said of `postgresql.auto.conf`, which new data directories lack.
const NO_FILE: &str = "skipping missing configuration file";

/// The server's complaints about options, without timestamps and the final summary.
fn complaints(stderr: &str) -> String {
    let lines: Vec<String> = stderr
        .lines()
        .filter(|line| !line.contains("contains errors") && !line.contains(NO_FILE))
        .map(|line| {
            ["LOG:", "FATAL:", "ERROR:", "HINT:", "DETAIL:", "WARNING:"]
                .iter()
                .find_map(|word| line.find(word))
                .map_or(line, |at| &line[at..])
        })
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .map(|line| format!("  {line}"))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_have_no_timestamps() {
        let stderr = "2026-01-01 00:00:00.0 UTC [9] LOG:  invalid value for parameter \"io_method\": \"io_uring\"\n\
                      2026-01-01 00:00:00.0 UTC [9] HINT:  Available values: sync, worker.\n\
                      2026-01-01 00:00:00.0 UTC [9] FATAL:  configuration file \"/x/postgresql.conf\" contains errors\n";
        assert_eq!(
            complaints(stderr),
            "  LOG: invalid value for parameter \"io_method\": \"io_uring\"\n  HINT: Available values: sync, worker."
        );
    }
}
