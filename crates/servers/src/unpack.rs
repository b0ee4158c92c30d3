//! Unpacking archives of builds: only what a server needs to run, readable for every user, and nothing beside the
//! target.

use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use liblzma::read::XzDecoder;
use tar::EntryType;

/// Longer than the target of any link in a build.
const LINK_BYTES_MAX: u64 = 4096;

/// Files in these get the right to be executed: some archives do not keep it.
const PROGRAM_DIRS: [&str; 4] = ["bin", "sbin", "libexec", "scripts"];

/// Whether a file is wanted, by its path below the top of the build.
pub(crate) type Filter = fn(&Path) -> bool;

/// Unpacks the files below `folder` of a zip archive (a jar is one).
pub(crate) fn zip_folder(archive: &Path, folder: &str, target: &Path, wanted: Filter) -> io::Result<()> {
    let mut archive = open_zip(archive)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(io::Error::other)?;
        let Some(path) = entry.enclosed_name() else {
            continue;
        };
        let Ok(relative) = path.strip_prefix(folder) else {
            continue;
        };
        if entry.is_dir() || !wanted(relative) {
            continue;
        }
        let Some(place) = place_for(target, relative)? else {
            continue;
        };
        if entry.is_symlink() {
            let mut link = String::new();
            (&mut entry).take(LINK_BYTES_MAX).read_to_string(&mut link)?;
            symlink(link, &place)?;
            continue;
        }
        let mode = entry.unix_mode().unwrap_or(0o644);
        io::copy(&mut entry, &mut File::create(&place)?)?;
        open_up(&place, relative, mode)?;
    }
    Ok(())
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
    let stripped = |path: &Path| path.components().filter(is_name).skip(strip).collect::<PathBuf>();
    for entry in tar::Archive::new(stream).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let relative = stripped(&path);
        if !wanted(&relative) {
            continue;
        }
        let link = entry.link_name()?.map(|link| link.into_owned());
        match (entry.header().entry_type(), link) {
            (EntryType::Regular | EntryType::Continuous, _) => {
                let Some(place) = place_for(target, &relative)? else { continue };
                let mode = entry.header().mode().unwrap_or(0o644);
                io::copy(&mut entry, &mut File::create(&place)?)?;
                open_up(&place, &relative, mode)?;
            }
            (EntryType::Symlink, Some(link)) => {
                let Some(place) = place_for(target, &relative)? else { continue };
                symlink(link, place)?;
            }
            (EntryType::Link, Some(link)) => {
                let Some(place) = place_for(target, &relative)? else { continue };
                fs::copy(target.join(stripped(&link)), place)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Everything but names (`..`, a leading `/`) is dropped from paths, so they cannot leave the target.
fn is_name(component: &Component<'_>) -> bool {
    matches!(component, Component::Normal(_))
}

/// Where a file goes, its directory made; none for the top itself. Refuses to write through a link out of the target.
fn place_for(target: &Path, relative: &Path) -> io::Result<Option<PathBuf>> {
    let (Some(parent), Some(_)) = (relative.parent(), relative.file_name()) else {
        return Ok(None);
    };
    let directory = target.join(parent);
    fs::create_dir_all(&directory)?;
    if !fs::canonicalize(&directory)?.starts_with(fs::canonicalize(target)?) {
        return Err(io::Error::other(format!("{} leads out of the archive", parent.display())));
    }
    let place = target.join(relative);
    match fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(Some(place)),
    }
}

fn open_up(place: &Path, relative: &Path, mode: u32) -> io::Result<()> {
    let top = relative.components().next().and_then(|first| first.as_os_str().to_str());
    let is_program = top.is_some_and(|top| PROGRAM_DIRS.contains(&top)) || mode & 0o111 != 0;
    fs::set_permissions(place, Permissions::from_mode(if is_program { 0o755 } else { 0o644 }))
}

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
            if *kind == EntryType::Symlink {
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
    fn an_archive_cannot_write_beside_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir_all(&outside).unwrap();
        let tar = tar_of(&[
            ("lib", EntryType::Symlink, outside.to_str().unwrap()),
            ("lib/evil", EntryType::Regular, "x"),
        ]);
        let error = tar_stream(tar.as_slice(), 0, &inside, |_| true).unwrap_err().to_string();
        assert!(error.contains("leads out of the archive"), "{error}");
        assert!(fs::read_dir(&outside).unwrap().next().is_none());
    }
}
