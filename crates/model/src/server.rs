//! Settings and query plans as a server reports them.

use serde::{Deserialize, Serialize};

/// A named value: a server option, a parameter of the method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Unique in its list.
    pub name: String,
    pub value: String,
}

/// Name of the facts of an arm that are warnings of its server about its config.
pub const START_WARNING: &str = "start.warning";

/// Name of the facts of an arm that are options of its config which blocks set otherwise: `autovacuum = off (on in the
/// config)`.
pub const SET_IN_BLOCKS: &str = "blocks.option";

/// Name of the facts of an arm that are options which blocks set, whatever its config says. Only the entry of a start
/// for blocks has them, not that of the test start with the config as it is written.
pub const BLOCKS_SET: &str = "blocks.set";

/// An option of the config that was not set because the build does not know it, or that the build took with another
/// value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LeftOut {
    /// Such as `vacuum_buffer_usage_limit`.
    pub option: String,
    /// The value in the config.
    pub value: String,
    /// Why it was left out, or what the build took instead, as a phrase that does not name the build: that of two
    /// builds is the same if they have the same reason.
    pub reason: String,
    /// Whether the build refuses the value: it would not start with it.
    #[serde(default)]
    pub refused: bool,
    /// What the build took instead of the value; `None` if the option was not set at all.
    #[serde(default)]
    pub taken: Option<String>,
    /// Whether the build accepts the option and does nothing with it: it starts with it as well as without.
    #[serde(default)]
    pub without_effect: bool,
    /// Whether the build would not start with the option: it does not know it, whichever of its plugins are loaded.
    #[serde(default)]
    pub unknown: bool,
    /// What to write instead, as in a config, if the build tells.
    #[serde(default)]
    pub instead: Option<String>,
}

/// What MySQL 8.0.22 and 8.0.26 began to rename, in everything that has to do with replication.
const LATER_WORDS: [(&str, &str); 3] =
    [("slave", "replica"), ("master", "source"), ("whitelist", "allowlist")];

/// The later name of an option or a plugin of MySQL, if it has words that have been renamed in others.
pub fn later_words(name: &str) -> Option<String> {
    let later = LATER_WORDS.iter().fold(name.to_owned(), |name, (old, new)| name.replace(old, new));
    (later != name).then_some(later)
}

/// A setting as reported by the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// Such as `shared_buffers`.
    pub name: String,
    /// The value in the server's format: `128MB`, `134217728`.
    pub value: String,
    /// Its source in the server's words, such as `configuration file`; `unknown` if the server does not report it.
    pub source: String,
    /// Whether it is the build's default.
    pub default: bool,
}

/// The query plan of one kind of statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryPlan {
    /// Kind of statement, such as `select-point`.
    pub statement: String,
    /// The statement as planned.
    pub sql: String,
    /// The readable form.
    pub text: String,
    /// The plan as JSON; empty if the server has no such format.
    pub json: String,
}
