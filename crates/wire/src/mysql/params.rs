//! Parameter values in the binary encoding: what `COM_STMT_EXECUTE` carries, ready to be copied.

use super::decode::push_length;
use crate::ParamList;

/// A reusable list of binary parameters: integers as 8 bytes, least first, texts behind their length.
#[derive(Clone, Debug, Default)]
pub struct Params {
    encoded: Vec<u8>,
    count: usize,
}

impl Params {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of values.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no value.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values as the wire wants them.
    #[inline]
    pub(super) fn encoded(&self) -> &[u8] {
        &self.encoded
    }
}

impl ParamList for Params {
    #[inline]
    fn clear(&mut self) {
        self.encoded.clear();
        self.count = 0;
    }

    #[inline]
    fn push_int(&mut self, value: i64) {
        self.encoded.extend_from_slice(&value.to_le_bytes());
        self.count += 1;
    }

    #[inline]
    fn push_text(&mut self, value: &[u8]) {
        self.encoded.reserve(9 + value.len());
        push_length(&mut self.encoded, value.len());
        self.encoded.extend_from_slice(value);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_a_fixed_width_and_texts_a_length() {
        let mut params = Params::new();
        params.push_text(b"left over");
        params.clear();
        params.push_int(-2);
        params.push_text(b"");
        params.push_text(&[b'x'; 300]);
        assert_eq!(params.len(), 3);
        let mut expected = vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0xfc, 44, 1];
        expected.extend([b'x'; 300]);
        assert_eq!(params.encoded(), expected);
    }
}
