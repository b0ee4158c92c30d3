//! Where the servers of a run keep their data: `RQPS_WORK/<run>-<hash of the run folder's path>/<arm>/data`,
//! a name that belongs to this run folder alone. It stays while an arm is in progress and is removed when the
//! arm is finished.

use crate::error::{Error, Result};
use crate::inputs::plan_of;
use crate::kit::Kit;
use rqps_builds::Dirs;
use rqps_model::random::name_word;
use rqps_plan::Arm;
use rqps_servers::{process_exists, remove_data_dir};
use rqps_store::RunFolder;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// File in a place that names the run folder it belongs to.
const OWNER_FILE: &str = "run-folder";

/// Prefix of directories of `rqps serve`, followed by the PID of their rqps.
const SERVE: &str = "serve-";

/// Directory in a place for files with instruction counts.
const COUNTS_DIR: &str = "counts";

/// The directory in the work directory that holds one run's data.
#[derive(Debug, Clone)]
pub struct Place {
    root: PathBuf,
    owner: PathBuf,
}

/// Bytes of all files in a directory; unreadable ones count as 0.
fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_in(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

impl Place {
    /// The place of the run in this folder. Creates nothing.
    pub fn of(dirs: &Dirs, folder: &RunFolder) -> Self {
        let owner = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned());
        let name = owner.file_name().unwrap_or_default().to_string_lossy();
        let root = dirs.work.join(format!("{name}-{:016x}", name_word(&owner.to_string_lossy())));
        Self { root, owner }
    }

    /// The directory, or `None` if it does not exist.
    pub fn path(&self) -> Option<&Path> {
        is_directory(&self.root).then_some(&self.root)
    }

    /// Bytes of all files in it.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_in(&self.root)
    }

    /// The work directory, which holds the places of all runs.
    pub(crate) fn work(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
    }

    /// The data directory of an arm.
    pub fn data_dir(&self, arm: &str) -> PathBuf {
        self.root.join(arm).join("data")
    }

    /// Creates an empty directory for the output of an instrumenting program. Whoever starts the program
    /// makes the directory writable for its user.
    pub(crate) fn counts_dir(&self) -> Result<PathBuf> {
        let path = self.root.join(COUNTS_DIR);
        self.remove_counts()?;
        fs::create_dir(&path).map_err(failed("create", &path))?;
        Ok(path)
    }

    pub(crate) fn remove_counts(&self) -> Result<()> {
        let path = self.root.join(COUNTS_DIR);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Writes the file that names the run folder, and identifies the directory in which it is.
    pub(crate) fn write_owner(&self) -> Result<()> {
        let path = self.root.join(OWNER_FILE);
        let results = results_of(&self.owner).map(|id| format!("{id}\n")).unwrap_or_default();
        let text = format!("{}\n{results}", self.owner.display());
        fs::write(&path, text).map_err(failed("write", &path))
    }

    /// Reads a place from its owner file, with the id of the directory in which the run folder was (`None` if
    /// an earlier rqps wrote the file). `None` for any other directory.
    fn read(root: PathBuf) -> Option<(Self, Option<String>)> {
        let text = is_directory(&root).then(|| fs::read_to_string(root.join(OWNER_FILE)).ok())??;
        let mut lines = text.lines();
        let owner = PathBuf::from(lines.next()?);
        Some((Self { root, owner }, lines.next().map(str::to_owned)))
    }

    /// Removes an arm's data; with the last arm's also the place.
    pub(crate) fn remove_arm(&self, arm: &str) -> Result<()> {
        let data_dir = self.data_dir(arm);
        remove_data_dir(&data_dir)?;
        if let Some(parent) = data_dir.parent() {
            remove_empty(parent)?;
        }
        let mut arms = match fs::read_dir(&self.root) {
            Ok(entries) => entries.flatten().filter(|entry| is_directory(&entry.path())),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("list", &self.root)(error)),
        };
        if arms.next().is_none() {
            let owner = self.root.join(OWNER_FILE);
            match fs::remove_file(&owner) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(failed("remove", &owner)(error));
                }
                _ => remove_empty(&self.root)?,
            }
        }
        Ok(())
    }

    /// Removes the data of all arms, and stops servers that were left on them. Fails while a running rqps
    /// uses them.
    pub(crate) fn remove(&self) -> Result<()> {
        self.remove_counts()?;
        let entries: Vec<_> = match fs::read_dir(&self.root) {
            Ok(entries) => entries.flatten().collect(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("list", &self.root)(error)),
        };
        if let Some(link) = entries.iter().find(|entry| entry.path().is_symlink()) {
            return Err(Error::DataLink { path: link.path() });
        }
        for entry in entries.iter().filter(|entry| entry.path().is_dir()) {
            self.remove_arm(&entry.file_name().to_string_lossy())?;
        }
        remove_empty(&self.root)
    }
}

/// Identifies the directory that a run folder is in by device and inode: while a disk is not mounted, another
/// directory has the same path.
fn results_of(owner: &Path) -> Option<String> {
    let meta = fs::metadata(owner.parent()?).ok()?;
    Some(format!("{}:{}", meta.dev(), meta.ino()))
}

/// Whether it is a directory and not a symbolic link to one.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Removes the data of an unfinished run, which can then no longer be resumed. `path` may name a run folder
/// that was deleted. Returns the directory of the data, or `None` if there were none.
pub fn clean(path: &Path, dirs: &Dirs) -> Result<Option<PathBuf>> {
    let place = match RunFolder::at(path) {
        Ok(folder) => {
            if let Some(pid) = folder.in_use_by() {
                let path = folder.path().to_owned();
                return Err(rqps_store::Error::InUse { path, pid }.into());
            }
            Place::of(dirs, &folder)
        }
        Err(error) => {
            let gone = std::path::absolute(path).map_err(failed("find", path))?;
            let mut places = places(dirs)?.into_iter().map(|(place, _)| place);
            places.find(|place| place.owner == gone).ok_or(error)?
        }
    };
    let Some(root) = place.path().map(Path::to_owned) else {
        return Ok(None);
    };
    place.remove()?;
    Ok(Some(root))
}

/// Removes what killed runs left in the places that a run measures, and returns it; nothing where another process
/// measures, or where the place or the plan is gone.
pub fn clean_measured(kit: &Kit, path: &Path) -> Vec<PathBuf> {
    let plan = RunFolder::at(path).map_err(Error::from).and_then(|folder| plan_of(kit, &folder));
    let arms = plan.map(|plan| plan.arms).unwrap_or_default();
    let reserve = |arm: &Arm| kit.system(arm.build.dbms).and_then(|system| system.reserve(&arm.build));
    arms.iter().filter_map(|arm| reserve(arm).ok()?).flat_map(|reserved| reserved.removed).collect()
}

/// Data whose run folder was not found.
#[derive(Debug, Default)]
pub struct Orphans {
    /// Data directories that were removed.
    pub removed: Vec<PathBuf>,
    /// Run folders whose data were kept: the directory that contained the run folder is gone too or is
    /// another one now, as when a disk is not mounted.
    pub unsure: Vec<PathBuf>,
}

/// Directory of this process's `rqps serve` server, which is removed when the process ends.
pub fn serve_dir(dirs: &Dirs) -> PathBuf {
    dirs.work.join(format!("{SERVE}{}", std::process::id()))
}

/// Removes the directories of `rqps serve` whose rqps was killed.
fn clean_serve_dirs(dirs: &Dirs) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in entries(dirs)? {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(SERVE)?.parse::<u32>().ok());
        let root = entry.path();
        let is_left = pid.is_some_and(|pid| !process_exists(pid));
        if is_left && is_directory(&root) {
            remove_data_dir(&root.join("data"))?;
            fs::remove_dir_all(&root).map_err(failed("remove", &root))?;
            removed.push(root);
        }
    }
    Ok(removed)
}

/// Removes the data of runs whose folder was deleted from a directory that still exists, and leftovers of
/// `rqps serve`.
pub fn clean_orphans(dirs: &Dirs) -> Result<Orphans> {
    let mut orphans = Orphans { removed: clean_serve_dirs(dirs)?, unsure: Vec::new() };
    for (place, results) in places(dirs)? {
        if !matches!(place.owner.try_exists(), Ok(false)) {
            continue;
        }
        if results.is_some() && results == results_of(&place.owner) {
            place.remove()?;
            orphans.removed.push(place.root);
        } else {
            orphans.unsure.push(place.owner);
        }
    }
    Ok(orphans)
}

/// All places in the work directory, as [`Place::read`] returns them.
fn places(dirs: &Dirs) -> Result<Vec<(Place, Option<String>)>> {
    Ok(entries(dirs)?.into_iter().filter_map(|entry| Place::read(entry.path())).collect())
}

/// Entries of the work directory.
fn entries(dirs: &Dirs) -> Result<Vec<fs::DirEntry>> {
    match fs::read_dir(&dirs.work) {
        Ok(entries) => Ok(entries.flatten().collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed("list", &dirs.work)(error)),
    }
}

/// Removes a directory unless it has entries.
fn remove_empty(path: &Path) -> Result<()> {
    match fs::remove_dir(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
            Err(failed("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |source| Error::File { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A work directory with the data of a run in `results/run`, which exists.
    fn scene() -> (tempfile::TempDir, Dirs, Place) {
        let dir = tempfile::tempdir().unwrap();
        let dirs = Dirs { cache: dir.path().join("cache"), work: dir.path().join("work") };
        let owner = dir.path().join("results/run");
        fs::create_dir_all(&owner).unwrap();
        let place = Place { root: dirs.work.join("run-1"), owner };
        fs::create_dir_all(place.root.join("a")).unwrap();
        place.write_owner().unwrap();
        (dir, dirs, place)
    }

    #[test]
    fn serve_dirs_are_removed_unless_their_process_runs() {
        let (_dir, dirs, _) = scene();
        // Above the largest PID that Linux assigns.
        let (left, own) = (dirs.work.join("serve-4194305"), serve_dir(&dirs));
        for root in [&left, &own, &dirs.work.join("serve-me")] {
            fs::create_dir_all(root.join("logs")).unwrap();
        }
        assert_eq!(clean_orphans(&dirs).unwrap().removed, std::slice::from_ref(&left));
        assert!(!left.exists() && own.exists() && dirs.work.join("serve-me").exists());
    }

    #[test]
    fn data_are_kept_while_their_results_directory_is_missing_or_replaced() {
        let (dir, dirs, place) = scene();
        assert!(clean_orphans(&dirs).unwrap().unsure.is_empty());
        let (results, away) = (dir.path().join("results"), dir.path().join("away"));
        // As when a disk is not mounted: nothing there, then an empty directory.
        fs::rename(&results, &away).unwrap();
        for _ in 0..2 {
            let Orphans { removed, unsure } = clean_orphans(&dirs).unwrap();
            assert!(removed.is_empty() && unsure == [place.owner.clone()], "{removed:?} {unsure:?}");
            assert!(place.root.join("a").is_dir());
            fs::create_dir_all(&results).unwrap();
        }
        fs::remove_dir(&results).unwrap();
        // Removed if the run is named.
        assert_eq!(clean(&place.owner, &dirs).unwrap(), Some(place.root.clone()));
        assert!(!place.root.exists() && clean(&place.owner, &dirs).is_err());
    }

    #[test]
    fn data_are_removed_if_their_run_folder_was_deleted() {
        let (_dir, dirs, place) = scene();
        fs::remove_dir(&place.owner).unwrap();
        assert_eq!(clean_orphans(&dirs).unwrap().removed, std::slice::from_ref(&place.root));
        assert!(!place.root.exists());
    }

    #[test]
    fn nothing_is_removed_through_a_symbolic_link() {
        let (dir, dirs, place) = scene();
        let precious = dir.path().join("precious");
        fs::create_dir_all(precious.join("data")).unwrap();
        let marker = r#"{"dbms":"postgres","build":"postgres-18.1"}"#;
        for file in ["rqps.json", "data/rqps.json", "data/file"] {
            fs::write(precious.join(file), marker).unwrap();
        }
        let cases =
            [(place.root.join("b"), precious.clone()), (place.root.join("a/data"), precious.join("data"))];
        for (link, target) in cases {
            fs::create_dir_all(place.root.join("a")).unwrap();
            symlink(target, &link).unwrap();
            let message = place.remove().unwrap_err().to_string();
            assert!(precious.join("data/file").exists(), "{message}");
            fs::remove_file(link).unwrap();
        }
        fs::remove_dir_all(&place.root).unwrap();
        symlink(&precious, &place.root).unwrap();
        fs::write(precious.join(OWNER_FILE), "/gone/run\n0:0\n").unwrap();
        assert!(clean_orphans(&dirs).unwrap().unsure.is_empty());
        assert!(clean(Path::new("/gone/run"), &dirs).is_err() && precious.join("data/file").exists());
    }
}
