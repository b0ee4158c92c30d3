//! Sets of CPUs, and pinning threads to them: a client shares one CPU with the session that serves it,
//! everything else runs on the others. So results don't depend on where the kernel schedules them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::OnceLock;

use rustix::process::Pid;
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The CPUs that are online.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// A non-empty set of CPUs by the kernel's numbers, written `0` or `0-3,5`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<usize>);

impl CpuSet {
    /// None if there are no CPUs, or if a number exceeds the kernel's mask.
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Option<CpuSet> {
        let cpus: BTreeSet<usize> = cpus.into_iter().collect();
        let largest = *cpus.last()?;
        (largest < Mask::MAX_CPU).then_some(CpuSet(cpus))
    }

    /// The online CPUs that this program was allowed to use when it first asked, before it pinned any thread.
    ///
    /// # Errors
    /// If the kernel's list cannot be read.
    pub fn online() -> Result<CpuSet> {
        static ONLINE_AT_START: OnceLock<CpuSet> = OnceLock::new();
        if let Some(cpus) = ONLINE_AT_START.get() {
            return Ok(cpus.clone());
        }
        let text = fs::read_to_string(ONLINE).map_err(Error::file("read", ONLINE))?;
        let online: CpuSet = text.parse()?;
        let allowed =
            sched_getaffinity(None).map_err(|error| online.refused("this program", error.into()))?;
        let usable = CpuSet::of(online.cpus().filter(|&cpu| allowed.is_set(cpu))).unwrap_or(online);
        Ok(ONLINE_AT_START.get_or_init(|| usable).clone())
    }

    pub fn cpus(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    #[expect(clippy::len_without_is_empty, reason = "a set of CPUs is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The CPUs that are not in `others`; None if that leaves none.
    pub fn without(&self, others: &CpuSet) -> Option<CpuSet> {
        CpuSet::of(self.0.difference(&others.0).copied())
    }

    fn mask(&self) -> Mask {
        let mut mask = Mask::new();
        self.cpus().for_each(|cpu| mask.set(cpu));
        mask
    }

    /// Pins a single-threaded process, or one thread, to these CPUs. Later children inherit that.
    pub fn place(&self, pid: u32) -> Result<()> {
        let who = || format!("process {pid}");
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| self.refused(&who(), io::ErrorKind::InvalidInput.into()))?;
        sched_setaffinity(Some(id), &self.mask()).map_err(|error| self.refused(&who(), error.into()))
    }

    fn refused(&self, who: &str, source: io::Error) -> Error {
        Error::Placing { who: who.to_owned(), cpus: self.to_string(), source }
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for cpu in self.cpus() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (index, (first, last)) in ranges.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for CpuSet {
    type Err = Error;

    fn from_str(text: &str) -> Result<CpuSet> {
        let parse = || -> Option<CpuSet> {
            let mut cpus = BTreeSet::new();
            for part in text.trim().split(',') {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                if first > last || last >= Mask::MAX_CPU {
                    return None;
                }
                cpus.extend(first..=last);
            }
            CpuSet::of(cpus)
        };
        parse().ok_or_else(|| Error::BadCpus { text: text.trim().to_owned() })
    }
}

impl TryFrom<String> for CpuSet {
    type Error = Error;

    fn try_from(text: String) -> Result<CpuSet> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(cpus: CpuSet) -> String {
        cpus.to_string()
    }
}

/// Keeps the thread that created it, and the threads and processes it starts, on a set of CPUs. Dropping it
/// restores the previous set.
#[derive(Debug)]
#[must_use = "the thread is free again when this is dropped"]
pub struct Pinned {
    previous: Mask,
    /// Not `Send`: it must be dropped by the same thread.
    _not_send: PhantomData<*const ()>,
}

/// Pins the calling thread to these CPUs.
///
/// # Errors
/// If none of them is online and allowed.
pub fn pin_this_thread(cpus: &CpuSet) -> Result<Pinned> {
    // Record the allowed CPUs before narrowing them.
    CpuSet::online()?;
    let refused = |error: rustix::io::Errno| cpus.refused("this thread", error.into());
    let previous = sched_getaffinity(None).map_err(refused)?;
    sched_setaffinity(None, &cpus.mask()).map_err(refused)?;
    Ok(Pinned { previous, _not_send: PhantomData })
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The set was allowed before. If its CPUs have gone offline since, the thread stays where it is.
        let _restored = sched_setaffinity(None, &self.previous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_use_the_kernel_s_notation() {
        for (text, shown) in [("0", "0"), ("5,0-3", "0-3,5"), (" 1,0\n", "0-1"), ("2,2-2", "2")] {
            let set: CpuSet = text.parse().unwrap();
            assert_eq!(set.to_string(), shown);
            assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }
        for text in ["", "3-1", "0,", "a", "-1", "0-99999999"] {
            let message = text.parse::<CpuSet>().unwrap_err().to_string();
            assert!(message.contains("0-3,5"), "{message}");
        }
        let both: CpuSet = "0-1".parse().unwrap();
        let first = CpuSet::of([0]).unwrap();
        assert_eq!(both.without(&first).unwrap().to_string(), "1");
        assert_eq!(first.without(&both), None);
    }

    #[test]
    fn a_thread_is_pinned_and_unpinned() {
        let allowed = || {
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            line.unwrap().parse::<CpuSet>().unwrap()
        };
        let previous = allowed();
        let one = CpuSet::of(CpuSet::online().unwrap().cpus().last()).unwrap();
        let pinned = pin_this_thread(&one).unwrap();
        assert_eq!(allowed(), one);
        assert_ne!(CpuSet::online().unwrap().len(), 0);
        drop(pinned);
        assert_eq!(allowed(), previous);
        let message = pin_this_thread(&CpuSet::of([1000]).unwrap()).unwrap_err().to_string();
        assert!(message.contains("to CPUs 1000"), "{message}");
    }
}
