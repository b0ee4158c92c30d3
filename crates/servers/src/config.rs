//! Configs: named sets of server options, known by the hash of their content and never by their name.

use rqps_builds::Build;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The shipped config's name, or the file's without directory and `.conf`.
    pub name: String,
    /// sha256 over the options, sorted by name: layout, comments, order and the config's name do not count.
    pub hash: String,
    /// Option and value, in the order of the file; names in lower case, values without quotes, each option
    /// once (the last one counts).
    pub options: Vec<(String, String)>,
    /// Other values for older versions.
    #[serde(default)]
    pub before: Vec<ValueBefore>,
    /// Sections of the file that are for other programs than the server, and were not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_sections: Vec<String>,
    /// The text as read, with included files in place.
    pub text: String,
}

impl Config {
    /// The value of an option for older versions, when the build is one.
    pub(crate) fn value_before(&self, build: &Build, option: &str) -> Option<&ValueBefore> {
        let is_older = |than: &str| build.version_num() < build.dbms.version_num(than);
        self.before.iter().find(|before| before.option == option && is_older(&before.version))
    }
}

/// Another value of an option for versions before one: written as a comment behind the option, `# rqps:
/// before 10: 1000`, where an older version takes less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueBefore {
    pub option: String,
    /// The first version that has the value in [`Config::options`].
    pub version: String,
    /// The value for versions before.
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippedConfig {
    /// The name to write in a plan. `N` in it stands for a number.
    pub name: String,
    /// The first sentence of its file.
    pub summary: String,
}
