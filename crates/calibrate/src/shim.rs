//! The library that makes a server slower, as a file that servers can load.

use crate::error::{Error, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Compiled from crates/dose when rqps was.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/librqps_dose.so"));

/// Writes the library into `directory`, which must be there, readable by everybody, and returns its path.
///
/// # Errors
/// When the file cannot be written.
pub fn write_to(directory: &Path) -> Result<PathBuf> {
    let path = directory.join("librqps_dose.so");
    fs::write(&path, LIBRARY).map_err(Error::file("write", &path))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755))
        .map_err(Error::file("set the rights of", &path))?;
    Ok(path)
}
