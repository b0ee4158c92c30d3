//! Reads files that a user names: a plan, a config, a flavour, source code. The file may be an endless device
//! or a pipe without a writer, and may not be text.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rqps_model::did_you_mean;
use rustix::fs::OFlags;

/// Size limit of a user's text file, in bytes: the stock `postgresql.conf` has 30 KB, a plan of 64 arms 10
/// KB.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Reads a regular file of at most `bytes_max`.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    content(open_file(path)?, bytes_max)
}

/// Opens a regular file.
///
/// # Errors
/// Names the kind of a special file.
pub fn open_file(path: &Path) -> Result<File> {
    // Otherwise opening a pipe waits for a writer.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    let rejected_kinds = [
        (kind.is_dir(), "a directory"),
        (kind.is_fifo(), "a pipe"),
        (kind.is_char_device() || kind.is_block_device(), "a device"),
        (!kind.is_file(), "not a file"),
    ];
    if let Some((_, what)) = rejected_kinds.iter().find(|(is, _)| *is) {
        return Err(Error::other(format!("it is {what}: name a regular file")));
    }
    Ok(file)
}

/// Most files of a directory that are looked at for the one that is meant.
const FILES_MAX: usize = 1000;

/// Asks for the file beside a missing one that may be meant, of those with a name that `may_be` it.
pub fn file_meant(path: &Path, may_be: impl Fn(&str) -> bool) -> Option<String> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(directory).ok()?.flatten().take(FILES_MAX);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names.filter(|name| may_be(name)).collect();
    did_you_mean(path.file_name()?.to_str()?, names.iter().map(String::as_str))
}

/// The error of a missing file with a question for the one beside it that may be meant.
pub fn with_file_meant(error: Error, path: &Path) -> Error {
    let question = (error.kind() == ErrorKind::NotFound).then(|| file_meant(path, |_| true)).flatten();
    match question {
        Some(question) => Error::new(error.kind(), format!("it does not exist. {question}")),
        None => error,
    }
}

/// Reads an open file of at most `bytes_max`.
pub(crate) fn content(file: File, bytes_max: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    // The file's size is not enough: it may grow, and is 0 for files in /proc.
    file.take(bytes_max + 1).read_to_end(&mut content)?;
    if content.len() as u64 > bytes_max {
        return Err(Error::other(format!("it has more than {bytes_max} bytes: is it the right file?")));
    }
    Ok(content)
}

/// Reads a text file of at most [`TEXT_BYTES_MAX`].
///
/// # Errors
/// Names the kind of a special file, or the position of the first byte that is not text.
pub fn read_text(path: &Path) -> Result<String> {
    let content = read(path, TEXT_BYTES_MAX)?;
    let (at, what) = match std::str::from_utf8(&content) {
        Err(error) => (error.valid_up_to(), "is not UTF-8: save it as UTF-8"),
        Ok(text) => match text.find('\0') {
            Some(at) => (at, "is not text: is it the right file?"),
            None => return Ok(text.to_owned()),
        },
    };
    let before = String::from_utf8_lossy(&content[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    Err(Error::other(format!("line {line}, column {column}: byte 0x{:02x} {what}", content[at])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        read_text(path).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_up_to_the_size_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(refused(Path::new("/dev/zero")).contains("it is a device"));
        assert!(refused(dir.path()).contains("it is a directory"));
        let pipe = at("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(refused(&pipe).contains("it is a pipe"));
        let endless = at("endless");
        std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
        assert!(refused(&endless).contains("it is a device"));
        let full = at("full");
        fs::write(&full, vec![b'#'; TEXT_BYTES_MAX as usize]).unwrap();
        assert_eq!(read_text(&full).unwrap().len() as u64, TEXT_BYTES_MAX);
        File::options().write(true).open(&full).unwrap().set_len(1 << 40).unwrap();
        assert!(refused(&full).contains("more than 1048576 bytes"));
        assert!(read_text(Path::new("/proc/self/status")).unwrap().contains("Name:"));
    }

    #[test]
    fn the_position_of_a_byte_that_is_not_text_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.toml");
        fs::write(&path, b"name = \"a\"\n# \xc3\xa9t\xe9\n").unwrap();
        assert!(refused(&path).starts_with("line 2, column 5: byte 0xe9 is not UTF-8"), "{}", refused(&path));
        fs::write(&path, b"\xff").unwrap();
        assert!(refused(&path).starts_with("line 1, column 1: byte 0xff"), "{}", refused(&path));
        fs::write(&path, b"a = 1\nb = \0").unwrap();
        assert!(refused(&path).starts_with("line 2, column 5: byte 0x00 is not text"), "{}", refused(&path));
        // A truncated character.
        fs::write(&path, b"ab\xc3").unwrap();
        assert!(refused(&path).starts_with("line 1, column 3: byte 0xc3"), "{}", refused(&path));
    }
}
