//! Builds: database programs at one version with their compile flags, known by the hash of their files.

use std::path::PathBuf;

use rqps_plan::{BuildSource, BuildSpec, Dbms};
use serde::{Deserialize, Serialize};

use crate::dbms;
use crate::dirs::Dirs;
use crate::error::Result;
use crate::family::Family;

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
    /// How it was compiled.
    #[serde(default)]
    pub family: Family,
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
/// and a note says so.
pub fn install(dirs: &Dirs, dbms: Dbms, request: &str) -> Result<Build> {
    dbms::of(dbms).install(dirs, request)
}

/// The build that a plan names: a published version (see [`install`]) or a directory. Its programs have been
/// run once, so a missing system library is an error here and not in the middle of a run.
pub fn resolve(dirs: &Dirs, spec: &BuildSpec) -> Result<Build> {
    let system = dbms::of(spec.dbms);
    match &spec.source {
        BuildSource::Version(request) => system.install(dirs, request),
        BuildSource::Path(path) => system.directory(dirs, path),
    }
}

/// The builds in the cache, by DBMS, then newest version first.
pub fn list_builds(dirs: &Dirs) -> Result<Vec<Build>> {
    let mut builds = Vec::new();
    for dbms in Dbms::ALL {
        let mut of_dbms = crate::cache::Cache::of(dirs, dbms).builds()?;
        of_dbms.sort_by_key(|build| std::cmp::Reverse(build.version_num()));
        builds.append(&mut of_dbms);
    }
    Ok(builds)
}
