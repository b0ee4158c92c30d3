//! Configs: named sets of server options, identified by the hash of their content and never by their name.

use rqps_builds::Build;
use rqps_model::{Dbms, LeftOut, size_bytes};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The shipped config's name, or the file's without directory and extension.
    pub name: String,
    /// SHA-256 over the options, sorted by name: independent of layout, comments, order and the config's
    /// name.
    pub hash: String,
    /// Options and values in file order: names in lower case, values unquoted, each option once (the last one
    /// wins).
    pub options: Vec<(String, String)>,
    /// Values for older versions.
    #[serde(default)]
    pub before: Vec<ValueBefore>,
    /// Sections of the file for other programs, which are not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_sections: Vec<String>,
    /// Options that a server may not know: MySQL's prefix `loose_`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loose: Vec<String>,
    /// Options that are not used since a build refuses their values, from comments `# rqps: refused: REASON`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<LeftOut>,
    /// Options as an included shipped config has them, which is for several versions.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shipped: BTreeSet<String>,
    /// Where the user's own files set options: `my.conf:3`.
    #[serde(skip)]
    pub places: BTreeMap<String, String>,
    /// The text as read, with included files expanded.
    pub text: String,
}

impl Config {
    /// Whether a release wrote the file, and so knew its options: RocksDB's `OPTIONS` files tell its version.
    pub fn is_of_a_release(&self) -> bool {
        self.text.lines().any(|line| line.trim_start().starts_with("rocksdb_version="))
    }

    /// The value of an option for older versions, if the build is one.
    pub(crate) fn value_before(&self, build: &Build, option: &str) -> Option<&ValueBefore> {
        let is_older = |than: &str| build.version_num() < build.dbms.version_num(than);
        self.before.iter().find(|before| before.option == option && is_older(&before.version))
    }
}

/// The size of a server's cache, if the config gives it.
pub fn cache_bytes(dbms: Dbms, config: &Config) -> Option<u64> {
    let (option, without_unit) = match dbms {
        // In pages.
        Dbms::Postgres => ("shared_buffers", 8192),
        Dbms::Mysql | Dbms::Mariadb => ("innodb_buffer_pool_size", 1),
        // A number, or `{capacity=number;…}`.
        Dbms::Rocksdb => ("block_based_table_factory.block_cache", 1),
        Dbms::Directory => return None,
    };
    bytes_of(config, option, without_unit)
}

/// About what a session takes beside the cache while it runs short transactions; a sort or a join may take more.
/// docs/MEASURED.md has the figures.
pub fn session_bytes(dbms: Dbms) -> u64 {
    match dbms {
        Dbms::Postgres => 2 << 20,
        Dbms::Mysql | Dbms::Mariadb => 1 << 20,
        Dbms::Rocksdb | Dbms::Directory => 0,
    }
}

/// What a server's log of changes may take beside what an empty one does; `None` if it has none.
pub fn log_bytes(dbms: Dbms, config: &Config) -> Option<u64> {
    match dbms {
        // In MB; the default is 1 GB.
        Dbms::Postgres => Some(bytes_of(config, "max_wal_size", 1 << 20).unwrap_or(1 << 30)),
        Dbms::Mysql | Dbms::Mariadb => bytes_of(config, "innodb_redo_log_capacity", 1),
        Dbms::Rocksdb | Dbms::Directory => None,
    }
}

/// The value of an option that is a size.
fn bytes_of(config: &Config, option: &str, without_unit: u64) -> Option<u64> {
    let (_, value) = config.options.iter().find(|(name, _)| name == option)?;
    let value = value.trim_start_matches("{capacity=").split(';').next().unwrap_or_default();
    size_bytes(value, Some(without_unit))
}

/// Another value of an option for versions before the given one, from a comment after the option, `# rqps:
/// before 10: 1000`, for example if an older version allows less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueBefore {
    pub option: String,
    /// The first version with the value in [`Config::options`].
    pub version: String,
    /// The value for earlier versions.
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippedConfig {
    /// The name as written in a plan. `N` in it stands for a number.
    pub name: String,
    pub summary: String,
}
