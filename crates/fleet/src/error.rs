//! Errors of fleets. Each message names the place and the remedy.

use std::path::{Path, PathBuf};

use rqps_model::counted;
use rqps_plan::estimate::duration_text;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} is not a fleet's folder (no fleet.json in it): `rqps fleet run` prints the folder it makes", path.display())]
    NotAFleet { path: PathBuf },
    #[error(
        "there is no {}: if the fleet's folder was moved, give its new path; if it was deleted, its jobs end by \
         themselves, or now by `scancel` (`squeue --me` lists them: rqps-…)",
        path.display()
    )]
    NoFolder { path: PathBuf },
    #[error(
        "this fleet was moved from {}: jobs submitted there cannot record results. `rqps fleet resume {}` ends them and \
         submits what is not done",
        from.display(), path.display()
    )]
    Moved { path: PathBuf, from: PathBuf },
    #[error(
        "{} is a copy of {}, where jobs record their results: use that one, or delete it to go on with the copy",
        path.display(), of.display()
    )]
    Copied { path: PathBuf, of: PathBuf },
    #[error("{}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{} has no task {task}: `rqps fleet status` lists them", path.display())]
    NoTask { path: PathBuf, task: String },
    #[error("the folder {} has a blank or a quote in its path, which Slurm's scripts cannot name: use --results", path.display())]
    BadPath { path: PathBuf },
    #[error(
        "jobs cannot record results in {} ({source}), so nothing is submitted until there is room: then `rqps fleet watch` \
         goes on by itself, and `rqps fleet resume` does",
        path.display()
    )]
    Full { path: PathBuf, source: std::io::Error },
    #[error(
        "{} on {host} is another fleet's folder: is it on a file system that all hosts share?",
        path.display()
    )]
    NotShared { path: PathBuf, host: String },
    #[error(
        "{host} cannot be reached from {from} by ssh ({why}): `ssh -o BatchMode=yes {host} true` has to work there, without a \
         password"
    )]
    Unreached { host: String, from: String, why: String },
    #[error("{host} has no fleet in {} any more: if it was moved, `rqps fleet resume` there submits its jobs again", path.display())]
    NoHome { host: String, path: PathBuf },
    #[error("on {host}: {why}")]
    AtHome { host: String, why: String },
    #[error(
        "cannot copy builds into {} ({source}): the cache has the same path on all hosts; set RQPS_CACHE to one that you can \
         write on each, and plan another fleet",
        path.display()
    )]
    NoCopy { path: PathBuf, source: std::io::Error },
    #[error("tar failed on {}: is the disk full?", path.display())]
    Tar { path: PathBuf },
    #[error("another rqps is submitting tasks of {}: wait for it", path.display())]
    Busy { path: PathBuf },
    #[error("SLURM_CONF is {}, and there is no such file: correct it, or unset it for the usual one", path.display())]
    NoConf { path: PathBuf },
    #[error("{program}: {why}")]
    Slurm { program: &'static str, why: String },
    #[error(
        "{} is a fleet of the cluster {cluster}, and Slurm here is the cluster {here}: call it on a host of {cluster} \
         (SLURM_CONF says which one)",
        path.display()
    )]
    OtherCluster { path: PathBuf, cluster: String, here: String },
    #[error("no partition {partition}: Slurm has {known}; without Slurm, `--on local` runs the tasks here")]
    NoPartition { partition: String, known: String },
    #[error(
        "partition {partition} has {} up, but --hosts is {wanted}: `sinfo -p {partition}` lists them (after a start of the \
         controller, hosts take a moment to register)",
        counted(*found, "host")
    )]
    TooFewHosts { partition: String, found: usize, wanted: usize },
    #[error(
        "partition {partition} ends jobs after {} (its MaxTime), but a task takes about {}: a smaller `budget`, fewer \
         tests or more hosts make tasks shorter; `sinfo -o \"%P %l\"` lists the limits of all partitions",
        duration_text(*limit_s), duration_text(*needed_s)
    )]
    TimeLimit { partition: String, limit_s: f64, needed_s: f64 },
    #[error(
        "{} is a fleet of user {owner}: only that user can submit and cancel its jobs",
        path.display()
    )]
    OfAnother { path: PathBuf, owner: String },
    #[error(
        "the tasks of {} run without Slurm, in the `rqps fleet run` or `resume` that began them: end that one (Ctrl-C, \
         or SIGTERM)",
        path.display()
    )]
    NoJobs { path: PathBuf },
    #[error("no task of {} is done yet: `rqps fleet status` says what runs", path.display())]
    NothingDone { path: PathBuf },
    #[error("{}: arm {arm} was measured with another build ({found} instead of {expected}): its results cannot be joined", run.display())]
    OtherBuild { run: PathBuf, arm: String, found: String, expected: String },
    #[error("{}: no blocks, so no verdicts: plans with protocol = \"isolated\" or several passes have them", path.display())]
    NoBlocks { path: PathBuf },
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    #[error("the hosts' results are inconsistent: {0}")]
    Invalid(#[from] rqps_stats::InvalidData),
}

impl Error {
    /// Whether the user can correct it.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::NotAFleet { .. }
                | Error::NoFolder { .. }
                | Error::Moved { .. }
                | Error::Copied { .. }
                | Error::NoTask { .. }
                | Error::BadPath { .. }
                | Error::NoConf { .. }
                | Error::OtherCluster { .. }
                | Error::NoPartition { .. }
                | Error::TooFewHosts { .. }
                | Error::TimeLimit { .. }
                | Error::OfAnother { .. }
                | Error::NoJobs { .. }
                | Error::NothingDone { .. }
                | Error::NoBlocks { .. }
        )
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
