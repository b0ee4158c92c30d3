//! An arm as executed: the build's identity, the config as used, and every option that was left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use rqps_model::{BLOCKS_SET, Dbms, LeftOut, ServerSetting, Setting, Terms};

text_enum! {
    /// An arm's place in the experiment.
    Role {
        Base = "base",
        Candidate = "candidate",
    }
}

/// One arm of a run: a build and a config, with their content hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Name in the plan, unique in a run.
    pub name: String,
    pub role: Role,
    /// Whether it is base measured again: every difference between the two is noise.
    pub control: bool,
    /// `postgres`.
    pub dbms: String,
    /// Version of the build, such as `18.1`.
    pub build_version: String,
    /// Hash of the build's program files.
    pub build_hash: String,
    /// Source of the build (registry or directory).
    pub build_origin: String,
    /// The server's `version()`.
    pub build_version_text: String,
    /// Name of the config, such as `x10b_c8r32`.
    pub config_name: String,
    /// Hash of the config's content.
    pub config_hash: String,
    /// The config as used, without the options that the build does not know.
    pub config_text: String,
    /// Options of the config that the build does not know.
    pub left_out: Vec<LeftOut>,
    /// Options that rqps sets itself (socket, port, connections), overriding the config.
    pub managed: Vec<Setting>,
    /// Environment of the server program, in addition to what rqps sets for every arm.
    pub env: BTreeMap<String, String>,
    /// Statements run only on this arm, after its load.
    pub after_load: Vec<String>,
    /// The build as the server reports it: `cc`, `cflags`, `configure`. Empty before its first start.
    pub facts: Vec<Setting>,
    /// All server settings, by name. Empty before its first start.
    pub settings: Vec<ServerSetting>,
}

impl Arm {
    /// Whether it is a directory that is measured itself, without a server.
    pub fn is_directory(&self) -> bool {
        self.dbms == Dbms::Directory.name()
    }

    /// Whether it is the same in everything but its name: every difference in results is noise.
    pub fn is_same_as(&self, other: &Arm) -> bool {
        let is_known = !self.build_hash.is_empty();
        is_known
            && (&self.build_hash, &self.config_hash) == (&other.build_hash, &other.config_hash)
            && (&self.env, &self.after_load) == (&other.env, &other.after_load)
    }

    /// The words of its kind of system; those of servers if it is unknown.
    pub fn terms(&self) -> &'static Terms {
        self.dbms.parse().unwrap_or(Dbms::Postgres).terms()
    }

    /// What the server, or the host of a directory, tells of it by this name.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    /// Whether this is the entry of a start for blocks, which set the option whatever the config says.
    pub fn has_of_blocks(&self, option: &str) -> bool {
        self.facts.iter().any(|fact| fact.name == BLOCKS_SET && fact.value == option)
    }

    /// The variant's label, `dbms-version.config`: `postgres-18.1.x10b_c8r32`. Imported arms may lack parts of it; the
    /// arm's name if they lack all.
    pub fn variant(&self) -> String {
        let version = [self.dbms.as_str(), &self.build_version].into_iter().filter(|part| !part.is_empty());
        let version = version.collect::<Vec<_>>().join("-");
        let parts = [version.as_str(), &self.config_name].into_iter().filter(|part| !part.is_empty());
        match parts.collect::<Vec<_>>().join(".") {
            variant if variant.is_empty() => self.name.clone(),
            variant => variant,
        }
    }
}
