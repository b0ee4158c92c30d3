//! Directories as builds.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rqps_builds::{Dirs, resolve};
use rqps_model::{BuildSpec, Dbms};
use rqps_servers::testing::Scratch;

fn open_dir() -> tempfile::TempDir {
    let everybody = Permissions::from_mode(0o755);
    tempfile::Builder::new().permissions(everybody).tempdir().expect("a temporary directory")
}

fn dirs(cache: &Path) -> Dirs {
    Dirs { cache: cache.to_path_buf(), work: cache.to_path_buf() }
}

#[test]
fn a_directory_is_the_same_build_as_its_copy_and_its_link() {
    let build = Scratch::prepare("14").unwrap().1.build;
    let scratch = open_dir();
    let dirs = dirs(scratch.path());
    let by_path = resolve(&dirs, &BuildSpec::from_path(Dbms::Postgres, &build.root)).unwrap();
    assert_eq!((&by_path.hash, &by_path.version), (&build.hash, &build.version));
    assert!(by_path.version_text.contains("compiled by gcc"), "{by_path:?}");
    fs::create_dir(scratch.path().join("bin")).unwrap();
    for program in ["postgres", "initdb"] {
        symlink(build.bin_dir.join(program), scratch.path().join("bin").join(program)).unwrap();
    }
    let by_link = resolve(&dirs, &BuildSpec::from_path(Dbms::Postgres, scratch.path())).unwrap();
    assert_eq!(by_link.root, build.root);
}

#[test]
fn problems_of_a_directory_are_named() {
    let scratch = open_dir();
    let message = |path: &Path| {
        let spec = BuildSpec::from_path(Dbms::Postgres, path);
        resolve(&dirs(&scratch.path().join("cache")), &spec).unwrap_err().to_string()
    };
    assert!(message(&scratch.path().join("none")).contains("does not exist"));
    assert!(message(scratch.path()).contains("no bin/postgres"));

    let bin = scratch.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["postgres", "initdb"] {
        let path = bin.join(program);
        let text = "#!/bin/sh\necho \"$0: error while loading shared libraries: libpam.so.0: cannot open shared object \
                    file: No such file or directory\" >&2\nexit 127\n";
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let missing = message(scratch.path());
    assert!(
        missing.contains("lacks libpam.so.0") && missing.contains("apt-get install libpam0g"),
        "{missing}"
    );
}
