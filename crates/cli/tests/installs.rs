//! `install` with missing or failing download programs: messages, and no leftovers.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty cache, and a PATH with only `timeout`, which ends programs that hang.
struct Bare {
    dir: tempfile::TempDir,
}

impl Bare {
    fn new() -> std::io::Result<Bare> {
        let everybody = Permissions::from_mode(0o755);
        let dir = tempfile::Builder::new().permissions(everybody).tempdir()?;
        fs::create_dir(dir.path().join("bin"))?;
        symlink("/usr/bin/timeout", dir.path().join("bin/timeout"))?;
        Ok(Bare { dir })
    }

    /// Adds a program that fails with this message.
    fn failing(self, program: &str, words: &str) -> std::io::Result<Bare> {
        let path = self.dir.path().join("bin").join(program);
        fs::write(&path, format!("#!/bin/sh\necho '{words}' >&2\nexit 100\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        Ok(self)
    }

    /// Exit code, and the output of both streams.
    fn install(&self, arguments: &[&str]) -> std::io::Result<(Option<i32>, String)> {
        let output = Command::new(env!("CARGO_BIN_EXE_rqps"))
            .arg("install")
            .args(arguments)
            .env("PATH", self.dir.path().join("bin"))
            .env("RQPS_CACHE", self.cache())
            .env_remove("RQPS_MYSQL_URL")
            .env_remove("RQPS_MARIADB_URL")
            .output()?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok((output.status.code(), text.join("\n")))
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }
}

fn is_empty(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).all(|name| name == ".lock")
}

#[test]
fn a_path_needs_no_installation() -> std::io::Result<()> {
    let (code, text) = Bare::new()?.install(&["rocksdb:/opt/librocksdb.so"])?;
    assert_eq!(code, Some(2));
    assert!(text.contains("build = \"rocksdb:/opt/librocksdb.so\""), "{text}");
    Ok(())
}

#[test]
fn a_missing_client_is_named_with_its_package() {
    let bare = Bare::new().unwrap();
    let (code, output) = bare.install(&["mysql", "5.7.19"]).unwrap();
    assert!(code == Some(3) && output.contains("`mvn` is not in PATH"), "{code:?} {output}");
    assert!(output.contains("apt-get install maven"), "{output}");
    let (code, output) = bare.install(&["mysql", "8.4.3", "--from", "http://127.0.0.1:1/"]).unwrap();
    assert!(code == Some(3) && output.contains("apt-get install curl"), "{code:?} {output}");
    assert!(is_empty(&bare.cache().join("mysql")));
}

#[test]
fn what_a_client_says_is_passed_on() {
    let bare = Bare::new().unwrap().failing("apt-get", "E: no route to ftp://host/x").unwrap();
    let (code, output) = bare.install(&["mariadb", "10.5"]).unwrap();
    assert!(code == Some(3) && output.contains("E: no route to its address"), "{code:?} {output}");
    let bare = bare.failing("mvn", "Could not transfer artifact").unwrap();
    let (code, output) = bare.install(&["mysql", "5.7"]).unwrap();
    assert!(code == Some(3) && output.contains("mysql 5.7.22 failed"), "{code:?} {output}");
    assert!(
        output.contains("Could not transfer artifact") && is_empty(&bare.cache().join("mysql")),
        "{output}"
    );
}

#[test]
fn without_a_version_those_that_there_are_are_listed() {
    let bare = Bare::new().unwrap();
    let (code, output) = bare.install(&["mysql"]).unwrap();
    assert!(code == Some(0) && output.contains("8.0.31") && output.contains("Debian sid"), "{output}");
    let (code, output) = bare.install(&["postgres"]).unwrap();
    let has = |start: &str| output.lines().any(|line| line.starts_with(start));
    assert!(code == Some(0) && has("9.3.5") && has("9.6.") && has("18."), "{code:?} {output}");
    let (code, output) = bare.install(&["mysql", "8.0.31", "--from", "x", "--sha256", "12"]).unwrap();
    assert!(code == Some(2) && output.contains("64 hexadecimal digits"), "{code:?} {output}");
}
