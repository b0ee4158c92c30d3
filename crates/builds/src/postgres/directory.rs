//! A directory with `bin/postgres` as a build: one's own compilation, or a distribution's package.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use super::programs::{self, NEEDED};
use crate::build::Build;
use crate::error::{Error, Result};
use crate::family;
use crate::identity::ProgramFiles;

/// What belongs to a build in a prefix of its own.
const BUILD_SUBDIRECTORIES: [&str; 3] = ["bin", "lib", "share"];

/// What belongs to Postgres in a prefix that it shares with other programs, such as `/usr`.
const SHARED_PREFIX_SUBDIRECTORIES: [&str; 2] = ["lib/postgresql", "share/postgresql"];

/// How the names of Postgres's programs start.
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

/// Refuses a directory without the programs that a server needs.
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
    let (root, bin_dir) = real_place(path)?;
    let (files, hash_covers) = program_files(&root)?;
    let hash = files.hash()?;
    let (version, version_text) = programs::identify(&root, &bin_dir)?;
    let build = Build {
        dbms: Dbms::Postgres,
        version,
        hash,
        hash_covers,
        origin: format!("directory {}", root.display()),
        size_bytes: files.size_bytes(),
        family: family::of_build(&bin_dir, &root, &version_text),
        bin_dir,
        root,
        version_text,
        commit: None,
        notes: Vec::new(),
    };
    programs::check_runnable(&build)?;
    Ok(build)
}

/// The directory with its programs, behind links: Postgres looks for its own files from where its program really is.
fn real_place(path: &Path) -> Result<(PathBuf, PathBuf)> {
    let program = path.join("bin/postgres");
    let program = fs::canonicalize(&program).map_err(Error::file("examine", &program))?;
    let bin_dir = program.parent().unwrap_or(path);
    let root = bin_dir.parent().unwrap_or(bin_dir);
    Ok((root.to_path_buf(), bin_dir.to_path_buf()))
}

/// The files that are hashed, and the phrase that says so.
fn program_files(root: &Path) -> Result<(ProgramFiles, String)> {
    let of_its_own =
        if shares_its_prefix(root)? { None } else { ProgramFiles::collect(root, &BUILD_SUBDIRECTORIES)? };
    if let Some(files) = of_its_own {
        let covers = format!(
            "{} files in bin, lib and share of the directory; libraries and files that it uses elsewhere are not covered",
            files.count()
        );
        return Ok((files, covers));
    }
    let mut files =
        ProgramFiles::collect(root, &SHARED_PREFIX_SUBDIRECTORIES)?.ok_or_else(|| Error::NotABuild {
            path: root.to_path_buf(),
            reason: "it holds too many files to be one build".to_owned(),
        })?;
    for program in NEEDED {
        files.add(&format!("bin/{program}"))?;
    }
    let covers = format!(
        "{} files: bin/postgres, bin/initdb, lib/postgresql and share/postgresql of a directory shared with other programs",
        files.count()
    );
    Ok((files, covers))
}

/// Whether `bin` also holds programs that are not of Postgres.
fn shares_its_prefix(root: &Path) -> Result<bool> {
    let bin_dir = root.join("bin");
    let entries = fs::read_dir(&bin_dir).map_err(Error::file("list", &bin_dir))?;
    Ok(entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !POSTGRES_PROGRAMS.iter().any(|start| name.starts_with(start))
    }))
}
