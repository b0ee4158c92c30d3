//! Values of the options of libraries that a config preloads.
//!
//! Postgres takes any value of a name with a dot. Once the library is loaded that has it, a server warns of what is
//! wrong in its log, and goes on as if the option were not set. A server that is given nothing to listen on loads its
//! libraries and ends.

use std::path::Path;
use std::time::Duration;

use rqps_builds::guard::Guarded;
use rqps_builds::{Build, ServerUser};
use rqps_model::LeftOut;
use rustix::process::Signal;

use super::available::{self, SHARED};
use super::settings::format_option;
use crate::data_dir::make_private_dir;
use crate::error::Result;
use crate::private::write_private;
use crate::spec::USER;
use crate::unknown::refused_value;

/// A library may wait for something while it is loaded.
const LIMIT: Duration = Duration::from_secs(60);

/// Options of libraries that a server of the build warns of and does not set; none if it cannot be tried. `place` is a
/// directory of the user.
pub(crate) fn refused(
    (build, user): (&Build, &ServerUser),
    options: &[(&str, &str)],
    place: &Path,
) -> Result<Vec<LeftOut>> {
    let of_libraries: Vec<_> = options.iter().copied().filter(|(option, _)| option.contains('.')).collect();
    let libraries: Vec<String> =
        options.iter().filter_map(|one| available::loaded(&build.bin_dir, *one)).collect();
    if of_libraries.is_empty() || libraries.is_empty() {
        return Ok(Vec::new());
    }
    let data_dir = place.join("preloaded");
    make_private_dir(&data_dir, user)?;
    let mut initdb = Guarded::new(&build.bin_dir.join("initdb"), user, Signal::KILL)?;
    let arguments = ["-U", USER, "-A", "trust", "--encoding=UTF8", "--no-locale", "-N"];
    initdb.command().arg("-D").arg(&data_dir).args(arguments);
    if !initdb.output()?.status.success() {
        return Ok(Vec::new());
    }
    let libraries = libraries.join(",");
    let set = [("listen_addresses", ""), ("unix_socket_directories", ""), (SHARED, libraries.as_str())];
    let lines = set.iter().chain(&of_libraries);
    let text: String = lines.map(|(option, value)| format!("{}\n", format_option(option, value))).collect();
    write_private(&data_dir.join("postgresql.conf"), text.as_bytes(), Some(user))?;
    let mut postgres = Guarded::new(&build.bin_dir.join("postgres"), user, Signal::KILL)?;
    postgres.command().arg("-D").arg(&data_dir);
    let said = postgres.output_within(LIMIT)?;
    let said = said.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).unwrap_or_default();
    let warned = |one: &(&str, &str)| {
        let left = refused_value(*one, &warning(&said, one.0)?);
        Some(LeftOut { without_effect: true, ..left })
    };
    Ok(of_libraries.iter().filter_map(warned).collect())
}

/// Of names that a version's library does not have, not of values: another version may.
const OF_NAMES: [&str; 2] = ["unrecognized configuration parameter", "invalid configuration parameter name"];

/// What a log warns of an option's value, with the hint that follows.
fn warning(log: &str, option: &str) -> Option<String> {
    let quoted = format!("\"{option}\"");
    let is_about = |said: &str| said.contains(&quoted) && !OF_NAMES.iter().any(|words| said.contains(words));
    let mut lines = log.lines();
    let (_, said) = lines.find_map(|line| line.split_once("WARNING:").filter(|(_, said)| is_about(said)))?;
    let hint = lines.next().and_then(|line| line.split_once("HINT:"));
    let hint = hint.map_or_else(String::new, |(_, hint)| format!("; {}", hint.trim()));
    Some(format!("{}{hint}", said.trim()))
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn a_warning_is_told_with_its_hint() {
        let log = "2026-01-01 UTC [9] WARNING:  invalid value for parameter \"auto_explain.log_format\": \"jsn\"\n\
                   2026-01-01 UTC [9] HINT:  Available values: text, xml, json, yaml.\n\
                   2026-01-01 UTC [9] WARNING:  invalid configuration parameter name \"a.b\", removing it\n\
                   2026-01-01 UTC [9] LOG:  \"a.c\"\n";
        let said = "invalid value for parameter \"auto_explain.log_format\": \"jsn\"; Available values: text, xml, json, \
                    yaml.";
        assert_eq!(warning(log, "auto_explain.log_format").as_deref(), Some(said));
        assert_eq!([warning(log, "a.b"), warning(log, "a.c")], [None, None]);
    }
}
