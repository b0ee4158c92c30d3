//! `Column`: keys where Python keeps them, whatever holds them there, and which rows are null.

use crate::arrow::{self, Held};
use crate::buffer::{self, Strided};
use crate::objects;
use orasort::{Arena, Keys};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

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

const KINDS: &str = "keys have to be a list or tuple of bytes or of str, a NumPy array of dtype S, or an Arrow column of \
                     binary or string";

impl Column {
    /// Finds the keys of a Python object. None are copied, but where `lasting` is set and the object's memory can be
    /// written to: those are.
    pub fn of(keys: &Bound<'_, PyAny>, lasting: bool) -> PyResult<Column> {
        let column = if let Ok(list) = keys.cast::<PyList>() {
            objects::column(list.to_tuple())?
        } else if let Ok(tuple) = keys.cast::<PyTuple>() {
            objects::column(tuple.clone())?
        } else if is_one_key(keys) {
            return Err(PyTypeError::new_err(format!("{KINDS}; this is one {}", kind(keys)?)));
        } else if keys.hasattr("__arrow_c_array__")? {
            arrow::column_of_array(keys)?
        } else if keys.hasattr("__arrow_c_stream__")? {
            arrow::column_of_stream(keys)?
        } else if let Ok(view) = PyUntypedBuffer::get(keys) {
            buffer::column(view, lasting)?
        } else {
            return Err(PyTypeError::new_err(format!("{KINDS}, not {}", kind(keys)?)));
        };
        if u32::try_from(column.len()).is_err() {
            let message = format!("{} keys, and rows are numbered below 2**32", column.len());
            return Err(PyOverflowError::new_err(message));
        }
        Ok(column)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.layout.len() + self.nulls.as_ref().map_or(0, |nulls| nulls.null.len())
    }
}

/// Whether the object is a single key, which sorting by its bytes or letters would surely not be meant for. A memory
/// view can be of an array.
fn is_one_key(keys: &Bound<'_, PyAny>) -> bool {
    let is_bytes = keys.is_instance_of::<PyBytes>() || keys.is_instance_of::<PyByteArray>();
    is_bytes || keys.is_instance_of::<PyString>()
}

/// The name of an object's type, as error messages have it.
pub fn kind(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let kind = object.get_type();
    let (module, name) = (kind.module()?.to_string(), kind.qualname()?.to_string());
    Ok(if module == "builtins" { name } else { format!("{module}.{name}") })
}
