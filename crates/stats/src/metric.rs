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
    /// All of them, in the order of tables; of instructions and CPU time the first that was measured is the cost.
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

    /// Which verdict is on it, in a test where the cost rests on `cost_of`.
    pub fn detector(self, cost_of: Metric) -> Detector {
        match self {
            Metric::Rate => Detector::Rate,
            Metric::StallFactor => Detector::Stalls,
            Metric::Instructions => Detector::Cost,
            Metric::CpuUs if cost_of == Metric::CpuUs => Detector::Cost,
            Metric::CpuUs => Detector::Cpu,
            Metric::WalBytes => Detector::Wal,
            Metric::Fsyncs => Detector::Fsyncs,
            Metric::Rows => Detector::Rows,
            Metric::Blocks => Detector::Blocks,
        }
    }

    /// What an operation could have of it by itself, in units of the metric: a server's housekeeping, which goes by the
    /// clock, has less. No smaller difference matters, however large a share it is.
    pub fn least_per_op(self) -> f64 {
        match self {
            Metric::Rate | Metric::Instructions | Metric::CpuUs | Metric::StallFactor => 0.0,
            // The smallest WAL record has 24 bytes, and a transaction of 20 statements that writes at all writes one.
            Metric::WalBytes => 1.0,
            // A row of a statement that finds one in ten times.
            Metric::Rows | Metric::Blocks => 0.1,
            // A commit of a transaction of 20 statements, which may share its fsync with others.
            Metric::Fsyncs => 0.01,
        }
    }

    /// Whether it is made of few and large events. What one test says of their noise says nothing about another's, and
    /// that none were seen says little.
    pub(crate) fn is_of_rare_events(self) -> bool {
        self == Metric::StallFactor
    }

    /// Whether it counts events, which may be few and of one size.
    pub(crate) fn is_counter(self) -> bool {
        matches!(self, Metric::WalBytes | Metric::Rows | Metric::Blocks | Metric::Fsyncs)
    }

    /// What it means for the candidate if this metric's ratio to base has moved in `direction`.
    pub(crate) fn is_worse(self, direction: Direction) -> bool {
        (self == Metric::Rate) == (direction == Direction::Down)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

/// What a verdict is on. Each rests on one metric and on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detector {
    Rate,
    /// The cost of an operation: its instructions, or its CPU time where nobody counts them.
    Cost,
    /// The time that stalls take, whatever the mean is.
    Stalls,
    /// CPU time of an operation, where its cost rests on instructions.
    Cpu,
    /// Bytes of write-ahead log of an operation.
    Wal,
    Fsyncs,
    /// Rows touched by an operation.
    Rows,
    /// Blocks touched by an operation.
    Blocks,
}

impl Detector {
    /// All, in the order of verdicts.
    pub const ALL: [Detector; 8] = [
        Detector::Rate,
        Detector::Cost,
        Detector::Stalls,
        Detector::Cpu,
        Detector::Wal,
        Detector::Fsyncs,
        Detector::Rows,
        Detector::Blocks,
    ];

    /// What a test is measured for.
    pub const HEADLINES: [Detector; 3] = [Detector::Rate, Detector::Cost, Detector::Stalls];

    /// What is judged beside them.
    pub const RESOURCES: [Detector; 5] =
        [Detector::Cpu, Detector::Wal, Detector::Fsyncs, Detector::Rows, Detector::Blocks];

    /// Its name in data and documents.
    pub fn key(self) -> &'static str {
        match self {
            Detector::Rate => "rate",
            Detector::Cost => "cost",
            Detector::Stalls => "stalls",
            Detector::Cpu => "cpu",
            Detector::Wal => "wal",
            Detector::Fsyncs => "fsyncs",
            Detector::Rows => "rows",
            Detector::Blocks => "blocks",
        }
    }

    /// Whether it is one of [`Self::RESOURCES`].
    pub fn is_resource(self) -> bool {
        Self::RESOURCES.contains(&self)
    }

    /// Whether more of it on one arm and less of another such thing make the two mixed. Rows and blocks touched cost
    /// something only by the time, log and reads that they take; and versions of a server count them differently.
    pub(crate) fn weighs(self) -> bool {
        matches!(self, Detector::Cost | Detector::Cpu | Detector::Wal | Detector::Fsyncs)
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
