//! Reads facts of the host from files of the kernel and the distribution. `None` if a fact is missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use procfs::CpuInfo;
use procfs::process::{MMapPath, Process};

/// The first line of a small file, trimmed; `None` if it is missing or empty.
pub(super) fn line_of(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_string())
}

/// The choice in brackets of `always [madvise] never`; the whole line without brackets.
pub(super) fn bracketed(line: &str) -> String {
    let inside = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(line, |(choice, _)| choice).to_string()
}

pub(super) fn os_name() -> Option<String> {
    let release = fs::read_to_string("/etc/os-release").ok()?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_string())
}

pub(super) fn cpu_signature(cpu: &CpuInfo) -> Option<String> {
    let field = |name: &str| cpu.get_field(0, name);
    let vendor = field("vendor_id")?;
    Some(format!(
        "{vendor} family {} model {} stepping {}",
        field("cpu family")?,
        field("model")?,
        field("stepping")?
    ))
}

pub(super) fn numa_nodes() -> u32 {
    let Ok(nodes) = fs::read_dir("/sys/devices/system/node") else {
        return 1;
    };
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    let count = nodes.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count();
    count.max(1) as u32
}

/// The distinct governors in use.
pub(super) fn governors() -> Option<String> {
    let cpus = fs::read_dir("/sys/devices/system/cpu/cpufreq").ok()?;
    let policies = cpus.flatten().filter_map(|entry| line_of(entry.path().join("scaling_governor")));
    let governors: BTreeSet<String> = policies.collect();
    (!governors.is_empty()).then(|| governors.into_iter().collect::<Vec<_>>().join(","))
}

pub(super) fn turbo() -> Option<bool> {
    let no_turbo = line_of("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0");
    no_turbo.or_else(|| line_of("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1"))
}

pub(super) fn dirty_limits() -> Option<String> {
    let limit = |name: &str| {
        let bytes = line_of(format!("/proc/sys/vm/{name}_bytes")).filter(|bytes| bytes != "0");
        let percent = || line_of(format!("/proc/sys/vm/{name}_ratio")).map(|percent| format!("{percent}%"));
        bytes.or_else(percent)
    };
    Some(format!("{}/{}", limit("dirty_background")?, limit("dirty")?))
}

pub(super) fn hypervisor(cpu: &CpuInfo) -> Option<String> {
    let flagged = cpu.flags(0).is_some_and(|flags| flags.contains(&"hypervisor"));
    let named = line_of("/sys/hypervisor/type");
    let product = || [line_of("/sys/class/dmi/id/sys_vendor"), line_of("/sys/class/dmi/id/product_name")];
    match named {
        Some(name) => Some(name),
        None if flagged => {
            let product = product().into_iter().flatten().collect::<Vec<_>>().join(" ");
            Some(if product.is_empty() { "yes".to_string() } else { product })
        }
        None => Some("none".to_string()),
    }
}

pub(super) fn mitigations() -> Vec<String> {
    let Ok(flaws) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return Vec::new();
    };
    let state =
        |entry: fs::DirEntry| Some(format!("{}: {}", entry.file_name().to_str()?, line_of(entry.path())?));
    let states = flaws.flatten().filter_map(state).filter(|state| !state.ends_with(": Not affected"));
    states.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The version of the C library that this process has loaded, from the version string in glibc's file.
pub(super) fn libc_version() -> Option<String> {
    const WORDS: &[u8] = b"GNU C Library";
    const VERSION: &str = "version ";
    let maps = Process::myself().and_then(|process| process.maps()).ok()?;
    let path = maps.iter().find_map(|map| match &map.pathname {
        MMapPath::Path(path) if path.file_name()?.to_str()?.starts_with("libc") => Some(path.clone()),
        _ => None,
    })?;
    let bytes = fs::read(&path).ok()?;
    let at = memchr::memmem::find(&bytes, WORDS)?;
    let sentence = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 120)]).into_owned();
    let version = sentence.split_once(VERSION)?.1.split(['.', '\n']).take(2).collect::<Vec<_>>().join(".");
    Some(format!("glibc {}", version.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_in_brackets() {
        assert_eq!(bracketed("always [madvise] never"), "madvise");
        assert_eq!(bracketed("none"), "none");
    }
}
