//! Asks a build's server program for its options and their values.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use rqps_builds::guard::Guarded;
use rqps_builds::mysql::Layout;
use rqps_builds::{Build, Error as BuildError, ServerUser};
use rustix::process::Signal;

use super::conf::{canonical, normalized};
use crate::error::Result;

/// Prefix of the lines that describe an option.
const OPTION_LINE: &str = "  ";

/// Prefixes that disable or explicitly enable an option.
const SWITCHES: [&str; 3] = ["skip_", "disable_", "enable_"];

/// Listing the options needs no data directory.
const NO_DATA_DIR: &str = "/nonexistent";

#[derive(Debug, Default)]
pub(crate) struct KnownOptions {
    /// Normalized names, with their values if the listing shows one.
    values: BTreeMap<String, Option<String>>,
    /// Of names asked for that the listing lacks: whether the build accepts them without effect.
    without_effect: Mutex<BTreeMap<String, bool>>,
}

impl KnownOptions {
    /// Parses a listing: descriptions of the options, then a table of names and values.
    fn parse(listing: &str) -> KnownOptions {
        let mut values = BTreeMap::new();
        let mut lines = listing.lines();
        for line in lines.by_ref().take_while(|line| !line.starts_with("-----")) {
            if let Some(name) = parse_option_name(line) {
                values.insert(name, None);
            }
        }
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            values.insert(canonical(name), Some(value.trim().to_owned()));
        }
        KnownOptions { values, without_effect: Mutex::default() }
    }

    /// Whether the build lists this option, in one of its spellings.
    pub fn has(&self, option: &str) -> bool {
        spellings(option).any(|spelling| self.values.contains_key(spelling))
    }

    /// Those of some options that the build does not list and yet accepts, without effect.
    /// Asked once each.
    pub fn without_effect<'o>(
        &self,
        layout: &Layout,
        user: &ServerUser,
        options: impl Iterator<Item = &'o str>,
    ) -> Result<BTreeSet<String>> {
        let unlisted: Vec<&str> = options.filter(|option| !self.has(option)).collect();
        let mut asked = self.without_effect.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let new: Vec<&str> =
            unlisted.iter().filter(|option| !asked.contains_key(**option)).copied().collect();
        if !new.is_empty() {
            // One that it does not know is no error with this prefix, after which it would say nothing of the others.
            let arguments: Vec<String> = new.iter().map(|option| format!("--loose-{option}")).collect();
            let output = list(layout, user, "--no-defaults", Path::new(NO_DATA_DIR), &arguments)?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            asked.extend(new.iter().map(|option| ((*option).to_owned(), warns_of(&stderr, option))));
        }
        let is_accepted = |option: &&&str| asked.get(**option).is_some_and(|accepted| *accepted);
        Ok(unlisted.iter().filter(is_accepted).map(|option| (*option).to_owned()).collect())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The effective value of a variable, in the server's notation.
    pub fn value(&self, option: &str) -> Option<&str> {
        self.values.get(option)?.as_deref()
    }
}

/// An option's name, and the name without a prefix that switches it.
fn spellings(option: &str) -> impl Iterator<Item = &str> {
    let bare = SWITCHES.iter().find_map(|switch| option.strip_prefix(switch));
    std::iter::once(option).chain(bare)
}

/// Whether a warning quotes an option's name. Of an option that it does not know, a build quotes all that was written.
fn warns_of(stderr: &str, option: &str) -> bool {
    let is_named = |warning: &str| {
        let mut quoted = warning.split('\'').skip(1).step_by(2);
        quoted.any(|word| spellings(option).any(|spelling| normalized(word) == spelling))
    };
    stderr.lines().filter_map(|line| Some(line.split_once("[Warning] ")?.1)).any(is_named)
}

/// Parses the name from a line such as `  -u, --user=name  Run as this user`.
fn parse_option_name(line: &str) -> Option<String> {
    let rest = line.strip_prefix(OPTION_LINE)?;
    let rest = rest.strip_prefix("--").or_else(|| rest.split_once(", --").map(|(_, name)| name))?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c))).unwrap_or(rest.len());
    (end > 0).then(|| canonical(&rest[..end]))
}

/// All options of a build with some of its plugins, `name=file;file`, but for those that are none for servers. Cached.
pub(crate) fn known(
    (build, layout, user): (&Build, &Layout, &ServerUser),
    plugins: &str,
) -> Result<Arc<KnownOptions>> {
    type OfBuildAndPlugins = BTreeMap<(PathBuf, String, String), Arc<KnownOptions>>;
    static CACHE: Mutex<OfBuildAndPlugins> = Mutex::new(BTreeMap::new());
    let key = (build.root.clone(), build.hash.clone(), plugins.to_owned());
    let lock = || CACHE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = lock().get(&key) {
        return Ok(Arc::clone(known));
    }
    let dir = layout.plugin_dir.iter().map(|dir| format!("--plugin-dir={}", dir.display()));
    let arguments: Vec<String> = match plugins.is_empty() {
        true => Vec::new(),
        false => dir.chain([format!("--plugin-load-add={plugins}")]).collect(),
    };
    let listing = list(layout, user, "--no-defaults", Path::new(NO_DATA_DIR), &arguments)?;
    let known = KnownOptions::parse(&String::from_utf8_lossy(&listing.stdout));
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

/// Has a build read an options file: returns its options with the resulting values, and its output, whose
/// standard error has the complaints. Old versions open their logs in `scratch`.
pub(crate) fn with_file(
    layout: &Layout,
    user: &ServerUser,
    file: &Path,
    scratch: &Path,
) -> Result<(KnownOptions, Output)> {
    let output = list(layout, user, &format!("--defaults-file={}", file.display()), scratch, &[])?;
    Ok((KnownOptions::parse(&String::from_utf8_lossy(&output.stdout)), output))
}

/// Has a build create system tables with an options file, in an empty directory: what it says.
pub(crate) fn initialized(
    layout: &Layout,
    user: &ServerUser,
    file: &Path,
    data_dir: &Path,
) -> Result<Output> {
    let defaults = format!("--defaults-file={}", file.display());
    ask((layout, user), &defaults, data_dir, &["--initialize-insecure".to_owned()])
}

fn list(
    layout: &Layout,
    user: &ServerUser,
    defaults: &str,
    data_dir: &Path,
    options: &[String],
) -> Result<Output> {
    let listing = ["--verbose", "--help"].map(str::to_owned);
    ask((layout, user), defaults, data_dir, &[options, &listing].concat())
}

fn ask(
    (layout, user): (&Layout, &ServerUser),
    defaults: &str,
    data_dir: &Path,
    options: &[String],
) -> Result<Output> {
    let mut guarded = Guarded::new(&layout.server, user, Signal::KILL)?;
    guarded
        .command()
        .arg(defaults)
        .arg(format!("--basedir={}", layout.basedir.display()))
        .arg(format!("--lc-messages-dir={}", layout.share_dir.display()))
        .arg(format!("--datadir={}", data_dir.display()))
        .args(options);
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
    fn a_listing_is_parsed() {
        let known = KnownOptions::parse(LISTING);
        for option in
            ["user", "flush", "innodb_io_capacity", "skip_name_resolve", "skip_log_bin", "disable_log_bin"]
        {
            assert!(known.has(option), "{option}");
        }
        assert!(!known.has("to") && !known.has("innodb_redo_log_capacity"));
        assert_eq!(known.value("innodb_io_capacity"), Some("200"));
        assert_eq!(known.value("user"), None);
    }

    #[test]
    fn only_a_warning_that_names_an_option_tells_that_it_is_accepted_without_effect() {
        let stderr = "2026-11-28  9:12:59 0 [Warning] Could not increase number of max_open_files to more than 20000\n\
            2026-11-28  9:12:59 0 [Warning] 'innodb-page-cleaners' was removed. It does nothing now and exists only \
            for compatibility with old my.cnf files.\n\
            2026-11-28  9:12:59 0 [Warning] /opt/bin/mariadbd: unknown variable 'loose-tx_isolation=READ-COMMITTED'\n\
            2026-11-28  9:12:59 0 [Warning] /opt/bin/mariadbd: unknown option '--loose-bogus_thing'\n\
            2026-11-28  9:12:59 0 [ERROR] 'max-conections' is unknown\n";
        for option in ["innodb_page_cleaners", "skip_innodb_page_cleaners"] {
            assert!(warns_of(stderr, option), "{option}");
        }
        for option in ["innodb_page", "max_open_files", "tx_isolation", "bogus_thing", "max_conections"] {
            assert!(!warns_of(stderr, option), "{option}");
        }
    }
}
