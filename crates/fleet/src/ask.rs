//! What jobs tell a fleet's folder, and ask it where it is on another host.

use serde::{Deserialize, Serialize};

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// When its job began, milliseconds since 1970 (UTC).
    pub began_at_ms: i64,
    /// Blocks that count, or steps.
    pub done: u32,
    /// The most that it may have.
    pub most: u32,
    /// Whether these are blocks, of which fewer may do.
    pub are_blocks: bool,
    /// Estimated.
    pub seconds_left: Option<f64>,
}

/// What a job asks of the fleet's home: the first line of standard input, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "ask")]
pub enum Ask {
    /// The tasks, the plans of pieces and their files. Answered with a tar archive.
    Pieces,
    /// An arm's build. Answered with a tar archive.
    Build { arm: String },
    /// The right to work on the task, as long as lines follow.
    Hold { host: String },
    /// How far the task is.
    Reached(Reached),
    /// Why the task failed.
    Failed { host: String, why: String },
    /// The run with the task's result, which follows as a tar archive.
    Result { host: String, run: String },
}

/// What the home answers, a line of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "answer")]
pub enum Answer {
    /// The right is granted. How often the task has failed.
    Held { failures: usize },
    /// Another process works on the task.
    Taken,
    /// The task has a result.
    Done,
    /// Noted, and whether the fleet was cancelled.
    Noted { is_cancelled: bool },
    /// The result counts.
    Published,
}
