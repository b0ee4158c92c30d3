//! The journal's records: finished actions, the state of the run, and timestamped notes.

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;

text_enum! {
    /// How an action ended. Both are final: only the executor decides to repeat an invalid action.
    Outcome {
        Done = "done",
        /// It ran, but its result must not be used; the reason is in the note.
        Invalid = "invalid",
    }
}

text_enum! {
    /// State of a run.
    Status {
        /// An rqps is executing it (or was, until it was killed: see `RunFolder::in_use_by`).
        Running = "running",
        Complete = "complete",
        /// It stopped on an error, which is in the reason.
        Failed = "failed",
        /// It was stopped by a signal and can be resumed.
        Interrupted = "interrupted",
    }
}

/// State of a run with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    pub status: Status,
    /// For `failed` and `interrupted`.
    pub reason: Option<String>,
    /// Milliseconds since 1970 (UTC).
    pub changed_at_ms: i64,
}

/// One finished action of the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRecord {
    /// Number in the schedule, unique in a run.
    pub seq: u32,
    /// Name of an arm that was recorded before.
    pub arm: String,
    /// Kind of the action, such as `start`, `load`, `settle`, `measure`, `stop`.
    pub kind: String,
    /// Its step of the workload; empty for starts and stops.
    pub step: String,
    /// The attempt that finished it; above 1 after a resume, unless the arm started over from its load.
    pub attempt: u32,
    /// Start of this attempt, milliseconds since 1970 (UTC).
    pub started_at_ms: i64,
    /// Milliseconds since 1970 (UTC).
    pub finished_at_ms: i64,
    /// Whether its result may be used.
    pub outcome: Outcome,
    /// Why it is invalid, or another remark.
    pub note: Option<String>,
}

/// A timestamped remark about the run: resumed, server died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// The arm; `None` if it is about the whole run.
    pub arm: Option<String>,
    pub text: String,
}

/// The note of a run that a later process continues.
pub(crate) const RESUMED: &str = "resumed";

impl Note {
    /// Whether a later process continued the run from here on.
    pub fn is_resume(&self) -> bool {
        self.arm.is_none() && self.text == RESUMED
    }
}
