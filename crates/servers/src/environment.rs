//! Variables in the environment of a server program. Libraries to preload are checked on both sides of the start,
//! because the loader leaves out what it cannot load and lets the program run without.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rqps_builds::ServerUser;

use crate::error::{Error, Result};

/// The variable that names libraries to load before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// Sets variables and turns into the program that follows: neither the start shim nor anything else gets them.
const ENV: &str = "/usr/bin/env";

/// What comes before the server's command so that it alone has these variables; nothing when there are none.
pub(crate) fn command(env: &BTreeMap<String, String>) -> Vec<OsString> {
    if env.is_empty() {
        return Vec::new();
    }
    let variables = env.iter().map(|(name, value)| OsString::from(format!("{name}={value}")));
    [OsString::from(ENV), OsString::from("--")].into_iter().chain(variables).collect()
}

/// Refuses names that are none and libraries that the server's user cannot read.
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
            return Err(bad("the path is not absolute: write it from the root"));
        }
        if !library.is_file() {
            return Err(bad("there is no such file: build it, or correct the path"));
        }
        if let Some(directory) = library.parent() {
            user.check_reachable(directory, "move the library to where everybody can enter")?;
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
    let maps_path = PathBuf::from(format!("/proc/{pid}/maps"));
    let maps = fs::read_to_string(&maps_path).map_err(Error::file("read", &maps_path))?;
    for library in libraries {
        let inode = fs::metadata(&library).map_err(Error::file("examine", &library))?.ino();
        if !maps.lines().any(|line| is_mapping_of(line, &library, inode)) {
            return Err(Error::NotPreloaded { reason: loaders_reason(log, &library), library });
        }
    }
    Ok(())
}

/// A line of maps: addresses, rights, offset, device, inode, path.
fn is_mapping_of(line: &str, library: &Path, inode: u64) -> bool {
    let mut fields = line.split_ascii_whitespace().skip(4);
    let its_inode = fields.next().and_then(|inode| inode.parse::<u64>().ok());
    let name = library.file_name().map(|name| name.to_string_lossy());
    let real = fs::canonicalize(library).ok();
    let real_name = real.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    // Numbers of file systems differ between maps and stat on some, so the name has to do.
    let named = [name, real_name].into_iter().flatten().any(|name| line.ends_with(name.as_ref()));
    its_inode == Some(inode) && named
}

/// What the loader said of a library, from the server's log.
fn loaders_reason(log: &str, library: &Path) -> String {
    let shown = library.display().to_string();
    let line = log.lines().find(|line| line.contains("ld.so") && line.contains(&shown));
    match line {
        Some(line) => format!("the loader says: {}", line.trim()),
        None => "the loader left it out without a word: is the program linked statically?".to_owned(),
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
        let line = "7f0-7f1 r-xp 00000000 fd:00 4711    /opt/a b/dose.so";
        assert!(is_mapping_of(line, Path::new("/opt/a b/dose.so"), 4711));
        assert!(!is_mapping_of(line, Path::new("/opt/a b/dose.so"), 4712));
        assert!(!is_mapping_of(line, Path::new("/opt/other.so"), 4711));
    }
}
