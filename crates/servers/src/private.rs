//! Reads and writes files that only one user may access, without following links, in directories of the
//! server's user.

use std::path::Path;

use rqps_builds::ServerUser;
use rqps_builds::held_dir::HeldDir;

use crate::error::{Error, Result};

/// Writes a file owned by the server's user, or by this program's own user if None.
pub(crate) fn write_private(path: &Path, content: &[u8], user: Option<&ServerUser>) -> Result<()> {
    let (dir, name) = open_parent(path)?;
    Ok(dir.write(name, content, user)?)
}

/// Reads a file of this owner, which may be in a directory of the server's user.
pub(crate) fn read_private(path: &Path, owner: u32) -> Result<Vec<u8>> {
    let (dir, name) = open_parent(path)?;
    Ok(dir.read(name, Some(owner))?)
}

/// Removes a file; a missing one is not an error.
pub(crate) fn remove_private(path: &Path) -> Result<()> {
    let (dir, name) = open_parent(path)?;
    Ok(dir.remove_file(name)?)
}

/// Opens the file's directory, which must not be a link.
fn open_parent(path: &Path) -> Result<(HeldDir, &Path)> {
    let invalid = || Error::NotOurs { path: path.to_path_buf() };
    let (dir, name) = path.parent().zip(path.file_name()).ok_or_else(invalid)?;
    Ok((HeldDir::open(dir)?, Path::new(name)))
}
