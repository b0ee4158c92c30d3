//! A process and those that descend from it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use procfs::FromRead;
use procfs::process::{Process, Stat};

/// Lists of children that are discarded because children or threads came or went while they were read.
const RETRIES: usize = 5;

/// Whether the kernel lists the children of a process. Otherwise the stat of every process has to be read, which on a
/// host with hundreds of them takes longer than a turn.
static LISTS_CHILDREN: LazyLock<bool> = LazyLock::new(|| Path::new("/proc/thread-self/children").exists());

/// The stat of a process, then of its children, their children, and so on. Empty if it has ended.
pub fn family(pid: u32) -> Vec<Stat> {
    let mut others = if *LISTS_CHILDREN { None } else { Some(by_parent()) };
    let mut family: Vec<Stat> = stat_of(pid).into_iter().collect();
    let mut next = 0;
    while let Some(parent) = family.get(next) {
        let listed = if others.is_none() { children_of(parent) } else { None };
        let children = listed
            .unwrap_or_else(|| others.get_or_insert_with(by_parent).remove(&parent.pid).unwrap_or_default());
        family.extend(children);
        next += 1;
    }
    family
}

/// Cheaper than [`Process`], which also opens the process's directory.
pub fn stat_of(pid: u32) -> Option<Stat> {
    Stat::from_file(format!("/proc/{pid}/stat")).ok()
}

/// The kernel may leave out a child while one that it has listed ends and is waited for, and a thread that ends leaves
/// its children to another, whose list may have been read. Such lists are read again. `None` if that does not end.
fn children_of(parent: &Stat) -> Option<Vec<Stat>> {
    let mut before = None;
    for _ in 0..=RETRIES {
        let Some(listed) = listed_children(parent) else {
            return Some(Vec::new());
        };
        let children: Vec<Stat> = listed.iter().filter_map(|&pid| stat_of(pid)).collect();
        let none_moved = parent.num_threads == 1 || before.as_ref() == Some(&listed);
        if children.len() == listed.len() && none_moved {
            return Some(children);
        }
        before = Some(listed);
    }
    None
}

/// `None` if the parent has ended. A child belongs to the thread that started it.
fn listed_children(parent: &Stat) -> Option<Vec<u32>> {
    let process = Process::new(parent.pid).ok()?;
    if parent.num_threads == 1 {
        return process.task_main_thread().and_then(|thread| thread.children()).ok();
    }
    let threads = process.tasks().ok()?.flatten();
    let mut children: Vec<u32> = threads.filter_map(|thread| thread.children().ok()).flatten().collect();
    children.sort_unstable();
    Some(children)
}

fn by_parent() -> HashMap<i32, Vec<Stat>> {
    let mut found: HashMap<i32, Vec<Stat>> = HashMap::new();
    let processes = procfs::process::all_processes().into_iter().flatten();
    for stat in processes.filter_map(|process| process.and_then(|process| process.stat()).ok()) {
        found.entry(stat.ppid).or_default().push(stat);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn children_of_children_and_of_threads_belong_to_a_family() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'sleep 60 & echo; wait' & wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        let names = |family: &[Stat]| family.iter().map(|stat| stat.comm.clone()).collect::<Vec<_>>();
        let found = family(shell.id());
        let parents = found.windows(2).map(|pair| (pair[0].pid, pair[1].ppid));
        assert!(
            found.len() == 3 && parents.into_iter().all(|(pid, ppid)| pid == ppid),
            "{:?}",
            names(&found)
        );
        let here = family(std::process::id());
        let of_thread = std::thread::spawn(|| {
            let child = Command::new("sleep").arg("60").spawn().unwrap();
            (child.id(), family(std::process::id()), child)
        });
        let (pid, with_child, mut child) = of_thread.join().unwrap();
        assert!(found.iter().all(|one| here.iter().any(|stat| stat.pid == one.pid)), "{:?}", names(&here));
        assert!(with_child.iter().any(|stat| stat.pid.cast_unsigned() == pid), "{:?}", names(&with_child));
        let by_scan = by_parent();
        assert!(by_scan[&found[0].pid].iter().any(|stat| stat.pid == found[1].pid));
        // From the first on: a shell whose child ends does so, too.
        for one in &found {
            let pid = rustix::process::Pid::from_raw(one.pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        shell.wait().unwrap();
        assert_eq!(family(pid).len(), 0);
    }
}
