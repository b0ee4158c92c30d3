//! The arguments of verbs that obtain builds.

use crate::complete;
use clap::Args;

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The DBMS: postgres, mysql, mariadb or rocksdb
    #[arg(add = complete::dbms())]
    pub dbms: String,
    /// Versions: 18.1, or 18 for the newest 18; 8.0.31, or 8.0. Without any: list the available ones
    #[arg(add = complete::published_versions())]
    pub versions: Vec<String>,
    /// Download from here: the URL of a tarball, or of its maker's download directory
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// Expected sha256 of the tarball
    #[arg(long, value_name = "HEX", requires = "from")]
    pub sha256: Option<String>,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The DBMS
    #[arg(add = complete::dbms())]
    pub dbms: String,
    /// Directory, tarball, or git repository (path or URL, optionally @COMMIT, @TAG or @BRANCH)
    #[arg(long, value_name = "DIR|TARBALL|GIT[@REF]")]
    pub source: String,
    /// Compiler and flags: o2nofp, o2lto, o3native, clang, or the path of a flavour file
    #[arg(long, default_value = rqps_model::DEFAULT_FLAVOUR, add = complete::flavours())]
    pub flavour: String,
    /// Parallel compiler jobs [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
}

fn jobs(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|jobs| (1..=1024).contains(jobs))
        .ok_or_else(|| "write a number from 1 to 1024".to_owned())
}
