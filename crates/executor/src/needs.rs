//! What a run needs of its host, estimated before it begins or continues.

use crate::arm::Ingredients;
use crate::begin::resident;
use crate::error::{Error, Result};
use crate::isolated::{self, FIRST_LOOK, first_verdicts_s, snapshots_to_make};
use crate::progress::TimeLeft;
use crate::run::Execution;
use crate::spec::clients_max;
use rqps_builds::Dirs;
use rqps_plan::estimate::estimate;
use rqps_plan::isolated::windows_seconds;
use rqps_plan::{Plan, Protocol, schedule};
use rqps_servers::{HostLimits, session_bytes};
use rqps_store::Until;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Sessions with less are not worth a word.
const MANY_SESSIONS_BYTES: u64 = 200_000_000;

/// Estimates, and what the host has.
#[derive(Debug, Clone, PartialEq)]
pub struct Needs {
    /// Of the whole run; of blocks, until the first verdicts if they are not reached.
    pub time: TimeLeft,
    /// Those of windows in blocks, which take as long on a busy host.
    pub windows_seconds: f64,
    /// All data directories that exist at the same time: tables with their indexes, and what a server writes without
    /// them; without the logs of loads and tests.
    pub data_bytes: u64,
    /// What these logs may take at most, if they grow to the size of the data.
    pub log_bytes: u64,
    pub disk_free_bytes: u64,
    /// The directories that are measured, if it is not rqps' own that has them: those on the file system with the least
    /// free space for each arm.
    pub places: Vec<PathBuf>,
    /// Caches of all servers that run at the same time, as far as configs give them.
    pub cache_bytes: u64,
    /// Of the sessions of all these servers.
    pub session_bytes: u64,
    pub memory_bytes: u64,
}

impl Needs {
    pub fn of(plan: &Plan, ingredients: &[Ingredients], dirs: &Dirs) -> Self {
        let places = ingredients.iter().filter_map(|one| one.system.place(&one.build));
        let places =
            tightest(places.collect(), |place| (device(place), HostLimits::of(place).disk_free_bytes));
        let host = HostLimits::of(places.first().copied().unwrap_or(&dirs.work));
        let rows = plan.work.rows_total();
        // Of measured directories, those of one file system.
        let resident_here = match places.len() as u64 {
            0 => resident(plan),
            arms => arms.min(resident(plan)),
        };
        let (copies, time) = match plan.protocol {
            Protocol::Sequence => {
                let seconds = estimate(&schedule(plan), plan).iter().sum();
                (resident_here, TimeLeft { seconds, until: Until::End })
            }
            Protocol::Isolated => {
                let snapshots = snapshots_to_make(plan, ingredients);
                // What is measured in a place of its own is not copied.
                let copies = if places.is_empty() { snapshots } else { 0 };
                let seconds = first_verdicts_s(plan, snapshots);
                (copies + resident_here, TimeLeft { seconds, until: Until::FirstVerdicts })
            }
        };
        let windows_seconds = match plan.protocol {
            Protocol::Sequence => 0.0,
            Protocol::Isolated => FIRST_LOOK * windows_seconds(plan, plan.workload.steps.len()),
        };
        let empty_bytes = ingredients.iter().map(|one| one.system.empty_bytes()).max().unwrap_or(0);
        let caches =
            ingredients.iter().map(|one| one.system.cache_bytes(&one.build, &one.config).unwrap_or(0));
        let of_data = rows.saturating_mul(plan.work.row_bytes());
        let logs = ingredients.iter().map(|one| one.system.log_bytes(&one.build, &one.config).min(of_data));
        let mut caches: Vec<u64> = caches.collect();
        caches.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            time,
            windows_seconds,
            data_bytes: copies.saturating_mul(of_data.saturating_add(empty_bytes)),
            log_bytes: resident_here.saturating_mul(logs.max().unwrap_or(0)),
            disk_free_bytes: host.disk_free_bytes,
            places: distinct(places),
            cache_bytes: caches
                .iter()
                .take(resident(plan) as usize)
                .fold(0, |sum, one| sum.saturating_add(*one)),
            session_bytes: ingredients
                .iter()
                .map(|one| session_bytes(one.build.dbms))
                .max()
                .unwrap_or(0)
                .saturating_mul(resident(plan) * u64::from(clients_max(plan))),
            memory_bytes: host.memory_bytes,
        }
    }

    /// What is left to do of a run that is resumed needs; `None` if nothing is.
    ///
    /// # Errors
    /// If the run cannot be read.
    pub fn of_rest(execution: &Execution, dirs: &Dirs) -> Result<Option<Self>> {
        let setup = &execution.setup;
        let left = match setup.plan.protocol {
            Protocol::Sequence => {
                let estimates = estimate(execution.schedule(), &setup.plan);
                let ahead = (0..).zip(estimates).filter(|(seq, _)| !execution.done().contains(seq));
                let seconds: f64 = ahead.map(|(_, seconds)| seconds).sum();
                (seconds > 0.0).then_some((TimeLeft { seconds, until: Until::End }, 0.0))
            }
            Protocol::Isolated => isolated::left(setup, &execution.writer.run()?, execution.limits())?,
        };
        Ok(left.map(|(time, windows_seconds)| {
            let all = Self::of(&setup.plan, &setup.ingredients, dirs);
            let data_bytes = all.data_bytes.saturating_sub(setup.place.bytes());
            Self { time, windows_seconds, data_bytes, ..all }
        }))
    }

    /// The directories that are measured, as a list.
    pub fn places_text(&self) -> String {
        self.places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Whether sessions take so much memory that it is worth a word.
    pub fn has_many_sessions(&self) -> bool {
        self.session_bytes > MANY_SESSIONS_BYTES
    }

    /// # Errors
    /// If the host lacks the disk space or the memory.
    pub fn check(self) -> Result<Self> {
        let gb = |bytes: u64| match bytes {
            1_000_000_000_000.. => format!("{:.1} TB", bytes as f64 / 1e12),
            1_000_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
            _ => format!("{:.0} MB", bytes as f64 / 1e6),
        };
        if !self.places.is_empty() && self.data_bytes > self.disk_free_bytes {
            return Err(Error::HostTooSmall(format!(
                "this plan needs {} in {}, where {} are free: lower file_mb, or make room there",
                gb(self.data_bytes),
                self.places_text(),
                gb(self.disk_free_bytes)
            )));
        }
        if self.data_bytes > self.disk_free_bytes {
            return Err(Error::HostTooSmall(format!(
                "the data directories of this plan need about {} of disk, of which {} are free: load less data or \
                 compare fewer arms, or name another disk by RQPS_WORK",
                gb(self.data_bytes),
                gb(self.disk_free_bytes)
            )));
        }
        if self.cache_bytes.saturating_add(self.session_bytes) > self.memory_bytes {
            let sessions = match self.has_many_sessions() {
                true => format!(" and {} for sessions", gb(self.session_bytes)),
                false => String::new(),
            };
            return Err(Error::HostTooSmall(format!(
                "this plan needs {} for the servers' caches{sessions}, but the host has {} of memory: lower \
                 shared_buffers, innodb_buffer_pool_size or clients, or compare fewer arms at a time",
                gb(self.cache_bytes),
                gb(self.memory_bytes)
            )));
        }
        Ok(self)
    }
}

/// Of the directories that arms measure, each arm's, those on the file system with the least free space for each arm
/// there. `facts` are a directory's file system and its free bytes.
fn tightest(places: Vec<&Path>, facts: impl Fn(&Path) -> (Option<u64>, u64)) -> Vec<&Path> {
    let mut by_device: BTreeMap<Option<u64>, (Vec<&Path>, u64)> = BTreeMap::new();
    for place in places {
        let (device, free_bytes) = facts(place);
        by_device.entry(device).or_insert((Vec::new(), free_bytes)).0.push(place);
    }
    let tightest =
        by_device.into_values().min_by_key(|(places, free_bytes)| free_bytes / places.len() as u64);
    tightest.map(|(places, _)| places).unwrap_or_default()
}

/// Without those that several arms measure, in order.
fn distinct(places: Vec<&Path>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    places.into_iter().filter(|place| seen.insert(*place)).map(Path::to_owned).collect()
}

/// The number of the file system that has `place`, or would have it.
fn device(place: &Path) -> Option<u64> {
    place.ancestors().find_map(|existing| std::fs::metadata(existing).ok()).map(|meta| meta.dev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_one_file_system_share_its_space() {
        let facts = |place: &Path| match place.starts_with("/large") {
            true => (Some(1), 100),
            false => (Some(2), 60),
        };
        let of = |places: &[&'static str]| -> Vec<&'static Path> {
            tightest(places.iter().copied().map(Path::new).collect(), facts)
        };
        assert_eq!(of(&["/large/a", "/small"]), [Path::new("/small")]);
        assert_eq!(of(&["/large/a", "/small", "/large/b"]), ["/large/a", "/large/b"].map(Path::new));
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn what_the_host_lacks_is_named() {
        let fits = Needs {
            time: TimeLeft { seconds: 1.0, until: Until::End },
            windows_seconds: 0.0,
            data_bytes: 1 << 30,
            log_bytes: 0,
            disk_free_bytes: 2 << 30,
            places: Vec::new(),
            cache_bytes: 1 << 30,
            session_bytes: 0,
            memory_bytes: 2 << 30,
        };
        assert_eq!(fits.clone().check().unwrap(), fits);
        let message = |needs: Needs| needs.check().unwrap_err().to_string();
        let disk = message(Needs { data_bytes: 4 << 40, ..fits.clone() });
        assert!(disk.contains("4.4 TB of disk") && disk.contains("2.1 GB are free"), "{disk}");
        let places = distinct(["/mnt/nvme", "/mnt/nvme", "/mnt/xfs"].map(Path::new).to_vec());
        let file = message(Needs { data_bytes: 4 << 30, places, ..fits.clone() });
        assert!(
            file.contains("needs 4.3 GB in /mnt/nvme, /mnt/xfs, where 2.1 GB are free: lower file_mb"),
            "{file}"
        );
        let sessions = message(Needs { session_bytes: 10 << 30, ..fits.clone() });
        assert!(sessions.contains("1.1 GB for the servers' caches and 10.7 GB for sessions"), "{sessions}");
        let memory = message(Needs { cache_bytes: 100 << 30, ..fits });
        assert!(memory.contains("107.4 GB for the servers' caches"), "{memory}");
    }
}
