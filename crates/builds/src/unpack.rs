//! Unpacking archives of builds: only what a server needs to run, readable for every user. Nothing beside the target is
//! made, changed or read, whatever an archive holds.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use liblzma::read::XzDecoder;
use tar::EntryType;

use crate::held_dir::HeldDir;

/// Longer than the target of any link in a build.
const LINK_BYTES_MAX: u64 = 4096;

/// Files in these get the right to be executed: some archives do not keep it.
const PROGRAM_DIRS: [&str; 4] = ["bin", "sbin", "libexec", "scripts"];

/// Whether a file is wanted, by its path below the top of the build.
pub(crate) type Filter = fn(&Path) -> bool;

/// Unpacks the files below `folder` of a zip archive (a jar is one).
pub(crate) fn zip_folder(archive: &Path, folder: &str, target: &Path, wanted: Filter) -> io::Result<()> {
    let mut archive = open_zip(archive)?;
    let mut unpacking = Unpacking::to(target)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(io::Error::other)?;
        let Some(path) = entry.enclosed_name() else {
            continue;
        };
        let Ok(relative) = path.strip_prefix(folder) else {
            continue;
        };
        let relative = names(relative).collect::<PathBuf>();
        if entry.is_dir() || !wanted(&relative) {
            continue;
        }
        if entry.is_symlink() {
            let mut link = String::new();
            (&mut entry).take(LINK_BYTES_MAX).read_to_string(&mut link)?;
            unpacking.link(&relative, PathBuf::from(link))?;
            continue;
        }
        let mode = entry.unix_mode().unwrap_or(0o644);
        unpacking.file(&relative, &mut entry, mode)?;
    }
    unpacking.finish()
}

/// Unpacks a gzipped tarball that lies in a zip archive.
pub(crate) fn tarball_in_zip(archive: &Path, inner: &str, target: &Path, wanted: Filter) -> io::Result<()> {
    let mut archive = open_zip(archive)?;
    let entry = archive.by_name(inner).map_err(io::Error::other)?;
    tar_stream(GzDecoder::new(entry), 0, target, wanted)
}

/// Unpacks a tarball without its top directory. Compressed by gzip or xz, as the first bytes say.
pub(crate) fn tarball(archive: &Path, target: &Path, wanted: Filter) -> io::Result<()> {
    let mut start = [0; 6];
    File::open(archive)?.read_exact(&mut start)?;
    let file = BufReader::new(File::open(archive)?);
    match start {
        [0x1f, 0x8b, ..] => tar_stream(GzDecoder::new(file), 1, target, wanted),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => tar_stream(XzDecoder::new(file), 1, target, wanted),
        _ => Err(io::Error::other("it is neither a .tar.gz nor a .tar.xz")),
    }
}

fn open_zip(archive: &Path) -> io::Result<zip::ZipArchive<BufReader<File>>> {
    zip::ZipArchive::new(BufReader::new(File::open(archive)?)).map_err(io::Error::other)
}

/// `strip`: how many directories are taken off the front of each path.
fn tar_stream(stream: impl Read, strip: usize, target: &Path, wanted: Filter) -> io::Result<()> {
    let stripped = |path: &Path| names(path).skip(strip).collect::<PathBuf>();
    let mut unpacking = Unpacking::to(target)?;
    for entry in tar::Archive::new(stream).entries()? {
        let mut entry = entry?;
        let relative = stripped(&entry.path()?);
        if !wanted(&relative) {
            continue;
        }
        let link = entry.link_name()?.map(|link| link.into_owned());
        match (entry.header().entry_type(), link) {
            (EntryType::Regular | EntryType::Continuous, _) => {
                let mode = entry.header().mode().unwrap_or(0o644);
                unpacking.file(&relative, &mut entry, mode)?;
            }
            (EntryType::Symlink, Some(link)) => unpacking.link(&relative, link)?,
            (EntryType::Link, Some(link)) => unpacking.another_name(&relative, &stripped(&link))?,
            // Directories are made for what lies in them; a build needs neither devices nor pipes.
            _ => {}
        }
    }
    unpacking.finish()
}

/// Everything but names (`..`, a leading `/`) is dropped from paths, so they cannot leave the target.
fn names(path: &Path) -> impl Iterator<Item = Component<'_>> {
    path.components().filter(|component| matches!(component, Component::Normal(_)))
}

/// A target that is being filled. Links are made when all files are there: until then there is none that anything
/// could be written or read through.
struct Unpacking {
    target: HeldDir,
    /// Place and text of each link.
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Unpacking {
    fn to(target: &Path) -> io::Result<Unpacking> {
        fs::create_dir_all(target)?;
        let target = HeldDir::open(target).map_err(io::Error::other)?;
        Ok(Unpacking { target, links: BTreeMap::new() })
    }

    /// Takes away what an earlier entry put there. Returns the directory and the last name; none for the top itself.
    fn place<'p>(&mut self, relative: &'p Path) -> io::Result<Option<(HeldDir, &'p Path)>> {
        if relative.as_os_str().is_empty() {
            return Ok(None);
        }
        self.links.remove(relative);
        let (dir, name) = self.target.walk(relative, true).map_err(io::Error::other)?;
        dir.remove_file(name).map_err(io::Error::other)?;
        Ok(Some((dir, name)))
    }

    fn file(&mut self, relative: &Path, content: &mut impl Read, mode: u32) -> io::Result<()> {
        let Some((dir, name)) = self.place(relative)? else { return Ok(()) };
        let mut file = dir.create_file(name, 0o644).map_err(io::Error::other)?;
        io::copy(content, &mut file)?;
        open_up(&file, relative, mode)
    }

    fn link(&mut self, relative: &Path, text: PathBuf) -> io::Result<()> {
        if self.place(relative)?.is_some() {
            self.links.insert(relative.to_path_buf(), text);
        }
        Ok(())
    }

    /// A hard link: the file's content once more.
    fn another_name(&mut self, relative: &Path, of: &Path) -> io::Result<()> {
        if relative == of {
            return Ok(());
        }
        if let Some(text) = self.links.get(of).cloned() {
            return self.link(relative, text);
        }
        let mut content = self.target.open_file(of, None).map_err(io::Error::other)?;
        let mode = content.metadata()?.permissions().mode();
        self.file(relative, &mut content, mode)
    }

    /// Makes the links. One that leads out, or nowhere, is left out.
    fn finish(self) -> io::Result<()> {
        let top = fs::canonicalize(self.target.path())?;
        let mut made = Vec::new();
        let outcome =
            self.links.iter().filter(|(place, text)| stays_in(place, text)).try_for_each(|(place, text)| {
                let (dir, name) = self.target.walk(place, true)?;
                dir.make_link(name, text)?;
                made.push(top.join(place));
                Ok::<(), crate::Error>(())
            });
        // Several links may together lead where none does by its text; without one, another may lead nowhere.
        loop {
            let stays = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|real| real.starts_with(&top));
            let (kept, out): (Vec<_>, Vec<_>) = made.into_iter().partition(stays);
            if out.is_empty() {
                return outcome.map_err(io::Error::other);
            }
            out.iter().try_for_each(fs::remove_file)?;
            made = kept;
        }
    }
}

/// Whether the text of a link at this place never goes above the target, as far as the text tells.
fn stays_in(place: &Path, text: &Path) -> bool {
    let mut depth = place.components().count() - 1;
    text.components().all(|component| match component {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir if depth > 0 => {
            depth -= 1;
            true
        }
        _ => false,
    })
}

fn open_up(file: &File, relative: &Path, mode: u32) -> io::Result<()> {
    let top = relative.components().next().and_then(|first| first.as_os_str().to_str());
    let is_program = top.is_some_and(|top| PROGRAM_DIRS.contains(&top)) || mode & 0o111 != 0;
    file.set_permissions(Permissions::from_mode(if is_program { 0o755 } else { 0o644 }))
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn tar_of(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o640);
            // Set by hand: the builder refuses paths that a malicious archive may have.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            if matches!(*kind, EntryType::Symlink | EntryType::Link) {
                header.set_size(0);
                header.set_link_name(content).unwrap();
                header.set_cksum();
                builder.append(&header, io::empty()).unwrap();
            } else {
                header.set_size(content.len() as u64);
                header.set_cksum();
                builder.append(&header, content.as_bytes()).unwrap();
            }
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn files_are_open_to_all_and_programs_can_be_run() {
        let dir = tempfile::tempdir().unwrap();
        let tar = tar_of(&[
            ("top/bin/mysqld", EntryType::Regular, "program"),
            ("top/share/text", EntryType::Regular, "text"),
            ("top/man/page", EntryType::Regular, "page"),
            ("top/../../share/up", EntryType::Regular, "text"),
        ]);
        tar_stream(tar.as_slice(), 1, dir.path(), |path| !path.starts_with("man")).unwrap();
        let mode = |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("bin/mysqld"), mode("share/text")), (0o755, 0o644));
        assert!(!dir.path().join("man").exists() && dir.path().join("share/up").exists());
    }

    #[test]
    fn nothing_is_made_outside_through_a_link_of_the_archive() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        let tar = tar_of(&[
            ("lib", EntryType::Symlink, outside.to_str().unwrap()),
            ("lib/sub/evil", EntryType::Regular, "x"),
        ]);
        tar_stream(tar.as_slice(), 0, &inside, |_| true).unwrap();
        assert!(fs::read_dir(&outside).unwrap().next().is_none());
        assert!(inside.join("lib/sub/evil").is_file() && !inside.join("lib").is_symlink());
    }

    #[test]
    fn no_file_outside_is_copied_by_a_hard_link_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        let tar = tar_of(&[
            ("way", EntryType::Symlink, outside.to_str().unwrap()),
            ("bin/stolen", EntryType::Link, "way/secret"),
        ]);
        tar_stream(tar.as_slice(), 0, &inside, |_| true).unwrap_err();
        assert!(!inside.join("bin/stolen").exists());
    }

    #[test]
    fn links_stay_where_they_lead_to_something_inside() {
        let dir = tempfile::tempdir().unwrap();
        let tar = tar_of(&[
            ("lib/libx.so", EntryType::Symlink, "libx.so.1"),
            ("lib/libx.so.1", EntryType::Regular, "x"),
            ("bin/x", EntryType::Symlink, "../lib/libx.so"),
            ("bin/y", EntryType::Link, "lib/libx.so.1"),
            ("bin/gone", EntryType::Symlink, "nowhere"),
        ]);
        tar_stream(tar.as_slice(), 0, dir.path(), |_| true).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("bin/x")).unwrap(), "x");
        assert_eq!(fs::read_to_string(dir.path().join("bin/y")).unwrap(), "x");
        assert!(!dir.path().join("bin/gone").is_symlink());
    }
}
