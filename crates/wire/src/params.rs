//! Statement parameters, kept in the encoding that goes over the wire: filling in the values of one
//! execution costs no allocation and no second pass.

use std::marker::PhantomData;

/// How a protocol writes a value behind those before it.
pub trait Encoding {
    /// Writes a 64-bit integer.
    fn push_int(encoded: &mut Vec<u8>, value: i64);

    /// Writes a character string as it stands.
    fn push_text(encoded: &mut Vec<u8>, value: &[u8]);
}

/// A reusable list of parameters in encoding `E`, in the order of the statement's placeholders.
#[derive(Clone, Debug)]
pub struct Params<E> {
    encoded: Vec<u8>,
    count: usize,
    encoding: PhantomData<E>,
}

impl<E> Default for Params<E> {
    fn default() -> Self {
        Self { encoded: Vec::new(), count: 0, encoding: PhantomData }
    }
}

impl<E: Encoding> Params<E> {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the values and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.encoded.clear();
        self.count = 0;
    }

    /// Adds a 64-bit integer.
    #[inline]
    pub fn push_int(&mut self, value: i64) {
        E::push_int(&mut self.encoded, value);
        self.count += 1;
    }

    /// Adds a character string as it stands, without quoting.
    ///
    /// The value must not hold a zero byte: Postgres rejects it. Values too long for the wire are
    /// reported by the execution, not here.
    #[inline]
    pub fn push_text(&mut self, value: &[u8]) {
        E::push_text(&mut self.encoded, value);
        self.count += 1;
    }

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
