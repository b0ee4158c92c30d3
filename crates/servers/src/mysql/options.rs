//! What a build knows of options: asked of its server program, which lists all of them with their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use rqps_builds::guard::Guarded;
use rqps_builds::mysql::Layout;
use rqps_builds::{Build, Error as BuildError, ServerUser};
use rustix::process::Signal;

use super::conf::canonical;
use crate::error::Result;

/// Starts the lines that show an option and not its value.
const OPTION_LINE: &str = "  ";

/// Prefixes that turn an option into its opposite, or say that it is meant.
const SWITCHES: [&str; 3] = ["skip_", "disable_", "enable_"];

/// Listing what a build knows needs no data directory.
const NO_DATA_DIR: &str = "/nonexistent";

#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Names as rqps writes them, with the values in force where they have one.
    values: BTreeMap<String, Option<String>>,
}

impl Known {
    /// Of a listing: first what each option means, then a table of names and values.
    fn parse(listing: &str) -> Known {
        let mut values = BTreeMap::new();
        let mut lines = listing.lines();
        for line in lines.by_ref().take_while(|line| !line.starts_with("-----")) {
            if let Some(name) = option_of(line) {
                values.insert(name, None);
            }
        }
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            values.insert(canonical(name), Some(value.trim().to_owned()));
        }
        Known { values }
    }

    /// Whether the build takes this option, in one of its spellings.
    pub fn has(&self, option: &str) -> bool {
        let bare = SWITCHES.iter().find_map(|switch| option.strip_prefix(switch));
        self.values.contains_key(option) || bare.is_some_and(|bare| self.values.contains_key(bare))
    }

    /// The value in force of a variable, as the server writes it.
    pub fn value(&self, option: &str) -> Option<&str> {
        self.values.get(option)?.as_deref()
    }
}

/// The name in a line such as `  -u, --user=name  Run as this user`.
fn option_of(line: &str) -> Option<String> {
    let rest = line.strip_prefix(OPTION_LINE)?;
    let rest = rest.strip_prefix("--").or_else(|| rest.split_once(", --").map(|(_, name)| name))?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c))).unwrap_or(rest.len());
    (end > 0).then(|| canonical(&rest[..end]))
}

/// All options of a build; asked once.
pub(crate) fn known(build: &Build, layout: &Layout, user: &ServerUser) -> Result<Arc<Known>> {
    static ASKED: Mutex<BTreeMap<(PathBuf, String), Arc<Known>>> = Mutex::new(BTreeMap::new());
    let key = (build.root.clone(), build.hash.clone());
    let lock = || ASKED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = lock().get(&key) {
        return Ok(Arc::clone(known));
    }
    let listing = list(layout, user, "--no-defaults", Path::new(NO_DATA_DIR))?;
    let known = Known::parse(&String::from_utf8_lossy(&listing.stdout));
    if known.values.len() < 100 {
        return Err(BuildError::CannotRun {
            program: layout.server.clone(),
            user: user.name.clone(),
            reason: format!("it lists no options: {}", String::from_utf8_lossy(&listing.stderr).trim()),
        }
        .into());
    }
    let known = Arc::new(known);
    lock().insert(key, Arc::clone(&known));
    Ok(known)
}

/// What a build makes of a file of options: its listing with their values, and on standard error its complaints. Old
/// versions open their logs meanwhile, in `scratch`.
pub(crate) fn with_file(
    layout: &Layout,
    user: &ServerUser,
    file: &Path,
    scratch: &Path,
) -> Result<(Known, Output)> {
    let output = list(layout, user, &format!("--defaults-file={}", file.display()), scratch)?;
    Ok((Known::parse(&String::from_utf8_lossy(&output.stdout)), output))
}

fn list(layout: &Layout, user: &ServerUser, defaults: &str, data_dir: &Path) -> Result<Output> {
    let mut guarded = Guarded::new(&layout.server, user, Signal::KILL)?;
    guarded
        .command()
        .arg(defaults)
        .arg(format!("--basedir={}", layout.basedir.display()))
        .arg(format!("--lc-messages-dir={}", layout.share_dir.display()))
        .arg(format!("--datadir={}", data_dir.display()))
        .args(["--verbose", "--help"]);
    Ok(guarded.output()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "Usage: mysqld [OPTIONS]\n\
        \x20 -u, --user=name     Run as this user\n\
        \x20 --innodb-io-capacity=# \n\
        \x20 --flush[=name] about\n\
        \n\
        Variables (--variable-name=value)\n\
        ---------------- ---------------\n\
        innodb-io-capacity                200\n\
        skip-name-resolve                 FALSE\n\
        log-bin                           (No default value)\n\
        \n\
        To see what values\n";

    #[test]
    fn names_and_values_of_a_listing() {
        let known = Known::parse(LISTING);
        for option in
            ["user", "flush", "innodb_io_capacity", "skip_name_resolve", "skip_log_bin", "disable_log_bin"]
        {
            assert!(known.has(option), "{option}");
        }
        assert!(!known.has("to") && !known.has("innodb_redo_log_capacity"));
        assert_eq!(known.value("innodb_io_capacity"), Some("200"));
        assert_eq!(known.value("user"), None);
    }
}
