//! The protocol's data types: little-endian integers, length-encoded integers of one to nine bytes, strings.

use std::io;

use crate::inbox::unexpected;

/// First bytes of a length of more than one byte; `NULL` replaces a length.
pub(super) const NULL: u8 = 0xfb;
const TWO_BYTES: u8 = 0xfc;
const THREE_BYTES: u8 = 0xfd;
const EIGHT_BYTES: u8 = 0xfe;

/// Appends a length in its shortest form.
#[inline]
pub(super) fn push_length(out: &mut Vec<u8>, length: usize) {
    if length < usize::from(NULL) {
        out.push(length as u8);
    } else {
        push_long_length(out, length as u64);
    }
}

#[cold]
fn push_long_length(out: &mut Vec<u8>, length: u64) {
    let bytes = length.to_le_bytes();
    let (mark, used) = match length {
        0..=0xffff => (TWO_BYTES, 2),
        0x1_0000..=0xff_ffff => (THREE_BYTES, 3),
        _ => (EIGHT_BYTES, 8),
    };
    out.push(mark);
    out.extend(bytes.iter().take(used));
}

/// A packet's payload, read from its front.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        match self.0.split_at_checked(count) {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(taken)
            }
            None => Err(unexpected("a truncated packet")),
        }
    }

    /// An integer of `width` bytes, up to eight.
    pub(super) fn int(&mut self, width: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        for (place, byte) in bytes.iter_mut().zip(self.bytes(width)?) {
            *place = *byte;
        }
        Ok(u64::from_le_bytes(bytes))
    }

    /// A length; `None` for NULL.
    pub(super) fn length(&mut self) -> io::Result<Option<u64>> {
        let first = self.int(1)?;
        match first as u8 {
            NULL => Ok(None),
            TWO_BYTES => self.int(2).map(Some),
            THREE_BYTES => self.int(3).map(Some),
            EIGHT_BYTES => self.int(8).map(Some),
            0xff => Err(unexpected("255 where a length was expected")),
            _ => Ok(Some(first)),
        }
    }

    /// A string with its length in front; `None` for NULL.
    pub(super) fn text(&mut self) -> io::Result<Option<&'a [u8]>> {
        let Some(length) = self.length()? else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| unexpected("a text of impossible length"))?;
        self.bytes(length).map(Some)
    }

    /// A string that ends with a zero byte or with the packet.
    pub(super) fn until_zero(&mut self) -> &'a [u8] {
        match self.0.iter().position(|&byte| byte == 0) {
            Some(end) => {
                let (text, rest) = self.0.split_at(end);
                self.0 = rest.get(1..).unwrap_or_default();
                text
            }
            None => std::mem::take(&mut self.0),
        }
    }
}

/// Decodes text from the server. The connection's character set is latin1, but some values (JSON, binary
/// columns) are UTF-8 all the same.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_width_round_trip() {
        for length in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let mut out = Vec::new();
            push_length(&mut out, length);
            let mut reader = Reader(&out);
            assert_eq!(reader.length().unwrap(), Some(length as u64));
            assert!(reader.0.is_empty(), "{length}");
        }
    }

    #[test]
    fn packet_cut_short_is_an_error_not_a_panic() {
        assert!(Reader(&[0xfc, 1]).length().is_err());
        assert!(Reader(&[5, b'a']).text().is_err());
        assert_eq!(Reader(b"abc").until_zero(), b"abc");
    }
}
