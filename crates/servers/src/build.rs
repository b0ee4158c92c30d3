//! Builds: database programs at one version with their compile flags, known by the hash of their files.

use std::path::PathBuf;

use rqps_model::{BuildSource, BuildSpec, Dbms};
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::dbms;
use crate::dirs::Dirs;
use crate::error::Result;
use crate::family::Family;
use crate::source::{self, Watch};

/// One database program, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The DBMS it is a build of.
    pub dbms: Dbms,
    /// Its version as the DBMS writes it: `18.1`, `9.6.24`.
    pub version: String,
    /// sha256 over its files: equal for equal builds, wherever they lie and whatever they are called.
    pub hash: String,
    /// What the hash covers, as a phrase.
    pub hash_covers: String,
    /// Where it came from, as a phrase.
    pub origin: String,
    /// The directory that holds it.
    pub root: PathBuf,
    /// The directory of its programs.
    pub bin_dir: PathBuf,
    /// Bytes of the files that the hash covers.
    pub size_bytes: u64,
    /// The long version text, with platform and compiler, as SQL `version()` shows it.
    pub version_text: String,
    #[serde(default)]
    pub family: Family,
    /// The commit that it was built from, where it was built here from a git repository.
    #[serde(default)]
    pub commit: Option<String>,
    /// What a reader of results should know about how it was obtained; often empty.
    pub notes: Vec<String>,
}

impl Build {
    /// `postgres-18.1`.
    pub fn label(&self) -> String {
        format!("{}-{}", self.dbms, self.version)
    }

    /// The version as a number, as its server counts: Postgres `18.1` is 180001, `9.6.24` is 90624; MySQL `8.0.31` is
    /// 80031; MariaDB `10.11.5` is 101105.
    pub fn version_num(&self) -> u32 {
        dbms::of(self.dbms).version_num(&self.version)
    }

    /// The first 12 digits of the hash: enough to tell builds apart, short enough for a table.
    pub fn short_hash(&self) -> &str {
        self.hash.get(..12).unwrap_or(&self.hash)
    }

    /// The compiler, as the version text names it.
    pub fn compiler(&self) -> Option<&str> {
        let (_, rest) = self.version_text.split_once("compiled by ")?;
        Some(rest.rsplit_once(", ").map_or(rest, |(compiler, _)| compiler))
    }
}

/// Obtains a published version: `18.1`, or `18` for the newest minor of that major. Downloaded once, checked
/// against the registry's checksum before it is unpacked, and cached; an exact version that is cached needs
/// no network.
///
/// A newest minor is asked for each time; when the registry cannot be reached, the newest cached one is taken
/// and a note says so. MySQL and MariaDB have two numbers in a series: `8.0`, `10.11`.
pub fn install(dirs: &Dirs, dbms: Dbms, request: &str) -> Result<Build> {
    dbms::of(dbms).install(dirs, request)
}

/// Refuses what can be seen to be no build without asking anybody and without running anything: a version of a series
/// that rqps does not work with, a directory without a server program.
pub fn check_known(spec: &BuildSpec) -> Result<()> {
    match &spec.source {
        BuildSource::Version(request) => dbms::of(spec.dbms).check_version(request),
        BuildSource::Path(path) => dbms::of(spec.dbms).check_directory(path),
        BuildSource::Source(source) => crate::source::check(spec.dbms, source),
    }
}

/// Where a user says that a build is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Of a tarball, or of the place where tarballs lie under the names that their maker gives them.
    pub url: String,
    /// The sha256 that the tarball should have, as hexadecimal digits. Without one its own is recorded, with a note.
    pub sha256: Option<String>,
}

/// Obtains an exact version from an address of the user's, whatever is cached of that version, unless it is the file of
/// this sum that is.
pub fn install_from(dirs: &Dirs, dbms: Dbms, request: &str, from: &Address) -> Result<Build> {
    dbms::of(dbms).install_from(dirs, request, from)
}

/// A version that can be installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Published {
    /// An exact version, or a series where its latest is to be had.
    pub version: String,
    /// Where it comes from, as a phrase.
    pub source: String,
    /// What is fetched, where that is known before.
    pub size_mb: Option<u32>,
}

/// The versions of a DBMS that rqps knows to be published, oldest first; none where only their registry knows them all.
pub fn published(dbms: Dbms) -> Result<Option<Vec<Published>>> {
    dbms::of(dbms).published()
}

/// The build that a plan names: a published version (see [`install`]), a directory, or source code that is compiled
/// unless that was done before. Its programs have been
/// run once, so a missing system library is an error here and not in the middle of a run.
pub fn resolve(dirs: &Dirs, spec: &BuildSpec) -> Result<Build> {
    Watch::nobody(|watch| resolve_watched(dirs, spec, watch))
}

/// As [`resolve`], with somebody who watches and may end builds from source.
pub fn resolve_watched(dirs: &Dirs, spec: &BuildSpec, watch: &mut Watch<'_>) -> Result<Build> {
    let system = dbms::of(spec.dbms);
    watch.builds_nothing();
    match &spec.source {
        BuildSource::Version(request) => system.install(dirs, request),
        BuildSource::Path(path) => system.directory(path),
        BuildSource::Source(source) => source::build(dirs, spec.dbms, source, watch),
    }
}

/// The builds in the cache, by DBMS, then newest version first.
pub fn list_builds(dirs: &Dirs) -> Result<Vec<Build>> {
    let mut builds = Vec::new();
    for dbms in Dbms::ALL {
        let mut of_dbms = Cache::of(dirs, dbms).builds()?;
        of_dbms.extend(Cache::of_sources(dirs, dbms).builds()?);
        of_dbms.sort_by_key(|build| std::cmp::Reverse(build.version_num()));
        builds.append(&mut of_dbms);
    }
    Ok(builds)
}
