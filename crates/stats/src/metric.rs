//! What is compared: the rate, a cost of one operation, or the time that stalls take.

use std::fmt;

/// What is compared. Of the rate more is better, of everything else less.
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
    /// Time over what is left of it without stalls, 1 or more.
    StallFactor,
}

impl Metric {
    /// All of them, in the order of tables; of the costs the first that was measured is the primary one.
    pub const ALL: [Metric; 8] = [
        Metric::Rate,
        Metric::Instructions,
        Metric::CpuUs,
        Metric::WalBytes,
        Metric::Rows,
        Metric::Blocks,
        Metric::Fsyncs,
        Metric::StallFactor,
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
            Metric::StallFactor => "stall_factor",
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
            Metric::StallFactor => Detector::Stalls,
            _ => Detector::Cost,
        }
    }

    /// Whether it is made of few and large events. What one test says of their noise says nothing about another's, and
    /// that none were seen says little.
    pub(crate) fn is_of_rare_events(self) -> bool {
        self.detector() == Detector::Stalls
    }

    /// Whether less of it alone makes an operation cheaper. Rows and blocks touched cost something only by the time and
    /// reads that they take, which other metrics show; and versions of a server count them differently.
    pub(crate) fn calls_improvements(self) -> bool {
        !matches!(self, Metric::Rows | Metric::Blocks)
    }

    /// What it means for the candidate if this metric's ratio to base has moved in `direction`.
    pub(crate) fn is_worse(self, direction: Direction) -> bool {
        match self.detector() {
            Detector::Rate => direction == Direction::Down,
            Detector::Cost | Detector::Stalls => direction == Direction::Up,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

/// A verdict is given once for the rate, once for all costs together, and once for stalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detector {
    /// Judges the rate alone.
    Rate,
    /// Judges the costs of one operation.
    Cost,
    /// Judges the time that stalls take, whatever the mean is.
    Stalls,
}

impl Detector {
    /// All, in the order of verdicts.
    pub const ALL: [Detector; 3] = [Detector::Rate, Detector::Cost, Detector::Stalls];

    /// Its name in data and documents.
    pub fn key(self) -> &'static str {
        match self {
            Detector::Rate => "rate",
            Detector::Cost => "cost",
            Detector::Stalls => "stalls",
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
