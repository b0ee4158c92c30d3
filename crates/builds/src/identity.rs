//! The identity of a build: a hash over the files of its programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::digest::{feed, hex};
use crate::error::{Error, Result};

/// More files than any build has; a directory with more is a shared prefix such as `/usr`.
const FILES_MAX: usize = 20_000;

/// The files of a build by path relative to its root, sorted.
#[derive(Debug)]
pub(crate) struct ProgramFiles {
    root: PathBuf,
    files: BTreeMap<PathBuf, Stamp>,
}

/// File attributes that change when the file is replaced.
#[derive(Debug)]
struct Stamp {
    size_bytes: u64,
    modified_ns: i128,
    /// The target of a link to another file of the same build: that file is hashed once.
    link_to: Option<PathBuf>,
}

impl ProgramFiles {
    /// Collects all files in those of the subdirectories of `root` that exist; None if there are too many for
    /// one build. Follows links to files outside of `root`, but not to directories.
    pub fn collect(root: &Path, subdirectories: &[&str]) -> Result<Option<ProgramFiles>> {
        let root = &fs::canonicalize(root).map_err(Error::file("examine", root))?;
        let mut files = BTreeMap::new();
        let mut open: Vec<PathBuf> = subdirectories.iter().map(PathBuf::from).collect();
        while let Some(relative) = open.pop() {
            let directory = root.join(&relative);
            if !directory.is_dir() {
                continue;
            }
            for entry in fs::read_dir(&directory).map_err(Error::file("list", &directory))? {
                let entry = entry.map_err(Error::file("list", &directory))?;
                let path = relative.join(entry.file_name());
                let kind = entry.file_type().map_err(Error::file("examine", entry.path()))?;
                if kind.is_dir() {
                    open.push(path);
                } else if let Some(stamp) = Stamp::read(root, &entry.path())? {
                    files.insert(path, stamp);
                }
            }
            if files.len() > FILES_MAX {
                return Ok(None);
            }
        }
        Ok(Some(ProgramFiles { root: root.to_path_buf(), files }))
    }

    pub fn add(&mut self, relative: &Path) -> Result<()> {
        let path = self.root.join(relative);
        if let Some(stamp) = Stamp::read(&self.root, &path)? {
            self.files.insert(relative.to_path_buf(), stamp);
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.files.len()
    }

    pub fn size_bytes(&self) -> u64 {
        self.files.values().map(|stamp| stamp.size_bytes).sum()
    }

    /// Changes whenever a file is added, removed, resized or rewritten: a cheap test whether the hash is
    /// still valid.
    pub fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, stamp) in &self.files {
            hasher.update(path.as_os_str().as_encoded_bytes());
            hasher.update(format!("\0{}\0{}\n", stamp.size_bytes, stamp.modified_ns));
        }
        hex(&hasher.finalize())
    }

    /// SHA-256 over path, size and content of every file, in path order.
    pub fn hash(&self) -> Result<String> {
        let mut hasher = Sha256::new();
        for (relative, stamp) in &self.files {
            hasher.update(relative.as_os_str().as_encoded_bytes());
            hasher.update(format!("\0{}\n", stamp.size_bytes));
            if let Some(target) = &stamp.link_to {
                hasher.update(target.as_os_str().as_encoded_bytes());
                continue;
            }
            let path = self.root.join(relative);
            let file = File::open(&path).map_err(Error::file("open", &path))?;
            feed(&mut hasher, file).map_err(Error::file("read", &path))?;
        }
        Ok(hex(&hasher.finalize()))
    }
}

impl Stamp {
    /// None if it is neither a file nor a link to one. `root` must be canonical.
    fn read(root: &Path, path: &Path) -> Result<Option<Stamp>> {
        let link_meta = fs::symlink_metadata(path).map_err(Error::file("examine", path))?;
        let meta = if link_meta.is_symlink() {
            let (Ok(meta), Ok(target)) = (fs::metadata(path), fs::canonicalize(path)) else {
                return Ok(None);
            };
            if meta.is_file() && target.starts_with(root) {
                return Ok(Some(Stamp {
                    size_bytes: 0,
                    modified_ns: modified_ns(&link_meta),
                    link_to: Some(fs::read_link(path).map_err(Error::file("examine", path))?),
                }));
            }
            meta
        } else {
            link_meta
        };
        Ok(meta.is_file().then(|| Stamp {
            size_bytes: meta.size(),
            modified_ns: modified_ns(&meta),
            link_to: None,
        }))
    }
}

fn modified_ns(meta: &fs::Metadata) -> i128 {
    i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    fn hash(root: &tempfile::TempDir) -> String {
        let files = ProgramFiles::collect(root.path(), &["bin", "lib"]).unwrap();
        files.unwrap().hash().unwrap()
    }

    #[test]
    fn the_hash_covers_contents_and_names() {
        let one = tree(&[("bin/postgres", "a"), ("lib/x/y.so", "b"), ("doc/z", "1")]);
        let same = tree(&[("lib/x/y.so", "b"), ("bin/postgres", "a"), ("doc/z", "2")]);
        assert_eq!(hash(&one), hash(&same));
        let renamed = tree(&[("bin/postgres", "a"), ("lib/x/z.so", "b")]);
        let moved_boundary = tree(&[("bin/postgres", "ab"), ("lib/x/y.so", "")]);
        assert_ne!(hash(&one), hash(&renamed));
        assert_ne!(hash(&one), hash(&moved_boundary));
    }
}
