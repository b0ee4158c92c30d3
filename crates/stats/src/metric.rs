//! What is compared: the rate, or a cost of one operation.

use std::fmt;

/// What is compared. Of the rate more is better, of every cost less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Operations per second.
    Rate,
    /// Instructions in user mode per operation.
    Instructions,
    /// Microseconds of CPU per operation.
    CpuUs,
    /// Bytes of write-ahead log per operation.
    WalBytes,
    /// Rows that the server touched per operation.
    Rows,
    /// Blocks that the server asked its buffers for per operation.
    Blocks,
    /// Calls of fsync per operation.
    Fsyncs,
}

impl Metric {
    /// All of them, in the order of tables; of the costs the first that was measured is the primary one.
    pub const ALL: [Metric; 7] = [
        Metric::Rate,
        Metric::Instructions,
        Metric::CpuUs,
        Metric::WalBytes,
        Metric::Rows,
        Metric::Blocks,
        Metric::Fsyncs,
    ];

    /// Its name in data and documents.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Rate => "rate",
            Metric::Instructions => "instructions",
            Metric::CpuUs => "cpu_us",
            Metric::WalBytes => "wal_bytes",
            Metric::Rows => "rows",
            Metric::Blocks => "blocks",
            Metric::Fsyncs => "fsyncs",
        }
    }

    /// The metric of this key.
    pub fn from_key(key: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.key() == key)
    }

    /// Which detector it belongs to.
    pub fn detector(self) -> Detector {
        match self {
            Metric::Rate => Detector::Rate,
            _ => Detector::Cost,
        }
    }

    /// What it means for the candidate if this metric's ratio to base has moved in `direction`.
    pub(crate) fn is_worse(self, direction: Direction) -> bool {
        match self.detector() {
            Detector::Rate => direction == Direction::Down,
            Detector::Cost => direction == Direction::Up,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

/// A verdict is given once for the rate and once for all costs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detector {
    /// Judges the rate alone.
    Rate,
    /// Judges the costs of one operation.
    Cost,
}

impl Detector {
    /// Both, in the order of verdicts.
    pub const ALL: [Detector; 2] = [Detector::Rate, Detector::Cost];

    /// Its name in data and documents.
    pub fn key(self) -> &'static str {
        match self {
            Detector::Rate => "rate",
            Detector::Cost => "cost",
        }
    }
}

/// Where a ratio lies against 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Below 1.
    Down,
    /// Above 1.
    Up,
}

impl Direction {
    /// Of a logarithm of a ratio that is not 0.
    pub(crate) fn of(ln_ratio: f64) -> Direction {
        if ln_ratio < 0.0 { Direction::Down } else { Direction::Up }
    }
}
