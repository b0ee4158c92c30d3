//! Statement parameters in wire encoding: filling in the values of an execution takes no allocation and no
//! second pass.

use std::marker::PhantomData;

/// How a protocol encodes values.
pub trait Encoding {
    /// Appends a 64-bit integer.
    fn push_int(encoded: &mut Vec<u8>, value: i64);

    /// Appends a character string, without quoting.
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

    /// Removes all values; keeps the memory.
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

    /// Adds a character string, without quoting.
    ///
    /// The value must not contain a zero byte: Postgres rejects it. A value that is too long for the protocol
    /// is an error of the execution, not of this call.
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

    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn encoded(&self) -> &[u8] {
        &self.encoded
    }
}
