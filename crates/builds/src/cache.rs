//! The build cache: `<cache>/<dbms>/<version>-<hash>/` with a manifest beside it, written only once complete.
//!
//! A build is unpacked into a temporary directory, hashed, renamed, and only then gets its manifest; a directory
//! without a manifest is left from an interrupted install, and the next one removes it. Installs run one at a time.
//! Content is hashed when a build is used; a list of builds checks only times and sizes.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;
use serde::{Deserialize, Serialize};

use crate::build::Build;
use crate::dirs::{Dirs, create_open_dir, lock_file};
use crate::error::{Error, Result};
use crate::family;
use crate::identity::ProgramFiles;
use rqps_model::Family;

/// Changes when the manifest's meaning does; others are not read.
const FORMAT: u32 = 1;

/// Start of the name of a directory in which a build is being unpacked.
const PARTIAL_PREFIX: &str = ".partial-";

/// The part of a cached build that its hash covers, as a path from its top: all of it.
const ALL: [&str; 1] = [""];

#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

/// What is known of a build, kept beside its directory.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// Of the archive it was unpacked from; of a build from source the key of what it was made of, and how.
    archive_sha256: String,
    /// See [`ProgramFiles::fingerprint`].
    fingerprint: String,
    /// Of a build that was fitted to its place: the hash of its files as they lie there. The build's own hash is that
    /// of the files as they came, which is the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fitted_hash: Option<String>,
    build: Build,
}

impl Manifest {
    /// Of the files as they lie there.
    fn content_hash(&self) -> &String {
        self.fitted_hash.as_ref().unwrap_or(&self.build.hash)
    }
}

impl Cache {
    pub fn published(dirs: &Dirs, dbms: Dbms) -> Cache {
        Cache { dir: dirs.cache.join(dbms.name()) }
    }

    /// The builds that were made here from source.
    pub fn compiled(dirs: &Dirs, dbms: Dbms) -> Cache {
        Cache { dir: dirs.cache.join("source").join(dbms.name()) }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The intact cached build that was made from exactly this.
    pub fn find_made_from(&self, sha256: &str) -> Result<Option<Build>> {
        let is_made_from =
            |path: &PathBuf| read_manifest(path).is_some_and(|manifest| manifest.archive_sha256 == sha256);
        Ok(self.manifests()?.iter().filter(|path| is_made_from(path)).find_map(|path| self.load_whole(path)))
    }

    /// All intact builds; those whose directory is gone or damaged are skipped.
    pub fn builds(&self) -> Result<Vec<Build>> {
        let mut builds = Vec::new();
        for path in self.manifests()? {
            if let Some(build) = self.load(&path) {
                builds.push(build);
            }
        }
        Ok(builds)
    }

    /// The intact cached build of exactly this version.
    pub fn find(&self, version: &str) -> Result<Option<Build>> {
        Ok(self.manifests_of(version)?.iter().find_map(|path| self.load_whole(path)))
    }

    /// Whether the content of a listed build is unchanged.
    pub fn is_whole(&self, build: &Build) -> bool {
        build.root.file_name().is_some_and(|name| {
            let mut name = name.to_os_string();
            name.push(".json");
            self.load_whole(&self.dir.join(name)).is_some()
        })
    }

    /// Whether this version was installed once; with [`Cache::find`] finding nothing, its files are damaged.
    pub fn was_installed(&self, version: &str) -> Result<bool> {
        Ok(!self.manifests_of(version)?.is_empty())
    }

    fn manifests_of(&self, version: &str) -> Result<Vec<PathBuf>> {
        let prefix = format!("{version}-");
        let mut paths = self.manifests()?;
        paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)));
        Ok(paths)
    }

    /// Locks out other installs, of this and other rqps processes, until the returned file is dropped.
    pub fn lock(&self) -> Result<File> {
        create_open_dir(&self.dir)?;
        lock_file(&self.dir.join(".lock"))
    }

    /// A build that `find` finds in the cache, else one that `make` makes with the lock held.
    pub fn find_or_make(
        &self,
        find: impl Fn() -> Result<Option<Build>>,
        make: impl FnOnce() -> Result<Build>,
    ) -> Result<Build> {
        if let Some(build) = find()? {
            return Ok(build);
        }
        let _lock = self.lock()?;
        // Another process may have made it meanwhile.
        find()?.map_or_else(make, Ok)
    }

    /// An empty directory to unpack into, on the file system of the cache. Leftovers of interrupted installs
    /// are removed. Call with the lock held.
    pub fn partial(&self) -> Result<Partial> {
        for entry in fs::read_dir(&self.dir).map_err(Error::file("list", &self.dir))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PARTIAL_PREFIX) {
                let path = entry.path();
                fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
            }
        }
        let path = self.dir.join(format!("{PARTIAL_PREFIX}{}", std::process::id()));
        create_open_dir(&path)?;
        Ok(Partial { path })
    }

    /// Moves an unpacked build to its place. `build` has everything but its place.
    /// Call with the lock held.
    pub fn keep(&self, unpacked: &Path, build: Build, archive_sha256: String) -> Result<Build> {
        self.keep_fitted(unpacked, build, archive_sha256, false, |_at_its_place| Ok(()))
    }

    /// The same for a build that can be finished only at its place. `is_fitted`: `finish` changes files by where they
    /// lie, so the build cannot be moved.
    pub fn keep_fitted(
        &self,
        unpacked: &Path,
        mut build: Build,
        archive_sha256: String,
        is_fitted: bool,
        finish: impl FnOnce(&mut Build) -> Result<()>,
    ) -> Result<Build> {
        let name = format!("{}-{}", build.version, build.short_hash());
        let root = self.dir.join(&name);
        let manifest_path = self.dir.join(format!("{name}.json"));
        // The same files from elsewhere: a server may be running from those that are here.
        if let Some(here) = self.load_whole(&manifest_path) {
            return Ok(here);
        }
        if root.exists() {
            fs::remove_dir_all(&root).map_err(Error::file("remove", &root))?;
        }
        fs::set_permissions(unpacked, Permissions::from_mode(0o755))
            .map_err(Error::file("set permissions of", unpacked))?;
        fs::rename(unpacked, &root).map_err(Error::file("move the new build to", &root))?;
        // What is not finished does not stay.
        let at_its_place = Partial { path: root.clone() };
        build.bin_dir = moved(&build.bin_dir, unpacked, &root);
        build.root.clone_from(&root);
        finish(&mut build)?;
        let files = program_files(&root)?;
        let fitted_hash = if is_fitted { Some(files.hash()?) } else { None };
        let manifest = Manifest {
            format: FORMAT,
            archive_sha256,
            fingerprint: files.fingerprint(),
            fitted_hash,
            build: build.clone(),
        };
        self.write_manifest(&manifest_path, &manifest)?;
        at_its_place.stays();
        Ok(build)
    }

    fn write_manifest(&self, path: &Path, manifest: &Manifest) -> Result<()> {
        let text = serde_json::to_string_pretty(manifest)
            .map_err(|error| Error::file("write", path)(error.into()))?;
        let partial = path.with_extension("json.partial");
        fs::write(&partial, text).map_err(Error::file("write", &partial))?;
        fs::rename(&partial, path).map_err(Error::file("write", path))
    }

    fn manifests(&self) -> Result<Vec<PathBuf>> {
        if !self.dir.is_dir() {
            return Ok(Vec::new());
        }
        let mut paths: Vec<PathBuf> = fs::read_dir(&self.dir)
            .map_err(Error::file("list", &self.dir))?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        paths.sort();
        Ok(paths)
    }

    /// The build of a manifest when the content of its files is as it was: a byte that a disk or somebody changed
    /// leaves the time of its file.
    fn load_whole(&self, manifest_path: &Path) -> Option<Build> {
        let manifest = read_manifest(manifest_path)?;
        let hash = program_files(&manifest_path.with_extension("")).ok()?.hash().ok()?;
        (hash == *manifest.content_hash()).then(|| self.load(manifest_path))?
    }

    /// The build of a manifest when its files are as they were. When only their times differ (a copied cache), their
    /// content decides.
    fn load(&self, manifest_path: &Path) -> Option<Build> {
        let mut manifest = read_manifest(manifest_path)?;
        let root = manifest_path.with_extension("");
        let files = program_files(&root).ok()?;
        let fingerprint = files.fingerprint();
        // By another way to the same place it is the same build.
        let at_its_place = || fs::canonicalize(&manifest.build.root).ok() == fs::canonicalize(&root).ok();
        if manifest.fitted_hash.is_some() && !at_its_place() {
            return None;
        }
        if fingerprint != manifest.fingerprint {
            if files.hash().ok()? != *manifest.content_hash() {
                return None;
            }
            manifest.fingerprint = fingerprint;
            // Only saves hashing again next time; a cache that cannot be written is no obstacle.
            let _not_needed = self.write_manifest(manifest_path, &manifest);
        }
        manifest.build.bin_dir = moved(&manifest.build.bin_dir, &manifest.build.root, &root);
        manifest.build.root = root;
        // Manifests of earlier programs do not have it.
        if manifest.build.family == Family::default() {
            let build = &manifest.build;
            manifest.build.family = family::of_build(&build.bin_dir, &build.root, &build.version_text);
            let _not_needed = self.write_manifest(manifest_path, &manifest);
        }
        Some(manifest.build)
    }
}

/// A path within one tree, in a copy of that tree.
fn moved(path: &Path, from: &Path, to: &Path) -> PathBuf {
    path.strip_prefix(from).map_or_else(|_| to.join("bin"), |relative| to.join(relative))
}

/// None unless it is a valid manifest.
fn read_manifest(path: &Path) -> Option<Manifest> {
    let manifest: Manifest = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    (manifest.format == FORMAT).then_some(manifest)
}

pub(crate) fn program_files(root: &Path) -> Result<ProgramFiles> {
    ProgramFiles::collect(root, &ALL)?.filter(|files| files.count() > 0).ok_or_else(|| Error::NotABuild {
        path: root.to_path_buf(),
        reason: "it holds no program files".to_owned(),
    })
}

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Partial {
    pub path: PathBuf,
}

impl Partial {
    fn stays(self) {
        std::mem::forget(self);
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // The next install or build removes what is left.
        let _left = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked_build(unpacked: &Path) -> Build {
        fs::create_dir_all(unpacked.join("bin")).unwrap();
        fs::write(unpacked.join("bin/postgres"), "program").unwrap();
        Build {
            dbms: Dbms::Postgres,
            version: "18.1".to_owned(),
            hash: program_files(unpacked).unwrap().hash().unwrap(),
            hash_covers: String::new(),
            origin: String::new(),
            root: unpacked.to_path_buf(),
            bin_dir: unpacked.join("bin"),
            size_bytes: 7,
            version_text: String::new(),
            family: Family::default(),
            commit: None,
            notes: Vec::new(),
        }
    }

    fn kept_build(cache: &Cache) -> Build {
        let _lock = cache.lock().unwrap();
        let partial = cache.partial().unwrap();
        let unpacked = partial.path.join("build");
        cache.keep(&unpacked, unpacked_build(&unpacked), String::new()).unwrap()
    }

    #[test]
    fn a_build_that_was_fitted_to_its_place_is_found_there_only() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = |cache: &str| Dirs { cache: dir.path().join(cache), work: dir.path().join("work") };
        let cache = Cache::published(&dirs("one"), Dbms::Postgres);
        let lock = cache.lock().unwrap();
        let unpacked = cache.partial().unwrap().path.join("build");
        let build = unpacked_build(&unpacked);
        let hash = build.hash.clone();
        let fit = |build: &mut Build| {
            let program = build.bin_dir.join("postgres");
            fs::write(&program, build.root.to_string_lossy().as_bytes())
                .map_err(Error::file("write", &program))
        };
        let kept = cache.keep_fitted(&unpacked, build, String::new(), true, fit).unwrap();
        drop(lock);
        assert_eq!(kept.hash, hash);
        std::os::unix::fs::symlink(dir.path().join("one"), dir.path().join("link")).unwrap();
        let found = |cache: &str| Cache::published(&dirs(cache), Dbms::Postgres).find("18.1").unwrap();
        assert_eq!(found("one"), Some(kept));
        assert!(found("link").is_some());
        fs::rename(dir.path().join("one"), dir.path().join("two")).unwrap();
        assert_eq!(found("two"), None);
    }

    #[test]
    fn a_damaged_build_is_not_found_a_copied_one_is() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = Dirs { cache: dir.path().to_path_buf(), work: dir.path().join("work") };
        let cache = Cache::published(&dirs, Dbms::Postgres);
        assert!(cache.find("18.1").unwrap().is_none());
        let build = kept_build(&cache);
        assert_eq!(cache.find("18.1").unwrap(), Some(build.clone()));
        assert!(cache.find("18").unwrap().is_none());
        let program = build.bin_dir.join("postgres");
        fs::write(&program, "program").unwrap();
        assert_eq!(cache.find("18.1").unwrap(), Some(build.clone()));
        // A changed byte, by whose time nothing is seen.
        let time = fs::metadata(&program).unwrap().modified().unwrap();
        fs::write(&program, "progra!").unwrap();
        fs::File::options().write(true).open(&program).unwrap().set_modified(time).unwrap();
        assert!(cache.find("18.1").unwrap().is_none() && cache.find_made_from("").unwrap().is_none());
        assert!(!cache.is_whole(&build));
        fs::write(&program, "progra!").unwrap();
        assert!(cache.find("18.1").unwrap().is_none());
        assert!(cache.builds().unwrap().is_empty() && cache.was_installed("18.1").unwrap());
        assert_eq!(kept_build(&cache), build);
        assert_eq!(cache.builds().unwrap(), [build]);
        let leftovers = fs::read_dir(&cache.dir).unwrap().flatten();
        assert!(
            !leftovers.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().contains("partial"))
        );
    }
}
