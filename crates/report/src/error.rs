//! What can go wrong when a report is made. Each message names the remedy.

use crate::comparable::Difference;

pub type Result<T> = std::result::Result<T, Error>;

/// An error of a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run folder could not be read.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// The run could not be judged.
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    #[error(
        "{run} has no blocks, so there are no verdicts on it: measure with protocol = \"isolated\" (the plan `verdicts` does)"
    )]
    NoBlocks { run: String },
    /// The gate must not pass what nobody looked at.
    #[error(
        "{run} has {blocks} valid blocks, too few for any verdict: `rqps resume {run} --more 15m` measures more"
    )]
    NothingJudged { run: String, blocks: usize },
    /// A run without arms.
    #[error(
        "{run} has no arms to compare: it was stopped before its first one was recorded. Run the plan again"
    )]
    NoArms { run: String },
    /// The base that was asked for is not there.
    #[error("no arm is called {name:?}; there are: {}", known.join(", "))]
    UnknownArm { name: String, known: Vec<String> },
    /// Several runs have an arm of that name.
    #[error("several runs have an arm called {name:?}; say which: {}", known.join(", "))]
    AmbiguousArm { name: String, known: Vec<String> },
    /// A test that the run does not have.
    #[error("no step is called {name:?}; `rqps plan show` on the run's plan.toml lists the steps")]
    UnknownTest { name: String },
    /// Nothing to compare was given.
    #[error("compare needs at least one run folder")]
    NoRuns,
    /// The same folder was given twice.
    #[error("{run} was given twice: name each run once")]
    RunTwice { run: String },
    /// The runs are too unlike to stand in one table.
    #[error(
        "these runs are not comparable:\n{}\nmeasure both under the same conditions, or use --force to see the table \
         with a warning in it",
        list(differences)
    )]
    NotComparable { differences: Vec<Difference> },
    /// The run could not be explained.
    #[error(transparent)]
    Explain(#[from] rqps_explain::Error),
    /// A stored histogram that cannot be read.
    #[error(
        "{run}: latencies of {statement} in {step} on {arm} cannot be read ({source}): run.db is damaged, copy it anew \
         or measure again"
    )]
    Histogram {
        run: String,
        step: String,
        arm: String,
        statement: String,
        source: hdrhistogram::serialization::DeserializeError,
    },
    /// The output could not be formed.
    #[error("the table could not be written: {0}")]
    Output(String),
}

impl Error {
    /// Whether what was asked for is at fault, not how it went.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::NothingJudged { .. } | Self::Output(_))
    }
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(|difference| format!("  - {difference}")).collect::<Vec<_>>().join("\n")
}
