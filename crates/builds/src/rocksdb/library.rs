//! A RocksDB library as a build: the file that a user names, or one in a directory.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};
use rqps_model::Dbms;

use super::engine;
use crate::build::Build;
use crate::digest::sha256_of_file;
use crate::error::{Error, Result};
use crate::family;

/// Where a directory may have its library, the first that exists.
const PLACES: [&str; 4] =
    ["librocksdb.so", "lib/librocksdb.so", "lib64/librocksdb.so", "lib/x86_64-linux-gnu/librocksdb.so"];

/// Where a directory may have `db_bench`.
const PROGRAM: &str = "bin/db_bench";

/// The library of a build.
pub fn library_of(build: &Build) -> Result<PathBuf> {
    find(&build.root)
}

/// The own `db_bench` of the build in this directory, if it has one.
pub fn program_in(root: &Path) -> Option<PathBuf> {
    Some(root.join(PROGRAM)).filter(|program| program.is_file())
}

/// The library that a path means.
pub(crate) fn find(path: &Path) -> Result<PathBuf> {
    let not_a_build = |reason: &str| Error::NotABuild {
        path: path.to_path_buf(),
        reason: format!("{reason}; name a librocksdb.so, or a directory with lib/librocksdb.so"),
    };
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    if !path.exists() {
        return Err(not_a_build("it does not exist"));
    }
    let found = PLACES.iter().map(|place| path.join(place)).find(|library| library.is_file());
    found.ok_or_else(|| not_a_build("it has no librocksdb.so"))
}

/// Refuses a file that does not export RocksDB's C API. Does not load it.
pub(crate) fn check_c_api(library: &Path) -> Result<()> {
    let content = fs::read(library).map_err(Error::file("read", library))?;
    let not_a_build = |reason: String| Err(Error::NotABuild { path: library.to_path_buf(), reason });
    let Ok(file) = object::File::parse(&*content) else {
        return not_a_build(
            "it is not a shared library, or cut off; name a librocksdb.so, or copy it again".to_owned(),
        );
    };
    let exports = |wanted: &[u8]| {
        file.dynamic_symbols()
            .any(|symbol| symbol.is_definition() && symbol.name_bytes().is_ok_and(|name| name == wanted))
    };
    if exports(b"rocksdb_open") {
        return Ok(());
    }
    not_a_build(
        "it lacks the C API (no rocksdb_open); compile RocksDB with its C bindings, which is the default, or use a \
         published build"
            .to_owned(),
    )
}

pub(crate) fn resolve(path: &Path) -> Result<Build> {
    let root = fs::canonicalize(path).map_err(|_| Error::NotABuild {
        path: path.to_path_buf(),
        reason: "it does not exist; name a librocksdb.so, or a directory with lib/librocksdb.so".to_owned(),
    })?;
    let library = find(&root)?;
    check_c_api(&library)?;
    let version = version_of(&library)?;
    let meta = fs::metadata(&library).map_err(Error::file("examine", &library))?;
    Ok(Build {
        dbms: Dbms::Rocksdb,
        version_text: format!("RocksDB {version}"),
        version,
        hash: sha256_of_file(&library)?,
        hash_covers: "the library".to_owned(),
        origin: format!("library {}", library.display()),
        bin_dir: library.parent().unwrap_or(&root).to_path_buf(),
        size_bytes: meta.len(),
        family: family::of_library(&library),
        root,
        commit: None,
        notes: Vec::new(),
    })
}

/// The version that the library reports when it runs.
pub(crate) fn version_of(library: &Path) -> Result<String> {
    let options = engine::describe(library)?;
    let version = options.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="));
    version.map(str::to_owned).ok_or_else(|| Error::NotABuild {
        path: library.to_path_buf(),
        reason: "it writes no version into a new database".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_with_the_c_api_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let message = |path: &Path| find(path).and_then(|found| check_c_api(&found)).unwrap_err().to_string();
        assert!(message(dir.path()).contains("has no librocksdb.so"));
        assert!(message(Path::new("/no/such.so")).contains("does not exist"));
        fs::write(dir.path().join("librocksdb.so"), "text").unwrap();
        assert!(message(dir.path()).contains("not a shared library, or cut off"));
        let own = std::env::current_exe().unwrap();
        assert!(message(&own).contains("lacks the C API"));
    }
}
