//! Blocks: the replicates of a run, the placement of observations in them, and canaries of the host around them.

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;

text_enum! {
    /// The state of a block.
    BlockStatus {
        /// It is being measured (or was, until rqps was killed).
        Running = "running",
        /// It was measured completely: its windows are results.
        Done = "done",
        /// It was spoilt, with the reason in the note. None of its windows is a result.
        Void = "void",
    }
}

text_enum! {
    /// When a canary or a certificate was measured.
    Moment {
        /// Before the first server starts.
        Before = "before",
        /// After the last server has stopped.
        After = "after",
    }
}

/// One replicate: in `isolated` a restart of every arm from the same data, in `sequence` one pass over all steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Number in the run, from 1.
    pub number: u32,
    /// Seed of its random choices: orders, sides, draws.
    pub seed: u64,
    pub status: BlockStatus,
    /// Why it is void, or another remark.
    pub note: Option<String>,
    /// Milliseconds since 1970 (UTC).
    pub started_at_ms: i64,
    /// Milliseconds since 1970 (UTC); `None` while it is running.
    pub finished_at_ms: Option<i64>,
    /// How data directories were made equal: `reflink`, `copy` or `load`.
    pub restored_by: String,
    /// The tests in the order of the block.
    pub tests: Vec<String>,
    /// The arms in the plan's order.
    pub arms: Vec<BlockArm>,
}

/// The random draws for one arm in one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockArm {
    pub arm: String,
    /// Position in the order of server starts, from 1.
    pub start_position: u32,
    /// Its directory and socket: `a`, `b`.
    pub side: String,
    /// The CPUs of its sessions: `0`, `0-3`.
    pub cpus: String,
    /// `seq` of the action that made the data it started from: the load, or a later action on this arm. `None` in
    /// passes of a sequence, or if not known.
    pub data_seq: Option<u32>,
    /// The copy of its build that it ran, from 1.
    pub copy: u32,
}

/// A small fixed piece of work, measured before and after a block to detect changes of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Canary {
    pub block: u32,
    pub moment: Moment,
    /// The quantity, unit last: `spin_ns`, `memory_ns`, `fsync_us`.
    pub name: String,
    pub value: f64,
}

/// The placement of a window or a count in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub block: u32,
    /// Number of the window among those of this arm and test in this block, from 1; 0 for a count.
    pub window: u32,
    /// Position in the order in which the windows of this test were measured on all arms, from 1.
    pub slot: u32,
}

/// Instructions of the process or thread that serves one client, counted by a program in which the server runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    pub test: String,
    pub group: String,
    /// Counted events, minus those of the shorter session.
    pub events: u64,
    /// Operations in these events, in the same unit as [`crate::Window::operations`].
    pub operations: f64,
    pub instructions: f64,
    /// The counting program: `valgrind-3.19.0`.
    pub counted_by: String,
}

impl Count {
    /// Instructions per operation; `None` without operations.
    pub fn instructions_per_op(&self) -> Option<f64> {
        (self.operations > 0.0).then(|| self.instructions / self.operations)
    }
}

/// The fixed work of a test, determined once on base and the same for every arm and block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestWork {
    pub test: String,
    pub warmup_events: u64,
    pub window_events: u64,
    /// Events of each client in a slice; 0 if arms take no turns.
    pub slice_events: u64,
    /// Events whose instructions are counted.
    pub count_events: u64,
}
