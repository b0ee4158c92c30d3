//! Facts of the host, most of which must match before two runs may be compared.

mod read;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::Process;
use procfs::{CpuInfo, Current, Meminfo};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::host::device_of;
use read::{bracketed, line_of};

/// Facts of a host and of the data's directory. `None` if the host does not report a fact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Ignored in comparisons.
    pub host_name: String,
    /// Operating system, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    pub kernel: String,
    /// Instruction set, such as `x86_64`.
    pub arch: String,
    pub cpu_model: String,
    /// CPU family, model and stepping, since the model names of virtual machines are vague.
    pub cpu_signature: Option<String>,
    pub microcode: Option<String>,
    pub cpus_online: u32,
    pub numa_nodes: u32,
    /// Whether CPUs share cores.
    pub smt: Option<bool>,
    /// Frequency governors of the CPUs; `None` if the host does not control the frequency.
    pub governor: Option<String>,
    /// Whether the CPU may exceed its base frequency.
    pub turbo: Option<bool>,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Swap, bytes.
    pub swap_bytes: u64,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub thp: Option<String>,
    pub huge_pages: u64,
    pub swappiness: Option<String>,
    /// The kernel's write-back thresholds, `background/foreground`, in percent or bytes.
    pub dirty_limits: Option<String>,
    /// The kind of virtual machine, `yes` if unknown; `none` for a physical machine.
    pub hypervisor: Option<String>,
    /// C library of this process, such as `glibc 2.36`.
    pub libc: Option<String>,
    /// CPU vulnerabilities with their mitigations; empty if the CPU has none.
    pub mitigations: Vec<String>,
    pub directory: PathBuf,
    /// Type of its file system.
    pub filesystem: Option<String>,
    /// Mount options of its file system.
    pub mount_options: Option<String>,
    /// Kernel name of its block device; `None` for file systems without one.
    pub device: Option<String>,
    /// I/O scheduler of that device's disk.
    pub io_scheduler: Option<String>,
    /// Write cache of that device's disk: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Model of that device's disk.
    pub disk_model: Option<String>,
    /// Size of that device's disk, bytes.
    pub disk_bytes: Option<u64>,
}

/// A fact in which two hosts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub field: String,
    /// Value on the first host.
    pub a: String,
    /// Value on the second host.
    pub b: String,
}

/// Memory sizes match if they differ by at most this share: the kernel reserves a varying part.
const MEMORY_TOLERANCE: f64 = 0.01;

impl HostFacts {
    /// Facts of this host, and of the file system that holds the existing directory `dir`.
    pub fn collect(dir: &Path) -> Result<Self> {
        let cpu = CpuInfo::current().map_err(Error::proc("/proc/cpuinfo"))?;
        let memory = Meminfo::current().map_err(Error::proc("/proc/meminfo"))?;
        let cpu_field = |name: &str| cpu.get_field(0, name).map(str::to_string);
        let directory = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
        let mut facts = HostFacts {
            host_name: line_of("/proc/sys/kernel/hostname").unwrap_or_default(),
            os: read::os_name(),
            kernel: [line_of("/proc/sys/kernel/osrelease"), line_of("/proc/sys/kernel/version")]
                .map(Option::unwrap_or_default)
                .join(" "),
            arch: std::env::consts::ARCH.to_string(),
            cpu_model: cpu.model_name(0).unwrap_or("unknown").to_string(),
            cpu_signature: read::cpu_signature(&cpu),
            microcode: cpu_field("microcode"),
            cpus_online: cpu.num_cores() as u32,
            numa_nodes: read::numa_nodes(),
            smt: line_of("/sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            governor: read::governors(),
            turbo: read::turbo(),
            clocksource: line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            memory_bytes: memory.mem_total,
            swap_bytes: memory.swap_total,
            thp: line_of("/sys/kernel/mm/transparent_hugepage/enabled").map(|line| bracketed(&line)),
            huge_pages: memory.hugepages_total.unwrap_or(0),
            swappiness: line_of("/proc/sys/vm/swappiness"),
            dirty_limits: read::dirty_limits(),
            hypervisor: read::hypervisor(&cpu),
            libc: read::libc_version(),
            mitigations: read::mitigations(),
            ..HostFacts::default()
        };
        facts.read_storage(&directory);
        facts.directory = directory;
        Ok(facts)
    }

    fn read_storage(&mut self, directory: &Path) {
        if let Ok(mounts) = Process::myself().and_then(|process| process.mountinfo()) {
            // The last of several mounts at one mount point is the visible one, which `max_by_key` returns.
            let above = mounts.iter().filter(|mount| directory.starts_with(&mount.mount_point));
            if let Some(mount) = above.max_by_key(|mount| mount.mount_point.as_os_str().len()) {
                self.filesystem = Some(mount.fs_type.clone());
                let options = mount.mount_options.iter().chain(&mount.super_options);
                let text = |(name, value): (&String, &Option<String>)| match value {
                    Some(value) => format!("{name}={value}"),
                    None => name.clone(),
                };
                self.mount_options = Some(
                    options.map(text).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(","),
                );
            }
        }
        self.device = device_of(directory);
        let Some(device) = self.device.as_deref() else {
            return;
        };
        let Ok(mut disk) = fs::canonicalize(Path::new("/sys/class/block").join(device.replace('/', "!")))
        else {
            return;
        };
        if disk.join("partition").exists() {
            disk.pop();
        }
        self.io_scheduler = line_of(disk.join("queue/scheduler")).map(|line| bracketed(&line));
        self.write_cache = line_of(disk.join("queue/write_cache"));
        self.disk_model = line_of(disk.join("device/model"));
        let sectors = line_of(disk.join("size")).and_then(|sectors| sectors.parse::<u64>().ok());
        self.disk_bytes = sectors.map(|sectors| sectors * 512);
    }

    /// Every fact as name and text, in a fixed order; `unknown` for missing ones.
    pub fn key_values(&self) -> Vec<(&'static str, String)> {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_string());
        let on_off =
            |value: Option<bool>| value.map_or("unknown", |on| if on { "on" } else { "off" }).to_string();
        vec![
            ("host_name", self.host_name.clone()),
            ("os", known(&self.os)),
            ("kernel", self.kernel.clone()),
            ("arch", self.arch.clone()),
            ("cpu_model", self.cpu_model.clone()),
            ("cpu_signature", known(&self.cpu_signature)),
            ("microcode", known(&self.microcode)),
            ("cpus_online", self.cpus_online.to_string()),
            ("numa_nodes", self.numa_nodes.to_string()),
            ("smt", on_off(self.smt)),
            ("governor", known(&self.governor)),
            ("turbo", on_off(self.turbo)),
            ("clocksource", known(&self.clocksource)),
            ("memory_bytes", self.memory_bytes.to_string()),
            ("swap_bytes", self.swap_bytes.to_string()),
            ("thp", known(&self.thp)),
            ("huge_pages", self.huge_pages.to_string()),
            ("swappiness", known(&self.swappiness)),
            ("dirty_limits", known(&self.dirty_limits)),
            ("hypervisor", known(&self.hypervisor)),
            ("libc", known(&self.libc)),
            ("mitigations", self.mitigations.join("; ")),
            ("directory", self.directory.display().to_string()),
            ("filesystem", known(&self.filesystem)),
            ("mount_options", known(&self.mount_options)),
            ("device", known(&self.device)),
            ("io_scheduler", known(&self.io_scheduler)),
            ("write_cache", known(&self.write_cache)),
            ("disk_model", known(&self.disk_model)),
            ("disk_bytes", self.disk_bytes.map_or_else(|| "unknown".to_string(), |bytes| bytes.to_string())),
        ]
    }

    /// The comparable facts as `name=value`, in a fixed order. Memory is rounded down to MiB.
    pub fn fingerprint(&self) -> Vec<String> {
        let mut rounded = self.clone();
        rounded.memory_bytes &= !0xF_FFFF;
        let facts = rounded.key_values().into_iter().filter(|(name, _)| is_comparable(name));
        facts.map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// The comparable facts that differ.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= MEMORY_TOLERANCE * a.max(b) as f64;
        let pairs = self.key_values().into_iter().zip(other.key_values());
        pairs
            .filter(|((field, a), (_, b))| is_comparable(field) && a != b)
            .filter(|((field, _), _)| {
                *field != "memory_bytes" || !near(self.memory_bytes, other.memory_bytes)
            })
            .map(|((field, a), (_, b))| Difference { field: field.to_string(), a, b })
            .collect()
    }
}

/// Whether runs are comparable only if they agree on a fact. Names of hosts, directories and devices do not affect
/// speed.
fn is_comparable(field: &str) -> bool {
    !["host_name", "directory", "device"].contains(&field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_matches_itself() {
        let facts = HostFacts::collect(Path::new("/var/tmp")).unwrap();
        let again = HostFacts::collect(Path::new("/var/tmp")).unwrap();
        assert_eq!(facts.differences(&again), []);
        assert_eq!(facts.fingerprint(), again.fingerprint());
        assert!(facts.cpus_online > 0 && facts.memory_bytes > 64 << 20, "{facts:?}");
        assert!(facts.filesystem.is_some(), "{facts:?}");
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<HostFacts>(&text).unwrap(), facts);
    }

    #[test]
    fn hosts_differ_by_kernel_but_not_by_name_or_a_little_memory() {
        let a = HostFacts {
            kernel: "6.1".into(),
            memory_bytes: 24 << 30,
            host_name: "x".into(),
            ..Default::default()
        };
        let b = HostFacts {
            kernel: "6.2".into(),
            memory_bytes: (24 << 30) - (8 << 20),
            host_name: "y".into(),
            ..Default::default()
        };
        let differences = a.differences(&b);
        assert_eq!(differences.len(), 1, "{differences:?}");
        assert_eq!(differences[0], Difference { field: "kernel".into(), a: "6.1".into(), b: "6.2".into() });
        let c = HostFacts { memory_bytes: 32 << 30, ..a.clone() };
        assert_eq!(a.differences(&c)[0].field, "memory_bytes");
    }
}
