//! Dynamic shared memory of a server, files in /dev/shm. A server removes it when it ends, and when a session crashes,
//! but not if its main process is killed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How the names of its files begin; a number follows.
const PREFIX: &str = "/dev/shm/PostgreSQL.";

/// Begins the file that lists the others (`PG_DYNSHMEM_CONTROL_MAGIC`).
const MAGIC: u32 = 0x9a50_3d32;

/// Offset of the list (`dsm_control_header`): after magic, number of items, and most items.
const ITEMS_AT: usize = 16;

/// The file that lists a server's others, by name and inode: another server may get the name later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Control {
    path: PathBuf,
    inode: u64,
}

impl Control {
    /// That of a running server, which its main process keeps mapped. `None` without one, as before 9.4.
    pub fn of(pid: u32) -> Option<Self> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let mut mapped = maps.lines().filter_map(|line| {
            let mut fields = line.split_whitespace().skip(4);
            let inode = fields.next()?.parse().ok()?;
            let path = fields.next().filter(|path| path.starts_with(PREFIX))?;
            Some(Self { path: path.into(), inode })
        });
        mapped.find(|one| one.read().is_some())
    }

    /// The numbers of the listed files.
    fn read(&self) -> Option<Vec<u32>> {
        let facts = fs::symlink_metadata(&self.path).ok()?;
        (facts.is_file() && facts.ino() == self.inode).then_some(())?;
        listed(&fs::read(&self.path).ok()?)
    }

    /// Removes what a server left whose processes are all gone or going.
    pub fn remove(&self) {
        let Some(numbers) = self.read() else { return };
        let owner = |path: &Path| {
            fs::symlink_metadata(path).ok().filter(|facts| facts.is_file()).map(|facts| facts.uid())
        };
        let own = owner(&self.path);
        for number in numbers {
            let path = PathBuf::from(format!("{PREFIX}{number}"));
            if owner(&path).is_some_and(|uid| Some(uid) == own) {
                // What stays takes memory and does no other harm.
                let _removed = fs::remove_file(path);
            }
        }
        let _removed = fs::remove_file(&self.path);
    }
}

/// The numbers in the file that lists the others; `None` if it is another file. Items differ in size between versions,
/// and begin with the number and with a count of uses, which is 0 of unused items.
fn listed(control: &[u8]) -> Option<Vec<u32>> {
    let number = |at: usize| Some(u32::from_ne_bytes(control.get(at..at + 4)?.try_into().ok()?));
    let (magic, items, items_max) = (number(0)?, number(4)? as usize, number(8)? as usize);
    (magic == MAGIC && items <= items_max && items_max > 0).then_some(())?;
    let size = control.len().checked_sub(ITEMS_AT)? / items_max;
    let item = |at: usize| Some((number(ITEMS_AT + at * size)?, number(ITEMS_AT + at * size + 4)?));
    let items = (0..items).map(item).collect::<Option<Vec<_>>>()?;
    Some(items.into_iter().filter(|(_, uses)| *uses > 0).map(|(number, _)| number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_items_of_every_size_are_listed() {
        for size in [24, 40] {
            let mut control = [MAGIC, 2, 3, 0].map(u32::to_ne_bytes).concat();
            for (number, uses) in [(7, 0), (4_000_000_000_u32, 2_u32), (9, 1)] {
                control.extend([number, uses].map(u32::to_ne_bytes).concat());
                control.resize(control.len() + size - 8, 0);
            }
            assert_eq!(listed(&control), Some(vec![4_000_000_000]));
            control[0] += 1;
            assert_eq!(listed(&control), None);
        }
        assert_eq!(listed(&[0; 8]), None);
    }
}
