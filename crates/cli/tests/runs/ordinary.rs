//! Runs as an ordinary user, and the secrecy of the servers' passwords.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::{Bench, Running};
use crate::data::password;

/// The user `nobody`.
const NOBODY: &str = "65534";

#[test]
fn an_ordinary_user_runs_and_resumes() {
    let bench = Bench::new();
    fs::set_permissions(bench.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let steps = "steps = [\"update-index\", \"settle\", \"point-query\"]\n";
    let plan = bench.plan("", steps, &["18"]);
    // The original program may be in a directory that others cannot enter.
    let program = bench.path().join("rqps");
    fs::copy(env!("CARGO_BIN_EXE_rqps"), &program).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let as_ordinary = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        if is_root {
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        }
        command
            .arg("--")
            .arg(&program)
            .arg("--results")
            .arg(bench.results())
            .args(arguments)
            .current_dir(bench.path())
            .env("HOME", bench.path().join("home"))
            .env("RQPS_CACHE", rqps_builds::Dirs::from_env().cache)
            .env("RQPS_WORK", bench.work())
            .stdin(Stdio::null());
        command
    };
    let mut running = Running::of(as_ordinary(&["run", plan.to_str().unwrap()]));
    running.expect_line(&["a ", "update-index"]);
    let owner = fs::metadata(bench.folder()).unwrap().uid();
    assert_ne!(owner, 0);
    running.kill();
    bench.expect_no_process();
    Running::of(as_ordinary(&["resume"])).end().expect(0);
    bench.expect_complete(1);
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

fn holds(bytes: &[u8], password: &str) -> bool {
    memchr::memmem::find(bytes, password.as_bytes()).is_some()
}

#[test]
fn a_password_is_in_no_file_that_others_can_read_and_on_no_command_line() {
    let bench = Bench::new();
    let workload = "read_seconds = 3\nsteps = [\"point-query\"]\n";
    let plan = bench.plan("", workload, &["18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&["a ", "load"]);
    let password = password(&bench);
    assert!(password.len() >= 32, "{password}");
    for file in files(bench.path()) {
        // Files of the running server may disappear.
        let (Ok(meta), Ok(content)) = (fs::metadata(&file), fs::read(&file)) else {
            continue;
        };
        if holds(&content, &password) {
            assert_eq!(meta.mode() & 0o077, 0, "{}", file.display());
        }
    }
    for (pid, arguments) in bench.processes() {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(!arguments.contains(&password) && !holds(&environment, &password), "{arguments}");
    }
    let ended = running.end().expect(0);
    assert!(!ended.stderr.contains(&password) && !ended.stdout.contains(&password));
    for file in files(&bench.folder()) {
        assert!(!holds(&fs::read(&file).unwrap(), &password), "{}", file.display());
    }
    bench.expect_complete(0);
}
