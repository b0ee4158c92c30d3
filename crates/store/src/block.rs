//! Blocks: the replicates of a run, where each observation stands in them, and how the host was around them.

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;

text_enum! {
    /// How far a block came, and whether it counts.
    BlockStatus {
        /// It is being measured (or was, until its rqps was killed).
        Running = "running",
        /// All of it was measured: its windows are results.
        Done = "done",
        /// Something spoilt it; the note says what. None of its windows is a result.
        Void = "void",
    }
}

text_enum! {
    /// On which side of a block a canary was measured.
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
    /// Seed of everything that is random in it: orders, sides, draws.
    pub seed: u64,
    pub status: BlockStatus,
    /// Why it is void, or what else is worth knowing.
    pub note: Option<String>,
    /// When it began, milliseconds since 1970 (UTC).
    pub started_at_ms: i64,
    /// When it ended, milliseconds since 1970 (UTC); none while it is running.
    pub finished_at_ms: Option<i64>,
    /// How data directories were made equal: `reflink`, `copy` or `load`.
    pub restored_by: String,
    /// The tests it measures, in its order.
    pub tests: Vec<String>,
    /// The arms it measures, in the plan's order.
    pub arms: Vec<BlockArm>,
}

/// What was drawn for one arm in one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockArm {
    pub arm: String,
    /// Its turn when servers were started, from 1.
    pub start_position: u32,
    /// The directory and socket it had: `a`, `b`.
    pub side: String,
    /// The CPUs its sessions ran on: `0`, `0-3`.
    pub cpus: String,
    /// Number of the action that made the data it started from: the load, or what followed it on this arm. None in
    /// passes of a sequence, and where it is not known.
    pub data_seq: Option<u32>,
}

/// A small fixed piece of work of the host itself, measured around a block: it tells whether the host has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Canary {
    pub block: u32,
    /// Before or after the block.
    pub moment: Moment,
    /// What was measured, unit last: `spin_ns`, `memory_ns`, `fsync_us`.
    pub name: String,
    /// The value, in the unit of the name.
    pub value: f64,
}

/// Where a window or a count stands in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub block: u32,
    /// Which of the arm's windows of this test in this block, from 1; 0 for a count.
    pub window: u32,
    /// Place in the order in which the windows of this test were measured over all arms, from 1.
    pub slot: u32,
}

/// Instructions of the process or thread that served one client, counted while the server ran in an instrumenting
/// program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    pub test: String,
    pub group: String,
    /// Events that were counted, those of the shorter session taken off.
    pub events: u64,
    /// Operations in these events, in the unit that tables divide by (see [`crate::Window::operations`]).
    pub operations: f64,
    pub instructions: f64,
    /// What counted: `valgrind-3.19.0`.
    pub counted_by: String,
}

impl Count {
    /// Instructions per operation; none when there was no operation.
    pub fn instructions_per_op(&self) -> Option<f64> {
        (self.operations > 0.0).then(|| self.instructions / self.operations)
    }
}

/// The fixed work of a test, found once on base and the same for every arm and block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestWork {
    pub test: String,
    pub warmup_events: u64,
    pub window_events: u64,
    /// Events of a slice on each client; 0 where arms take no turns.
    pub slice_events: u64,
    /// Events whose instructions are counted.
    pub count_events: u64,
}
