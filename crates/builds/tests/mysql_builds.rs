//! Builds of MySQL and MariaDB: the smallest from a Maven repository and from a Debian suite, and
//! directories.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rqps_builds::{Dirs, check_known, install, resolve};
use rqps_model::{BuildSpec, Dbms};

#[test]
fn builds_of_a_maven_repository_and_of_a_suite_of_debian() {
    let dirs = Dirs::from_env();
    let maven = install(&dirs, Dbms::Mysql, "5.7.22").unwrap();
    assert_eq!(maven.version_num(), 50_722);
    assert!(maven.origin.starts_with("Maven ") && maven.bin_dir.join("mysqld").is_file(), "{maven:?}");
    assert_eq!((&*maven.family.compiler, &*maven.family.flags), ("gcc 4.4.7", "-O3 -fno-omit-frame-pointer"));

    let debian = install(&dirs, Dbms::Mariadb, "10.11").unwrap();
    assert!(debian.version_num() >= 101_118 && debian.version_num() < 101_200, "{debian:?}");
    assert!(debian.origin.starts_with("Debian bookworm mariadb-server-core 1:10.11."), "{}", debian.origin);
    assert!(debian.family.libc.starts_with("its own glibc 2.36"), "{:?}", debian.family);
    // Relocation does not make it another build.
    assert_eq!(install(&dirs, Dbms::Mariadb, &debian.version).unwrap().hash, debian.hash);

    let by_path = resolve(&dirs, &BuildSpec::from_path(Dbms::Mysql, &maven.root)).unwrap();
    assert_eq!((by_path.version, by_path.family), (maven.version, maven.family));
    let other = resolve(&dirs, &BuildSpec::from_path(Dbms::Mariadb, &maven.root)).unwrap_err().to_string();
    assert!(other.contains("it is mysql 5.7.22: write mysql:"), "{other}");
}

#[test]
fn all_missing_libraries_are_named_before_anything_is_run() {
    let everybody = Permissions::from_mode(0o755);
    let scratch = tempfile::Builder::new().permissions(everybody).tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    let spec = BuildSpec::from_path(Dbms::Mysql, scratch.path());
    let unknown = check_known(&spec).unwrap_err().to_string();
    assert!(unknown.contains("no mysqld or mariadbd"), "{unknown}");
    fs::create_dir_all(at("bin")).unwrap();
    fs::create_dir_all(at("share/english")).unwrap();
    fs::write(at("share/english/errmsg.sys"), "").unwrap();
    fs::copy("/usr/bin/true", at("bin/mysqld")).unwrap();
    add_needed(&at("bin/mysqld"), &["libncurses.so.5", "libtinfo.so.5"]);
    check_known(&spec).unwrap();
    let dirs = Dirs { cache: at("cache"), work: at("work") };
    let message = resolve(&dirs, &spec).unwrap_err().to_string();
    assert!(message.contains("lacks libncurses.so.5, libtinfo.so.5"), "{message}");
    assert!(message.contains("apt-get install libncurses5 libtinfo5"), "{message}");
}

/// Makes a program need libraries.
fn add_needed(program: &Path, libraries: &[&str]) {
    let needed = libraries.iter().flat_map(|library| ["--add-needed", library]);
    let status = Command::new("patchelf").args(needed).arg(program).status().expect("patchelf");
    assert!(status.success());
}
