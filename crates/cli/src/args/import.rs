//! The arguments of `import`.

use clap::Args;
use rqps_import::{ArmRule, Format};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rqps import base='old/*.log' head='new/*.log'  pgbench: is head slower?
  rqps import results/                           sysbench: a directory an arm
  rqps import --check qps.rel.tsv results/       recompute a published table";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// Files, directories, or patterns; ARM=PATH names the arm, else the directory does. Files of the same arm and test
    /// are repeats, and repeats become blocks
    #[arg(required_unless_present = "repeats", value_name = "[ARM=]PATH")]
    pub paths: Vec<OsString>,
    /// Files or directories that are one repeat of all arms; again for each further repeat
    #[arg(long = "repeat", value_name = "PATH", conflicts_with = "check")]
    pub repeats: Vec<PathBuf>,
    /// Recompute this published table from the files instead; exit code 1 if a cell differs
    #[arg(long, value_name = "TABLE")]
    pub check: Option<PathBuf>,
    /// With --check: compute what was measured, and name the quirk behind each published cell that differs
    #[arg(long, requires = "check")]
    pub without_quirks: bool,
    /// With --check: the device that a table of I/O is about [default: the one that its figures fit]
    #[arg(long, value_name = "NAME", requires = "check")]
    pub device: Option<String>,
    /// The format of all files, instead of finding it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = format)]
    pub read_as: Option<Format>,
    /// The arm that the others are compared with [default: the one named base, else the first given, or the oldest
    /// version where no arm is named]
    #[arg(long, value_name = "ARM", conflicts_with = "check")]
    pub base: Option<String>,
    /// What arms are whose directories or files do not tell: PATTERN=dbms:version[:config]
    #[arg(long = "arm", value_name = "RULE", conflicts_with = "check")]
    pub arms: Vec<ArmRule>,
    /// CPUs of the measured host, if no file tells
    #[arg(long, value_name = "N", conflicts_with = "check", value_parser = clap::value_parser!(u32).range(1..))]
    pub cpus: Option<u32>,
    /// Name of the run
    #[arg(long, default_value = "import", conflicts_with = "check")]
    pub name: String,
    /// Leave out files that are not understood, instead of ending with an error
    #[arg(long)]
    pub skip_unknown: bool,
}

fn format(name: &str) -> Result<Format, String> {
    let mut known = Format::ALL.map(Format::key);
    known.sort_unstable();
    name.parse().map_err(|_| format!("known formats: {}", known.join(", ")))
}
