//! Builds: database programs at one version with their compile flags, known by the hash of their files.

use std::path::PathBuf;

use rqps_model::Dbms;
use serde::{Deserialize, Serialize};

use rqps_model::Family;

/// One database program, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub dbms: Dbms,
    /// Its version as the DBMS writes it: `18.1`, `9.6.24`.
    pub version: String,
    /// sha256 over its files: equal for equal builds, wherever they lie and whatever they are called.
    pub hash: String,
    /// What the hash covers, as a phrase.
    pub hash_covers: String,
    /// Where it came from, as a phrase.
    pub origin: String,
    pub root: PathBuf,
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

    pub fn version_num(&self) -> u32 {
        self.dbms.version_num(&self.version)
    }

    /// The first 12 digits of the hash: enough to tell builds apart, short enough for a table.
    pub fn short_hash(&self) -> &str {
        self.hash.get(..12).unwrap_or(&self.hash)
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

/// A version that can be installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Published {
    /// An exact version, or a series where its latest is available.
    pub version: String,
    /// Where it comes from, as a phrase.
    pub source: String,
    /// What is fetched, where that is known before.
    pub size_mb: Option<u32>,
}
