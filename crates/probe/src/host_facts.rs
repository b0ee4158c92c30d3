//! What the host is: the facts that have to be alike before two runs may be compared.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::{MMapPath, Process};
use procfs::{CpuInfo, Current, Meminfo};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::host::device_of;

/// Facts of a host and of the directory that holds the data. What the host does not tell is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Name of the host; hosts that differ only in their name are alike.
    pub host_name: String,
    /// Operating system, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Kernel release and build.
    pub kernel: String,
    /// Instruction set, such as `x86_64`.
    pub arch: String,
    /// CPU model name.
    pub cpu_model: String,
    /// CPU family, model and stepping, as model names of virtual machines say little.
    pub cpu_signature: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// CPUs online.
    pub cpus_online: u32,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Whether CPUs share cores.
    pub smt: Option<bool>,
    /// Frequency governor of every CPU; none where the host has no control over frequency.
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
    /// Reserved huge pages.
    pub huge_pages: u64,
    /// How willing the kernel is to swap.
    pub swappiness: Option<String>,
    /// When the kernel starts to write dirty memory back, `background/foreground`, in percent or bytes.
    pub dirty_limits: Option<String>,
    /// Whether it is a virtual machine, and which if known.
    pub hypervisor: Option<String>,
    /// C library of this process, such as `glibc 2.36`.
    pub libc: Option<String>,
    /// Guards against CPU flaws that are on, each with what it does; empty where the CPU needs none.
    pub mitigations: Vec<String>,
    /// The data directory.
    pub directory: PathBuf,
    /// Type of its file system.
    pub filesystem: Option<String>,
    /// Mount options of its file system.
    pub mount_options: Option<String>,
    /// Kernel name of its block device; none for file systems without one.
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
    /// Name of the fact.
    pub field: String,
    /// Value on the first host.
    pub a: String,
    /// Value on the second host.
    pub b: String,
}

/// Memory sizes closer than this part of each other are the same: the kernel keeps a varying bit for itself.
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
            os: os_name(),
            kernel: [
                line_of("/proc/sys/kernel/osrelease"),
                line_of("/proc/sys/kernel/version"),
            ]
            .map(Option::unwrap_or_default)
            .join(" "),
            arch: std::env::consts::ARCH.to_string(),
            cpu_model: cpu.model_name(0).unwrap_or("unknown").to_string(),
            cpu_signature: cpu_signature(&cpu),
            microcode: cpu_field("microcode"),
            cpus_online: cpu.num_cores() as u32,
            numa_nodes: numa_nodes(),
            smt: line_of("/sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            governor: governors(),
            turbo: turbo(),
            clocksource: line_of(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
            memory_bytes: memory.mem_total,
            swap_bytes: memory.swap_total,
            thp: line_of("/sys/kernel/mm/transparent_hugepage/enabled").map(|line| chosen(&line)),
            huge_pages: memory.hugepages_total.unwrap_or(0),
            swappiness: line_of("/proc/sys/vm/swappiness"),
            dirty_limits: dirty_limits(),
            hypervisor: hypervisor(&cpu),
            libc: libc_version(),
            mitigations: mitigations(),
            ..HostFacts::default()
        };
        facts.look_at_storage(&directory);
        facts.directory = directory;
        Ok(facts)
    }

    fn look_at_storage(&mut self, directory: &Path) {
        if let Ok(mounts) = Process::myself().and_then(|process| process.mountinfo()) {
            // Later mounts cover earlier ones at the same place.
            let inside = mounts
                .iter()
                .filter(|mount| directory.starts_with(&mount.mount_point));
            if let Some(mount) = inside.max_by_key(|mount| mount.mount_point.as_os_str().len()) {
                self.filesystem = Some(mount.fs_type.clone());
                let options = mount.mount_options.iter().chain(&mount.super_options);
                let text = |(name, value): (&String, &Option<String>)| match value {
                    Some(value) => format!("{name}={value}"),
                    None => name.clone(),
                };
                self.mount_options = Some(
                    options
                        .map(text)
                        .collect::<BTreeSet<_>>()
                        .into_iter()
                        .collect::<Vec<_>>()
                        .join(","),
                );
            }
        }
        self.device = device_of(directory);
        let Some(device) = self.device.as_deref() else {
            return;
        };
        let Ok(mut disk) =
            fs::canonicalize(Path::new("/sys/class/block").join(device.replace('/', "!")))
        else {
            return;
        };
        if disk.join("partition").exists() {
            disk.pop();
        }
        self.io_scheduler = line_of(disk.join("queue/scheduler")).map(|line| chosen(&line));
        self.write_cache = line_of(disk.join("queue/write_cache"));
        self.disk_model = line_of(disk.join("device/model"));
        let sectors = line_of(disk.join("size")).and_then(|sectors| sectors.parse::<u64>().ok());
        self.disk_bytes = sectors.map(|sectors| sectors * 512);
    }

    /// Every fact as name and text, in a fixed order; unknown ones read `unknown`.
    pub fn key_values(&self) -> Vec<(&'static str, String)> {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_string());
        let yes = |value: Option<bool>| {
            value
                .map_or("unknown", |on| if on { "on" } else { "off" })
                .to_string()
        };
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
            ("smt", yes(self.smt)),
            ("governor", known(&self.governor)),
            ("turbo", yes(self.turbo)),
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
            (
                "disk_bytes",
                self.disk_bytes
                    .map_or_else(|| "unknown".to_string(), |bytes| bytes.to_string()),
            ),
        ]
    }

    /// The facts by which hosts are alike or not, as `name=value`, in a fixed order. The memory is given in whole MiB.
    pub fn fingerprint(&self) -> Vec<String> {
        let mut alike = self.clone();
        alike.memory_bytes &= !0xF_FFFF;
        let matters = |fact: &(&str, String)| matters(fact.0);
        alike
            .key_values()
            .into_iter()
            .filter(matters)
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    /// The facts that matter for a comparison and differ, as (fact, here, there).
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= MEMORY_TOLERANCE * a.max(b) as f64;
        let pairs = self.key_values().into_iter().zip(other.key_values());
        pairs
            .filter(|((field, a), (_, b))| matters(field) && a != b)
            .filter(|((field, _), _)| {
                *field != "memory_bytes" || !near(self.memory_bytes, other.memory_bytes)
            })
            .map(|((field, a), (_, b))| Difference {
                field: field.to_string(),
                a,
                b,
            })
            .collect()
    }
}

/// Whether a fact makes runs incomparable. Names of hosts, directories and devices say nothing about speed.
fn matters(field: &str) -> bool {
    !["host_name", "directory", "device"].contains(&field)
}

/// First line of a small file, without white space around it; none when it is missing or empty.
fn line_of(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_string())
}

/// The choice in brackets of `always [madvise] never`; the whole line where nothing is in brackets.
fn chosen(line: &str) -> String {
    let inside = line
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(line, |(choice, _)| choice).to_string()
}

fn os_name() -> Option<String> {
    let release = fs::read_to_string("/etc/os-release").ok()?;
    let name = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_string())
}

fn cpu_signature(cpu: &CpuInfo) -> Option<String> {
    let field = |name: &str| cpu.get_field(0, name);
    let vendor = field("vendor_id")?;
    Some(format!(
        "{vendor} family {} model {} stepping {}",
        field("cpu family")?,
        field("model")?,
        field("stepping")?
    ))
}

fn numa_nodes() -> u32 {
    let Ok(nodes) = fs::read_dir("/sys/devices/system/node") else {
        return 1;
    };
    let is_node = |name: &str| {
        name.strip_prefix("node")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let count = nodes
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_node))
        .count();
    count.max(1) as u32
}

/// The governors in use, each once.
fn governors() -> Option<String> {
    let cpus = fs::read_dir("/sys/devices/system/cpu/cpufreq").ok()?;
    let policies = cpus
        .flatten()
        .filter_map(|entry| line_of(entry.path().join("scaling_governor")));
    let governors: BTreeSet<String> = policies.collect();
    (!governors.is_empty()).then(|| governors.into_iter().collect::<Vec<_>>().join(","))
}

fn turbo() -> Option<bool> {
    let no_turbo = line_of("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0");
    no_turbo.or_else(|| line_of("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1"))
}

fn dirty_limits() -> Option<String> {
    let limit = |name: &str| {
        let bytes = line_of(format!("/proc/sys/vm/{name}_bytes")).filter(|bytes| bytes != "0");
        let percent =
            || line_of(format!("/proc/sys/vm/{name}_ratio")).map(|percent| format!("{percent}%"));
        bytes.or_else(percent)
    };
    Some(format!(
        "{}/{}",
        limit("dirty_background")?,
        limit("dirty")?
    ))
}

fn hypervisor(cpu: &CpuInfo) -> Option<String> {
    let flagged = cpu
        .flags(0)
        .is_some_and(|flags| flags.contains(&"hypervisor"));
    let named = line_of("/sys/hypervisor/type");
    let product = || {
        [
            line_of("/sys/class/dmi/id/sys_vendor"),
            line_of("/sys/class/dmi/id/product_name"),
        ]
    };
    match named {
        Some(name) => Some(name),
        None if flagged => {
            let product = product()
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ");
            Some(if product.is_empty() {
                "yes".to_string()
            } else {
                product
            })
        }
        None => Some("none".to_string()),
    }
}

fn mitigations() -> Vec<String> {
    let Ok(flaws) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return Vec::new();
    };
    let state = |entry: fs::DirEntry| {
        Some(format!(
            "{}: {}",
            entry.file_name().to_str()?,
            line_of(entry.path())?
        ))
    };
    let states = flaws
        .flatten()
        .filter_map(state)
        .filter(|state| !state.ends_with(": Not affected"));
    states.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Version of the C library that this process has loaded, from the words glibc carries in its file.
fn libc_version() -> Option<String> {
    const WORDS: &[u8] = b"GNU C Library";
    const VERSION: &str = "version ";
    let maps = Process::myself().and_then(|process| process.maps()).ok()?;
    let path = maps.iter().find_map(|map| match &map.pathname {
        MMapPath::Path(path) if path.file_name()?.to_str()?.starts_with("libc") => {
            Some(path.clone())
        }
        _ => None,
    })?;
    let bytes = fs::read(&path).ok()?;
    let at = bytes
        .windows(WORDS.len())
        .position(|window| window == WORDS)?;
    let sentence = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 120)]).into_owned();
    let version = sentence
        .split_once(VERSION)?
        .1
        .split(['.', '\n'])
        .take(2)
        .collect::<Vec<_>>()
        .join(".");
    Some(format!("glibc {}", version.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_like_itself_and_known() {
        let facts = HostFacts::collect(Path::new("/var/tmp")).unwrap();
        let again = HostFacts::collect(Path::new("/var/tmp")).unwrap();
        assert_eq!(facts.differences(&again), []);
        assert_eq!(facts.fingerprint(), again.fingerprint());
        assert!(
            facts.cpus_online > 0 && facts.memory_bytes > 64 << 20,
            "{facts:?}"
        );
        assert!(facts.filesystem.is_some(), "{facts:?}");
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<HostFacts>(&text).unwrap(), facts);
    }

    #[test]
    fn names_don_t_make_hosts_unlike_but_kernels_do_and_a_little_memory_does_not() {
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
        assert_eq!(
            differences[0],
            Difference {
                field: "kernel".into(),
                a: "6.1".into(),
                b: "6.2".into()
            }
        );
        let c = HostFacts {
            memory_bytes: 32 << 30,
            ..a.clone()
        };
        assert_eq!(a.differences(&c)[0].field, "memory_bytes");
    }

    #[test]
    fn the_choice_is_what_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none"), "none");
    }
}
