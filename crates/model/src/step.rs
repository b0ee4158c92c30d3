//! Limits, warm-up and role of a step, and what ended it.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::words;

/// Loads of every arm of a run of blocks. Blocks rotate through them, so that differences between loads are sampled,
/// too. The first look is after the same number of blocks.
pub const LOADS: u32 = 3;

/// The load that the arms of a block start from, from 1.
pub fn load_of(block: u32) -> u32 {
    (block - 1) % LOADS + 1
}

words! {
    /// What ended a window.
    EndedBy {
        /// The planned time elapsed.
        Time = "time",
        /// The planned work was done.
        Work = "work",
        /// The planned share of the rows was removed (`delete` stops before it empties the table).
        Share = "share",
        Error = "error",
        /// Nobody says: only the rate of an imported result is known. Its window stands for one second.
        Rate = "rate",
    }
}

words! {
    /// How writes of a given rate are distributed over a second.
    Pacer {
        /// Statements are due at even intervals, however long earlier ones take; those more than a second late are
        /// dropped.
        Even = "even",
        /// All statements of a second at its beginning, then idle until its end, like the benchmark's original client;
        /// a second that overran is lost.
        Burst = "burst",
    }
}

words! {
    /// The purpose of a measured step.
    Role {
        /// Its figures are results.
        Test = "test",
        /// It warms up caches: excluded from tables.
        Warm = "warm",
        /// The test before the first write: excluded from tables unless requested.
        Pre = "pre",
    }
}

/// What ends a measured step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// A duration; events in flight at its end are completed and counted.
    Time(Duration),
    /// A number of events of all clients, split evenly.
    Events(u64),
    /// A number of events of each client, or of rows if its events insert several.
    Rows(u64),
    /// Exactly the events that another run did, client by client, warm-up included. The window ends when the first
    /// client has done its part; the others finish theirs after it, so that the data end up the same.
    Work(FixedWork),
}

impl Limit {
    /// The duration; `None` for the other limits.
    pub fn time(&self) -> Option<Duration> {
        match self {
            Limit::Time(time) => Some(*time),
            Limit::Events(_) | Limit::Rows(_) | Limit::Work(_) => None,
        }
    }
}

/// The number of events of each client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixedWork {
    /// During warm-up.
    pub warmup: Vec<u64>,
    /// Since the start of the window, including the tail after its end.
    pub window: Vec<u64>,
}

/// How long a step runs unmeasured before its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// A duration; zero: no warm-up, not even one event.
    Time(Duration),
    /// Until the rate is steady.
    Detect,
}

/// The form in plans: seconds, or `"detect"`.
impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Warmup::Time(time) => serializer.serialize_f64(time.as_secs_f64()),
            Warmup::Detect => serializer.serialize_str("detect"),
        }
    }
}
