//! Statement parameters, kept in the encoding that goes over the wire: filling in the values of one
//! execution costs no allocation and no second pass.

use crate::params::ParamList;

/// A reusable list of text-format parameters, in the order of the statement's placeholders.
///
/// Each value is stored as a 4-byte big-endian length and its bytes.
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
    pub(crate) fn encoded(&self) -> &[u8] {
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
        self.push_text(itoa::Buffer::new().format(value).as_bytes());
    }

    #[inline]
    fn push_text(&mut self, value: &[u8]) {
        // A length beyond 32 bits wraps here, but can't pass the limit on a list's total size.
        self.encoded.reserve(4 + value.len());
        self.encoded.extend_from_slice(&(value.len() as u32).to_be_bytes());
        self.encoded.extend_from_slice(value);
        self.count += 1;
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
