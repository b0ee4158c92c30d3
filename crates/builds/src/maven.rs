//! Files of a Maven repository, fetched by `mvn`, whose own configuration has the repository, proxy and keys. It
//! keeps a copy in its local repository, as of everything it fetches.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use crate::client::Client;
use crate::digest::sha256_of_file;
use crate::error::{Error, Result};

const MVN: Client = Client {
    program: "mvn",
    package: "maven",
    purpose: "fetch builds from a Maven repository",
    limit_s: 1800,
};

/// A file in a Maven repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Artifact<'a> {
    pub dbms: Dbms,
    /// Of the build that it has.
    pub version: &'a str,
    /// `group:artifact:version`, optionally with `:packaging` and `:classifier`.
    pub name: &'a str,
    pub sha256: &'a str,
}

impl Artifact<'_> {
    /// Fetches the file into `scratch` and verifies its checksum.
    pub fn fetch(&self, scratch: &Path) -> Result<PathBuf> {
        let failed =
            |reason: String| Error::Download { dbms: self.dbms, version: self.version.to_owned(), reason };
        let into = scratch.join("fetched");
        let mut directory = OsString::from("-DoutputDirectory=");
        directory.push(&into);
        let artifact = OsString::from(format!("-Dartifact={}", self.name));
        let goal = ["-B", "-q", "dependency:copy"].map(OsString::from);
        let arguments: Vec<OsString> = goal.into_iter().chain([artifact, directory]).collect();
        MVN.run(&arguments)?.map_err(|failure| failed(failure.reason))?;
        let mut files = fs::read_dir(&into).map_err(Error::file("list", &into))?.flatten();
        let file = files.next().ok_or_else(|| failed("`mvn` fetched nothing".to_owned()))?.path();
        check_sum(&file, &format!("{} from the Maven repository", self.name), self.sha256)?;
        Ok(file)
    }
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
