//! What a fleet consists of: its tasks, and the hosts that may run them. Written once, when it is planned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::script::{OUTPUT, WARNING_SECONDS};

/// Increment when the meaning of the file changes.
pub const FORMAT: u32 = 2;

/// A fleet as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub format: u32,
    /// Distinguishes its jobs from those of other fleets.
    pub id: String,
    /// Where it was when jobs were last submitted.
    #[serde(default)]
    pub folder: PathBuf,
    /// The plan's name.
    pub plan: String,
    pub place: Place,
    /// The hosts of each replica. A comparison is measured once in each group, so on as many hosts.
    pub groups: Vec<Vec<String>>,
    /// Hosts of the partition that are not the fleet's: without being told, Slurm would use them too.
    #[serde(default)]
    pub outside: Vec<String>,
    /// The build cache of all hosts.
    pub cache: PathBuf,
    /// Of the program that hosts run, a copy in the fleet's folder.
    pub program_sha256: String,
    /// The plan's arms, in its order.
    pub arms: Vec<String>,
    /// The hash of each arm's build.
    pub builds: BTreeMap<String, String>,
    /// SHA-256 of copies of files that the plan names, by path in the fleet's folder.
    #[serde(default)]
    pub files: BTreeMap<PathBuf, String>,
    /// Where hosts share no folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_ssh: Option<OverSsh>,
    pub tasks: Vec<Task>,
}

/// Without a password to ask for, and without waiting for a host that is not there.
pub(crate) const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15";

/// How hosts that share no folder get what they need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverSsh {
    /// How they reach the host that has the fleet's folder, as `ssh` takes it: `user@host`, or `ssh://user@host:port`.
    pub host: String,
    /// The builds that they copy, by arm, as paths in the cache. The others are where the plan says.
    pub builds: BTreeMap<String, PathBuf>,
}

/// Where tasks run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// A partition of Slurm.
    Slurm {
        partition: String,
        /// The name of the cluster; fleets of older versions don't say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
    },
    /// This host, one task after the other.
    Local,
}

/// A piece of the plan on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// `0003.2`: piece 3 on the hosts of group 2.
    pub id: String,
    /// From 1; `pieces/0003.toml` is its plan.
    pub piece: u32,
    /// From 1.
    pub replica: u32,
    pub seconds: u64,
    /// After which Slurm ends its job.
    pub limit_minutes: u64,
}

/// Estimates are rough, and hosts differ.
const LIMIT_FACTOR: f64 = 2.0;
const LIMIT_EXTRA_SECONDS: f64 = 1_800.0;

impl Task {
    /// Lowers its time limit to what a partition allows.
    ///
    /// # Errors
    /// If that is too short for its estimate.
    pub fn limit_to(&mut self, minutes: u64, partition: &str) -> Result<()> {
        self.limit_minutes = self.limit_minutes.min(minutes);
        if self.seconds + u64::from(WARNING_SECONDS) <= self.limit_minutes * 60 {
            return Ok(());
        }
        let (limit_s, needed_s) = (minutes as f64 * 60.0, self.seconds as f64);
        Err(Error::TimeLimit { partition: partition.to_owned(), limit_s, needed_s })
    }

    pub fn new(piece: u32, replica: u32, seconds: f64) -> Self {
        let limit = seconds * LIMIT_FACTOR + LIMIT_EXTRA_SECONDS;
        Self {
            id: format!("{piece:04}.{replica}"),
            piece,
            replica,
            seconds: seconds.ceil() as u64,
            limit_minutes: (limit / 60.0).ceil() as u64,
        }
    }
}

impl Spec {
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// What names of a task's jobs begin with.
    pub fn job_prefix(&self, task: &str) -> String {
        format!("{}{task}-", self.job_stem())
    }

    /// What names of all its jobs begin with.
    pub fn job_stem(&self) -> String {
        format!("rqps-{}-", self.id)
    }

    /// Where jobs of a task write what they print: in the fleet's folder, or on their host if hosts share none.
    pub fn output(&self, folder: &Path, task: &Task) -> String {
        match self.over_ssh {
            None => format!("{}/{OUTPUT}/{}.txt", folder.display(), task.id),
            Some(_) => format!("/tmp/{}{}.txt", self.job_stem(), task.id),
        }
    }

    /// Hosts that must not run a task: those of other replicas, and those that are not the fleet's.
    pub fn excluded(&self, task: &Task) -> Vec<&str> {
        let others = self.groups.iter().enumerate().filter(|(at, _)| at + 1 != task.replica as usize);
        let others = others.flat_map(|(_, hosts)| hosts);
        others.chain(&self.outside).map(String::as_str).collect()
    }
}

/// Deals hosts out into `replicas` groups of equal size, but for one host.
pub fn replicas_of(hosts: &[String], replicas: usize) -> Vec<Vec<String>> {
    let mut groups = vec![Vec::new(); replicas.max(1)];
    for (at, host) in hosts.iter().enumerate() {
        groups[at % replicas.max(1)].push(host.clone());
    }
    groups
}
