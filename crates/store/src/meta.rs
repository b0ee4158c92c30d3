//! What a run set out to do: its parameters, the steps in order, and the host it ran on.

use rqps_model::{Group, Role, Setting};
use serde::{Deserialize, Serialize};

/// A fact about the host, such as the kernel's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Name, such as `kernel`.
    pub key: String,
    pub value: String,
    /// Whether two runs must agree on it before they may be compared.
    pub comparable: bool,
}

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub name: String,
    /// Version of rqps that made the run.
    pub program_version: String,
    /// When the run was created, milliseconds since 1970 (UTC).
    pub created_at_ms: i64,
    /// Name of the workload, such as `microbenchmarks`.
    pub workload: String,
    /// What people call it.
    pub workload_title: String,
    /// Revision of the workload: changes when statements or the order of steps change.
    pub workload_revision: String,
    /// `sequence` or `isolated`.
    pub protocol: String,
    /// Seed of all random choices.
    pub seed: u64,
    pub tables: u32,
    /// Rows in each table after the load.
    pub rows_per_table: u64,
    /// Clients of a measured step (a step may say otherwise).
    pub clients: u32,
    /// Number of actions in the schedule, over all arms.
    pub actions_total: u32,
    /// Further parameters of the method, in the order to print: connection kind, warm-up rule, caps.
    pub method: Vec<Setting>,
}

/// One step after the load as planned, the same for every arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Place in the order, from 1.
    pub position: u32,
    /// Step name, such as `point-query.pre`.
    pub name: String,
    /// `measure` or `settle`.
    pub kind: String,
    /// Test that is measured; none for settles.
    pub test: Option<String>,
    /// Group of the test; none for settles.
    pub group: Option<Group>,
    /// What it is for; none for settles.
    pub role: Option<Role>,
    /// Whether it changes rows.
    pub writes: bool,
    pub clients: u32,
    /// How long or how much: `600 s`, `1000000 events`; for a settle its cap.
    pub amount: String,
}
