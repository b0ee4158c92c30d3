//! The host's memory and disk space, for config `sized`.

use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::Process;
use procfs::{Current, Meminfo, ProcessCGroup, ProcessCGroups};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// The host's memory, or our control group's limit if that is lower.
    pub memory_bytes: u64,
    pub disk_free_bytes: u64,
}

impl HostLimits {
    /// The limits of this host, for data in `directory` (or where that would be created).
    pub fn of(directory: &Path) -> HostLimits {
        HostLimits { memory_bytes: memory_bytes(), disk_free_bytes: disk_free_bytes(directory) }
    }

    /// Each server's share if `servers` run at the same time.
    pub fn shared_by(self, servers: u64) -> HostLimits {
        let servers = servers.max(1);
        HostLimits {
            memory_bytes: self.memory_bytes / servers,
            disk_free_bytes: self.disk_free_bytes / servers,
        }
    }
}

fn memory_bytes() -> u64 {
    let total = Meminfo::current().map_or(0, |memory| memory.mem_total);
    let groups = Process::myself().and_then(|process| process.cgroups());
    groups
        .map(|groups| cgroup_limit_files(&groups))
        .unwrap_or_default()
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok())
        .fold(total, u64::min)
}

/// Files that may have a memory limit: of our control group and all its ancestors, in both versions of the
/// interface. A container may not show the group's own path, but then shows its top.
fn cgroup_limit_files(groups: &ProcessCGroups) -> Vec<PathBuf> {
    let files = |group: &ProcessCGroup| -> Vec<PathBuf> {
        let (top, file) = if group.controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if group.controllers.iter().any(|controller| controller == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            return Vec::new();
        };
        let ancestors = Path::new(group.pathname.trim_start_matches('/')).ancestors();
        ancestors.map(|ancestor| Path::new(top).join(ancestor).join(file)).collect()
    };
    groups.into_iter().flat_map(files).collect()
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
    use procfs::FromBufRead;

    #[test]
    fn limits_of_all_ancestor_groups_are_read() {
        let files = |text: &str| cgroup_limit_files(&ProcessCGroups::from_buf_read(text.as_bytes()).unwrap());
        let v1 = files("5:cpuset:/\n4:memory:/a/b\n");
        assert_eq!(
            v1,
            ["a/b", "a", ""]
                .map(|group| Path::new("/sys/fs/cgroup/memory").join(group).join("memory.limit_in_bytes"))
        );
        assert_eq!(files("0::/\n"), [PathBuf::from("/sys/fs/cgroup/memory.max")]);
    }

    #[test]
    fn this_host_has_memory_and_disk() {
        let limits = HostLimits::of(Path::new("/var/tmp/not/there"));
        assert!(limits.memory_bytes > 1 << 27 && limits.disk_free_bytes > 0, "{limits:?}");
    }
}
