//! Shared libraries that builds need from this system: which are missing, and which packages have them.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::guard::Guarded;
use crate::user::ServerUser;
use rustix::process::Signal;

/// Libraries that published builds need from the system, and their Debian packages.
const PACKAGES: [(&str, &str); 23] = [
    ("libpam.so.0", "libpam0g"),
    ("libkeyutils.so.1", "libkeyutils1"),
    ("libxml2.so.2", "libxml2"),
    ("libxslt.so.1", "libxslt1.1"),
    ("libstdc++.so.6", "libstdc++6"),
    ("libgcc_s.so.1", "libgcc-s1"),
    ("libz.so.1", "zlib1g"),
    ("libssl.so.3", "libssl3"),
    ("libcrypto.so.3", "libssl3"),
    ("libgssapi_krb5.so.2", "libgssapi-krb5-2"),
    ("libldap-2.5.so.0", "libldap-2.5-0"),
    ("liblz4.so.1", "liblz4-1"),
    ("libzstd.so.1", "libzstd1"),
    ("liburing.so.2", "liburing2"),
    ("libaio.so.1", "libaio1"),
    ("libnuma.so.1", "libnuma1"),
    ("libcrypt.so.1", "libcrypt1"),
    ("libsystemd.so.0", "libsystemd0"),
    ("libncurses.so.5", "libncurses5"),
    ("libtinfo.so.5", "libtinfo5"),
    ("libjemalloc.so.1", "libjemalloc1"),
    ("libssl.so.1.1", "libssl1.1"),
    ("libcrypto.so.1.1", "libssl1.1"),
];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Needed {
    pub name: String,
    /// The file that the loader uses; None if it finds none.
    pub file: Option<PathBuf>,
}

/// Lists all libraries that a program needs, by its own loader; a failed run names only one missing library.
/// The program gets `--version` in case it is linked statically and runs.
pub(crate) fn needed_by(program: &Path, user: &ServerUser) -> Result<Vec<Needed>> {
    let mut guarded = Guarded::new(Path::new("/usr/bin/env"), user, Signal::KILL)?;
    guarded.command().arg("LD_TRACE_LOADED_OBJECTS=1").arg(program).arg("--version");
    let output = guarded.output()?;
    Ok(parse_trace(&String::from_utf8_lossy(&output.stdout)))
}

/// Refuses a program with missing libraries and names all of them.
pub(crate) fn check(program: &Path, user: &ServerUser) -> Result<()> {
    let needed = needed_by(program, user)?;
    let not_found: Vec<String> =
        needed.into_iter().filter(|library| library.file.is_none()).map(|library| library.name).collect();
    if not_found.is_empty() { Ok(()) } else { Err(missing(program, not_found)) }
}

/// Parses the loader's lines: `name => file (address)` or `name => not found`.
fn parse_trace(text: &str) -> Vec<Needed> {
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let file = rest.split(" (").next().filter(|file| file.starts_with('/'));
        Some(Needed { name: name.to_owned(), file: file.map(PathBuf::from) })
    });
    lines.collect()
}

/// The error for missing libraries; names each once, and their packages.
pub(crate) fn missing(program: &Path, mut libraries: Vec<String>) -> Error {
    libraries.sort();
    libraries.dedup();
    Error::MissingLibraries {
        program: program.to_path_buf(),
        remedy: remedy(&libraries),
        libraries: libraries.join(", "),
    }
}

fn remedy(libraries: &[String]) -> String {
    let mut packages: Vec<&str> = Vec::new();
    let mut unknown: Vec<&str> = Vec::new();
    for library in libraries {
        match PACKAGES.iter().find(|(known, _)| known == library) {
            Some((_, package)) => packages.push(package),
            None => unknown.push(library),
        }
    }
    packages.dedup();
    let mut parts = Vec::new();
    if !packages.is_empty() {
        parts.push(format!(
            "on Debian or Ubuntu run `apt-get install {}` (elsewhere the package of the same library)",
            packages.join(" ")
        ));
    }
    if !unknown.is_empty() {
        parts.push(format!("install the package that holds {}", unknown.join(", ")));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_missing_libraries_are_named_with_their_packages() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibaio.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 \
                    (0x00007f)\n\tlibnuma.so.1 => not found\n\tlibodd.so.3 => not found\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let needed = parse_trace(text);
        let not_found: Vec<String> = needed
            .iter()
            .filter(|library| library.file.is_none())
            .map(|library| library.name.clone())
            .collect();
        assert_eq!(needed[1].file.as_deref(), Some(Path::new("/lib/libc.so.6")));
        let message = missing(Path::new("/b/mysqld"), not_found).to_string();
        assert!(message.contains("lacks libaio.so.1, libnuma.so.1, libodd.so.3"), "{message}");
        assert!(message.contains("apt-get install libaio1 libnuma1"), "{message}");
        assert!(message.contains("holds libodd.so.3"), "{message}");
    }
}
