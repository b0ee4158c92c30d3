//! Builds: database programs at one version with their compile flags, identified by the hash of their files.

use std::path::PathBuf;

use rqps_model::{BuildSource, BuildSpec, Dbms, Family, short_hash};
use serde::{Deserialize, Serialize};

/// An installed database program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub dbms: Dbms,
    /// The version as the DBMS writes it: `18.1`, `9.6.24`.
    pub version: String,
    /// SHA-256 over its files: equal for equal builds, independent of their location and name.
    pub hash: String,
    /// What the hash covers, as a phrase.
    pub hash_covers: String,
    /// The origin, as a phrase.
    pub origin: String,
    pub root: PathBuf,
    pub bin_dir: PathBuf,
    /// Total size of the hashed files, in bytes.
    pub size_bytes: u64,
    /// The long version text with platform and compiler, as SQL `version()` shows it.
    pub version_text: String,
    #[serde(default)]
    pub family: Family,
    /// The commit, if it was built here from a git repository.
    #[serde(default)]
    pub commit: Option<String>,
    /// Remarks on how it was obtained, for readers of results; often empty.
    pub notes: Vec<String>,
}

impl Build {
    /// `postgres-18.1`.
    pub fn label(&self) -> String {
        format!("{}-{}", self.dbms, self.version)
    }

    /// What a plan tells about a build that is not here: its name, and its version unless that is of source code.
    pub fn unseen(spec: &BuildSpec) -> Build {
        let version = match &spec.source {
            BuildSource::Version(version) => version.clone(),
            BuildSource::Path(_) | BuildSource::Source(_) => String::new(),
        };
        Build {
            dbms: spec.dbms,
            version,
            hash: spec.to_string(),
            hash_covers: String::new(),
            origin: String::new(),
            root: PathBuf::new(),
            bin_dir: PathBuf::new(),
            size_bytes: 0,
            version_text: String::new(),
            family: Family::default(),
            commit: None,
            notes: Vec::new(),
        }
    }

    /// Whether its programs are here; see [`Build::unseen`].
    pub fn is_here(&self) -> bool {
        !self.root.as_os_str().is_empty()
    }

    pub fn version_num(&self) -> u32 {
        self.dbms.version_num(&self.version)
    }

    pub fn short_hash(&self) -> &str {
        short_hash(&self.hash)
    }
}

/// A build's address as given by a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// URL of a tarball, or of a directory with tarballs under the vendor's names.
    pub url: String,
    /// Expected SHA-256 of the tarball, in hex. If None, the actual one is recorded in a note.
    pub sha256: Option<String>,
}

/// A published version and its series: `18.1` of `18`, `8.0.31` of `8.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub version: String,
    pub series: String,
}

impl Release {
    /// A published version whose series has this many numbers.
    pub(crate) fn of(version: String, series_numbers: usize) -> Release {
        let numbers: Vec<&str> = version.split('.').take(series_numbers).collect();
        Release { series: numbers.join("."), version }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Published {
    /// An exact version, or a series whose latest version is available.
    pub version: String,
    /// Its source, as a phrase.
    pub source: String,
    /// Download size in MB, if known in advance.
    pub size_mb: Option<u32>,
}
