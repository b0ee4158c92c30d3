//! What a server says of itself.

use serde::{Deserialize, Serialize};

/// A named value: a server option, a parameter of the method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Unique in its list.
    pub name: String,
    pub value: String,
}

/// An option of the config that the build does not know and that was therefore not set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Such as `vacuum_buffer_usage_limit`.
    pub option: String,
    /// What the config asked for.
    pub value: String,
    /// Why it was left out, as a phrase.
    pub reason: String,
}

/// A setting of the server, as the server itself says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// Such as `shared_buffers`.
    pub name: String,
    /// Value as the server shows it: `128MB`, `134217728`.
    pub value: String,
    /// Where it comes from in the server's words, such as `configuration file`; `unknown` where it does not tell.
    pub source: String,
    /// Whether it is what this build uses when nobody sets it.
    pub default: bool,
}

/// The plan the server chose for one kind of statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryPlan {
    /// Kind of statement, such as `select-point`.
    pub statement: String,
    /// The statement as planned.
    pub sql: String,
    /// As a person reads it.
    pub text: String,
    /// As a program reads it: JSON text; empty when the server gave none.
    pub json: String,
}
