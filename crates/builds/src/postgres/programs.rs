//! Running the programs of a Postgres build, and finding out beforehand whether they can run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::build::Build;
use crate::error::{Error, Result};
use crate::guard::{DeathSignal, Guarded};
use crate::libraries;
use crate::user::{ServerUser, server_user};

pub(crate) const NEEDED: [&str; 2] = ["postgres", "initdb"];

fn ask_version(program: &Path, user: &ServerUser) -> Result<Output> {
    let mut guarded = Guarded::new(program, user, DeathSignal::Kill)?;
    guarded.command().arg("--version");
    guarded.output()
}

/// Runs each needed program once, so that a missing library is found before any work is done.
pub(crate) fn check_runnable(build: &Build) -> Result<()> {
    let user = server_user()?;
    let mut missing: Vec<String> = Vec::new();
    for name in NEEDED {
        let path = build.bin_dir.join(name);
        user.check_reachable(
            &build.bin_dir,
            "move the build to where everybody can enter (the cache: with RQPS_CACHE)",
        )?;
        // The loader names only the first missing library of each.
        let output = ask_version(&path, &user)?;
        if output.status.success() {
            continue;
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match missing_library(&stderr) {
            Some(library) => missing.push(library.to_owned()),
            None => {
                return Err(Error::CannotRun {
                    program: path,
                    user: user.name,
                    reason: format!("it ended with {}: {stderr}", output.status),
                });
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(libraries::missing(&build.bin_dir.join(NEEDED[0]), missing))
}

/// The library that the loader could not find, from its message.
fn missing_library(stderr: &str) -> Option<&str> {
    let (_, rest) = stderr.split_once("error while loading shared libraries: ")?;
    let (library, reason) = rest.split_once(':')?;
    reason.contains("cannot open shared object file").then_some(library)
}

/// The long version text, which the server program holds as a constant; none when it is not there.
pub(crate) fn long_version(postgres: &Path) -> Result<Option<String>> {
    let content = fs::read(postgres).map_err(Error::file("read", postgres))?;
    Ok(find_long_version(&content))
}

fn find_long_version(content: &[u8]) -> Option<String> {
    const START: &[u8] = b"PostgreSQL ";
    let mut rest = content;
    while let Some(at) = find(rest, START) {
        rest = &rest[at..];
        let end = rest.iter().take(400).position(|byte| *byte == 0);
        if let Some(end) = end
            && let Ok(text) = std::str::from_utf8(&rest[..end])
            && text.contains(" on ")
            && text.contains(", compiled by ")
        {
            return Some(text.to_owned());
        }
        rest = &rest[START.len()..];
    }
    None
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(offset) = haystack[from..].iter().position(|byte| *byte == first) {
        let at = from + offset;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// Version as shown and long text of a build whose version is not known from elsewhere.
pub(crate) fn identify(root: &Path, bin_dir: &Path) -> Result<(String, String)> {
    let postgres = bin_dir.join("postgres");
    let not_a_build = |reason: String| Error::NotABuild { path: root.to_path_buf(), reason };
    let text = match long_version(&postgres)? {
        Some(text) => text,
        None => short_version(&postgres)?,
    };
    let version = text
        .strip_prefix("postgres (")
        .unwrap_or(&text)
        .strip_prefix("PostgreSQL")
        .and_then(|rest| rest.trim_start_matches(')').split_whitespace().next())
        .ok_or_else(|| not_a_build(format!("bin/postgres calls itself `{text}`")))?;
    Ok((version.to_owned(), text.clone()))
}

/// What `postgres --version` prints.
fn short_version(postgres: &Path) -> Result<String> {
    let user = server_user()?;
    let output = ask_version(postgres, &user)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let program = PathBuf::from(postgres);
    Err(match missing_library(&stderr) {
        Some(library) => libraries::missing(&program, vec![library.to_owned()]),
        None => Error::CannotRun { program, user: user.name, reason: stderr },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_is_the_constant_and_not_a_message() {
        let program =
            b"\0PostgreSQL on %s, compiled\0PostgreSQL 18.1 on x86_64, compiled by gcc 7.5.0, 64-bit\0x";
        assert_eq!(
            find_long_version(program).as_deref(),
            Some("PostgreSQL 18.1 on x86_64, compiled by gcc 7.5.0, 64-bit")
        );
        assert_eq!(find_long_version(b"PostgreSQL PostgreSQL 18"), None);
    }

    #[test]
    fn a_missing_library_names_its_package() {
        let stderr = "/x/bin/postgres: error while loading shared libraries: libpam.so.0: cannot open shared object \
                      file: No such file or directory";
        let library = missing_library(stderr).unwrap().to_owned();
        let message =
            libraries::missing(Path::new("/b/postgres"), vec![library, "libodd.so.3".to_owned()]).to_string();
        assert!(
            message.contains("apt-get install libpam0g") && message.contains("holds libodd.so.3"),
            "{message}"
        );
        assert_eq!(missing_library("version `GLIBC_2.38' not found"), None);
    }
}
