//! Writes the library that slows down servers to a file that they can load.

use crate::error::{Error, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Compiled from crates/dose during the build of rqps.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/librqps_dose.so"));

/// Writes the library into the existing `directory`, readable by everybody, and returns its path.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_to(directory: &Path) -> Result<PathBuf> {
    let path = directory.join("librqps_dose.so");
    fs::write(&path, LIBRARY).map_err(Error::file("write", &path))?;
    set_mode(&path, 0o755)?;
    Ok(path)
}

pub(crate) fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(Error::file("set the permissions of", path))
}
