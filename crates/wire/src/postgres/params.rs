//! Parameter values in the text format of a Bind message.

use crate::Encoding;

/// Each value as text, with a 4-byte big-endian length in front.
#[derive(Clone, Copy, Debug)]
pub enum Text {}

pub type Params = crate::Params<Text>;

impl Encoding for Text {
    #[inline]
    fn push_int(encoded: &mut Vec<u8>, value: i64) {
        Self::push_text(encoded, itoa::Buffer::new().format(value).as_bytes());
    }

    #[inline]
    fn push_text(encoded: &mut Vec<u8>, value: &[u8]) {
        // A length of more than 32 bits wraps here, but exceeds the limit on all parameters' bytes.
        encoded.reserve(4 + value.len());
        encoded.extend_from_slice(&(value.len() as u32).to_be_bytes());
        encoded.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_length_in_network_order() {
        let mut params = Params::new();
        params.push_int(-42);
        params.push_text(b"");
        params.push_text(&[b'x'; 300]);
        assert_eq!(params.len(), 3);
        let mut expected = vec![0, 0, 0, 3, b'-', b'4', b'2', 0, 0, 0, 0, 0, 0, 1, 44];
        expected.extend([b'x'; 300]);
        assert_eq!(params.encoded(), expected);
    }

    #[test]
    fn cleared_list_starts_over() {
        let mut params = Params::new();
        params.push_text(b"left over");
        params.clear();
        assert!(params.is_empty());
        params.push_int(i64::MIN);
        assert_eq!(params.len(), 1);
        assert_eq!(&params.encoded()[4..], b"-9223372036854775808");
    }
}
