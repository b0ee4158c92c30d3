//! What a step is asked to do, and what ended it.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::words;

words! {
    /// What ended a window.
    EndedBy {
        /// The planned time was up.
        Time = "time",
        /// The planned work was done.
        Work = "work",
        /// The planned share of the rows was used up (`delete` stops before it empties the table).
        Share = "share",
        Error = "error",
    }
}

words! {
    /// How writes of a given rate are spread over a second.
    Pacer {
        /// Statements are due at even intervals, whatever the ones before take; what is more than a second late is
        /// dropped.
        Even = "even",
        /// All statements of a second at its beginning, then a rest until it is over, as the benchmark's first client
        /// does it; a second that overran is lost.
        Burst = "burst",
    }
}

words! {
    /// What a measured step is for.
    Role {
        /// Its figures are results.
        Test = "test",
        /// It fills caches: left out of tables.
        Warm = "warm",
        /// The test before the first write: left out of tables unless asked for.
        Pre = "pre",
    }
}

/// What ends a measured step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// This much time; what is in flight then is finished and counted.
    Time(Duration),
    /// This many events over all clients, evenly split.
    Events(u64),
    /// This many events of each client, or rows where its events insert several.
    Rows(u64),
    /// Exactly the events that another run did, client by client, warm-up included. The window ends when the first
    /// client has done its part; the others finish theirs outside it, so that the data end up the same.
    Work(FixedWork),
}

impl Limit {
    /// The time that ends it, if that does.
    pub fn time(&self) -> Option<Duration> {
        match self {
            Limit::Time(time) => Some(*time),
            Limit::Events(_) | Limit::Rows(_) | Limit::Work(_) => None,
        }
    }
}

/// How many events each client did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixedWork {
    /// In warm-up.
    pub warmup: Vec<u64>,
    /// From the opening of the window on, those that were owed when it closed included.
    pub window: Vec<u64>,
}

/// What comes before a window without being measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Zero: there is none, not even one event.
    Time(Duration),
    /// Until the rate is steady.
    Detect,
}

/// As plans write it: seconds, or `"detect"`.
impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Warmup::Time(time) => serializer.serialize_f64(time.as_secs_f64()),
            Warmup::Detect => serializer.serialize_str("detect"),
        }
    }
}
