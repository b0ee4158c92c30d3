//! The arguments of `series`.

use crate::complete;
use clap::Args;

#[derive(Debug, Args)]
pub struct SeriesArgs {
    /// postgres, mysql or mariadb
    #[arg(add = complete::dbms())]
    pub dbms: String,
    /// The versions: a range of series (12..18), a list (14,16.3,18), or both; the oldest is the anchor
    #[arg(value_name = "VERSIONS", value_delimiter = ',', required = true)]
    pub versions: Vec<String>,
    /// Only these tests [default: all of the plan]
    #[arg(long, value_delimiter = ',', value_name = "TEST,…", add = complete::tests())]
    pub tests: Vec<String>,
    /// A shipped config's name, or a file [default: the plan's]
    #[arg(long, add = complete::configs())]
    pub config: Option<String>,
    /// Begin no further link after this time (15m, 1h); the same command continues
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// A plan with protocol = "isolated", for every link, with its budget; the versions replace its arms
    /// [default: verdicts]
    #[arg(long, add = complete::plans())]
    pub plan: Option<String>,
    /// Write the page to this file [default: series.html in the folder of the runs]
    #[arg(long, value_name = "FILE")]
    pub html: Option<std::path::PathBuf>,
}
