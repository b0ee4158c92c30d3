//! Slurm's programs: one call of `squeue` for all jobs of a fleet, one of `sbatch` for each job.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rqps_model::natural;

use crate::error::{Error, Result};

/// Fields of a job: id, name, state, nodes, time used, reason. `|` is in none of them.
const JOB_FORMAT: &str = "%i|%j|%T|%N|%M|%r";
/// States of nodes that can take jobs, now or when their jobs end.
const UP: [&str; 5] = ["idle", "allocated", "mixed", "completing", "reserved"];
/// Jobs that one call of `scancel` names: its arguments are limited.
const CANCELLED_AT_ONCE: usize = 500;

/// A job that Slurm has not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: String,
    pub name: String,
    /// `PENDING`, `RUNNING`, …
    pub state: String,
    pub nodes: String,
    /// How long it has run.
    pub seconds: u64,
    /// Why it does not run.
    pub reason: String,
}

impl Job {
    /// Whether it was ended and its processes are not gone yet.
    pub fn is_ending(&self) -> bool {
        self.state == "COMPLETING"
    }

    /// Whether a host may be working on it.
    pub fn is_running(&self) -> bool {
        !matches!(self.state.as_str(), "PENDING" | "REQUEUE_HOLD" | "REQUEUED" | "SPECIAL_EXIT")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(6, '|').map(str::to_owned);
        let mut next = || fields.next();
        Some(Self {
            id: next()?,
            name: next()?,
            state: next()?,
            nodes: next()?,
            seconds: seconds_of(&next()?),
            reason: next()?,
        })
    }
}

/// Of `2-03:04:05`, `3:04:05` or `4:05`; 0 if Slurm does not know.
fn seconds_of(time: &str) -> u64 {
    let (days, clock) = time.split_once('-').unwrap_or(("0", time));
    let parts = clock.split(':').map(str::parse::<u64>);
    let seconds = parts.into_iter().try_fold(0, |sum, part| part.map(|part| sum * 60 + part));
    days.parse::<u64>().ok().zip(seconds.ok()).map_or(0, |(days, seconds)| days * 86_400 + seconds)
}

/// The Slurm that this host's programs speak to.
#[derive(Debug, Clone, Copy)]
pub struct Slurm;

impl Slurm {
    /// Hosts of a partition, or of several separated by commas, by name: those that are up, and the others.
    ///
    /// # Errors
    /// If Slurm does not answer, or does not know a partition.
    pub fn hosts(self, partitions: &str) -> Result<(Vec<String>, Vec<String>)> {
        let mut text = String::new();
        // Of those of one call, sinfo leaves out what it does not know.
        for partition in partitions.split(',') {
            let of_one = call(
                "sinfo",
                &["--noheader", "--Node", "--partition", partition, "--format", "%N|%T"],
                None,
            )?;
            if of_one.trim().is_empty() {
                let known = call("sinfo", &["--noheader", "--format", "%R"], None)?;
                let known: BTreeSet<&str> = known.split_whitespace().collect();
                return Err(Error::NoPartition {
                    partition: partition.to_owned(),
                    known: known.into_iter().collect::<Vec<_>>().join(", "),
                });
            }
            text.push_str(&of_one);
        }
        let is_up =
            |state: &str| UP.contains(&state.trim_end_matches(['*', '~', '#', '!', '%', '$', '@', '^', '-']));
        let mut hosts: Vec<(&str, bool)> = text
            .lines()
            .filter_map(|line| line.trim().split_once('|'))
            .map(|(host, state)| (host, is_up(state)))
            .collect();
        hosts.sort_by(|(a, _), (b, _)| natural(a, b).then(a.cmp(b)));
        hosts.dedup();
        let (up, others): (Vec<_>, Vec<_>) = hosts.into_iter().partition(|(_, is_up)| *is_up);
        let names = |hosts: Vec<(&str, bool)>| hosts.into_iter().map(|(host, _)| host.to_owned()).collect();
        Ok((names(up), names(others)))
    }

    /// The name of the cluster.
    ///
    /// # Errors
    /// If Slurm does not answer.
    pub fn cluster(self) -> Result<Option<String>> {
        let text = call("scontrol", &["show", "config"], None)?;
        let mut settings = text.lines().filter_map(|line| line.split_once('='));
        Ok(settings.find(|(key, _)| key.trim() == "ClusterName").map(|(_, name)| name.trim().to_owned()))
    }

    /// The least time limit of these partitions, in minutes; `None` if they have none.
    ///
    /// # Errors
    /// If Slurm does not answer.
    pub fn minutes_max(self, partitions: &str) -> Result<Option<u64>> {
        let text = call("sinfo", &["--noheader", "--partition", partitions, "--format", "%l"], None)?;
        // `infinite` is no time.
        Ok(text.lines().map(|time| seconds_of(time.trim()) / 60).filter(|minutes| *minutes > 0).min())
    }

    /// Unfinished jobs whose names begin with `stem`: this user's, or everybody's.
    ///
    /// # Errors
    /// If Slurm does not answer: then nothing is known.
    pub fn jobs(self, stem: &str, only_own: bool) -> Result<Vec<Job>> {
        let own: &[&str] = if only_own { &["--me"] } else { &[] };
        let text = call("squeue", &[&["--noheader", "--format", JOB_FORMAT], own].concat(), None)?;
        Ok(text.lines().filter_map(Job::parse).filter(|job| job.name.starts_with(stem)).collect())
    }

    /// Submits a script; returns the job's id.
    ///
    /// # Errors
    /// If it was not acknowledged. Slurm may have it all the same.
    pub fn submit(self, script: &str) -> Result<String> {
        let answer = call("sbatch", &["--parsable"], Some(script))?;
        let id = answer.trim().split(';').next().unwrap_or_default();
        match id.parse::<u64>() {
            Ok(_) => Ok(id.to_owned()),
            Err(_) => Err(Error::Slurm { program: "sbatch", why: format!("answered {:?}", answer.trim()) }),
        }
    }

    /// Cancels jobs.
    ///
    /// # Errors
    /// If Slurm does not answer.
    pub fn cancel(self, jobs: &[&str]) -> Result<()> {
        for some in jobs.chunks(CANCELLED_AT_ONCE) {
            call("scancel", some, None)?;
        }
        Ok(())
    }
}

/// The name of this host: of the node if it was started by Slurm.
pub fn this_host() -> String {
    let node = std::env::var("SLURMD_NODENAME").ok().filter(|name| !name.is_empty());
    let kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    node.or_else(kernel).map_or_else(|| "localhost".to_owned(), |name| name.trim().to_owned())
}

fn call(program: &'static str, arguments: &[&str], input: Option<&str>) -> Result<String> {
    let failed = |why: String| Error::Slurm { program, why };
    let conf = std::env::var_os("SLURM_CONF").map(PathBuf::from).filter(|conf| !conf.is_file());
    if let Some(path) = conf.filter(|conf| !conf.as_os_str().is_empty()) {
        return Err(Error::NoConf { path });
    }
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be started ({error}): is this a host of the cluster?")))?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(input.as_bytes()).map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed(if why.is_empty() { output.status.to_string() } else { why }));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_squeue_are_jobs() {
        let job = Job::parse("12|rqps-ab-0001.2-1|RUNNING|node2|1-02:00:03|None").unwrap();
        assert_eq!(job.seconds, 26 * 3_600 + 3);
        assert!(job.is_running() && job.nodes == "node2" && job.name == "rqps-ab-0001.2-1");
        let held = Job::parse("13|x|PENDING||INVALID|(launch failed, requeued held)").unwrap();
        assert!(held.seconds == 0 && !held.is_running() && held.reason.contains("held"));
        assert_eq!(Job::parse("slurm_load_jobs error"), None);
    }

    #[test]
    fn hosts_are_sorted_by_number() {
        let mut hosts = ["node10", "node9", "b1", "node2"];
        hosts.sort_by(|a, b| natural(a, b));
        assert_eq!(hosts, ["b1", "node2", "node9", "node10"]);
    }
}
