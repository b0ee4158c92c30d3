//! Configs: named sets of server options, identified by the hash of their content and never by their name.

use rqps_builds::Build;
use serde::{Deserialize, Serialize};

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
    /// The text as read, with included files expanded.
    pub text: String,
}

impl Config {
    /// The value of an option for older versions, if the build is one.
    pub(crate) fn value_before(&self, build: &Build, option: &str) -> Option<&ValueBefore> {
        let is_older = |than: &str| build.version_num() < build.dbms.version_num(than);
        self.before.iter().find(|before| before.option == option && is_older(&before.version))
    }
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
