//! The parameters of a run, its planned steps, and its host.

use rqps_model::{Group, HostFigure, Role, SIZE, Setting};
use serde::{Deserialize, Serialize};

/// The protocol of a run whose results are of other programs.
pub const IMPORTED: &str = "imported";

/// A fact about the host, such as the kernel's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Such as `kernel`.
    pub key: String,
    pub value: String,
    /// Whether runs are comparable only if they agree on it.
    pub comparable: bool,
}

/// What the host could do around a run; empty if it was not measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Certificates {
    /// Before the first action.
    pub before: Vec<HostFigure>,
    /// After the last.
    pub after: Vec<HostFigure>,
}

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub name: String,
    /// Version of the rqps that created the run.
    pub program_version: String,
    /// When the run was created, milliseconds since 1970 (UTC).
    pub created_at_ms: i64,
    /// Name of the workload, such as `microbenchmarks`.
    pub workload: String,
    /// Its display name.
    pub workload_title: String,
    /// Revision of the workload: changes with every statement or order of steps.
    pub workload_revision: String,
    /// `sequence`, `isolated` or `imported`.
    pub protocol: String,
    /// Seed of all random choices; 0 in imported runs, like tables and rows.
    pub seed: u64,
    pub tables: u32,
    /// Rows in each table after the load.
    pub rows_per_table: u64,
    /// Clients of a measured step, unless the step overrides it.
    pub clients: u32,
    /// Number of actions in the schedule, over all arms.
    pub actions_total: u32,
    /// Further parameters of the method, in the order to print: connection kind, warm-up rule, caps.
    pub method: Vec<Setting>,
}

impl Meta {
    /// Whether its results are of other programs.
    pub fn is_imported(&self) -> bool {
        self.protocol == IMPORTED
    }

    /// The size of the data in the benchmark's own words, if rows and tables say little about it: `10 warehouses`.
    pub fn size(&self) -> Option<&str> {
        self.method_of(SIZE)
    }

    /// A parameter of the method by its name.
    pub fn method_of(&self, name: &str) -> Option<&str> {
        self.method.iter().find(|setting| setting.name == name).map(|setting| &*setting.value)
    }
}

/// One step after the load as planned, the same for every arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Position in the order, from 1.
    pub position: u32,
    /// Step name, such as `point-query.pre`.
    pub name: String,
    /// `measure` or `settle`.
    pub kind: String,
    /// `None` for settles.
    pub test: Option<String>,
    /// Group of the test; `None` for settles.
    pub group: Option<Group>,
    /// `None` for settles.
    pub role: Option<Role>,
    /// Whether it changes rows.
    pub writes: bool,
    pub clients: u32,
    /// Its limit: `600 s`, `1000000 events`; the cap of a settle.
    pub amount: String,
}
