//! The process that loads a library. rqps never loads one itself: it starts itself again with a hidden first argument,
//! as the servers' user.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::cache::Partial;
use crate::error::{Error, Result};
use crate::guard::{Guarded, own_program};
use crate::held_dir::chown_to;
use crate::user::server_user;

/// First argument of the engine process.
pub const ENGINE_ARGUMENT: &str = "__rocksdb-engine";

/// Lines of a failed process that an error shows.
const SHOWN_LINES_MAX: usize = 3;

/// How long a process may take to load a library and answer: far more than a slow disk needs.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// The program that loads a library.
pub fn engine_program() -> Result<PathBuf> {
    let program = own_program()?;
    let user = server_user()?;
    if let Some(directory) = program.parent() {
        user.check_reachable(directory, "move rqps to a directory that everybody can enter")?;
    }
    Ok(program)
}

/// Loads a library in a process of its own, opens a new database with it, and returns the options that RocksDB wrote
/// into that, its version included.
pub fn describe(library: &Path) -> Result<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("rqps-describe-{}-{number}", std::process::id());
    let scratch = Partial { path: std::env::temp_dir().join(name) };
    let user = server_user()?;
    let create = DirBuilder::new().mode(0o700).create(&scratch.path);
    create.map_err(Error::file("create", &scratch.path))?;
    chown_to(&scratch.path, &user)?;
    ask(library, "describe", scratch.path.join("db").as_os_str())
}

/// Whether a library knows an option and obeys it, also one that is not among the options of a new database. A process
/// of its own parses the option alone.
pub fn knows(library: &Path, option: &str) -> Result<bool> {
    Ok(ask(library, "knows", OsStr::new(option))?.trim() == "true")
}

/// Starts the engine process with a question about a library, and returns what it prints.
fn ask(library: &Path, verb: &str, argument: &OsStr) -> Result<String> {
    let user = server_user()?;
    let real = fs::canonicalize(library).map_err(Error::file("find", library))?;
    if let Some(directory) = real.parent() {
        user.check_reachable(directory, "move the library to a directory that everybody can enter")?;
    }
    let mut process = Guarded::new(&engine_program()?, &user, Signal::KILL)?;
    process.command().arg(ENGINE_ARGUMENT).arg(verb).arg(&real).arg(argument);
    let Some(output) = process.output_within(ANSWER_MAX)? else {
        let reason = format!(
            "the process that loads it does not answer within {} s: a constructor of it, or of a library that it needs, \
             hangs",
            ANSWER_MAX.as_secs()
        );
        return Err(Error::NotABuild { path: library.to_path_buf(), reason });
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let reason = match lines[lines.len().saturating_sub(SHOWN_LINES_MAX)..].join("; ") {
        empty if empty.is_empty() => format!(
            "the process that loads it ended with {}: the file is damaged, or compiled for another machine; copy or \
             compile it again",
            output.status
        ),
        said => said,
    };
    Err(Error::NotABuild { path: library.to_path_buf(), reason })
}
