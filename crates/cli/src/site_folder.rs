//! The folder of a site: pages are written beside it first and then moved into place, so that readers never see half a
//! page or a link to a page that is not there yet. A list in the folder says which files are the site's; no other file
//! is overwritten or deleted.

use crate::Usage;
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

/// The list of the site's files, a line each. Its lock is held while the site is written.
const LIST: &str = ".rqps-site";
/// New files wait here until all are complete.
const STAGED: &str = ".rqps-site-new";

/// A folder that is being written.
pub struct SiteFolder {
    path: PathBuf,
    /// Locked while this exists.
    list: File,
    /// Files of earlier sites.
    known: BTreeSet<String>,
    staged: Mutex<BTreeSet<String>>,
    /// Folders that were made for it, the innermost first, and whether its list was: without a site they go again.
    made: Vec<PathBuf>,
    is_new: bool,
}

/// What was done to the folder.
pub struct Written {
    changed: usize,
    unchanged: usize,
    deleted: usize,
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { changed, unchanged, deleted } = self;
        write!(f, "{changed} files written, {unchanged} unchanged, {deleted} deleted")
    }
}

impl SiteFolder {
    /// Creates the folder if needed. What an interrupted rqps left in it is removed.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let made = path.ancestors().take_while(|one| !one.as_os_str().is_empty() && !one.exists());
        let made: Vec<PathBuf> = made.map(Path::to_owned).collect();
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        let list_path = path.join(LIST);
        let list = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&list_path)
            .with_context(|| format!("cannot open {}", list_path.display()))?;
        match list.try_lock() {
            Ok(()) if is_at(&list, &list_path) => {}
            // The one that made it has just given up.
            Ok(()) => return Self::open(path),
            Err(TryLockError::WouldBlock) => {
                return Err(Usage(format!(
                    "another rqps is writing {}; wait until it is done",
                    path.display()
                ))
                .into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", list_path.display()));
            }
        }
        let text =
            fs::read_to_string(&list_path).with_context(|| format!("cannot read {}", list_path.display()))?;
        let known = text.lines().filter(|line| is_plain(line)).map(str::to_owned).collect();
        // Made just now, or left by an rqps that was killed before its first site was there.
        let is_new = text.is_empty();
        let folder = Self { path: path.to_owned(), list, known, staged: Mutex::default(), made, is_new };
        folder.remove_staged()?;
        Ok(folder)
    }

    /// Writes a new file, out of sight.
    pub fn stage(&self, name: &str, content: &str) -> anyhow::Result<()> {
        let target = self.target(name)?;
        if target.symlink_metadata().is_ok() && !self.known.contains(name) {
            return Err(Usage(format!(
                "{} is not a file of an earlier site: move it, or choose another folder",
                target.display()
            ))
            .into());
        }
        let staged = self.path.join(STAGED).join(name);
        let failed = || format!("cannot write {}", staged.display());
        if let Some(parent) = staged.parent() {
            fs::create_dir_all(parent).with_context(failed)?;
        }
        fs::write(&staged, content).with_context(failed)?;
        self.staged.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name.to_owned());
        Ok(())
    }

    /// Moves all new files into place, lists last, and then deletes those of earlier sites that are no longer needed.
    /// Files that did not change are not touched.
    pub fn publish(mut self) -> anyhow::Result<Written> {
        let staged = self.staged.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        self.is_new = false;
        // Until the end both old and new files are the site's, so that an interruption leaves none without owner.
        self.write_list(self.known.union(&staged))?;
        let mut written = Written { changed: 0, unchanged: 0, deleted: 0 };
        let (lists, pages): (Vec<_>, Vec<_>) = staged.iter().partition(|name| !name.contains('/'));
        for name in pages.into_iter().chain(lists) {
            let (from, to) = (self.path.join(STAGED).join(name), self.target(name)?);
            if is_equal(&from, &to) {
                written.unchanged += 1;
                continue;
            }
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
            }
            fs::rename(&from, &to).with_context(|| format!("cannot write {}", to.display()))?;
            written.changed += 1;
        }
        for name in self.known.difference(&staged) {
            let path = self.target(name)?;
            match fs::remove_file(&path) {
                Ok(()) => written.deleted += 1,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot delete {}", path.display())),
            }
        }
        self.write_list(staged.iter())?;
        self.remove_staged()?;
        Ok(written)
    }

    /// The place of a file; refuses a folder that is a link, because it may lead out of the site.
    fn target(&self, name: &str) -> anyhow::Result<PathBuf> {
        let target = self.path.join(name);
        if let Some((folder, _)) = name.rsplit_once('/') {
            let folder = self.path.join(folder);
            if folder.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                bail!("{} is not a folder: move it, or choose another folder for the site", folder.display());
            }
        }
        Ok(target)
    }

    fn write_list<'a>(&self, names: impl Iterator<Item = &'a String>) -> anyhow::Result<()> {
        use std::io::{Seek, Write};
        let text: String = names.map(|name| format!("{name}\n")).collect();
        let mut list = &self.list;
        // In place: a new file would not have the lock. What a crash cuts off is a file that is then not deleted.
        list.rewind()
            .and_then(|()| list.write_all(text.as_bytes()))
            .and_then(|()| self.list.set_len(text.len() as u64))
            .with_context(|| format!("cannot write {}", self.path.join(LIST).display()))
    }

    fn remove_staged(&self) -> anyhow::Result<()> {
        let staged = self.path.join(STAGED);
        match fs::remove_dir_all(&staged) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", staged.display()))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for SiteFolder {
    fn drop(&mut self) {
        // After an error, which is what is reported.
        let _removed = self.remove_staged();
        if self.is_new {
            let _removed = fs::remove_file(self.path.join(LIST));
            let _removed = self.made.iter().try_for_each(fs::remove_dir);
        }
    }
}

/// Whether the path still leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let known = |meta: std::io::Result<fs::Metadata>| meta.map(|meta| (meta.dev(), meta.ino())).ok();
    known(file.metadata()).is_some_and(|own| known(fs::metadata(path)) == Some(own))
}

/// Whether a line of the list is a path that stays in the folder.
fn is_plain(name: &str) -> bool {
    let path = Path::new(name);
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn is_equal(a: &Path, b: &Path) -> bool {
    let is_file = b.symlink_metadata().is_ok_and(|meta| meta.is_file());
    is_file && matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, files: &[(&str, &str)]) -> anyhow::Result<Written> {
        let folder = SiteFolder::open(dir)?;
        for (name, content) in files {
            folder.stage(name, content)?;
        }
        folder.publish()
    }

    #[test]
    fn only_the_site_s_own_files_are_replaced_and_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::create_dir(dir.join("runs")).unwrap();
        fs::write(dir.join("runs/mine.html"), "mine").unwrap();
        let first = write(dir, &[("index.html", "1"), ("runs/a.html", "a"), ("runs/b.html", "b")]).unwrap();
        assert_eq!(first.to_string(), "3 files written, 0 unchanged, 0 deleted");
        let second = write(dir, &[("index.html", "2"), ("runs/a.html", "a")]).unwrap();
        assert_eq!(second.to_string(), "1 files written, 1 unchanged, 1 deleted");
        assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "2");
        assert_eq!(fs::read_to_string(dir.join("runs/mine.html")).unwrap(), "mine");
        assert!(!dir.join("runs/b.html").exists() && !dir.join(STAGED).exists());

        let error = write(dir, &[("index.html", "3"), ("runs/mine.html", "taken")]).err().unwrap();
        assert!(error.to_string().contains("mine.html is not a file of an earlier site"), "{error}");
        assert_eq!(
            fs::read_to_string(dir.join("index.html")).unwrap(),
            "2",
            "a refused site changes nothing"
        );
        assert!(!dir.join(STAGED).exists());
    }

    #[test]
    fn nothing_is_left_of_a_site_that_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (new, own) = (dir.path().join("a/b"), dir.path().join("own"));
        drop(SiteFolder::open(&new).unwrap());
        assert!(!dir.path().join("a").exists());
        fs::create_dir(&own).unwrap();
        fs::write(own.join("index.html"), "mine").unwrap();
        assert!(write(&own, &[("index.html", "1")]).is_err());
        let left: Vec<_> = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["index.html"]);
        write(&new, &[("index.html", "1")]).unwrap();
        drop(SiteFolder::open(&new).unwrap());
        assert!(new.join("index.html").exists() && new.join(LIST).exists(), "a site that is there stays");
    }

    #[test]
    fn a_list_that_was_tampered_with_deletes_nothing_outside() {
        let dir = tempfile::tempdir().unwrap();
        let (site, outside) = (dir.path().join("site"), dir.path().join("outside"));
        write(&site, &[("index.html", "1")]).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(&outside, site.join("link")).unwrap();
        let lines = format!("../outside/kept\n{}\nlink/kept\n", outside.join("kept").display());
        fs::write(site.join(LIST), lines).unwrap();
        let _refused = write(&site, &[("other.html", "2")]);
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    }

    #[test]
    fn a_folder_is_written_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let _first = SiteFolder::open(dir.path()).unwrap();
        let error = SiteFolder::open(dir.path()).err().unwrap();
        assert!(error.to_string().contains("another rqps"), "{error}");
    }
}
