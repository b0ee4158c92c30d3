//! `Column`: keys where Python keeps them, whatever holds them there, and which rows are null.

use crate::arrow::{self, Held};
use crate::buffer::Strided;
use orasort::{Arena, Keys};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Where keys lie. They live as long as the `Owner` beside them, not forever: nothing outside a `Column` may keep them.
pub enum Layout {
    /// One buffer with offsets of 32 bits: Arrow's Binary and Utf8.
    Arena32(Arena<'static, i32>),
    /// One buffer with offsets of 64 bits: Arrow's LargeBinary and LargeUtf8.
    Arena64(Arena<'static, i64>),
    /// Arrow's BinaryView and Utf8View.
    Views(arrow::Views),
    /// Keys of one width at even distances: NumPy, Arrow's FixedSizeBinary.
    Strided(Strided),
    /// Keys anywhere: objects of a list, chunks of an Arrow column.
    Anywhere(Vec<&'static [u8]>),
}

/// Does the same with the keys of any layout, each in code of its own.
macro_rules! with_keys {
    ($layout:expr, $keys:ident => $body:expr) => {
        match $layout {
            $crate::column::Layout::Arena32($keys) => $body,
            $crate::column::Layout::Arena64($keys) => $body,
            $crate::column::Layout::Views($keys) => $body,
            $crate::column::Layout::Strided($keys) => $body,
            $crate::column::Layout::Anywhere($keys) => $body,
        }
    };
}
pub(crate) use with_keys;

impl Layout {
    /// The number of keys.
    pub fn len(&self) -> usize {
        with_keys!(self, keys => keys.len())
    }
}

/// What keeps keys alive and in their place.
pub enum Owner {
    /// The objects that were in the list.
    Objects(Py<PyTuple>),
    /// A view through the buffer protocol, which keeps NumPy from moving its memory.
    Buffer(PyUntypedBuffer),
    /// A copy of the keys.
    Copy(Vec<u8>),
    /// Arrow arrays, released when dropped.
    Arrow(Vec<Held>),
}

/// Rows with a key and rows without one, each ascending.
pub struct Nulls {
    /// Rows that have a key.
    pub valid: Vec<u32>,
    /// Rows that have none.
    pub null: Vec<u32>,
}

/// Keys, and what keeps them.
pub struct Column {
    /// Where the keys lie. Where rows are null, these are the keys of the others.
    pub layout: Layout,
    /// None where every row has a key.
    pub nulls: Option<Nulls>,
    /// Dropped last.
    pub owner: Owner,
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.layout.len() + self.nulls.as_ref().map_or(0, |nulls| nulls.null.len())
    }
}

/// The name of an object's type, as error messages have it.
pub fn kind(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let kind = object.get_type();
    let (module, name) = (kind.module()?.to_string(), kind.qualname()?.to_string());
    Ok(if module == "builtins" { name } else { format!("{module}.{name}") })
}
