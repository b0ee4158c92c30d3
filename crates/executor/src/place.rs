//! Where the servers of a run keep their data: `RQPS_WORK/<run>-<hash of the run folder's path>/<arm>/data`,
//! a name that belongs to this run folder alone. It stays while an arm is in progress and is removed when the
//! arm is finished.

use crate::error::{Error, Result};
use rqps_servers::{Dirs, remove_data_dir};
use rqps_store::RunFolder;
use rqps_workloads::random::name_word;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Within a place, says to which run folder it belongs.
const OWNER_FILE: &str = "run-folder";

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

    /// The directory itself, when there is something in it.
    pub fn path(&self) -> Option<&Path> {
        self.root.is_dir().then_some(&self.root)
    }

    /// The data directory of an arm.
    pub fn data_dir(&self, arm: &str) -> PathBuf {
        self.root.join(arm).join("data")
    }

    /// An empty directory for what an instrumenting program counts, which any user may write to.
    pub(crate) fn counts_dir(&self) -> Result<PathBuf> {
        let path = self.root.join(COUNTS_DIR);
        self.remove_counts()?;
        fs::create_dir(&path).map_err(failed("create", &path))?;
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        fs::set_permissions(&path, open).map_err(failed("open to all", &path))?;
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
        let text = format!("{}\n", self.owner.display());
        fs::write(&path, text).map_err(failed("write", &path))
    }

    /// Removes an arm's data, and the place with the last arm's.
    pub(crate) fn remove_arm(&self, arm: &str) -> Result<()> {
        let data_dir = self.data_dir(arm);
        remove_data_dir(&data_dir)?;
        if let Some(parent) = data_dir.parent() {
            remove_empty(parent)?;
        }
        let mut arms = match fs::read_dir(&self.root) {
            Ok(entries) => entries.flatten().filter(|entry| entry.path().is_dir()),
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
        for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
            self.remove_arm(&entry.file_name().to_string_lossy())?;
        }
        remove_empty(&self.root)
    }
}

/// Removes the data that an unfinished run has left, which ends its resumability. Returns where they were, if any.
pub fn clean(path: &Path, dirs: &Dirs) -> Result<Option<PathBuf>> {
    let folder = RunFolder::at(path)?;
    if let Some(pid) = folder.in_use_by() {
        let path = folder.path().to_owned();
        return Err(rqps_store::Error::InUse { path, pid }.into());
    }
    let place = Place::of(dirs, &folder);
    let Some(root) = place.path().map(Path::to_owned) else {
        return Ok(None);
    };
    place.remove()?;
    Ok(Some(root))
}

/// Removes the data of runs whose folder is gone. Returns where they were.
pub fn clean_orphans(dirs: &Dirs) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    let entries = match fs::read_dir(&dirs.work) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(removed),
        Err(error) => return Err(failed("list", &dirs.work)(error)),
    };
    for root in entries.flatten().map(|entry| entry.path()) {
        let Ok(text) = fs::read_to_string(root.join(OWNER_FILE)) else {
            continue;
        };
        let owner = PathBuf::from(text.trim_end_matches('\n'));
        if matches!(owner.try_exists(), Ok(false)) {
            let place = Place { root, owner };
            place.remove()?;
            removed.push(place.root);
        }
    }
    Ok(removed)
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
