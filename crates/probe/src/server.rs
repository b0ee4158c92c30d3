//! Shapes of what any server tells, whatever DBMS it is of: how it is made to tell all, a setting, a query plan.

use serde::{Deserialize, Serialize};

/// How sessions are made to hand their statistics in, so that a snapshot of the server's counters has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushProcedure {
    /// How long a session has to be idle before it runs `session_sql`, milliseconds.
    pub idle_ms: u64,
    /// What each session runs; it is itself one statement that the server counts.
    pub session_sql: &'static str,
    /// How long to wait after the last session's `session_sql` or end, milliseconds.
    pub settle_ms: u64,
}

/// A setting of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// Name.
    pub name: String,
    /// Value as the server shows it: `128MB`, `134217728`.
    pub value: String,
    /// Where it comes from in the server's words, such as `configuration file`; `unknown` where it does not tell.
    pub source: String,
    /// Whether it is what this build uses when nobody sets it.
    pub default: bool,
}

/// A statement's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryPlan {
    /// As a person reads it.
    pub text: String,
    /// As a program reads it: JSON text.
    pub json: String,
}
