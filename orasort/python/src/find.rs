//! Finds the keys of a Python object, whatever holds them.

use crate::column::{Column, kind};
use crate::{arrow, buffer, objects};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

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
}

/// Whether the object is a single key, which sorting by its bytes or letters would surely not be meant for. A memory
/// view can be of an array.
fn is_one_key(keys: &Bound<'_, PyAny>) -> bool {
    let is_bytes = keys.is_instance_of::<PyBytes>() || keys.is_instance_of::<PyByteArray>();
    is_bytes || keys.is_instance_of::<PyString>()
}
