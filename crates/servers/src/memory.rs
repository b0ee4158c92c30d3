//! Limits a server's memory, including its share of the page cache, through its own control group: a small
//! database then does not fit in memory. Supports both versions of control groups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::MountInfo;
use procfs::{FromBufRead, ProcessCGroup, ProcessCGroups};
use rqps_builds::sha256_hex;

use crate::error::{Error, Result};

const MOUNTS: &str = "/proc/self/mountinfo";
const OWN_GROUPS: &str = "/proc/self/cgroup";
/// Writing a pid to this file moves the process into the group.
const PROCESSES: &str = "cgroup.procs";
/// How long to retry removing a group whose processes have just ended, and the polling interval.
const REMOVE_MAX: Duration = Duration::from_secs(2);
const REMOVE_POLL: Duration = Duration::from_millis(5);

/// Version of the kernel's interface. Version 1 has a separate hierarchy for memory, version 2 a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    V1,
    V2,
}

impl Interface {
    fn limit_file(self) -> &'static str {
        match self {
            Interface::V1 => "memory.limit_in_bytes",
            Interface::V2 => "memory.max",
        }
    }

    /// File and value that prevent swapping.
    fn no_swap(self) -> (&'static str, &'static str) {
        match self {
            Interface::V1 => ("memory.swappiness", "0"),
            Interface::V2 => ("memory.swap.max", "0"),
        }
    }
}

/// The directory for new groups.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parent {
    dir: PathBuf,
    interface: Interface,
}

/// A server's group; [`remove`] removes it once its processes are gone.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    dir: PathBuf,
    limit_bytes: u64,
}

impl MemoryGroup {
    /// Creates the group of the server on this data directory, replacing one left by a killed rqps.
    pub fn create(data_dir: &Path, limit_bytes: u64) -> Result<Self> {
        let refused = |reason: String| Error::NoMemoryLimit { limit_bytes, reason };
        let Parent { dir: parent, interface } = parent().map_err(refused)?;
        remove(data_dir);
        let dir = parent.join(name(data_dir));
        let failed = |action: &str, path: &Path, error: io::Error| {
            refused(format!("cannot {action} {}: {error}", path.display()))
        };
        if interface == Interface::V2 {
            let control = parent.join("cgroup.subtree_control");
            fs::write(&control, "+memory").map_err(|error| failed("write", &control, error))?;
        }
        match fs::create_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed("create", &dir, error));
            }
            _ => {}
        }
        let limit = dir.join(interface.limit_file());
        fs::write(&limit, limit_bytes.to_string()).map_err(|error| failed("write", &limit, error))?;
        let (file, value) = interface.no_swap();
        // Hosts without swap accounting lack this file.
        let _set = fs::write(dir.join(file), value);
        Ok(Self { dir, limit_bytes })
    }

    /// Adds a process, unless it has ended; its later children belong to the group, too.
    pub fn join(&self, pid: u32) -> Result<()> {
        let path = self.dir.join(PROCESSES);
        match fs::write(&path, pid.to_string()) {
            Err(error) if error.raw_os_error() != Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                let reason = format!("cannot write {}: {error}", path.display());
                Err(Error::NoMemoryLimit { limit_bytes: self.limit_bytes, reason })
            }
            _ => Ok(()),
        }
    }
}

/// Removes the group of the server on this data directory, if there is one. A leftover group is empty and
/// harmless.
pub(crate) fn remove(data_dir: &Path) {
    let Ok(Parent { dir, .. }) = parent() else {
        return;
    };
    let group = dir.join(name(data_dir));
    let start = Instant::now();
    while fs::remove_dir(&group).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
        && start.elapsed() < REMOVE_MAX
    {
        thread::sleep(REMOVE_POLL);
    }
}

fn name(data_dir: &Path) -> String {
    let digest = sha256_hex(data_dir.as_os_str().as_encoded_bytes());
    format!("rqps-{}", &digest[..16])
}

/// The directory for new groups, or the reason why there is none.
fn parent() -> std::result::Result<Parent, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"));
    let groups =
        ProcessCGroups::from_buf_read(read(OWN_GROUPS)?.as_bytes()).map_err(|error| error.to_string())?;
    let Some(mut parent) = parent_in(&read(MOUNTS)?, &groups) else {
        return Err("no memory control groups are mounted".to_owned());
    };
    if parent.interface == Interface::V2 {
        let controllers = fs::read_to_string(parent.dir.join("cgroup.controllers")).unwrap_or_default();
        if !controllers.split_ascii_whitespace().any(|controller| controller == "memory") {
            return Err(format!("the control groups in {} have no memory controller", parent.dir.display()));
        }
    }
    // A container may not show the path of its own group.
    while !parent.dir.join(PROCESSES).exists() && parent.dir.pop() {}
    Ok(parent)
}

/// Version 1: below this program's own group, whose limit then still applies. Version 2: at the root, because
/// a group with processes cannot have limited subgroups.
fn parent_in(mounts: &str, own_groups: &ProcessCGroups) -> Option<Parent> {
    let mounts: Vec<MountInfo> = mounts.lines().filter_map(|line| MountInfo::from_line(line).ok()).collect();
    let of_type = |fs_type: &'static str| mounts.iter().filter(move |mount| mount.fs_type == fs_type);
    if let Some(root) = of_type("cgroup").find(|mount| mount.super_options.contains_key("memory")) {
        let has_memory = |group: &&ProcessCGroup| group.controllers.iter().any(|name| name == "memory");
        let own = own_groups.into_iter().find(has_memory).map_or("", |group| group.pathname.as_str());
        let dir = root.mount_point.join(own.trim_start_matches('/'));
        return Some(Parent { dir, interface: Interface::V1 });
    }
    let dir = of_type("cgroup2").next()?.mount_point.clone();
    Some(Parent { dir, interface: Interface::V2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_interfaces_are_found() {
        let v1 = "25 20 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                  30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                  31 25 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
                  32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let parent_in = |mounts: &str, groups: &str| {
            parent_in(mounts, &ProcessCGroups::from_buf_read(groups.as_bytes()).unwrap())
        };
        let found = parent_in(v1, "5:devices:/\n4:memory:/box/a1\n0::/");
        let dir = PathBuf::from("/sys/fs/cgroup/memory/box/a1");
        assert_eq!(found, Some(Parent { dir, interface: Interface::V1 }));
        let v2 = "31 25 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate";
        let dir = PathBuf::from("/sys/fs/cgroup");
        let at_root = Parent { dir, interface: Interface::V2 };
        assert_eq!(parent_in(v2, "0::/user.slice/session-1"), Some(at_root));
        assert_eq!(parent_in("25 20 0:21 / /proc rw - proc proc rw", "0::/"), None);
    }
}
