//! An arm as it really ran: the build's identity, the config as used, and every option that was left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use rqps_model::{LeftOut, ServerSetting, Setting};

text_enum! {
    /// An arm's place in the experiment.
    Role {
        /// What the others are compared with.
        Base = "base",
        /// What is compared with the base.
        Candidate = "candidate",
    }
}

/// One arm of a run: a build and a config, with their content hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Name in the plan, unique in a run.
    pub name: String,
    /// Base or candidate.
    pub role: Role,
    /// Whether it is the base measured again: what differs between the two is noise.
    pub control: bool,
    /// `postgres`.
    pub dbms: String,
    /// Version of the build, such as `18.1`.
    pub build_version: String,
    /// Hash of the build's program files.
    pub build_hash: String,
    /// Where the build came from (registry or directory).
    pub build_origin: String,
    /// What the server says of itself (`version()`).
    pub build_version_text: String,
    /// Name of the config, such as `x10b_c8r32`.
    pub config_name: String,
    /// Hash of the config's content.
    pub config_hash: String,
    /// The config as used, after leaving out what the build does not know.
    pub config_text: String,
    /// Options of the config that the build does not know.
    pub left_out: Vec<LeftOut>,
    /// Options that rqps itself set (socket, port, connections), whatever the config says.
    pub managed: Vec<Setting>,
    /// Environment of the server program, beyond what rqps sets for every arm.
    pub env: BTreeMap<String, String>,
    /// Statements that are run on this arm alone, after its data are there.
    pub after_load: Vec<String>,
    /// What the server says about how it was built: `cc`, `cflags`, `configure`. Empty before its first start.
    pub facts: Vec<Setting>,
    /// All its settings, by name. Empty before its first start.
    pub settings: Vec<ServerSetting>,
}

impl Arm {
    /// The variant's label, `dbms-version.config`: `postgres-18.1.x10b_c8r32`.
    pub fn variant(&self) -> String {
        format!("{}-{}.{}", self.dbms, self.build_version, self.config_name)
    }
}
