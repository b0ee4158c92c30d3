//! Arrow columns: keys are read from the column's own buffers, one array or the chunks of a stream.

mod abi;
mod views;

pub use abi::{ArrowArray, ArrowSchema, Own, Released};
pub use views::Views;

use crate::buffer::Strided;
use crate::column::{Column, Layout, Nulls, Owner, kind, with_keys};
use abi::ArrowArrayStream;
use core::ffi::c_void;
use core::slice;
use orasort::{Arena, Keys};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// An array whose buffers are in use.
pub type Held = Own<ArrowArray>;

/// The types whose keys are bytes.
#[derive(Clone, Copy)]
enum Kind {
    Binary,
    LargeBinary,
    View,
    Fixed(usize),
}

/// The kind of a schema's type; a `TypeError` where its values are no bytes.
fn kind_of(schema: &Own<ArrowSchema>, object: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let format = schema.format().to_string_lossy();
    let wrong = |what: &str, remedy: &str| {
        let name = kind(object)?;
        Err(PyTypeError::new_err(format!("{name} is {what} (Arrow format {format:?}): {remedy}")))
    };
    if !schema.0.dictionary.is_null() {
        return wrong("dictionary-encoded", "cast it to its value type first");
    }
    match format.as_ref() {
        "z" | "u" => Ok(Kind::Binary),
        "Z" | "U" => Ok(Kind::LargeBinary),
        "vz" | "vu" => Ok(Kind::View),
        "+s" => wrong("a table", "pass one of its columns"),
        other => match other.strip_prefix("w:").and_then(|width| width.parse().ok()) {
            Some(width) => Ok(Kind::Fixed(width)),
            None => wrong(
                "no column of byte arrays",
                "it takes binary, large_binary, binary_view, fixed_size_binary, string, large_string and string_view",
            ),
        },
    }
}

/// Finds the keys of an object with `__arrow_c_array__`.
pub fn column_of_array(object: &Bound<'_, PyAny>) -> PyResult<Column> {
    let (schema, array) =
        object.call_method0("__arrow_c_array__")?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
    let schema = Own::<ArrowSchema>::taken(&schema, c"arrow_schema")?;
    let array = Own::<ArrowArray>::taken(&array, c"arrow_array")?;
    column(kind_of(&schema, object)?, vec![array])
}

/// Finds the keys of an object with `__arrow_c_stream__`.
pub fn column_of_stream(object: &Bound<'_, PyAny>) -> PyResult<Column> {
    let stream = object.call_method0("__arrow_c_stream__")?;
    let mut stream = Own::<ArrowArrayStream>::taken(&stream, c"arrow_array_stream")?;
    let kind = kind_of(&stream.schema()?, object)?;
    let mut arrays = Vec::new();
    while let Some(array) = stream.next()? {
        if array.0.length > 0 {
            arrays.push(array);
        }
    }
    column(kind, arrays)
}

/// One array without nulls is read as it is. Else where each key lies is noted first, 16 bytes a key.
fn column(kind: Kind, arrays: Vec<Held>) -> PyResult<Column> {
    let nulls = nulls_of(&arrays)?;
    let mut layouts = arrays.iter().map(|array| layout(kind, &array.0)).collect::<PyResult<Vec<_>>>()?;
    let layout = match layouts.pop() {
        Some(only) if layouts.is_empty() && nulls.is_none() => only,
        last => {
            layouts.extend(last);
            Layout::Anywhere(noted(&layouts, nulls.as_ref()))
        }
    };
    Ok(Column { layout, nulls, owner: Owner::Arrow(arrays) })
}

/// Where the key of each row lies that is not null. What a null row has for a key may be anything.
fn noted(chunks: &[Layout], nulls: Option<&Nulls>) -> Vec<&'static [u8]> {
    let mut keys = Vec::with_capacity(chunks.iter().map(Layout::len).sum());
    let mut valid = nulls.map_or(&[][..], |nulls| &nulls.valid);
    let mut row = 0;
    for chunk in chunks {
        let end = row + chunk.len();
        let (here, behind) = valid.split_at(valid.partition_point(|&valid| (valid as usize) < end));
        with_keys!(chunk, chunk => match nulls {
            None => keys.extend((0..chunk.len()).map(|row| lasting(chunk.key(row)))),
            Some(_) => keys.extend(here.iter().map(|&valid| lasting(chunk.key(valid as usize - row)))),
        });
        (valid, row) = (behind, end);
    }
    keys
}

/// A key of a chunk, for as long as the column lives.
fn lasting(key: &[u8]) -> &'static [u8] {
    // SAFETY: it lies in a buffer of the arrays, which the column keeps and which nothing changes. Keys of views that
    // are inlined lie in the buffer of views.
    unsafe { slice::from_raw_parts(key.as_ptr(), key.len()) }
}

/// Where the keys of an array lie.
fn layout(kind: Kind, array: &ArrowArray) -> PyResult<Layout> {
    let (offset, length) = (count(array.offset)?, count(array.length)?);
    if length == 0 {
        return Ok(Layout::Anywhere(Vec::new()));
    }
    let last = offset + length;
    // SAFETY: the producer promises buffers of the type's layout for `offset + length` values, that they stay
    // as they are until the array is released, and that offsets are ascending and within the last buffer.
    unsafe {
        Ok(match kind {
            Kind::Binary => {
                let offsets = &buffer::<i32>(array, 1, last + 1)?[offset..];
                let end = count(i64::from(offsets[length]))?;
                Layout::Arena32(Arena { bytes: buffer::<u8>(array, 2, end)?, offsets })
            }
            Kind::LargeBinary => {
                let offsets = &buffer::<i64>(array, 1, last + 1)?[offset..];
                Layout::Arena64(Arena { bytes: buffer::<u8>(array, 2, count(offsets[length])?)?, offsets })
            }
            Kind::View => Layout::Views(Views::new(array, offset, length)?),
            Kind::Fixed(width) => {
                let bytes = buffer::<u8>(array, 1, last * width)?;
                Layout::Strided(Strided::new(bytes[offset * width..].as_ptr(), width as isize, length, width))
            }
        })
    }
}

/// A number of the interface, none of which may be negative.
fn count(number: i64) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| PyValueError::new_err(format!("the Arrow array has a size of {number}")))
}

/// A buffer of an array, for as long as the array is held.
///
/// # Safety
/// Buffer `index`, where there is one and it is not null, holds `length` values that do not change until the array is
/// released.
unsafe fn buffer<T>(array: &ArrowArray, index: usize, length: usize) -> PyResult<&'static [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller promises the same.
    let start = unsafe { pointer(array, index) }?.cast::<T>();
    if start.is_null() || !start.is_aligned() {
        let message = format!("buffer {index} of the Arrow array is missing or not aligned");
        return Err(PyValueError::new_err(message));
    }
    // SAFETY: not null, aligned, and the caller promises its length.
    Ok(unsafe { slice::from_raw_parts(start, length) })
}

/// Where a buffer begins; may be null.
///
/// # Safety
/// The array has the buffers that it says.
unsafe fn pointer(array: &ArrowArray, index: usize) -> PyResult<*const c_void> {
    if array.buffers.is_null() || index >= count(array.n_buffers)? {
        return Err(PyValueError::new_err(format!("the Arrow array has no buffer {index}")));
    }
    // SAFETY: there are `n_buffers` of them.
    Ok(unsafe { array.buffers.add(index).read() })
}

/// Which rows of the arrays are null; none where none is.
fn nulls_of(arrays: &[Held]) -> PyResult<Option<Nulls>> {
    if arrays.iter().all(|array| array.0.null_count == 0) {
        return Ok(None);
    }
    let mut nulls = Nulls { valid: Vec::new(), null: Vec::new() };
    let mut row = 0u32;
    for Own(array) in arrays {
        let (offset, length) = (count(array.offset)?, count(array.length)?);
        // SAFETY: the first buffer is the bitmap of valid values, or null where all are.
        let bitmap = unsafe { pointer(array, 0)? };
        let bits: &[u8] = if array.null_count == 0 || bitmap.is_null() {
            &[]
        } else {
            // SAFETY: a bit for each value, the first `offset` included.
            unsafe { buffer(array, 0, (offset + length).div_ceil(8)) }?
        };
        for place in offset..offset + length {
            let is_valid = bits.is_empty() || bits[place / 8] >> (place % 8) & 1 == 1;
            if is_valid {
                nulls.valid.push(row)
            } else {
                nulls.null.push(row)
            }
            row = row.checked_add(1).ok_or_else(|| PyValueError::new_err("more than 2**32 rows"))?;
        }
    }
    Ok((!nulls.null.is_empty()).then_some(nulls))
}
