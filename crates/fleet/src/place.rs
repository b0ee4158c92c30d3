//! Where a fleet's folder is. Jobs name it by its path: if it was moved, those that were submitted before cannot record
//! results; if it was copied, they record them in the first one; if it was deleted, nothing may bring it back.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::read_json;
use crate::spec::Spec;

/// The file that has the tasks.
pub(crate) const SPEC: &str = "fleet.json";

/// A fleet's folder, compared with the one that its jobs know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Placed {
    Here,
    /// It was there, and is no longer.
    Moved(PathBuf),
    /// It is still there, too.
    Copied(PathBuf),
}

/// Whether a folder is where the fleet's jobs look for it.
///
/// # Errors
/// If there is no folder any more.
pub(crate) fn placed(folder: &Path, spec: &Spec) -> Result<Placed> {
    if !folder.join(SPEC).is_file() {
        return Err(Error::NoFolder { path: folder.to_owned() });
    }
    let known = &spec.folder;
    let now = fs::canonicalize(known).ok();
    // Folders of older versions don't say where they were; a link leads jobs to the new place.
    if known.as_os_str().is_empty() || now.as_deref() == Some(folder) {
        return Ok(Placed::Here);
    }
    let other: Option<Spec> = now.and_then(|now| read_json(&now.join(SPEC)).ok());
    Ok(match other.is_some_and(|other| other.id == spec.id) {
        true => Placed::Copied(known.clone()),
        false => Placed::Moved(known.clone()),
    })
}

/// Writes the tasks as a whole.
pub(crate) fn write_spec(folder: &Path, spec: &Spec) -> Result<()> {
    let path = folder.join(SPEC);
    let text =
        serde_json::to_string_pretty(spec).map_err(|error| Error::file("write", &path)(error.into()))?;
    let partial = folder.join("fleet.new");
    fs::write(&partial, text).map_err(Error::file("write", &partial))?;
    fs::rename(&partial, &path).map_err(Error::file("write", &path))
}

/// The cache beside the fleet's folder, if both were moved and the one that was planned is gone.
pub(crate) fn present_cache(folder: &Path, planned: PathBuf) -> PathBuf {
    let beside = folder.parent().zip(planned.file_name()).map(|(parent, name)| parent.join(name));
    match beside.filter(|beside| !planned.is_dir() && beside.is_dir()) {
        Some(beside) => beside,
        None => planned,
    }
}
