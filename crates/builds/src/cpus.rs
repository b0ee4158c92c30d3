//! Sets of CPUs, and which of them a thread may run on: a client and the session that serves it on one CPU, everything
//! else on the others, so that what is measured does not depend on where the kernel happens to put them.

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

/// Which CPUs the kernel has switched on.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// At least one CPU, by the kernel's numbers; written `0` or `0-3,5`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<usize>);

impl CpuSet {
    /// The set of these; none when there are none, or one has a number that the kernel's masks do not hold.
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Option<CpuSet> {
        let cpus: BTreeSet<usize> = cpus.into_iter().collect();
        let largest = *cpus.last()?;
        (largest < Mask::MAX_CPU).then_some(CpuSet(cpus))
    }

    /// The CPUs that are switched on and that this program was allowed when it first asked, before it pinned any of its
    /// threads.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn online() -> Result<CpuSet> {
        static FIRST: OnceLock<CpuSet> = OnceLock::new();
        if let Some(first) = FIRST.get() {
            return Ok(first.clone());
        }
        let text = fs::read_to_string(ONLINE).map_err(Error::file("read", ONLINE))?;
        let online: CpuSet = text.parse()?;
        let allowed =
            sched_getaffinity(None).map_err(|error| online.refused("this program", error.into()))?;
        let usable = CpuSet::of(online.cpus().filter(|&cpu| allowed.is_set(cpu))).unwrap_or(online);
        Ok(FIRST.get_or_init(|| usable).clone())
    }

    pub fn cpus(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// How many: at least one.
    #[expect(clippy::len_without_is_empty, reason = "a set of CPUs is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those that are not in `others`; none when that leaves none.
    pub fn without(&self, others: &CpuSet) -> Option<CpuSet> {
        CpuSet::of(self.0.difference(&others.0).copied())
    }

    fn mask(&self) -> Mask {
        let mut mask = Mask::new();
        self.cpus().for_each(|cpu| mask.set(cpu));
        mask
    }

    /// Lets one process with one thread, or one thread, run on these only; what it forks later inherits that.
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

/// Keeps the thread that made it on a set of CPUs, and the threads and processes it starts; where it could run before
/// is restored when this is dropped.
#[derive(Debug)]
#[must_use = "the thread is free again when this is dropped"]
pub struct Pinned {
    before: Mask,
    /// It must be dropped by the thread it is about.
    _of_this_thread: PhantomData<*const ()>,
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// When none of them is online or allowed to this program.
pub fn pin_this_thread(cpus: &CpuSet) -> Result<Pinned> {
    // What this program may use must be asked for while it is not yet narrowed.
    CpuSet::online()?;
    let refused = |error: rustix::io::Errno| cpus.refused("this thread", error.into());
    let before = sched_getaffinity(None).map_err(refused)?;
    sched_setaffinity(None, &cpus.mask()).map_err(refused)?;
    Ok(Pinned { before, _of_this_thread: PhantomData })
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It was allowed before; should the CPUs have been switched off since, the thread stays where it is.
        let _restored = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_written_as_the_kernel_writes_them() {
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
    fn a_thread_is_pinned_and_free_again() {
        let allowed = || {
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            line.unwrap().parse::<CpuSet>().unwrap()
        };
        let before = allowed();
        let one = CpuSet::of(CpuSet::online().unwrap().cpus().last()).unwrap();
        let pinned = pin_this_thread(&one).unwrap();
        assert_eq!(allowed(), one);
        assert_ne!(CpuSet::online().unwrap().len(), 0);
        drop(pinned);
        assert_eq!(allowed(), before);
        let message = pin_this_thread(&CpuSet::of([1000]).unwrap()).unwrap_err().to_string();
        assert!(message.contains("on CPUs 1000"), "{message}");
    }
}
