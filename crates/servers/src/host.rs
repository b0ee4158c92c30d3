//! What of this host a config can be fitted to.

use std::fs;
use std::path::{Path, PathBuf};

/// Memory and disk space that a server may count on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// The host's memory, or the limit of our control group where that is lower.
    pub memory_bytes: u64,
    pub disk_free_bytes: u64,
}

impl HostLimits {
    /// The limits of this host, for data in `directory` (or where it would be created).
    pub fn of(directory: &Path) -> HostLimits {
        HostLimits { memory_bytes: memory_bytes(), disk_free_bytes: disk_free_bytes(directory) }
    }

    /// What remains for each of `servers` servers that run at the same time.
    pub fn shared_by(self, servers: u64) -> HostLimits {
        let servers = servers.max(1);
        HostLimits {
            memory_bytes: self.memory_bytes / servers,
            disk_free_bytes: self.disk_free_bytes / servers,
        }
    }
}

fn memory_bytes() -> u64 {
    let of_host =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_total_bytes(&text)).unwrap_or(0);
    fs::read_to_string("/proc/self/cgroup")
        .map(|text| cgroup_limit_files(&text))
        .unwrap_or_default()
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok())
        .fold(of_host, u64::min)
}

fn mem_total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// The files that may hold a memory limit: of our control group and of every group above it, in both versions of the
/// interface. Inside a container the group's own path may not be visible, but its top then is.
fn cgroup_limit_files(proc_self_cgroup: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in proc_self_cgroup.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (top, file) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        for ancestor in Path::new(group.trim_start_matches('/')).ancestors() {
            files.push(Path::new(top).join(ancestor).join(file));
        }
    }
    files
}

fn disk_free_bytes(directory: &Path) -> u64 {
    directory
        .ancestors()
        .find_map(|existing| rustix::fs::statvfs(existing).ok())
        .map_or(0, |stat| stat.f_bavail * stat.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_looked_for_in_every_group_above() {
        let v1 = cgroup_limit_files("5:cpuset:/\n4:memory:/a/b\n");
        assert_eq!(
            v1,
            ["a/b", "a", ""]
                .map(|group| Path::new("/sys/fs/cgroup/memory").join(group).join("memory.limit_in_bytes"))
        );
        assert_eq!(cgroup_limit_files("0::/\n"), [PathBuf::from("/sys/fs/cgroup/memory.max")]);
    }

    #[test]
    fn this_host_has_memory_and_disk() {
        let limits = HostLimits::of(Path::new("/var/tmp/not/there"));
        assert!(limits.memory_bytes > 1 << 27 && limits.disk_free_bytes > 0, "{limits:?}");
    }
}
