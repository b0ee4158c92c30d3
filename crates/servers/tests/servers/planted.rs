//! Root's operations in a data directory whose owner, the server's user, may have planted anything: a
//! superuser of the database can run programs as that user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rqps_builds::server_user;
use rqps_servers::testing::Scratch;
use rqps_servers::{Server, ServerSpec, remove_data_dir, snapshot};

/// Never set.
static NEVER: AtomicBool = AtomicBool::new(false);

const SECRET: &str = "secret-of-root";

/// A data directory, and next to it a file that only its owner may read.
struct Setup {
    dir: tempfile::TempDir,
    spec: ServerSpec,
    state: (Vec<u8>, u32, u32),
}

impl Setup {
    fn new() -> Setup {
        let (dir, spec) = Scratch::prepare("17").unwrap();
        Server::init(&spec).unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, SECRET).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let state = state_of(&secret);
        Setup { dir, spec, state }
    }

    fn secret(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    fn in_data(&self, name: &str) -> PathBuf {
        self.spec.data_dir.join(name)
    }

    /// Replaces a file by a link to the secret, runs `then`, and checks that the secret was neither changed
    /// nor copied.
    fn with_link_at(
        &self,
        name: &str,
        hard: bool,
        then: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let (place, kept) = (self.in_data(name), self.in_data("kept"));
        let existed = fs::rename(&place, &kept).is_ok();
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
            is_other && fs::read(path).is_ok_and(|content| contains(&content, SECRET))
        });
        assert_eq!(copied, None, "{name}, hard: {hard}: the secret was copied");
        if existed {
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

fn contains(content: &[u8], text: &str) -> bool {
    memchr::memmem::find(content, text.as_bytes()).is_some()
}

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
fn a_start_reads_and_changes_no_file_through_a_link() {
    let setup = Setup::new();
    let switches = server_user().unwrap().switches;
    for hard in [false, true] {
        // Files are replaced, never written into.
        setup.with_link_at("postgresql.conf", hard, || setup.start_and_stop()).unwrap();
        if !switches {
            // Without a separate user, a link to one's own file is harmless.
            continue;
        }
        for read in ["rqps-stock.conf", "PG_VERSION", "rqps.json"] {
            let message = setup.with_link_at(read, hard, || setup.start_and_stop()).unwrap_err();
            let expected = ["symbolic link", "hard link to another user's", "was not made by rqps"];
            assert!(expected.iter().any(|words| message.contains(words)), "{read}: {message}");
        }
        let to = setup.dir.path().join("copy");
        let copy =
            || snapshot(&setup.spec.data_dir, &to, &NEVER).map(|_| ()).map_err(|error| error.to_string());
        let message = setup.with_link_at("base/planted", hard, copy).unwrap_err();
        assert!(
            ["points outside", "hard link to another user's"].iter().any(|words| message.contains(words)),
            "{message}"
        );
    }
    setup.start_and_stop().unwrap();
}

#[test]
fn a_data_directory_that_is_a_link_is_neither_used_nor_removed() {
    let setup = Setup::new();
    let elsewhere = setup.dir.path().join("elsewhere");
    fs::rename(&setup.spec.data_dir, &elsewhere).unwrap();
    symlink(&elsewhere, &setup.spec.data_dir).unwrap();
    for message in [
        setup.start_and_stop().unwrap_err(),
        remove_data_dir(&setup.spec.data_dir).unwrap_err().to_string(),
        Server::init(&setup.spec).unwrap_err().to_string(),
    ] {
        assert!(message.contains("was not made by rqps"), "{message}");
    }
    assert!(elsewhere.join("PG_VERSION").is_file());
}

#[test]
fn servers_cannot_read_the_password() {
    let setup = Setup::new();
    let server = Server::start(&setup.spec).unwrap();
    let password = server.endpoint().password.clone();
    let user = server_user().unwrap();
    let readable: Vec<_> = files_below(setup.dir.path())
        .into_iter()
        .filter(|path| contains(&fs::read(path).unwrap_or_default(), &password))
        .map(|path| (path.clone(), fs::metadata(&path).unwrap()))
        .map(|(path, meta)| (path, meta.uid(), meta.mode() & 0o777))
        .collect();
    let own = rustix::process::geteuid().as_raw();
    let place = setup.dir.path().join("data.password");
    assert_eq!(readable, [(place, own, 0o600)], "the server's user is {}", user.name);
    server.stop().unwrap();
    let kept = setup.dir.path().join("kept");
    snapshot(&setup.spec.data_dir, &kept, &NEVER).unwrap();
    let copy = Server::start(&ServerSpec { data_dir: kept.clone(), ..setup.spec.clone() }).unwrap();
    assert_eq!(copy.endpoint().password, password);
    copy.stop().unwrap();
    remove_data_dir(&kept).unwrap();
    remove_data_dir(&setup.spec.data_dir).unwrap();
    assert!(!setup.dir.path().join("data.password").exists());
}
