//! `install` where the programs that fetch builds are missing or fail: what is said, and that nothing is left.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty cache, and a PATH with nothing in it but what ends programs that hang.
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

    /// A program that fails with these words.
    fn failing(self, program: &str, words: &str) -> std::io::Result<Bare> {
        let path = self.dir.path().join("bin").join(program);
        fs::write(&path, format!("#!/bin/sh\necho '{words}' >&2\nexit 100\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        Ok(self)
    }

    /// Exit code and what was said on both streams.
    fn install(&self, arguments: &[&str]) -> std::io::Result<(Option<i32>, String)> {
        let output = Command::new(env!("CARGO_BIN_EXE_rqps"))
            .arg("install")
            .args(arguments)
            .env("PATH", self.dir.path().join("bin"))
            .env("RQPS_CACHE", self.cache())
            .env_remove("RQPS_MYSQL_URL")
            .env_remove("RQPS_MARIADB_URL")
            .output()?;
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok((output.status.code(), said.join("\n")))
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
fn a_missing_client_is_named_with_its_package() {
    let bare = Bare::new().unwrap();
    let (code, said) = bare.install(&["mysql", "5.7.19"]).unwrap();
    assert!(code == Some(3) && said.contains("`mvn` is not in PATH"), "{code:?} {said}");
    assert!(said.contains("install the package maven"), "{said}");
    let (code, said) = bare.install(&["mysql", "8.4.3", "--from", "http://127.0.0.1:1/"]).unwrap();
    assert!(code == Some(3) && said.contains("install the package curl"), "{code:?} {said}");
    assert!(is_empty(&bare.cache().join("mysql")));
}

#[test]
fn what_a_client_says_is_passed_on() {
    let bare = Bare::new().unwrap().failing("apt-get", "E: no route to ftp://host/x").unwrap();
    let (code, said) = bare.install(&["mariadb", "10.5"]).unwrap();
    assert!(code == Some(3) && said.contains("E: no route to its address"), "{code:?} {said}");
    let bare = bare.failing("mvn", "Could not transfer artifact").unwrap();
    let (code, said) = bare.install(&["mysql", "5.7"]).unwrap();
    assert!(code == Some(3) && said.contains("mysql 5.7.22 failed"), "{code:?} {said}");
    assert!(said.contains("Could not transfer artifact") && is_empty(&bare.cache().join("mysql")), "{said}");
}

#[test]
fn without_a_version_those_that_there_are_are_listed() {
    let bare = Bare::new().unwrap();
    let (code, said) = bare.install(&["mysql"]).unwrap();
    assert!(code == Some(0) && said.contains("8.0.31") && said.contains("Debian sid"), "{said}");
    let (code, said) = bare.install(&["postgres"]).unwrap();
    assert!(code == Some(2) && said.contains("18 for the newest 18"), "{code:?} {said}");
    let (code, said) = bare.install(&["mysql", "8.0.31", "--from", "x", "--sha256", "12"]).unwrap();
    assert!(code == Some(2) && said.contains("64 hexadecimal digits"), "{code:?} {said}");
}
