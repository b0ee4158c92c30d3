//! Unpacks random hostile archives. Their entries have few distinct names, so that they collide. A tree next
//! to the target must stay unchanged, and nothing of it may appear in the target.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rqps_model::random::Stream;
use tar::{EntryType, Header};

use super::{tar_stream, zip_folder};

const ARCHIVES: u64 = 1000;
const ENTRIES_MAX: u64 = 14;

/// Only the canary's files contain this.
const SECRET: &str = "canary-secret";

/// Parts of paths; `@` is replaced by the canary's own path.
const PARTS: [&str; 14] =
    ["a", "b", "c", "bin", "a/b", "b/c", "..", "../..", ".", "/", "../canary", "@", "secret", "sub"];

const KINDS: [EntryType; 8] = [
    EntryType::Regular,
    EntryType::Regular,
    EntryType::Directory,
    EntryType::Symlink,
    EntryType::Symlink,
    EntryType::Link,
    EntryType::Char,
    EntryType::Fifo,
];

struct Draws(Stream);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.key(limit) - 1
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    fn path(&mut self, canary: &Path) -> String {
        let parts: Vec<&str> = (0..=self.below(4)).map(|_| self.one_of(&PARTS)).collect();
        parts.join("/").replace('@', &canary.to_string_lossy())
    }
}

fn tar_of(draws: &mut Draws, canary: &Path) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for _ in 0..=draws.below(ENTRIES_MAX) {
        let kind = draws.one_of(&KINDS);
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(draws.one_of(&[0o644, 0o4755, 0o2777, 0]));
        header.set_uid(0);
        // Set directly: the builder refuses paths that a malicious archive may contain.
        let (name, link) = (draws.path(canary), draws.path(canary));
        let bytes = header.as_mut_bytes();
        let length = name.len().min(99);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            let length = link.len().min(99);
            bytes[157..157 + length].copy_from_slice(&link.as_bytes()[..length]);
        }
        let content: &[u8] = if kind == EntryType::Regular { b"unpacked" } else { b"" };
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zip_of(draws: &mut Draws, canary: &Path) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o4755);
    for _ in 0..=draws.below(ENTRIES_MAX) {
        let (name, link) = (draws.path(canary), draws.path(canary));
        // The writer refuses duplicate names.
        if draws.below(2) == 0 {
            let _refused = writer.add_symlink(name, link, options);
        } else if writer.start_file(name, options).is_ok() {
            writer.write_all(b"unpacked").unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// Mode, owner, link count, modification time, content.
type State = (u32, u32, u64, (i64, i64), Vec<u8>);

/// Everything observable about a tree except access times.
fn state_of(root: &Path) -> BTreeMap<PathBuf, State> {
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
        state.insert(
            path,
            (meta.mode(), meta.uid(), meta.nlink(), (meta.mtime(), meta.mtime_nsec()), content),
        );
    }
    state
}

/// Panics if the target holds a copy of the secret, a special file, or a link that leads outside.
fn expect_harmless(target: &Path, archive: u64) {
    let top = fs::canonicalize(target).unwrap();
    for (path, (mode, _, links, _, content)) in state_of(target) {
        let shown = path.display();
        assert!(memchr::memmem::find(&content, SECRET.as_bytes()).is_none(), "{archive}: {shown} is a copy");
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_symlink() {
            let real = fs::canonicalize(&path).unwrap_or_else(|_| panic!("{archive}: {shown} leads nowhere"));
            assert!(real.starts_with(&top), "{archive}: {shown} leads to {}", real.display());
            continue;
        }
        assert!(meta.is_dir() || meta.is_file(), "{archive}: {shown} is something odd");
        assert!(mode & 0o7000 == 0 || meta.is_dir(), "{archive}: {shown} has mode {mode:o}");
        assert!(meta.is_dir() || links == 1, "{archive}: {shown} has {links} names");
    }
}

#[test]
fn no_archive_reaches_outside_its_target() {
    let dir = tempfile::tempdir().unwrap();
    let canary = dir.path().join("canary");
    fs::create_dir_all(canary.join("sub")).unwrap();
    for file in ["secret", "sub/secret"] {
        fs::write(canary.join(file), SECRET).unwrap();
        fs::set_permissions(canary.join(file), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let before = state_of(&canary);
    let (scratch, target) = (dir.path().join("archive"), dir.path().join("target"));
    let mut unpacked = 0;
    for archive in 0..ARCHIVES {
        let mut draws = Draws(Stream::new(&[archive]));
        // Refusing an archive as a whole is fine, too.
        let result = if archive % 4 == 0 {
            fs::write(&scratch, zip_of(&mut draws, &canary)).unwrap();
            zip_folder(&scratch, "", &target, |_| true)
        } else {
            let strip = (archive % 2) as usize;
            tar_stream(tar_of(&mut draws, &canary).as_slice(), strip, &target, |_| true)
        };
        unpacked += u64::from(result.is_ok());
        assert!(state_of(&canary) == before, "archive {archive} changed what lies beside its target");
        let mut others: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        others.retain(|name| name != "canary" && name != "archive" && name != "target");
        assert!(others.is_empty(), "archive {archive} made {others:?}");
        expect_harmless(&target, archive);
        fs::remove_dir_all(&target).unwrap();
    }
    assert!(unpacked > ARCHIVES / 10, "only {unpacked} of {ARCHIVES} could be unpacked");
}
