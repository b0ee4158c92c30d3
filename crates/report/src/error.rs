//! Report errors. Each message names the remedy.

use rqps_model::did_you_mean;
use rqps_store::{Run, Status};

use crate::comparable::Difference;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    #[error("{run} has no {blocks} and therefore no verdicts: {remedy}")]
    NoBlocks { run: String, blocks: &'static str, remedy: &'static str },
    #[error("{run} has no arms: it was stopped before the first one was recorded. Run the plan again")]
    NoArms { run: String },
    /// The requested base or arm does not exist.
    #[error("no arm named {name:?}{} arms are: {}", meant(name, known), known.join(", "))]
    UnknownArm { name: String, known: Vec<String> },
    #[error("several runs have an arm named {name:?}; use one of: {}", known.join(", "))]
    AmbiguousArm { name: String, known: Vec<String> },
    #[error("no test named {name:?}{} tests are: {}", meant(name, known), known.join(", "))]
    UnknownTest { name: String, known: Vec<String> },
    #[error("compare needs at least one run folder")]
    NoRuns,
    #[error("{run} was given twice; name each run once")]
    RunTwice { run: String },
    #[error(
        "these runs are not comparable:\n{}\nmeasure both under the same conditions (`rqps resume` adds to a run, a plan with \
         all arms measures them together), or use --force to compare them with warnings",
        list(differences)
    )]
    NotComparable { differences: Vec<Difference> },
    /// Runs measured a test in different units.
    #[error(
        "{test}: {} per second in {}, but {} per second in {}: rates of different units are not comparable; leave the test out \
         with --test, or compare runs of one unit", first.1, first.0, other.1, other.0
    )]
    Units { test: String, first: (String, String), other: (String, String) },
    #[error(transparent)]
    Explain(#[from] rqps_explain::Error),
    /// A stored histogram cannot be decoded.
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
    /// The output could not be produced.
    #[error("cannot write the table: {0}")]
    Output(String),
}

impl Error {
    /// Of a run without a complete block; the remedy is one that its benchmark's plans accept.
    pub(crate) fn no_blocks(run: &Run) -> Self {
        let (blocks, remedy) = match (run.meta.protocol.as_str(), run.has_independent_tests()) {
            ("isolated", _) if run.status.status == Status::Failed => {
                ("complete block", "the run failed, for the reason that `rqps status` tells")
            }
            ("isolated", _) => {
                ("complete block", "`rqps resume` measures some, with --more TIME if its budget is used up")
            }
            (_, true) => (
                "blocks",
                "measure with protocol = \"isolated\", as the plan `verdicts` does, or with passes = 3 or more in the plan",
            ),
            (_, false) => ("blocks", "measure with passes = 3 or more in the plan"),
        };
        Self::NoBlocks { run: run.folder.name(), blocks, remedy }
    }

    pub(crate) fn output(reason: impl ToString) -> Self {
        Self::Output(reason.to_string())
    }

    /// Whether the user's request caused it.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Output(_))
    }
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(|difference| format!("  - {difference}")).collect::<Vec<_>>().join("\n")
}

/// `. Did you mean `hot-points`? The`, or `; the` if no name is near.
fn meant(name: &str, known: &[String]) -> String {
    let question = did_you_mean(name, known.iter().map(String::as_str));
    question.map_or_else(|| "; the".to_owned(), |question| format!(". {question} The"))
}
