//! What functions of the C interface answer: the numbers of the header and their sentences.

use core::ffi::CStr;

/// A status of the header: 0 or what was wrong.
pub type Code = i32;

/// `ORASORT_OK`.
pub const OK: Code = 0;

/// What can be wrong with a call. The numbers are those of `ORASORT_ERROR_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Error {
    /// An argument is null that must not be.
    Null = 1,
    /// The layout is unknown, the width is 0, or an array is not aligned.
    Layout = 2,
    /// Offsets go down or beyond the arena.
    Offsets = 3,
    /// More rows or bytes than can be numbered.
    Size = 4,
    /// A flag without a meaning.
    Flags = 5,
    /// The library panicked.
    Internal = 6,
}

const ALL: [Error; 6] =
    [Error::Null, Error::Layout, Error::Offsets, Error::Size, Error::Flags, Error::Internal];

impl Error {
    /// The number that C sees.
    pub fn code(self) -> Code {
        self as Code
    }

    fn text(self) -> &'static CStr {
        match self {
            Error::Null => c"an argument is NULL that must not be",
            Error::Layout => c"unknown layout, a width of 0, or an array that is not aligned",
            Error::Offsets => c"offsets go down, or beyond the end of the arena",
            Error::Size => c"more rows than the row type can number, or more bytes than an object can have",
            Error::Flags => c"a flag that has no meaning",
            Error::Internal => c"a defect of the library; the handle can be used again",
        }
    }
}

/// The sentence of a status.
pub fn text(code: Code) -> &'static CStr {
    if code == OK {
        return c"done";
    }
    ALL.into_iter().find(|error| error.code() == code).map_or(c"no status of this library", Error::text)
}
