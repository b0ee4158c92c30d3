//! Unpacks archives of builds: only the files that a server needs, readable by every user. No archive can
//! create, change or read anything outside the target.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use liblzma::read::XzDecoder;
use tar::EntryType;

use crate::held_dir::HeldDir;

/// Longer than any link target in a build.
const LINK_BYTES_MAX: u64 = 4096;

/// Files in these directories become executable; some archives lose that bit.
const PROGRAM_DIRS: [&str; 4] = ["bin", "sbin", "libexec", "scripts"];

/// What a tarball that is not compressed has, and where.
const TAR_MAGIC: (&[u8], usize) = (b"ustar", 257);

/// Selects files by their path below the top of the build.
pub(crate) type Filter = fn(&Path) -> bool;

/// Unpacks the files below `folder` of a zip archive or jar.
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
        let relative = normal_components(relative).collect::<PathBuf>();
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

/// Unpacks a gzipped tarball inside a zip archive.
pub(crate) fn tarball_in_zip(archive: &Path, inner: &str, target: &Path, wanted: Filter) -> io::Result<()> {
    let mut archive = open_zip(archive)?;
    let entry = archive.by_name(inner).map_err(io::Error::other)?;
    tar_stream(GzDecoder::new(entry), 0, target, wanted)
}

/// Writes a file of a zip archive or jar to `target`.
pub(crate) fn file_in_zip(archive: &Path, inner: &str, target: &Path) -> io::Result<()> {
    let mut archive = open_zip(archive)?;
    let mut entry = archive.by_name(inner).map_err(io::Error::other)?;
    io::copy(&mut entry, &mut File::create(target)?).map(|_bytes| ())
}

/// Unpacks a tarball without its top directory.
pub(crate) fn tarball(archive: &Path, target: &Path, wanted: Filter) -> io::Result<()> {
    tarball_without(1, archive, target, wanted)
}

/// Unpacks a tarball that has no top directory.
pub(crate) fn whole_tarball(archive: &Path, target: &Path, wanted: Filter) -> io::Result<()> {
    tarball_without(0, archive, target, wanted)
}

/// The first bytes show whether it is gzip or xz.
fn tarball_without(strip: usize, archive: &Path, target: &Path, wanted: Filter) -> io::Result<()> {
    let mut start = Vec::new();
    let until = TAR_MAGIC.1 + TAR_MAGIC.0.len();
    File::open(archive)?.take(until as u64).read_to_end(&mut start)?;
    let file = BufReader::new(File::open(archive)?);
    match start.as_slice() {
        [0x1f, 0x8b, ..] => tar_stream(GzDecoder::new(file), strip, target, wanted),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => tar_stream(XzDecoder::new(file), strip, target, wanted),
        _ if start.ends_with(TAR_MAGIC.0) => tar_stream(file, strip, target, wanted),
        _ => Err(io::Error::other("it is neither a .tar, a .tar.gz nor a .tar.xz")),
    }
}

fn open_zip(archive: &Path) -> io::Result<zip::ZipArchive<BufReader<File>>> {
    zip::ZipArchive::new(BufReader::new(File::open(archive)?)).map_err(io::Error::other)
}

/// Drops the first `strip` directories of each path.
fn tar_stream(stream: impl Read, strip: usize, target: &Path, wanted: Filter) -> io::Result<()> {
    let stripped = |path: &Path| normal_components(path).skip(strip).collect::<PathBuf>();
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
            (EntryType::Link, Some(link)) => unpacking.hard_link(&relative, &stripped(&link))?,
            // Directories are created with their files; a build needs no devices or pipes.
            _ => {}
        }
    }
    unpacking.finish()
}

/// Keeps only normal components: without `..` and a leading `/` a path cannot leave the target.
fn normal_components(path: &Path) -> impl Iterator<Item = Component<'_>> {
    path.components().filter(|component| matches!(component, Component::Normal(_)))
}

/// A target being filled. Links are created after all files, so no file is written or read through one.
struct Unpacking {
    target: HeldDir,
    /// Link path to link text.
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Unpacking {
    fn to(target: &Path) -> io::Result<Unpacking> {
        fs::create_dir_all(target)?;
        let target = HeldDir::open(target).map_err(io::Error::other)?;
        Ok(Unpacking { target, links: BTreeMap::new() })
    }

    /// Removes what an earlier entry created there. Returns the directory and the file name, or None for the
    /// top itself.
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
        set_mode(&file, relative, mode)
    }

    fn link(&mut self, relative: &Path, text: PathBuf) -> io::Result<()> {
        if self.place(relative)?.is_some() {
            self.links.insert(relative.to_path_buf(), text);
        }
        Ok(())
    }

    /// A hard link, unpacked as a copy of the file.
    fn hard_link(&mut self, relative: &Path, original: &Path) -> io::Result<()> {
        if relative == original {
            return Ok(());
        }
        if let Some(text) = self.links.get(original).cloned() {
            return self.link(relative, text);
        }
        let mut content = self.target.open_file(original, None).map_err(io::Error::other)?;
        let mode = content.metadata()?.permissions().mode();
        self.file(relative, &mut content, mode)
    }

    /// Creates the links, except those that point outside the target or nowhere.
    fn finish(self) -> io::Result<()> {
        let top = fs::canonicalize(self.target.path())?;
        let mut created = Vec::new();
        let mut links = self.links.iter().filter(|(place, text)| text_stays_inside(place, text));
        let result = links.try_for_each(|(place, text)| {
            let (dir, name) = self.target.walk(place, true)?;
            dir.make_link(name, text)?;
            created.push(top.join(place));
            Ok::<(), crate::Error>(())
        });
        // Several links together may lead outside although each text alone does not. Removing one may leave
        // another dangling.
        loop {
            let is_inside = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|real| real.starts_with(&top));
            let (inside, outside): (Vec<_>, Vec<_>) = created.into_iter().partition(is_inside);
            if outside.is_empty() {
                return result.map_err(io::Error::other);
            }
            outside.iter().try_for_each(fs::remove_file)?;
            created = inside;
        }
    }
}

/// Whether the link's text alone never goes above the target.
fn text_stays_inside(place: &Path, text: &Path) -> bool {
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

fn set_mode(file: &File, relative: &Path, mode: u32) -> io::Result<()> {
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
            // Set directly: the builder refuses paths that a malicious archive may contain.
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
    fn files_are_readable_and_programs_executable_by_all() {
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
    fn a_link_in_the_archive_does_not_redirect_files_outside() {
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
    fn a_hard_link_through_a_symlink_copies_nothing_from_outside() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        let tar = tar_of(&[
            ("link", EntryType::Symlink, outside.to_str().unwrap()),
            ("bin/stolen", EntryType::Link, "link/secret"),
        ]);
        tar_stream(tar.as_slice(), 0, &inside, |_| true).unwrap_err();
        assert!(!inside.join("bin/stolen").exists());
    }

    #[test]
    fn links_are_kept_if_they_point_to_a_file_inside() {
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
