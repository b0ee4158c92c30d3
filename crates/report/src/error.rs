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
        "{run} has no blocks and therefore no verdicts: measure with protocol = \"isolated\", as the plan `verdicts` does"
    )]
    NoBlocks { run: String },
    /// The gate must not pass a run without verdicts.
    #[error(
        "{run} has {blocks} valid blocks, too few for any verdict: `rqps resume {run} --more 15m` measures more"
    )]
    NothingJudged { run: String, blocks: usize },
    /// A run without arms.
    #[error("{run} has no arms: it was stopped before the first one was recorded. Run the plan again")]
    NoArms { run: String },
    /// The base that was asked for is not there.
    #[error("no arm named {name:?}; the arms are: {}", known.join(", "))]
    UnknownArm { name: String, known: Vec<String> },
    /// Several runs have an arm of that name.
    #[error("several runs have an arm named {name:?}; use one of: {}", known.join(", "))]
    AmbiguousArm { name: String, known: Vec<String> },
    /// A test that the run does not have.
    #[error("no step named {name:?}; run `rqps plan show` on the run's plan.toml to list the steps")]
    UnknownTest { name: String },
    /// Nothing to compare was given.
    #[error("compare needs at least one run folder")]
    NoRuns,
    /// The same folder was given twice.
    #[error("{run} was given twice; name each run once")]
    RunTwice { run: String },
    /// The runs are too unlike to stand in one table.
    #[error(
        "these runs are not comparable:\n{}\nmeasure both under the same conditions, or use --force to compare them \
         with warnings",
        list(differences)
    )]
    NotComparable { differences: Vec<Difference> },
    /// The run could not be explained.
    #[error(transparent)]
    Explain(#[from] rqps_explain::Error),
    /// A stored histogram that cannot be read.
    #[error(
        "{run}: cannot read the latencies of {statement} in {step} on {arm} ({source}): run.db is damaged; copy it again \
         or repeat the run"
    )]
    Histogram {
        run: String,
        step: String,
        arm: String,
        statement: String,
        source: hdrhistogram::serialization::DeserializeError,
    },
    /// The output could not be formed.
    #[error("cannot write the table: {0}")]
    Output(String),
}

impl Error {
    /// The output could not be formed.
    pub(crate) fn output(why: impl ToString) -> Self {
        Self::Output(why.to_string())
    }

    /// Whether what was asked for is at fault, not how it went.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::NothingJudged { .. } | Self::Output(_))
    }
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(|difference| format!("  - {difference}")).collect::<Vec<_>>().join("\n")
}
