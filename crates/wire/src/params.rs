//! Statement parameters as the load engine fills them in; each protocol has a list of its own that
//! keeps them in the encoding that goes over the wire.

/// A reusable list of parameters, in the order of the statement's placeholders.
pub trait ParamList: Default {
    /// Forgets the values and keeps the memory.
    fn clear(&mut self);

    /// Adds a 64-bit integer.
    fn push_int(&mut self, value: i64);

    /// Adds a character string as it stands, without quoting.
    ///
    /// The value must not hold a zero byte: Postgres rejects it. Values too long for the wire are
    /// reported by the execution, not here.
    fn push_text(&mut self, value: &[u8]);
}
