//! A directory with `bin/postgres` as a build: the user's own or a distribution's package.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use super::programs::{self, NEEDED};
use crate::build::Build;
use crate::directory::BuildFiles;
use crate::error::{Error, Result};
use crate::family;

/// Prefixes of the names of Postgres's programs.
const POSTGRES_PROGRAMS: [&str; 11] = [
    "pg",
    "post",
    "psql",
    "initdb",
    "create",
    "drop",
    "vacuum",
    "reindexdb",
    "clusterdb",
    "ecpg",
    "oid2name",
];

/// Refuses a directory that lacks a program in [`NEEDED`].
pub(crate) fn check(path: &Path) -> Result<()> {
    let not_a_build = |reason: &str| Error::NotABuild {
        path: path.to_path_buf(),
        reason: format!("{reason}; name a directory that holds bin/postgres, such as /usr/lib/postgresql/15"),
    };
    if !path.exists() {
        return Err(not_a_build("it does not exist"));
    }
    match NEEDED.iter().find(|program| !path.join("bin").join(program).is_file()) {
        Some(program) => Err(not_a_build(&format!("it has no bin/{program}"))),
        None => Ok(()),
    }
}

pub(crate) fn resolve(path: &Path) -> Result<Build> {
    check(path)?;
    let (root, bin_dir) = canonical_dirs(path)?;
    let (files, hash_covers) = BuildFiles {
        root: &root,
        bin_dir: &bin_dir,
        own_programs: &POSTGRES_PROGRAMS,
        own_dirs: &["bin", "lib", "share"],
        shared_dirs: &["lib/postgresql", "share/postgresql"].map(str::to_owned),
        programs: &NEEDED.map(|program| bin_dir.join(program)),
    }
    .collect()?;
    let hash = files.hash()?;
    let (version, version_text) = programs::identify(&root, &bin_dir)?;
    let build = Build {
        dbms: Dbms::Postgres,
        version,
        hash,
        hash_covers,
        origin: format!("directory {}", root.display()),
        size_bytes: files.size_bytes(),
        family: family::detect(&bin_dir, &root, &version_text),
        bin_dir,
        root,
        version_text,
        commit: None,
        notes: Vec::new(),
    };
    programs::check_runnable(&build)?;
    Ok(build)
}

/// Root and program directory with links resolved: Postgres locates its files relative to them.
fn canonical_dirs(path: &Path) -> Result<(PathBuf, PathBuf)> {
    let program = path.join("bin/postgres");
    let program = fs::canonicalize(&program).map_err(Error::file("examine", &program))?;
    let bin_dir = program.parent().unwrap_or(path);
    let root = bin_dir.parent().unwrap_or(bin_dir);
    Ok((root.to_path_buf(), bin_dir.to_path_buf()))
}
