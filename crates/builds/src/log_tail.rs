//! The last lines of a log, for errors.

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;

/// Bytes read at most from the end of the log.
const BYTES_MAX: u64 = 64 * 1024;

/// The last lines of a log, ignoring its first `behind_bytes`; a read error is returned as text.
pub fn tail(log: &Path, behind_bytes: u64, lines: usize) -> String {
    let read = || -> Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(behind_bytes.max(end.saturating_sub(BYTES_MAX))))?;
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => last_lines(&String::from_utf8_lossy(&bytes), lines),
        Err(error) => format!("(the log cannot be read: {error})"),
    }
}

pub fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
