//! Files that one user alone may read, written and read in directories of the server's user without following a link.

use std::path::Path;

use rqps_builds::ServerUser;
use rqps_builds::held_dir::HeldDir;

use crate::error::{Error, Result};

/// Writes a file for the server's user; for this program's own where none is named.
pub(crate) fn write_private(path: &Path, content: &[u8], user: Option<&ServerUser>) -> Result<()> {
    let (dir, name) = held(path)?;
    Ok(dir.write(name, content, user)?)
}

/// Reads a file of this owner, which may lie in a directory of the server's user.
pub(crate) fn read_private(path: &Path, owner: u32) -> Result<Vec<u8>> {
    let (dir, name) = held(path)?;
    Ok(dir.read(name, Some(owner))?)
}

/// Removes a file; a missing one is not an error.
pub(crate) fn remove_private(path: &Path) -> Result<()> {
    let (dir, name) = held(path)?;
    Ok(dir.remove_file(name)?)
}

/// The directory of a name, which must not be a link.
fn held(path: &Path) -> Result<(HeldDir, &Path)> {
    let odd = || Error::NotOurs { path: path.to_path_buf() };
    let (dir, name) = path.parent().zip(path.file_name()).ok_or_else(odd)?;
    Ok((HeldDir::open(dir)?, Path::new(name)))
}
