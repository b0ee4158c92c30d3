//! Where the servers of a run keep their data: `RQPS_WORK/<run>-<hash of the run folder's path>/<arm>/data`,
//! a name that belongs to this run folder alone. It stays while an arm is in progress and is removed when the
//! arm is finished.

use crate::error::{Error, Result};
use rqps_builds::Dirs;
use rqps_model::random::name_word;
use rqps_servers::remove_data_dir;
use rqps_store::RunFolder;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Within a place, says to which run folder it belongs.
const OWNER_FILE: &str = "run-folder";

/// Directories of throw-away servers begin so and go on with the id of the process that has them.
const SERVE: &str = "serve-";

/// Within a place, where counts of instructions are put.
const COUNTS_DIR: &str = "counts";

/// The place of one run's data.
#[derive(Debug, Clone)]
pub struct Place {
    root: PathBuf,
    owner: PathBuf,
}

impl Place {
    /// The place of the run in this folder. Nothing is created.
    pub fn of(dirs: &Dirs, folder: &RunFolder) -> Self {
        let owner = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned());
        let name = owner.file_name().unwrap_or_default().to_string_lossy();
        let root = dirs.work.join(format!("{name}-{:016x}", name_word(&owner.to_string_lossy())));
        Self { root, owner }
    }

    /// The directory itself, when it is there.
    pub fn path(&self) -> Option<&Path> {
        is_directory(&self.root).then_some(&self.root)
    }

    /// The data directory of an arm.
    pub fn data_dir(&self, arm: &str) -> PathBuf {
        self.root.join(arm).join("data")
    }

    /// An empty directory for what an instrumenting program counts; who starts that gives it to its user.
    pub(crate) fn counts_dir(&self) -> Result<PathBuf> {
        let path = self.root.join(COUNTS_DIR);
        self.remove_counts()?;
        fs::create_dir(&path).map_err(failed("create", &path))?;
        Ok(path)
    }

    /// Removes it, if it is there.
    pub(crate) fn remove_counts(&self) -> Result<()> {
        let path = self.root.join(COUNTS_DIR);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Notes whose place it is, once it is there.
    pub(crate) fn sign(&self) -> Result<()> {
        let path = self.root.join(OWNER_FILE);
        let results = results_of(&self.owner).map(|id| format!("{id}\n")).unwrap_or_default();
        let text = format!("{}\n{results}", self.owner.display());
        fs::write(&path, text).map_err(failed("write", &path))
    }

    /// The place that is signed so, whatever has become of its run. None for what is no place.
    fn signed(root: PathBuf) -> Option<(Self, Signature)> {
        let text = is_directory(&root).then(|| fs::read_to_string(root.join(OWNER_FILE)).ok())??;
        let mut lines = text.lines();
        let owner = PathBuf::from(lines.next()?);
        Some((Self { root, owner }, Signature { results: lines.next().map(str::to_owned) }))
    }

    /// Removes an arm's data, and the place with the last arm's.
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

    /// Removes the data of all arms; servers left on them are ended before. Refused while a running rqps uses them.
    pub(crate) fn remove(&self) -> Result<()> {
        self.remove_counts()?;
        let entries = fs::read_dir(&self.root).map_err(failed("list", &self.root))?;
        let entries: Vec<_> = entries.flatten().collect();
        if let Some(link) = entries.iter().find(|entry| entry.path().is_symlink()) {
            return Err(Error::DataLink { path: link.path() });
        }
        for entry in entries.iter().filter(|entry| entry.path().is_dir()) {
            self.remove_arm(&entry.file_name().to_string_lossy())?;
        }
        remove_empty(&self.root)
    }
}

/// Who signed a place, beside the run folder.
struct Signature {
    /// The directory in which the run folder was; none where an earlier rqps signed.
    results: Option<String>,
}

/// Which directory a run folder is in, not only by its name: where a disk is not mounted, another one has that.
fn results_of(owner: &Path) -> Option<String> {
    let meta = fs::metadata(owner.parent()?).ok()?;
    Some(format!("{}:{}", meta.dev(), meta.ino()))
}

/// Whether it is a directory, and no link to one.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Removes the data that an unfinished run has left, which ends its resumability. The run's folder may be gone: its
/// path names it. Returns where they were, if any.
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

/// What became of data whose run folder was not found.
#[derive(Debug, Default)]
pub struct Orphans {
    /// Where data were that are removed now.
    pub removed: Vec<PathBuf>,
    /// Run folders of data that were left alone: the directory that they were in is not there either, or is another one
    /// by now, as when a disk is not mounted.
    pub unsure: Vec<PathBuf>,
}

/// Where this process puts a server that is thrown away when it ends.
pub fn serve_dir(dirs: &Dirs) -> PathBuf {
    dirs.work.join(format!("{SERVE}{}", std::process::id()))
}

/// Removes what throw-away servers have left whose rqps was killed.
fn clean_served(dirs: &Dirs) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in entries(dirs)? {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(SERVE)?.parse::<u32>().ok());
        let root = entry.path();
        let is_left = pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if is_left && is_directory(&root) {
            remove_data_dir(&root.join("data"))?;
            fs::remove_dir_all(&root).map_err(failed("remove", &root))?;
            removed.push(root);
        }
    }
    Ok(removed)
}

/// Removes the data of runs whose folder is gone from a directory that is still there, and what throw-away servers have
/// left.
pub fn clean_orphans(dirs: &Dirs) -> Result<Orphans> {
    let mut orphans = Orphans { removed: clean_served(dirs)?, unsure: Vec::new() };
    for (place, Signature { results }) in places(dirs)? {
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

/// All places below the work directory.
fn places(dirs: &Dirs) -> Result<Vec<(Place, Signature)>> {
    Ok(entries(dirs)?.into_iter().filter_map(|entry| Place::signed(entry.path())).collect())
}

/// What is in the work directory.
fn entries(dirs: &Dirs) -> Result<Vec<fs::DirEntry>> {
    match fs::read_dir(&dirs.work) {
        Ok(entries) => Ok(entries.flatten().collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed("list", &dirs.work)(error)),
    }
}

/// Removes a directory unless something is in it.
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

    /// A work directory with the data of a run in `results/run`, which is there.
    fn scene() -> (tempfile::TempDir, Dirs, Place) {
        let dir = tempfile::tempdir().unwrap();
        let dirs = Dirs { cache: dir.path().join("cache"), work: dir.path().join("work") };
        let owner = dir.path().join("results/run");
        fs::create_dir_all(&owner).unwrap();
        let place = Place { root: dirs.work.join("run-1"), owner };
        fs::create_dir_all(place.root.join("a")).unwrap();
        place.sign().unwrap();
        (dir, dirs, place)
    }

    #[test]
    fn what_a_killed_serve_has_left_is_removed_and_a_living_one_s_is_not() {
        let (_dir, dirs, _) = scene();
        // No process has this id: it is above what Linux gives.
        let (left, own) = (dirs.work.join("serve-4194305"), serve_dir(&dirs));
        for root in [&left, &own, &dirs.work.join("serve-me")] {
            fs::create_dir_all(root.join("logs")).unwrap();
        }
        assert_eq!(clean_orphans(&dirs).unwrap().removed, std::slice::from_ref(&left));
        assert!(!left.exists() && own.exists() && dirs.work.join("serve-me").exists());
    }

    #[test]
    fn data_are_left_alone_while_the_results_may_only_be_elsewhere() {
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
        // Named, they are removed.
        assert_eq!(clean(&place.owner, &dirs).unwrap(), Some(place.root.clone()));
        assert!(!place.root.exists() && clean(&place.owner, &dirs).is_err());
    }

    #[test]
    fn data_whose_folder_is_gone_from_its_results_are_removed() {
        let (_dir, dirs, place) = scene();
        fs::remove_dir(&place.owner).unwrap();
        assert_eq!(clean_orphans(&dirs).unwrap().removed, std::slice::from_ref(&place.root));
        assert!(!place.root.exists());
    }

    #[test]
    fn nothing_is_removed_through_a_link() {
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
