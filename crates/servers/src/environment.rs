//! Environment variables of a server program. Preloaded libraries are checked before and after the start,
//! because the loader skips what it cannot load and runs the program anyway.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MMapPath, MemoryMap, Process};
use rqps_builds::ServerUser;

use crate::error::{Error, Result};

/// The variable that lists libraries to load first.
const PRELOAD: &str = "LD_PRELOAD";

/// Sets variables and executes the program; the start shim does not see them.
const ENV: &str = "/usr/bin/env";

/// The prefix of the server's command that sets the variables; empty without variables.
pub(crate) fn command(env: &BTreeMap<String, String>) -> Vec<OsString> {
    if env.is_empty() {
        return Vec::new();
    }
    let variables = env.iter().map(|(name, value)| OsString::from(format!("{name}={value}")));
    [OsString::from(ENV), OsString::from("--")].into_iter().chain(variables).collect()
}

pub(crate) fn check(env: &BTreeMap<String, String>, user: &ServerUser) -> Result<()> {
    for (name, value) in env {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let has_valid_name =
            !name.is_empty() && name.chars().all(is_valid) && !name.starts_with(|c: char| c.is_ascii_digit());
        if !has_valid_name || value.contains('\0') {
            return Err(Error::BadVariable { name: name.clone() });
        }
    }
    for library in libraries(env) {
        let bad = |reason: &str| Error::BadPreload { library: library.clone(), reason: reason.to_owned() };
        if !library.is_absolute() {
            return Err(bad("the path is not absolute: start it with /"));
        }
        if !library.is_file() {
            return Err(bad("no such file: build it, or correct the path"));
        }
        if let Some(directory) = library.parent() {
            user.check_reachable(directory, "move the library to a directory that everybody can enter")?;
        }
        if !user.may('r', &library) {
            return Err(bad(&format!("user {} may not read it: run `chmod o+r` on it", user.name)));
        }
    }
    Ok(())
}

/// Checks that a running server has loaded every library to preload.
pub(crate) fn check_loaded(env: &BTreeMap<String, String>, pid: u32, log: &str) -> Result<()> {
    let libraries = libraries(env);
    if libraries.is_empty() {
        return Ok(());
    }
    let maps = Process::new(pid.cast_signed())
        .and_then(|process| process.maps())
        .map_err(|error| Error::file("read", format!("/proc/{pid}/maps"))(std::io::Error::other(error)))?;
    for library in libraries {
        let inode = fs::metadata(&library).map_err(Error::file("examine", &library))?.ino();
        if !maps.iter().any(|map| is_mapping_of(map, &library, inode)) {
            return Err(Error::NotPreloaded { reason: loader_message(log, &library), library });
        }
    }
    Ok(())
}

/// On some file systems the device numbers in maps and stat differ, so this compares the file name instead.
fn is_mapping_of(map: &MemoryMap, library: &Path, inode: u64) -> bool {
    let MMapPath::Path(mapped) = &map.pathname else {
        return false;
    };
    let real = fs::canonicalize(library).ok();
    let paths = [Some(library), real.as_deref()].into_iter().flatten();
    map.inode == inode && paths.filter_map(Path::file_name).any(|name| mapped.file_name() == Some(name))
}

/// The loader's message about a library in the server's log.
fn loader_message(log: &str, library: &Path) -> String {
    let shown = library.display().to_string();
    let line = log.lines().find(|line| line.contains("ld.so") && line.contains(&shown));
    match line {
        Some(line) => format!("loader message: {}", line.trim()),
        None => "the loader skipped it silently: is the program statically linked?".to_owned(),
    }
}

/// The libraries in the list; the loader accepts spaces and colons as separators.
fn libraries(env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let list = env.get(PRELOAD).map_or("", String::as_str);
    list.split([' ', ':']).filter(|library| !library.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromBufRead;
    use procfs::process::MemoryMaps;
    use rqps_builds::server_user;

    fn env(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn libraries_that_the_loader_would_skip_are_refused() {
        let user = server_user().unwrap();
        let message = |name: &str, value: &str| check(&env(name, value), &user).unwrap_err().to_string();
        assert!(message("LD_PRELOAD", "shim.so").contains("not absolute"));
        assert!(message("LD_PRELOAD", "/etc/passwd:/nowhere/shim.so").contains("/nowhere/shim.so"));
        assert!(message("A=B", "x").contains("A=B"));
        if user.switches {
            assert!(message("LD_PRELOAD", "/etc/shadow").contains("may not read it"));
        }
        check(&env("LD_PRELOAD", "/etc/passwd /etc/group"), &user).unwrap();
    }

    #[test]
    fn mappings_are_recognised_by_inode_and_name() {
        let line = "7f0-7f1 r-xp 00000000 fd:00 4711    /opt/a b/dose.so\n";
        let map = &MemoryMaps::from_buf_read(line.as_bytes()).unwrap().0[0];
        assert!(is_mapping_of(map, Path::new("/opt/a b/dose.so"), 4711));
        assert!(!is_mapping_of(map, Path::new("/opt/a b/dose.so"), 4712));
        assert!(!is_mapping_of(map, Path::new("/opt/other.so"), 4711));
    }
}
