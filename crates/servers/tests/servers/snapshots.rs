//! Snapshots of real servers' data directories, restored elsewhere.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rqps_servers::testing::Scratch;
use rqps_servers::{Error, Server, remove_data_dir, restore, snapshot};

/// Never set.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Content, mode and owner of every file and directory, by relative path.
fn state_of(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, u32)> {
    let mut state = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let mut content = Vec::new();
        if meta.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if meta.is_file() {
            content = fs::read(&path).unwrap();
        }
        state.insert(path.strip_prefix(root).unwrap().to_path_buf(), (content, meta.mode(), meta.uid()));
    }
    state
}

#[test]
fn a_restored_directory_is_identical_and_starts_elsewhere() {
    let (dir, mut spec) = Scratch::prepare("18").unwrap();
    Server::init(&spec).unwrap();
    let server = Server::start(&spec).unwrap();
    let kept = dir.path().join("kept");
    assert!(matches!(snapshot(&spec.data_dir, &kept, &NEVER), Err(Error::InUse { .. })));
    server.stop().unwrap();
    let sparse = File::create(spec.data_dir.join("base/sparse")).unwrap();
    sparse.set_len(64 << 20).unwrap();
    sparse.write_all_at(b"middle", 40 << 20).unwrap();
    let owner = fs::metadata(spec.data_dir.join("base")).unwrap();
    chown(spec.data_dir.join("base/sparse"), Some(owner.uid()), Some(owner.gid())).unwrap();
    symlink("../base", spec.data_dir.join("pg_tblspc/inside")).unwrap();

    let copied = snapshot(&spec.data_dir, &kept, &NEVER).unwrap();
    assert!(copied.files > 900 && copied.bytes > 64 << 20, "{copied:?}");
    let before = state_of(&kept);
    assert!(before == state_of(&spec.data_dir), "the snapshot differs from what it was taken of");
    let blocks_bytes = fs::metadata(kept.join("base/sparse")).unwrap().blocks() * 512;
    assert!(blocks_bytes < 1 << 20, "the hole was filled: {blocks_bytes} bytes");

    let other = dir.path().join("side-b");
    let secret = dir.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    for round in 0..3 {
        if round == 2 {
            // What the server's user could leave in the directory that is replaced.
            for place in ["global/pg_control", "PG_VERSION", "base/1/PG_VERSION"] {
                fs::remove_file(other.join(place)).unwrap();
            }
            fs::hard_link(&secret, other.join("global/pg_control")).unwrap();
            symlink(&secret, other.join("PG_VERSION")).unwrap();
            fs::create_dir(other.join("base/1/PG_VERSION")).unwrap();
            File::create(other.join("base/stray")).unwrap();
            let sparse = File::options().write(true).open(other.join("base/sparse")).unwrap();
            sparse.write_all_at(&[7; 4096], 1 << 20).unwrap();
            sparse.set_len(80 << 20).unwrap();
        }
        restore(&kept, &other, &NEVER).unwrap();
        assert!(before == state_of(&other), "the restored directory differs from the snapshot");
        spec.data_dir = other.clone();
        let server = Server::start(&spec).unwrap();
        assert!(server.log_tail(50).contains("database system was shut down at"), "{}", server.log_tail(50));
        server.stop().unwrap();
    }
    assert!(before == state_of(&kept), "the snapshot was changed");
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    remove_data_dir(&kept).unwrap();
}

#[test]
fn unclean_and_linked_directories_are_refused() {
    let (dir, spec) = Scratch::prepare("9.6").unwrap();
    let kept = dir.path().join("kept");
    Server::init(&spec).unwrap();
    Server::start(&spec).unwrap().stop_immediately();
    let message = snapshot(&spec.data_dir, &kept, &NEVER).unwrap_err().to_string();
    assert!(message.contains("start it and stop it first"), "{message}");
    Server::start(&spec).unwrap().stop().unwrap();

    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("precious"), "").unwrap();
    assert!(matches!(snapshot(&spec.data_dir, &kept, &NEVER), Err(Error::NotOurs { .. })));
    assert!(kept.join("precious").exists());
    fs::remove_dir_all(&kept).unwrap();

    symlink(dir.path(), spec.data_dir.join("pg_tblspc/16400")).unwrap();
    let message = snapshot(&spec.data_dir, &kept, &NEVER).unwrap_err().to_string();
    assert!(message.contains("points outside"), "{message}");
    assert!(!kept.exists());
    fs::remove_file(spec.data_dir.join("pg_tblspc/16400")).unwrap();
    snapshot(&spec.data_dir, &kept, &NEVER).unwrap();
}

#[test]
fn an_interrupted_copy_leaves_nothing() {
    let (_dir, spec) = Scratch::prepare("18").unwrap();
    Server::init(&spec).unwrap();
    let to = spec.data_dir.with_file_name("copy");
    let error = snapshot(&spec.data_dir, &to, &AtomicBool::new(true)).unwrap_err();
    assert!(error.is_interruption(), "{error}");
    assert!(!to.exists() && !to.with_file_name("copy.initdb").exists());
}
