//! Runs the programs of a Postgres build, and checks beforehand that they can run.

use std::fs;
use std::path::Path;

use crate::build::Build;
use crate::error::{Error, Result};
use crate::guard::Guarded;
use crate::libraries;
use crate::user::{MOVE_BUILD, server_user};
use rustix::process::Signal;

pub(crate) const NEEDED: [&str; 2] = ["postgres", "initdb"];

const LONG_VERSION_BYTES_MAX: usize = 400;

/// Runs `--version`; the inner error is a library that the loader did not find.
fn ask_version(program: &Path) -> Result<std::result::Result<String, String>> {
    let user = server_user()?;
    let mut guarded = Guarded::new(program, &user, Signal::KILL)?;
    guarded.command().arg("--version");
    let output = guarded.output()?;
    if output.status.success() {
        return Ok(Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()));
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match missing_library(&stderr) {
        Some(library) => Ok(Err(library.to_owned())),
        None => Err(Error::CannotRun {
            program: program.to_path_buf(),
            user: user.name,
            reason: format!("it exited with {}: {stderr}", output.status),
        }),
    }
}

/// Runs each needed program once, to find missing libraries before any work is done.
pub(crate) fn check_runnable(build: &Build) -> Result<()> {
    server_user()?.check_reachable(&build.bin_dir, MOVE_BUILD)?;
    let mut missing: Vec<String> = Vec::new();
    for name in NEEDED {
        // The loader names only the first missing library of each program.
        missing.extend(ask_version(&build.bin_dir.join(name))?.err());
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(libraries::missing(&build.bin_dir.join(NEEDED[0]), missing))
}

/// Parses the loader's message about a missing library.
fn missing_library(stderr: &str) -> Option<&str> {
    let (_, rest) = stderr.split_once("error while loading shared libraries: ")?;
    let (library, reason) = rest.split_once(':')?;
    reason.contains("cannot open shared object file").then_some(library)
}

/// The long version text, a constant in the server program; None if it is not there.
pub(crate) fn long_version(postgres: &Path) -> Result<Option<String>> {
    let content = fs::read(postgres).map_err(Error::file("read", postgres))?;
    Ok(find_long_version(&content))
}

fn find_long_version(content: &[u8]) -> Option<String> {
    content.split(|byte| *byte == 0).find_map(|text| {
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LONG_VERSION_BYTES_MAX)..]);
        let text = &text[text.find("PostgreSQL ")?..];
        (text.contains(" on ") && text.contains(", compiled by ")).then(|| text.to_owned())
    })
}

/// Returns the version and the long version text of a build.
pub(crate) fn identify(root: &Path, bin_dir: &Path) -> Result<(String, String)> {
    let postgres = bin_dir.join("postgres");
    let text = match long_version(&postgres)? {
        Some(text) => text,
        None => ask_version(&postgres)?.map_err(|library| libraries::missing(&postgres, vec![library]))?,
    };
    let version = text
        .strip_prefix("postgres (")
        .unwrap_or(&text)
        .strip_prefix("PostgreSQL")
        .and_then(|rest| rest.trim_start_matches(')').split_whitespace().next())
        .ok_or_else(|| Error::NotABuild {
            path: root.to_path_buf(),
            reason: format!("bin/postgres calls itself `{text}`"),
        })?;
    Ok((version.to_owned(), text.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_is_not_confused_with_a_message() {
        let program =
            b"\0PostgreSQL on %s, compiled\0PostgreSQL 18.1 on x86_64, compiled by gcc 7.5.0, 64-bit\0x";
        assert_eq!(
            find_long_version(program).as_deref(),
            Some("PostgreSQL 18.1 on x86_64, compiled by gcc 7.5.0, 64-bit")
        );
        assert_eq!(find_long_version(b"PostgreSQL PostgreSQL 18"), None);
    }

    #[test]
    fn a_missing_library_is_found_in_the_loader_s_message() {
        let stderr = "/x/bin/postgres: error while loading shared libraries: libpam.so.0: cannot open shared object \
                      file: No such file or directory";
        assert_eq!(missing_library(stderr), Some("libpam.so.0"));
        assert_eq!(missing_library("version `GLIBC_2.38' not found"), None);
    }
}
