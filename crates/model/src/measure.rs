//! The metrics of verdicts, in one table, and the detectors that judge them.

use crate::words;

words! {
    /// What is compared: the rate, a cost per operation, or the time lost in stalls.
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
    /// What a verdict is about. Each uses exactly one metric.
    Detector {
        Rate = "rate",
        /// The cost of an operation: its instructions, or its CPU time if instructions are not counted.
        Cost = "cost",
        /// The time lost in stalls, whatever the mean is.
        Stalls = "stalls",
        /// CPU time of an operation, if its cost is instructions.
        Cpu = "cpu",
        Wal = "wal",
        Fsyncs = "fsyncs",
        Rows = "rows",
        Blocks = "blocks",
    }
}

/// The kind of events that a metric sums up, which decides how its noise is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// A duration, or so many events that it behaves like one.
    Continuous,
    /// Possibly few events of equal size.
    Counted,
    /// Few, large events. The noise of one test does not predict that of another, and their absence is weak evidence.
    Rare,
}

/// A metric and its properties. For the rate more is better, for all others less.
#[derive(Debug)]
pub struct Measure {
    pub metric: Metric,
    /// Its column's heading, also the subject of `is` or `are` in a sentence.
    pub label: &'static str,
    pub is_plural: bool,
    /// `verb` and `noun` form sentences: an operation `executes` fewer `instructions`.
    pub verb: &'static str,
    pub noun: &'static str,
    /// Whether a smaller amount is "fewer" instead of "less".
    pub is_countable: bool,
    /// The detector that uses it, if it is not the cost.
    pub detector: Detector,
    /// Whether it can be the cost; the first such metric that was measured is.
    pub is_cost: bool,
    /// Whether a rise of it and a fall of another such metric make both mixed. False for rows and blocks touched: they
    /// cost only through the time, log and reads that they take, and server versions count them differently.
    pub weighs: bool,
    /// The window's total that is divided by operations; `None` if it is computed in another way.
    pub total: Option<&'static str>,
    pub events: Events,
    /// The default minimum effect of interest, as a share.
    pub mei: f64,
    /// The smallest amount per operation that an operation itself can cause; a server's periodic housekeeping causes
    /// less. Smaller differences never matter, however large their share.
    pub per_op_min: f64,
}

/// Defaults of the fields.
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
        // The smallest WAL record has 24 bytes; a writing transaction of 20 statements writes at least one.
        per_op_min: 1.0,
        ..COUNT
    },
    Measure {
        metric: Metric::Rows,
        label: "rows touched",
        noun: "rows",
        total: Some("server_rows_touched"),
        // A statement that finds a row one time in ten.
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
        // The commit of a transaction of 20 statements, whose fsync several may share.
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
    pub fn measure(self) -> &'static Measure {
        &MEASURES[self as usize]
    }

    /// The detector that uses it in a test whose cost is `cost_of`.
    pub fn detector(self, cost_of: Metric) -> Detector {
        let measure = self.measure();
        if measure.is_cost && self == cost_of { Detector::Cost } else { measure.detector }
    }
}

impl Detector {
    /// The detectors that every test is judged by.
    pub const HEADLINES: [Detector; 3] = [Detector::Rate, Detector::Cost, Detector::Stalls];

    /// Whether it judges the rate or the cost: what runs are measured for.
    pub fn is_rate_or_cost(self) -> bool {
        matches!(self, Detector::Rate | Detector::Cost)
    }

    /// Whether it judges a resource, not a headline.
    pub fn is_resource(self) -> bool {
        !Self::HEADLINES.contains(&self)
    }

    /// All detectors of resources.
    pub fn resources() -> impl Iterator<Item = Detector> {
        Self::ALL.into_iter().filter(|detector| detector.is_resource())
    }

    /// Its metric; for the cost, that with counted instructions.
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
