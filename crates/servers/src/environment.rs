//! Environment variables of a server program. Libraries to preload are checked before and after the start, because the
//! loader skips what it cannot load and runs the program without it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MMapPath, MemoryMap, Process};
use rqps_builds::ServerUser;

use crate::error::{Error, Result};

/// The variable that names libraries to load before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// Sets variables and executes the program that follows: neither the start shim nor anything else sees them.
const ENV: &str = "/usr/bin/env";

/// The prefix of the server's command that sets these variables for it alone; empty without variables.
pub(crate) fn command(env: &BTreeMap<String, String>) -> Vec<OsString> {
    if env.is_empty() {
        return Vec::new();
    }
    let variables = env.iter().map(|(name, value)| OsString::from(format!("{name}={value}")));
    [OsString::from(ENV), OsString::from("--")].into_iter().chain(variables).collect()
}

/// Refuses invalid names and libraries that the server's user cannot read.
pub(crate) fn check(env: &BTreeMap<String, String>, user: &ServerUser) -> Result<()> {
    for (name, value) in env {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let named =
            !name.is_empty() && name.chars().all(good) && !name.starts_with(|c: char| c.is_ascii_digit());
        if !named || value.contains('\0') {
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

/// Checks that every library to preload is in the memory of a running server.
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
            return Err(Error::NotPreloaded { reason: loaders_reason(log, &library), library });
        }
    }
    Ok(())
}

/// Device numbers differ between maps and stat on some file systems, so the file name has to do.
fn is_mapping_of(map: &MemoryMap, library: &Path, inode: u64) -> bool {
    let MMapPath::Path(mapped) = &map.pathname else {
        return false;
    };
    let real = fs::canonicalize(library).ok();
    let named = [Some(library), real.as_deref()].into_iter().flatten();
    map.inode == inode && named.filter_map(Path::file_name).any(|name| mapped.file_name() == Some(name))
}

/// What the loader said of a library, from the server's log.
fn loaders_reason(log: &str, library: &Path) -> String {
    let shown = library.display().to_string();
    let line = log.lines().find(|line| line.contains("ld.so") && line.contains(&shown));
    match line {
        Some(line) => format!("the loader says: {}", line.trim()),
        None => "the loader skipped it silently: is the program statically linked?".to_owned(),
    }
}

/// The files that are to be preloaded: the loader takes spaces and colons between them.
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
    fn what_the_loader_would_silently_leave_out_is_refused() {
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
    fn a_mapping_is_known_by_inode_and_name() {
        let line = "7f0-7f1 r-xp 00000000 fd:00 4711    /opt/a b/dose.so\n";
        let map = &MemoryMaps::from_buf_read(line.as_bytes()).unwrap().0[0];
        assert!(is_mapping_of(map, Path::new("/opt/a b/dose.so"), 4711));
        assert!(!is_mapping_of(map, Path::new("/opt/a b/dose.so"), 4712));
        assert!(!is_mapping_of(map, Path::new("/opt/other.so"), 4711));
    }
}
