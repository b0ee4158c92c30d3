//! The build cache: `<cache>/<dbms>/<version>-<hash>/`, and next to it a manifest, written last.
//!
//! A build is unpacked into a temporary directory, hashed and renamed, and only then gets its manifest. A
//! directory without a manifest is left from an interrupted install; the next install removes it. Installs
//! run one at a time. Content is hashed when a build is used; listing builds checks only times and sizes.

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

/// Increment when the manifest's meaning changes; manifests of other formats are ignored.
const FORMAT: u32 = 1;

/// Prefix of the directories for unpacking.
const PARTIAL_PREFIX: &str = ".partial-";

/// Paths that a cached build's hash covers, from its top: everything.
const ALL: [&str; 1] = [""];

#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

/// The metadata of a build, stored next to its directory.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// Of the archive; for a build from source, the key of its source and build method.
    archive_sha256: String,
    /// See [`ProgramFiles::fingerprint`].
    fingerprint: String,
    /// For a relocated build, the hash of its files after relocation. The build's own hash is that of the
    /// original files, which is the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "fitted_hash")]
    relocated_hash: Option<String>,
    /// The hash of all files where the build's own covers only some: a compiled build's leaves out headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files_hash: Option<String>,
    build: Build,
    /// Other archives or sources that gave the same files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Source>,
}

/// Another archive or source of a build: a commit may change comments only.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Source {
    /// As the manifest's.
    archive_sha256: String,
    origin: String,
    commit: Option<String>,
    family: Family,
}

impl Source {
    /// The build as made from this source.
    fn of(self, build: Build) -> Build {
        let Source { origin, commit, family, .. } = self;
        Build { origin, commit, family, ..build }
    }
}

impl Manifest {
    /// The hash that the files in the cache should have.
    fn content_hash(&self) -> &String {
        self.relocated_hash.as_ref().or(self.files_hash.as_ref()).unwrap_or(&self.build.hash)
    }
}

/// The directory beside a cached build for what is made from it and kept; `None` for builds outside the cache, which
/// may change.
pub fn kept_beside(build: &Build) -> Option<PathBuf> {
    let named = |suffix: &str| {
        let mut name = build.root.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    };
    read_manifest(&named(".json")).map(|_| named(".empty"))
}

impl Cache {
    pub fn published(dirs: &Dirs, dbms: Dbms) -> Cache {
        Cache { dir: dirs.cache.join(dbms.name()) }
    }

    /// Builds compiled here from source.
    pub fn compiled(dirs: &Dirs, dbms: Dbms) -> Cache {
        Cache { dir: dirs.cache.join("source").join(dbms.name()) }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// An intact build made from this archive or source key.
    pub fn find_made_from(&self, sha256: &str) -> Result<Option<Build>> {
        let made_from = |path: &PathBuf| {
            let manifest = read_manifest(path)?;
            if manifest.archive_sha256 == sha256 {
                return self.load_intact(path);
            }
            let source = manifest.others.into_iter().find(|source| source.archive_sha256 == sha256)?;
            Some(source.of(self.load_intact(path)?))
        };
        Ok(self.manifests()?.iter().find_map(made_from))
    }

    /// The archive or source key that a cached build was made from.
    pub fn made_from(&self, build: &Build) -> Option<String> {
        let name = build.root.strip_prefix(&self.dir).ok()?;
        Some(read_manifest(&self.dir.join(format!("{}.json", name.display())))?.archive_sha256)
    }

    /// All builds that look intact; missing and damaged ones are skipped.
    pub fn builds(&self) -> Result<Vec<Build>> {
        Ok(self.manifests()?.iter().filter_map(|path| self.load(path)).collect())
    }

    /// An intact build of exactly this version.
    pub fn find(&self, version: &str) -> Result<Option<Build>> {
        Ok(self.manifests_of(version)?.iter().find_map(|path| self.load_intact(path)))
    }

    /// Verifies the content of a listed build.
    pub fn is_intact(&self, build: &Build) -> bool {
        build.root.file_name().is_some_and(|name| {
            let mut name = name.to_os_string();
            name.push(".json");
            self.load_intact(&self.dir.join(name)).is_some()
        })
    }

    /// Whether this version was ever installed. If so and [`Cache::find`] returns None, its files are
    /// damaged.
    pub fn was_installed(&self, version: &str) -> Result<bool> {
        Ok(!self.manifests_of(version)?.is_empty())
    }

    fn manifests_of(&self, version: &str) -> Result<Vec<PathBuf>> {
        let prefix = format!("{version}-");
        let mut paths = self.manifests()?;
        paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)));
        Ok(paths)
    }

    /// Locks out other installs, in this process and others, until the returned file is dropped.
    pub fn lock(&self) -> Result<File> {
        create_open_dir(&self.dir)?;
        lock_file(&self.dir.join(".lock"))
    }

    /// Returns the build that `find` finds in the cache, or else makes it with the lock held.
    pub fn find_or_make(
        &self,
        find: impl Fn() -> Result<Option<Build>>,
        make: impl FnOnce() -> Result<Build>,
    ) -> Result<Build> {
        if let Some(build) = find()? {
            return Ok(build);
        }
        let _lock = self.lock()?;
        // Another process may have made it in the meantime.
        find()?.map_or_else(make, Ok)
    }

    /// Creates an empty directory to unpack into, on the file system of the cache. Removes leftovers of
    /// interrupted installs. Call with the lock held.
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

    /// Moves an unpacked build to its place in the cache and sets its paths. Call with the lock held.
    pub fn keep(&self, unpacked: &Path, build: Build, archive_sha256: String) -> Result<Build> {
        self.keep_relocated(unpacked, build, archive_sha256, false, |_build| Ok(()))
    }

    /// Like [`Cache::keep`] for a build that can be finished only at its place. `is_relocated`: `finish`
    /// writes the location into the files, so the build cannot be moved.
    pub fn keep_relocated(
        &self,
        unpacked: &Path,
        mut build: Build,
        archive_sha256: String,
        is_relocated: bool,
        finish: impl FnOnce(&mut Build) -> Result<()>,
    ) -> Result<Build> {
        let name = format!("{}-{}", build.version, build.short_hash());
        let root = self.dir.join(&name);
        let manifest_path = self.dir.join(format!("{name}.json"));
        // The same files from another source; a server may be running from them.
        if let Some(existing) = self.load_intact(&manifest_path) {
            let source =
                Source { archive_sha256, origin: build.origin, commit: build.commit, family: build.family };
            return self.keep_source(&manifest_path, existing, source);
        }
        if root.exists() {
            fs::remove_dir_all(&root).map_err(Error::file("remove", &root))?;
        }
        fs::set_permissions(unpacked, Permissions::from_mode(0o755))
            .map_err(Error::file("set permissions of", unpacked))?;
        fs::rename(unpacked, &root).map_err(Error::file("move the new build to", &root))?;
        // Removed again on an error.
        let in_place = Partial { path: root.clone() };
        build.bin_dir = moved(&build.bin_dir, unpacked, &root);
        build.root.clone_from(&root);
        finish(&mut build)?;
        let files = program_files(&root)?;
        let hash = files.hash()?;
        let files_hash = (!is_relocated && hash != build.hash).then(|| hash.clone());
        let relocated_hash = is_relocated.then_some(hash);
        let manifest = Manifest {
            format: FORMAT,
            archive_sha256,
            fingerprint: files.fingerprint(),
            relocated_hash,
            files_hash,
            build: build.clone(),
            others: Vec::new(),
        };
        self.write_manifest(&manifest_path, &manifest)?;
        in_place.keep();
        Ok(build)
    }

    /// Adds a source to an existing build.
    fn keep_source(&self, manifest_path: &Path, existing: Build, source: Source) -> Result<Build> {
        let Some(mut manifest) = read_manifest(manifest_path) else { return Ok(existing) };
        if manifest.archive_sha256 == source.archive_sha256 {
            return Ok(existing);
        }
        manifest.others.retain(|other| other.archive_sha256 != source.archive_sha256);
        manifest.others.push(source.clone());
        self.write_manifest(manifest_path, &manifest)?;
        Ok(source.of(existing))
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

    /// The build of a manifest, if the content of its files is unchanged. A corrupted byte does not change
    /// the time of its file.
    fn load_intact(&self, manifest_path: &Path) -> Option<Build> {
        let manifest = read_manifest(manifest_path)?;
        let hash = program_files(&manifest_path.with_extension("")).ok()?.hash().ok()?;
        (hash == *manifest.content_hash()).then(|| self.load(manifest_path))?
    }

    /// The build of a manifest, if its files look unchanged. If only their times differ (a copied cache),
    /// their content decides.
    fn load(&self, manifest_path: &Path) -> Option<Build> {
        let mut manifest = read_manifest(manifest_path)?;
        let root = manifest_path.with_extension("");
        let files = program_files(&root).ok()?;
        let fingerprint = files.fingerprint();
        // It may have been reached through a link.
        let in_place = || fs::canonicalize(&manifest.build.root).ok() == fs::canonicalize(&root).ok();
        if manifest.relocated_hash.is_some() && !in_place() {
            return None;
        }
        if fingerprint != manifest.fingerprint {
            if files.hash().ok()? != *manifest.content_hash() {
                return None;
            }
            manifest.fingerprint = fingerprint;
            // Only saves hashing again next time; an unwritable cache is fine.
            let _written = self.write_manifest(manifest_path, &manifest);
        }
        manifest.build.bin_dir = moved(&manifest.build.bin_dir, &manifest.build.root, &root);
        manifest.build.root = root;
        // Manifests of older versions of rqps lack it.
        if manifest.build.family == Family::default() {
            let build = &manifest.build;
            manifest.build.family = family::detect(&build.bin_dir, &build.root, &build.version_text);
            let _written = self.write_manifest(manifest_path, &manifest);
        }
        Some(manifest.build)
    }
}

/// Translates a path in one tree to a copy of the tree.
fn moved(path: &Path, from: &Path, to: &Path) -> PathBuf {
    path.strip_prefix(from).map_or_else(|_| to.join("bin"), |relative| to.join(relative))
}

/// Returns None for an invalid manifest.
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

/// A directory that is removed on drop.
#[derive(Debug)]
pub(crate) struct Partial {
    pub path: PathBuf,
}

impl Partial {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // The next install or build removes leftovers.
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
    fn a_relocated_build_is_found_only_at_its_place() {
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
        let kept = cache.keep_relocated(&unpacked, build, String::new(), true, fit).unwrap();
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
    fn each_source_of_the_same_files_is_found_as_itself() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = Dirs { cache: dir.path().to_path_buf(), work: dir.path().join("work") };
        let cache = Cache::compiled(&dirs, Dbms::Postgres);
        let keep = |commit: &str| {
            let _lock = cache.lock().unwrap();
            let partial = cache.partial().unwrap();
            let unpacked = partial.path.join("build");
            let build = Build {
                origin: format!("at {commit}"),
                commit: Some(commit.to_owned()),
                ..unpacked_build(&unpacked)
            };
            cache.keep(&unpacked, build, format!("key of {commit}")).unwrap()
        };
        for commit in ["one", "two", "two", "one"] {
            let kept = keep(commit);
            assert_eq!((&*kept.origin, kept.commit.as_deref()), (&*format!("at {commit}"), Some(commit)));
            assert_eq!(cache.find_made_from(&format!("key of {commit}")).unwrap(), Some(kept));
        }
        assert_eq!(cache.find_made_from("key of three").unwrap(), None);
        assert_eq!(cache.builds().unwrap().len(), 1);
    }

    #[test]
    fn damaged_builds_are_not_found_but_copied_ones_are() {
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
        // A changed byte without a changed time.
        let time = fs::metadata(&program).unwrap().modified().unwrap();
        fs::write(&program, "progra!").unwrap();
        fs::File::options().write(true).open(&program).unwrap().set_modified(time).unwrap();
        assert!(cache.find("18.1").unwrap().is_none() && cache.find_made_from("").unwrap().is_none());
        assert!(!cache.is_intact(&build));
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
