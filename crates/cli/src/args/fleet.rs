//! The arguments of `fleet`.

use super::one_of;
use crate::complete;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub verb: FleetVerb,
}

#[derive(Debug, Subcommand)]
pub enum FleetVerb {
    /// Cut a plan into tasks and submit them; returns when Slurm has them
    #[command(
        override_usage = "rqps fleet run <PLAN> --partition <NAME> --hosts <N>\n       rqps fleet run <PLAN> --on local"
    )]
    Run(FleetRunArgs),
    /// Show which tasks are done, run, wait or failed
    Status(FleetArg),
    /// Show progress until all tasks are done, and submit again what got lost
    Watch(FleetArg),
    /// Cancel all jobs; what is measured is kept
    Cancel(FleetArg),
    /// Submit what is neither done nor on its way, also after a cancellation
    Resume(FleetArg),
    /// Join the results of all hosts into one comparison
    Collect(FleetCollectArgs),
    /// What a job runs
    #[command(hide = true)]
    Work {
        folder: PathBuf,
        id: String,
        task: String,
        #[arg(long)]
        over_ssh: Option<String>,
    },
    /// What a job asks by ssh where hosts share no folder
    #[command(hide = true)]
    Home { folder: PathBuf, id: String, task: String },
}

/// Where tasks run instead of Slurm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Local,
}

const PLACES: [(&str, On, &str); 1] =
    [("local", On::Local, "On this host, one after the other, without Slurm")];

#[derive(Debug, Args)]
pub struct FleetRunArgs {
    /// A plan file, or the name of a shipped plan (see `rqps plan ls`)
    #[arg(add = complete::plans())]
    pub plan: String,
    /// The partition of Slurm
    #[arg(long, required_unless_present = "on", value_name = "NAME")]
    pub partition: Option<String>,
    /// How many of its hosts to use, by name; every comparison is measured on three of them, or all if fewer
    #[arg(long, required_unless_present = "on", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hosts: Option<u32>,
    /// Without a shared file system: this host, as the others reach it by ssh to fetch builds and send results
    #[arg(long, value_name = "[USER@]HOST", conflicts_with = "on")]
    pub over_ssh: Option<String>,
    /// Where tasks run instead of Slurm
    #[arg(long, value_parser = one_of(&PLACES), value_name = "PLACE", conflicts_with_all = ["partition", "hosts"])]
    pub on: Option<On>,
    /// Print the jobs' scripts and submit nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct FleetArg {
    /// The fleet's folder, or its name
    pub fleet: PathBuf,
}

#[derive(Debug, Args)]
pub struct FleetCollectArgs {
    #[command(flatten)]
    pub fleet: FleetArg,
    /// Also write one self-contained HTML file with charts [default: report.html in the fleet's folder]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub html: Option<Option<PathBuf>>,
}
