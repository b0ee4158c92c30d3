//! Lists and tuples of bytes or str: keys are read where the objects keep them.

use crate::column::{Column, Layout, Owner, kind};
use core::slice;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

/// Finds the keys of objects that a tuple holds: all bytes or all str. A str is read as UTF-8, whose bytes order as its
/// code points do.
pub fn column(objects: Bound<'_, PyTuple>) -> PyResult<Column> {
    let mut keys = Vec::with_capacity(objects.len());
    let of_bytes = objects.get_borrowed_item(0).is_ok_and(|first| first.is_instance_of::<PyBytes>());
    for (row, object) in objects.iter_borrowed().enumerate() {
        let key = if of_bytes {
            object.cast::<PyBytes>().ok().map(|bytes| lasting(bytes.as_bytes()))
        } else {
            let text = object.cast::<PyString>().ok();
            text.map(|text| text.to_str().map(|text| lasting(text.as_bytes()))).transpose()?
        };
        keys.push(key.map_or_else(|| Err(wrong(row, &object, of_bytes)), Ok)?);
    }
    Ok(Column { layout: Layout::Anywhere(keys), nulls: None, owner: Owner::Objects(objects.unbind()) })
}

/// The key of an object that the tuple holds.
fn lasting(key: &[u8]) -> &'static [u8] {
    // SAFETY: bytes and str never change, their memory does not move, and the tuple, which never changes either, holds
    // them as long as the column lives.
    unsafe { slice::from_raw_parts(key.as_ptr(), key.len()) }
}

fn wrong(row: usize, object: &Bound<'_, PyAny>, of_bytes: bool) -> PyErr {
    let wanted = match (row, of_bytes) {
        (0, _) => "bytes or str",
        (_, true) => "bytes, as the ones before it",
        (_, false) => "str, as the ones before it",
    };
    match kind(object) {
        Ok(kind) => PyTypeError::new_err(format!("key {row} is {kind}, and has to be {wanted}")),
        Err(error) => error,
    }
}
