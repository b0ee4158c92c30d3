//! CPU profiles of a server with `perf`, as folded stacks that begin with the role of the process. Sampling disturbs
//! measurements, so it is done in a separate pass, never in a measured window.
//!
//! [`Perf::find`] checks what this host supports, [`Recorder`] samples, [`Recording::fold`] returns the stacks of a
//! stretch of time.

mod fold;
mod recorder;
mod symbols;

pub use fold::Folded;
pub use recorder::{Moment, Recorder, Recording};

use std::path::PathBuf;
use std::process::Command;

use crate::error::{Error, Result};
use crate::perf::counts_cycles;

/// From this level of `kernel.perf_event_paranoid` on, users other than root sample user space only.
const PARANOID_USER_ONLY: i64 = 2;
/// From this level on (in Debian's and Ubuntu's kernels), users other than root sample nothing.
const PARANOID_NOTHING: i64 = 3;
/// Allows users other than root to sample user space and kernel.
const PARANOID_REMEDY: &str = "as root: sysctl kernel.perf_event_paranoid=1";

rqps_model::words! {
    /// How stacks are unwound.
    CallGraph {
        /// By frame pointers: cheap, for builds that keep them.
        FramePointers = "fp",
        /// By DWARF unwind tables from a copy of the stack: for all other builds.
        Dwarf = "dwarf",
    }
}

impl CallGraph {
    /// The method for a build with these flags. In a threaded program the C library's system calls use the frame
    /// pointer register for other values, which truncates a third or more of the stacks.
    pub fn of_build(cflags: &str, has_threads: bool) -> Self {
        let last = cflags.split_whitespace().rfind(|flag| flag.ends_with("omit-frame-pointer"));
        let keeps_pointers = last == Some("-fno-omit-frame-pointer");
        if keeps_pointers && !has_threads { CallGraph::FramePointers } else { CallGraph::Dwarf }
    }
}

/// The `perf` of this host, and what it can sample.
#[derive(Debug, Clone)]
pub struct Perf {
    program: PathBuf,
    /// Its name and version: `perf 6.1.187`.
    pub version: String,
    /// The sampled event: `cycles` if the processor counts them, otherwise `cpu-clock`.
    pub event: &'static str,
    /// What it cannot sample, with the remedy.
    pub blind_to: Vec<String>,
}

impl Perf {
    /// Finds `perf`, and checks what the kernel permits to sample.
    ///
    /// # Errors
    /// If it is missing, or sampling is not permitted; with the remedy.
    pub fn find() -> Result<Self> {
        let program = program().ok_or(Error::NoPerf)?;
        let version = Command::new(&program).arg("--version").output().ok();
        let version = version.filter(|output| output.status.success()).ok_or(Error::NoPerf)?;
        let version = String::from_utf8_lossy(&version.stdout).trim().replace("perf version ", "perf ");
        let is_root = rustix::process::geteuid().is_root();
        let level = paranoid_level();
        if !is_root && level >= PARANOID_NOTHING {
            return Err(Error::PerfRefused { level, remedy: PARANOID_REMEDY });
        }
        let mut blind_to = Vec::new();
        if !is_root && level >= PARANOID_USER_ONLY {
            let what = "CPU time in the kernel is missing: kernel.perf_event_paranoid is";
            blind_to.push(format!("{what} {level} ({PARANOID_REMEDY})"));
        } else if !kernel_has_names() {
            let remedy = "as root: sysctl kernel.kptr_restrict=0";
            blind_to.push(format!(
                "kernel functions have no names: the kernel hides its symbol addresses ({remedy})"
            ));
        }
        let event = if counts_cycles() { "cycles" } else { "cpu-clock" };
        Ok(Self { program, version, event, blind_to })
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("perf")).find(|program| program.is_file())
}

fn paranoid_level() -> i64 {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// Whether the kernel shows the addresses of its functions; otherwise all are zero.
fn kernel_has_names() -> bool {
    use std::io::{BufRead, BufReader};
    let Ok(file) = std::fs::File::open("/proc/kallsyms") else {
        return false;
    };
    // The first symbols of a kernel, those of per-CPU data, may really be at address zero.
    const SYMBOLS_MAX: usize = 2_000;
    let lines = BufReader::new(file).lines().take(SYMBOLS_MAX).map_while(|line| line.ok());
    lines.filter_map(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok()).any(|address| address != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_flag_decides_on_frame_pointers_unless_there_are_threads() {
        let kept = "-O2 -fno-omit-frame-pointer -g";
        assert_eq!(CallGraph::of_build("-O2 -g", false), CallGraph::Dwarf);
        assert_eq!(CallGraph::of_build(kept, false), CallGraph::FramePointers);
        assert_eq!(CallGraph::of_build(kept, true), CallGraph::Dwarf);
        let both = "-fno-omit-frame-pointer -O2 -fomit-frame-pointer";
        assert_eq!(CallGraph::of_build(both, false), CallGraph::Dwarf);
        assert_eq!(CallGraph::of_build("-O2 -mno-omit-leaf-frame-pointer", false), CallGraph::Dwarf);
    }
}
