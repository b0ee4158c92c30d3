//! Lines of a file, one at a time: results may be hundreds of megabytes long, of which few lines matter.

use std::io::{self, BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;

use crate::error::Broken;

/// Longest line: query plans have some hundred kilobytes.
pub const LINE_BYTES_MAX: usize = 1 << 20;
/// Longest file after decompression. A result of that size is no result.
pub const FILE_BYTES_MAX: u64 = 1 << 30;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const BUFFER: usize = 1 << 16;

/// Numbered lines, without their ends. Bytes that are not UTF-8 are replaced.
pub struct Lines<R> {
    input: BufReader<R>,
    bytes: Vec<u8>,
    text: String,
    number: u32,
    left: u64,
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Self {
        let input = BufReader::with_capacity(BUFFER, input);
        Self { input, bytes: Vec::new(), text: String::new(), number: 0, left: FILE_BYTES_MAX }
    }

    /// The number of the last line, from 1; 0 before the first.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The next line; `None` at the end.
    #[allow(clippy::should_implement_trait, reason = "lends the line")]
    pub fn next(&mut self) -> Result<Option<&str>, Broken> {
        Ok(self.next_with_end()?.map(|(_, line, _)| line))
    }

    /// The next line and its number, of a format whose lines end in what counts: one that does not end may have lost
    /// digits.
    pub fn next_whole(&mut self) -> Result<Option<(u32, &str)>, Broken> {
        match self.next_with_end()? {
            Some((at, line, false)) if !line.trim().is_empty() => Err(Broken::cut_off(at)),
            next => Ok(next.map(|(at, line, _)| (at, line))),
        }
    }

    /// The next line with its number, and whether it ends: the last one may not.
    pub fn next_with_end(&mut self) -> Result<Option<(u32, &str, bool)>, Broken> {
        self.bytes.clear();
        let number = self.number + 1;
        let mut limited = (&mut self.input).take(LINE_BYTES_MAX as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|error| Broken::at(number, unreadable(&error)))?;
        if read == 0 {
            return Ok(None);
        }
        self.number = number;
        if read > LINE_BYTES_MAX {
            return Err(Broken::at(number, "longer than 1 MiB, so not a line of results"));
        }
        self.left = self.left.saturating_sub(read as u64);
        if self.left == 0 {
            return Err(Broken::at(number, "the file is longer than 1 GiB: split it"));
        }
        let end = self.bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
        if self.bytes[..end].contains(&0) {
            return Err(Broken::at(number, "a zero byte: this is not text"));
        }
        self.text.clear();
        self.text.push_str(&String::from_utf8_lossy(&self.bytes[..end]));
        Ok(Some((number, &self.text, self.bytes.ends_with(b"\n"))))
    }
}

/// Everything, for formats that are one value. At most [`FILE_BYTES_MAX`] / 16.
pub fn whole(input: impl Read) -> Result<String, Broken> {
    let limit = FILE_BYTES_MAX / 16;
    let mut bytes = Vec::new();
    let read = input.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| Broken::at(1, unreadable(&error)))?;
    if bytes.len() as u64 > limit {
        return Err(Broken::at(1, "longer than 64 MiB"));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        return Err(Broken::at(line, "a zero byte: this is not text"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why reading fails: in most cases compressed data that are not all there.
pub fn unreadable(error: &io::Error) -> String {
    if is_damage(error) {
        return format!("its compressed data are cut off or damaged ({error})");
    }
    format!("cannot be read: {error}")
}

/// Whether the file's content is at fault, not the disk or the permissions.
pub fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

/// Decompresses if the content is gzip.
pub fn decompressed(mut input: impl BufRead + 'static) -> io::Result<Box<dyn Read>> {
    let is_gzip = input.fill_buf()?.starts_with(&GZIP);
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(input)) } else { Box::new(input) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers_and_no_ends() {
        let mut lines = Lines::new(&b"a\r\n\nb\xff"[..]);
        assert_eq!(lines.next().unwrap(), Some("a"));
        assert_eq!(lines.next().unwrap(), Some(""));
        assert_eq!(lines.next().unwrap(), Some("b\u{fffd}"));
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.number(), 3);
    }

    #[test]
    fn a_line_without_its_end_is_told_from_others() {
        assert_eq!(Lines::new(&b"a"[..]).next_with_end().unwrap(), Some((1, "a", false)));
        let mut lines = Lines::new(&b"a\r\n12"[..]);
        assert_eq!(lines.next_whole().unwrap(), Some((1, "a")));
        assert_eq!(lines.next_whole().unwrap_err(), Broken::cut_off(2));
        let mut blank = Lines::new(&b"a\n  "[..]);
        blank.next_whole().unwrap();
        assert_eq!(blank.next_whole().unwrap(), Some((2, "  ")));
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let long = vec![b'x'; LINE_BYTES_MAX + 2];
        assert_eq!(Lines::new(&*long).next().unwrap_err().line, 1);
        let mut lines = Lines::new(&b"a\nb\0c"[..]);
        lines.next().unwrap();
        assert_eq!(lines.next().unwrap_err(), Broken::at(2, "a zero byte: this is not text"));
    }
}
