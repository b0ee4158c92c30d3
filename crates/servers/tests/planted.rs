//! What is done as root in a data directory whose owner is the server's user, who may have planted anything there:
//! whoever is a superuser of the database runs programs as that user.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rqps_builds::server_user;
use rqps_servers::testing::Scratch;
use rqps_servers::{Server, ServerSpec, remove_data_dir, snapshot};

/// Nobody gives up.
static NEVER: AtomicBool = AtomicBool::new(false);

const SECRET: &str = "secret-of-root";

/// A data directory, and a file beside it that only its owner may read.
struct Scene {
    dir: tempfile::TempDir,
    spec: ServerSpec,
    state: (Vec<u8>, u32, u32),
}

impl Scene {
    fn new() -> Scene {
        let (dir, spec) = Scratch::prepare("17").unwrap();
        Server::init(&spec).unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, SECRET).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let state = state_of(&secret);
        Scene { dir, spec, state }
    }

    fn secret(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    fn in_data(&self, name: &str) -> PathBuf {
        self.spec.data_dir.join(name)
    }

    /// Puts another name of the secret in the place of a file, and does something.
    fn with(&self, name: &str, hard: bool, then: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let (place, kept) = (self.in_data(name), self.in_data("kept"));
        let was_there = fs::rename(&place, &kept).is_ok();
        let planted =
            if hard { fs::hard_link(self.secret(), &place) } else { symlink(self.secret(), &place) };
        planted.unwrap();
        let outcome = then();
        assert_eq!(state_of(&self.secret()), self.state, "{name}, hard: {hard}");
        if let Err(message) = &outcome {
            assert!(!message.contains(SECRET), "{message}");
        }
        let copied = files_below(self.dir.path()).into_iter().find(|path| {
            let is_other =
                fs::symlink_metadata(path).unwrap().ino() != fs::metadata(self.secret()).unwrap().ino();
            is_other && fs::read(path).is_ok_and(|content| holds(&content, SECRET))
        });
        assert_eq!(copied, None, "{name}, hard: {hard}: the secret was copied");
        if was_there {
            fs::rename(&kept, &place).unwrap();
        } else {
            fs::remove_file(&place).unwrap();
        }
        outcome
    }

    fn start_and_stop(&self) -> Result<(), String> {
        let text = |error: rqps_servers::Error| error.to_string();
        Server::start(&self.spec).map_err(text)?.stop().map_err(text)
    }
}

fn state_of(path: &Path) -> (Vec<u8>, u32, u32) {
    let meta = fs::metadata(path).unwrap();
    (fs::read(path).unwrap(), meta.uid(), meta.mode())
}

fn holds(content: &[u8], text: &str) -> bool {
    content.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Regular files, no links.
fn files_below(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(path) = open.pop() {
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if kind.is_file() {
            files.push(path);
        }
    }
    files
}

#[test]
fn no_start_reads_or_changes_a_file_elsewhere() {
    let scene = Scene::new();
    let switches = server_user().unwrap().switches;
    for hard in [false, true] {
        // What is written is written anew, in the place of whatever was there.
        scene.with("postgresql.conf", hard, || scene.start_and_stop()).unwrap();
        if !switches {
            // Another name of a file of one's own is no way to get at it.
            continue;
        }
        for read in ["rqps-stock.conf", "PG_VERSION", "rqps.json"] {
            let message = scene.with(read, hard, || scene.start_and_stop()).unwrap_err();
            let says = ["symbolic link", "hard link to another user's", "was not made by rqps"];
            assert!(says.iter().any(|words| message.contains(words)), "{read}: {message}");
        }
        let to = scene.dir.path().join("copy");
        let copy =
            || snapshot(&scene.spec.data_dir, &to, &NEVER).map(|_| ()).map_err(|error| error.to_string());
        let message = scene.with("base/planted", hard, copy).unwrap_err();
        assert!(
            ["points outside", "hard link to another user's"].iter().any(|words| message.contains(words)),
            "{message}"
        );
    }
    scene.start_and_stop().unwrap();
}

#[test]
fn a_data_directory_that_is_a_link_is_neither_used_nor_removed() {
    let scene = Scene::new();
    let elsewhere = scene.dir.path().join("elsewhere");
    fs::rename(&scene.spec.data_dir, &elsewhere).unwrap();
    symlink(&elsewhere, &scene.spec.data_dir).unwrap();
    for message in [
        scene.start_and_stop().unwrap_err(),
        remove_data_dir(&scene.spec.data_dir).unwrap_err().to_string(),
        Server::init(&scene.spec).unwrap_err().to_string(),
    ] {
        assert!(message.contains("was not made by rqps"), "{message}");
    }
    assert!(elsewhere.join("PG_VERSION").is_file());
}

#[test]
fn the_password_is_nowhere_that_servers_can_read() {
    let scene = Scene::new();
    let server = Server::start(&scene.spec).unwrap();
    let password = server.endpoint().password.clone();
    let user = server_user().unwrap();
    let readable: Vec<_> = files_below(scene.dir.path())
        .into_iter()
        .filter(|path| holds(&fs::read(path).unwrap_or_default(), &password))
        .map(|path| (path.clone(), fs::metadata(&path).unwrap()))
        .map(|(path, meta)| (path, meta.uid(), meta.mode() & 0o777))
        .collect();
    let own = rustix::process::geteuid().as_raw();
    let place = scene.dir.path().join("data.password");
    assert_eq!(readable, [(place, own, 0o600)], "the server's user is {}", user.name);
    server.stop().unwrap();
    let kept = scene.dir.path().join("kept");
    snapshot(&scene.spec.data_dir, &kept, &NEVER).unwrap();
    let copy = Server::start(&ServerSpec { data_dir: kept.clone(), ..scene.spec.clone() }).unwrap();
    assert_eq!(copy.endpoint().password, password);
    copy.stop().unwrap();
    remove_data_dir(&kept).unwrap();
    remove_data_dir(&scene.spec.data_dir).unwrap();
    assert!(!scene.dir.path().join("data.password").exists());
}
