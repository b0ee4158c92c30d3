//! Whether an engine process really reads its tables with O_DIRECT: by the flags of its open files, not by its options;
//! and what else only a running db_bench shows.

use std::fs;
use std::path::Path;

/// `O_DIRECT` on the architectures that rqps runs on, as `fdinfo` writes flags: octal.
const O_DIRECT: u32 =
    if cfg!(any(target_arch = "aarch64", target_arch = "arm")) { 0o200_000 } else { 0o40_000 };

/// The bits of the flags that say how a file is open; none is set if only for reading.
const ACCESS: u32 = 0o3;

/// Table files that a process has open for reading, and how many of them with O_DIRECT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OpenTables {
    pub all: u64,
    pub direct: u64,
}

/// What was seen of a db_bench while it worked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OfProgram {
    pub tables: OpenTables,
    /// The most memory that it had, kB.
    pub memory_kb: u64,
}

impl OfProgram {
    /// Looks at the children of the engine process.
    pub fn look(&mut self, engine: u32) {
        let tasks = fs::read_dir(format!("/proc/{engine}/task")).into_iter().flatten().flatten();
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        for pid in children.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
            let open = pid.parse().map(OpenTables::of).unwrap_or_default();
            if open.all > self.tables.all {
                self.tables = open;
            }
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kb = memory.and_then(|text| text.split_whitespace().next()?.parse().ok());
            self.memory_kb = self.memory_kb.max(kb.unwrap_or(0));
        }
    }
}

impl OpenTables {
    /// Looks at the open files of a process. Those that a flush or compaction writes follow another option.
    pub fn of(pid: u32) -> Self {
        let process = format!("/proc/{pid}");
        let descriptors = fs::read_dir(format!("{process}/fd")).into_iter().flatten().flatten();
        let mut found = Self::default();
        for descriptor in descriptors {
            let is_table = |path: &Path| path.extension().is_some_and(|extension| extension == "sst");
            let is_table = fs::read_link(descriptor.path()).is_ok_and(|path| is_table(&path));
            let info = Path::new(&process).join("fdinfo").join(descriptor.file_name());
            let flags = fs::read_to_string(info).ok().filter(|_| is_table).and_then(|text| flags(&text));
            if let Some(flags) = flags.filter(|flags| flags & ACCESS == 0) {
                found.all += 1;
                found.direct += u64::from(flags & O_DIRECT != 0);
            }
        }
        found
    }
}

/// The flags in the text of `fdinfo`.
fn flags(text: &str) -> Option<u32> {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(flags.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_from_other_files_and_by_their_flags() {
        assert_eq!(flags("pos:\t0\nflags:\t02140000\nmnt_id:\t30\n"), Some(0o2_140_000));
        let dir = std::env::temp_dir().join(format!("rqps-direct-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("1.sst"), "").unwrap();
        let before = OpenTables::of(std::process::id());
        let open = fs::File::open(dir.join("1.sst")).unwrap();
        let written = fs::File::create(dir.join("2.sst")).unwrap();
        let after = OpenTables::of(std::process::id());
        assert_eq!((after.all, after.direct), (before.all + 1, before.direct));
        drop((open, written));
        fs::remove_dir_all(&dir).unwrap();
    }
}
