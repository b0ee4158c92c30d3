//! The journal's records: finished actions, the state of the run, and timestamped notes.

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;

text_enum! {
    /// How an action ended. Both are final: an invalid action is not repeated unless the executor chooses to.
    Outcome {
        /// It did what it should.
        Done = "done",
        /// It ran, but its result must not be used; the note says why.
        Invalid = "invalid",
    }
}

text_enum! {
    /// State of a whole run.
    Status {
        /// An rqps is at work on it (or was, until it was killed: see `Run::in_use_by`).
        Running = "running",
        Complete = "complete",
        /// It stopped on an error; the reason says which.
        Failed = "failed",
        /// It was stopped from outside and can be resumed.
        Interrupted = "interrupted",
    }
}

/// State of a run with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    pub status: Status,
    /// Why, for `failed` and `interrupted`.
    pub reason: Option<String>,
    /// When it was last set, milliseconds since 1970 (UTC).
    pub changed_at_ms: i64,
}

/// One finished action of the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRecord {
    /// Number in the schedule, unique in a run.
    pub seq: u32,
    /// Name of the arm; it must have been recorded before.
    pub arm: String,
    /// Kind of the action, such as `start`, `load`, `settle`, `measure`, `stop`.
    pub kind: String,
    /// Step of the workload it belongs to; empty for starts and stops.
    pub step: String,
    /// Which attempt ended it; above 1 after a resume.
    pub attempt: u32,
    /// When this attempt began, milliseconds since 1970 (UTC).
    pub started_at_ms: i64,
    /// When it ended, milliseconds since 1970 (UTC).
    pub finished_at_ms: i64,
    /// Whether its result may be used.
    pub outcome: Outcome,
    /// Why it is invalid, or what else is worth knowing.
    pub note: Option<String>,
}

/// A timestamped remark about the run: resumed, server died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// The arm it concerns, when it concerns one.
    pub arm: Option<String>,
    pub text: String,
}
