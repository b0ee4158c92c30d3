//! Parameter values in the binary encoding of `COM_STMT_EXECUTE`.

use super::decode::push_length;
use crate::Encoding;

/// Integers as 8 bytes, little-endian; strings with their length in front.
#[derive(Clone, Copy, Debug)]
pub enum Binary {}

pub type Params = crate::Params<Binary>;

impl Encoding for Binary {
    #[inline]
    fn push_int(encoded: &mut Vec<u8>, value: i64) {
        encoded.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn push_text(encoded: &mut Vec<u8>, value: &[u8]) {
        encoded.reserve(9 + value.len());
        push_length(encoded, value.len());
        encoded.extend_from_slice(value);
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
