//! The arguments of verbs that compare two builds.

use super::one_of;
use crate::complete;
use clap::Args;
use rqps_plan::limits;
use rqps_report::Detector;
use serde::{Deserialize, Serialize};

#[derive(Debug, Args)]
pub struct UpgradeArgs {
    /// The build in use, such as mysql-8.0.31; or, if NEW is omitted, an existing run: its folder, its name, or `last`
    #[arg(add = complete::builds())]
    pub old: String,
    /// The build to upgrade to
    #[arg(requires = "old", add = complete::builds())]
    pub new: Option<String>,
    /// Your config: a file, or a shipped one's name [default: the plan's]
    #[arg(long, requires = "new", add = complete::configs())]
    pub config: Option<String>,
    /// Only these tests
    #[arg(long, value_delimiter = ',', value_name = "TEST,…", requires = "new", add = complete::tests())]
    pub tests: Vec<String>,
    /// Maximum measuring time (15m, 1h) [default: the plan's]
    #[arg(long, value_name = "TIME", requires = "new")]
    pub budget: Option<String>,
    /// A plan with protocol = "isolated"; the two builds replace its arms [default: verdicts]
    #[arg(long, requires = "new", add = complete::plans())]
    pub plan: Option<String>,
    /// Name of the run [default: upgrade]
    #[arg(long, requires = "new", value_parser = label)]
    pub label: Option<String>,
}

#[derive(Debug, Args)]
pub struct BisectArgs {
    /// A version before the change: postgres-16.2, or postgres-16 for the newest 16; with --source, a commit
    #[arg(long, value_name = "BUILD", add = complete::builds())]
    pub good: String,
    /// A later version, or commit, after the change
    #[arg(long, value_name = "BUILD", add = complete::builds())]
    pub bad: String,
    /// Search the commits of a git repository: its directory or URL, with DBMS and flavour if they are not Postgres and
    /// o2nofp: mysql+o2nofp:/src/mysql
    #[arg(long, value_name = "GIT")]
    pub source: Option<String>,
    /// The tests that changed
    #[arg(long = "test", value_delimiter = ',', value_name = "TEST,…", required = true, add = complete::tests())]
    pub tests: Vec<String>,
    /// A shipped config's name, or a file [default: the plan's]
    #[arg(long, add = complete::configs())]
    pub config: Option<String>,
    /// Begin no further measurement after this time (15m, 1h); the same command continues
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// A plan with protocol = "isolated"; good and bad replace its arms [default: verdicts]
    #[arg(long, add = complete::plans())]
    pub plan: Option<String>,
}

const EXIT_CODES: &str = "\
Exit codes (details in docs/GATE.md): 0 passed, 1 regression, 2 mistake in the
arguments or the plan, 3 run failed or incomplete, 4 undecided, 130 interrupted";

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct GateArgs {
    /// An existing run: its folder, its name, or `last`
    #[arg(conflicts_with_all = ["base", "head", "config", "tests", "budget", "plan", "label"], add = complete::runs())]
    pub run: Option<String>,
    /// The build to compare with: postgres-18.1, or a directory with bin/postgres
    #[arg(long, value_name = "BUILD", requires = "head", add = complete::builds())]
    pub base: Option<String>,
    /// The changed build, which is judged
    #[arg(long, value_name = "BUILD", requires = "base", add = complete::builds())]
    pub head: Option<String>,
    /// A shipped config's name, or a file [default: the plan's]
    #[arg(long, add = complete::configs())]
    pub config: Option<String>,
    /// Only these tests
    #[arg(long, value_delimiter = ',', value_name = "TEST,…", add = complete::tests())]
    pub tests: Vec<String>,
    /// Maximum measuring time (15m, 1h) [default: the plan's]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// A plan with protocol = "isolated"; base and head replace its arms [default: verdicts]
    #[arg(long, add = complete::plans())]
    pub plan: Option<String>,
    /// Name of the run [default: gate]
    #[arg(long, value_parser = label)]
    pub label: Option<String>,
    /// Measure only the instructions and CPU time of seven tests, and judge no rates: about two minutes
    #[arg(long, requires = "head", conflicts_with_all = ["plan", "run"])]
    pub quick: bool,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// How a gate answers.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct AnswerArgs {
    /// Write a Markdown summary to this file; `-` is standard output, the default unless another output goes there
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<String>,
    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<String>,
    /// Write JSON for benchmark-action (customSmallerIsBetter) to this file; in other commands --json takes none
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Fail (exit code 1) on a significant regression in any of these [default: rate,cost,stalls; cost,cpu of a run
    /// that judges no rates, as with --quick]
    #[arg(
        long,
        value_parser = one_of(&FAIL_ON),
        value_delimiter = ',',
        value_name = "WHAT,…"
    )]
    pub fail_on: Vec<FailOn>,
    /// Exit with 4 if any verdict is inconclusive
    #[arg(long)]
    pub inconclusive_is_failure: bool,
}

/// What the gate can fail on; `None`: mixed changes.
pub type FailOn = Option<Detector>;

const FAIL_ON: [(&str, FailOn, &str); 9] = [
    ("rate", Some(Detector::Rate), "Fewer operations per second"),
    (
        "cost",
        Some(Detector::Cost),
        "More instructions per operation; CPU time where instructions can't be counted",
    ),
    ("stalls", Some(Detector::Stalls), "More time lost in stalls"),
    ("cpu", Some(Detector::Cpu), "More CPU time per operation, where cost means instructions"),
    ("wal", Some(Detector::Wal), "More write-ahead log per operation"),
    ("fsyncs", Some(Detector::Fsyncs), "More fsyncs per operation"),
    ("rows", Some(Detector::Rows), "More rows touched per operation"),
    ("blocks", Some(Detector::Blocks), "More blocks touched per operation"),
    ("mixed", None, "More of one of cost, cpu, wal and fsyncs, less of another"),
];

/// A name for a run, which becomes part of its folder's.
pub(super) fn label(text: &str) -> Result<String, String> {
    let example = limits::folder_name_from(text);
    limits::is_folder_name(text).then(|| text.to_owned()).ok_or_else(|| {
        format!("use letters, digits, `.`, `_`, `-`, beginning with a letter or digit: for example {example}")
    })
}
