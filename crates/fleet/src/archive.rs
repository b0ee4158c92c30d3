//! Files on their way from host to host, as tar archives: every host has `tar`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Writes files below a directory to `to`.
pub(crate) fn pack(directory: &Path, files: &[&Path], to: Stdio) -> Result<()> {
    run(
        Command::new("tar").arg("-C").arg(directory).arg("-c").args(files).stdin(Stdio::null()).stdout(to),
        directory,
    )
}

/// Reads files from `from` into a directory, with their modes and as this user's.
pub(crate) fn unpack(from: Stdio, directory: &Path) -> Result<()> {
    run(Command::new("tar").args(["-x", "--no-same-owner", "-p", "-C"]).arg(directory).stdin(from), directory)
}

fn run(tar: &mut Command, directory: &Path) -> Result<()> {
    match tar.status().map_err(Error::file("start tar for", directory))?.success() {
        true => Ok(()),
        false => Err(Error::Tar { path: directory.to_owned() }),
    }
}
