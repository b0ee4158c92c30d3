//! What verdicts are made of: the measures, in one table, and the detectors that judge them.

use crate::words;

words! {
    /// What is compared: the rate, what an operation takes, or the time that stalls take.
    Metric {
        Rate = "rate",
        Instructions = "instructions",
        CpuUs = "cpu_us",
        WalBytes = "wal_bytes",
        Rows = "rows",
        Blocks = "blocks",
        Fsyncs = "fsyncs",
        StallFactor = "stall_factor",
    }
}

words! {
    /// What a verdict is on. Each rests on one metric and on nothing else.
    Detector {
        Rate = "rate",
        /// The cost of an operation: its instructions, or its CPU time where nobody counts them.
        Cost = "cost",
        /// The time that stalls take, whatever the mean is.
        Stalls = "stalls",
        /// CPU time of an operation, where its cost rests on instructions.
        Cpu = "cpu",
        Wal = "wal",
        Fsyncs = "fsyncs",
        Rows = "rows",
        Blocks = "blocks",
    }
}

/// Of what events a measure is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// Of none: it is a length of time, or there are so many that it is like one.
    Continuous,
    /// Of events that may be few and of one size.
    Counted,
    /// Of few and large ones. What one test says of their noise says nothing about another's, and that none were seen
    /// says little.
    Rare,
}

/// A metric and what has to be known of it. Of the rate more is better, of everything else less.
#[derive(Debug)]
pub struct Measure {
    pub metric: Metric,
    /// In a column, and with `is` or `are` in a sentence.
    pub label: &'static str,
    pub is_plural: bool,
    /// What an operation does with it: `executes`, and more or fewer of it, or less: `instructions`.
    pub verb: &'static str,
    pub noun: &'static str,
    pub is_countable: bool,
    /// Which verdict is on it, where it is not the cost.
    pub detector: Detector,
    /// Whether it can be the cost: the first that was measured is.
    pub is_cost: bool,
    /// Whether more of it on one arm and less of another such measure make the two mixed. Rows and blocks touched cost
    /// something only by the time, log and reads that they take; and versions of a server count them differently.
    pub weighs: bool,
    /// The total of a window that it is made of, per operation; none where it is made otherwise.
    pub total: Option<&'static str>,
    pub events: Events,
    /// Minimum effect of interest, as a share, where a plan says nothing else.
    pub mei: f64,
    /// What an operation could have of it by itself: a server's housekeeping, which goes by the clock, has less. No
    /// smaller difference matters, however large a share it is.
    pub per_op_min: f64,
}

/// What the fields of most measures are.
const COUNT: Measure = Measure {
    metric: Metric::Rows,
    label: "",
    is_plural: true,
    verb: "touches",
    noun: "",
    is_countable: true,
    detector: Detector::Rows,
    is_cost: false,
    weighs: false,
    total: None,
    events: Events::Counted,
    mei: 0.005,
    per_op_min: 0.0,
};

static MEASURES: [Measure; Metric::ALL.len()] = [
    Measure {
        metric: Metric::Rate,
        label: "rate",
        is_plural: false,
        verb: "does",
        noun: "operations per second",
        detector: Detector::Rate,
        events: Events::Continuous,
        mei: 0.02,
        ..COUNT
    },
    Measure {
        metric: Metric::Instructions,
        label: "instructions",
        verb: "executes",
        noun: "instructions",
        detector: Detector::Cost,
        is_cost: true,
        weighs: true,
        total: Some("server_instructions_user"),
        events: Events::Continuous,
        ..COUNT
    },
    Measure {
        metric: Metric::CpuUs,
        label: "CPU time",
        is_plural: false,
        verb: "takes",
        noun: "CPU time",
        is_countable: false,
        detector: Detector::Cpu,
        is_cost: true,
        weighs: true,
        total: Some("server_cpu_us"),
        events: Events::Continuous,
        mei: 0.02,
        ..COUNT
    },
    Measure {
        metric: Metric::WalBytes,
        label: "WAL bytes",
        verb: "writes",
        noun: "WAL",
        is_countable: false,
        detector: Detector::Wal,
        weighs: true,
        total: Some("server_wal_bytes"),
        // The smallest WAL record has 24 bytes, and a transaction of 20 statements that writes at all writes one.
        per_op_min: 1.0,
        ..COUNT
    },
    Measure {
        metric: Metric::Rows,
        label: "rows touched",
        noun: "rows",
        total: Some("server_rows_touched"),
        // A row of a statement that finds one in ten times.
        per_op_min: 0.1,
        ..COUNT
    },
    Measure {
        metric: Metric::Blocks,
        label: "blocks touched",
        noun: "blocks",
        detector: Detector::Blocks,
        total: Some("server_blocks_touched"),
        per_op_min: 0.1,
        ..COUNT
    },
    Measure {
        metric: Metric::Fsyncs,
        label: "fsyncs",
        verb: "waits for",
        noun: "fsyncs",
        detector: Detector::Fsyncs,
        weighs: true,
        total: Some("server_fsyncs"),
        // A commit of a transaction of 20 statements, which may share its fsync with others.
        per_op_min: 0.01,
        ..COUNT
    },
    Measure {
        metric: Metric::StallFactor,
        label: "time in stalls",
        is_plural: false,
        verb: "loses",
        noun: "time in stalls",
        is_countable: false,
        detector: Detector::Stalls,
        events: Events::Rare,
        mei: 0.01,
        ..COUNT
    },
];

impl Metric {
    /// What is known of it.
    pub fn measure(self) -> &'static Measure {
        &MEASURES[self as usize]
    }

    /// Which verdict is on it, in a test where the cost rests on `cost_of`.
    pub fn detector(self, cost_of: Metric) -> Detector {
        let measure = self.measure();
        if measure.is_cost && self == cost_of { Detector::Cost } else { measure.detector }
    }
}

impl Detector {
    /// What a test is measured for.
    pub const HEADLINES: [Detector; 3] = [Detector::Rate, Detector::Cost, Detector::Stalls];

    /// Whether it is judged beside them.
    pub fn is_resource(self) -> bool {
        !Self::HEADLINES.contains(&self)
    }

    /// All that are judged beside the headlines.
    pub fn resources() -> impl Iterator<Item = Detector> {
        Self::ALL.into_iter().filter(|detector| detector.is_resource())
    }

    /// What it judges; of the cost, where instructions are counted.
    pub fn measure(self) -> Option<&'static Measure> {
        MEASURES.iter().find(|measure| measure.detector == self)
    }

    /// See [`Measure::weighs`].
    pub fn weighs(self) -> bool {
        self.measure().is_some_and(|measure| measure.weighs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_and_each_detector_finds_its_row() {
        for metric in Metric::ALL {
            assert_eq!(metric.measure().metric, metric);
        }
        for detector in Detector::ALL {
            assert_eq!(detector.measure().map(|measure| measure.detector), Some(detector));
        }
        assert_eq!(Metric::CpuUs.detector(Metric::CpuUs), Detector::Cost);
        assert_eq!(Metric::CpuUs.detector(Metric::Instructions), Detector::Cpu);
    }
}
