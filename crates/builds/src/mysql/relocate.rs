//! Makes programs of Debian's packages run from a prefix, with the packages' own libraries and C library
//! instead of the system's. A program has the absolute path of its loader, so a relocated build cannot be
//! moved.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::libraries;
use crate::user::server_user;

const PATCHELF: Client = Client {
    program: "patchelf",
    package: "patchelf",
    purpose: "run Debian's packages from a prefix",
    limit_s: 300,
};

/// Paths of the dynamic loader in the prefix, with and without Debian's merge of `/lib` into `/usr/lib`.
const LOADERS: [&str; 2] =
    ["usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"];

const PROGRAM_DIRS: [&str; 2] = ["usr/sbin", "usr/bin"];

/// The library search path, relative to the program.
const LIBRARY_PATH: &str =
    "$ORIGIN/../lib/x86_64-linux-gnu:$ORIGIN/../../lib/x86_64-linux-gnu:$ORIGIN/../lib/mysql/private";

/// Patches all programs of the prefix, which must be at its final place.
pub(crate) fn relocate(root: &Path) -> Result<()> {
    let loader = LOADERS.iter().map(|loader| root.join(loader)).find(|loader| loader.is_file());
    let loader = loader.ok_or_else(|| Error::NotABuild {
        path: root.to_path_buf(),
        reason: "the packages contain no C library".to_owned(),
    })?;
    for program in programs(root)? {
        let arguments = [
            "--set-interpreter".as_ref(),
            loader.as_os_str(),
            // RPATH instead of RUNPATH: it also applies to libraries that libraries load.
            "--force-rpath".as_ref(),
            "--set-rpath".as_ref(),
            LIBRARY_PATH.as_ref(),
            program.as_os_str(),
        ];
        if let Err(failure) = PATCHELF.run(&arguments)? {
            return Err(Error::NotABuild { path: program, reason: failure.reason });
        }
        check_self_contained(root, &program)?;
    }
    Ok(())
}

/// Refuses a program that would load a library of the system, and so would change with the system.
fn check_self_contained(root: &Path, program: &Path) -> Result<()> {
    let real_root = fs::canonicalize(root).map_err(Error::file("examine", root))?;
    for library in libraries::needed_by(program, &server_user()?)? {
        let is_own = |file: &PathBuf| fs::canonicalize(file).is_ok_and(|file| file.starts_with(&real_root));
        if !library.file.as_ref().is_some_and(is_own) {
            let reason = format!("the packages do not contain {}, which it needs", library.name);
            return Err(Error::NotABuild { path: program.to_path_buf(), reason });
        }
    }
    Ok(())
}

fn programs(root: &Path) -> Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for dir in PROGRAM_DIRS.map(|dir| root.join(dir)).iter().filter(|dir| dir.is_dir()) {
        for entry in fs::read_dir(dir).map_err(Error::file("list", dir))?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file()) && is_elf(&entry.path()) {
                programs.push(entry.path());
            }
        }
    }
    Ok(programs)
}

fn is_elf(path: &Path) -> bool {
    let mut start = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x7fELF"
}
