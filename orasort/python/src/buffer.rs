//! NumPy arrays of fixed-width bytes, and whatever else shows such an array through the buffer protocol.

use crate::column::{Column, Layout, Owner};
use core::slice;
use orasort::Keys;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Keys of one width at even distances, in either direction.
pub struct Strided {
    start: *const u8,
    stride: isize,
    count: usize,
    width: usize,
}

// SAFETY: the memory is only read, and its owner keeps it in place whichever thread looks at it.
unsafe impl Send for Strided {}
// SAFETY: the same.
unsafe impl Sync for Strided {}

impl Strided {
    /// # Safety
    /// Key `row < count` is the `width` bytes at `start + row * stride`, for as long as this is used.
    pub unsafe fn new(start: *const u8, stride: isize, count: usize, width: usize) -> Strided {
        Strided { start, stride, count, width }
    }
}

impl Keys for Strided {
    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        assert!(row < self.count, "row {row} of {}", self.count);
        // SAFETY: `new` was promised that the key is there.
        unsafe { slice::from_raw_parts(self.start.offset(row as isize * self.stride), self.width) }
    }
}

/// Finds the keys of an array of one dimension whose items are bytes (`S` and `V` of NumPy), or of two dimensions of
/// single bytes, each row a key. Keys are compared with the zero bytes that fill them up, which gives NumPy's order.
///
/// Where the keys have to last and the memory can be written to, they are copied: between two rows that are pulled, the
/// program might write to them.
pub fn column(view: PyUntypedBuffer, lasting: bool) -> PyResult<Column> {
    let Some((stride, count, width)) = shape(&view) else {
        let message = format!(
            "an array of {} dimensions and items of format {:?} is no list of byte arrays: it takes dtype S, or two \
             dimensions of uint8",
            view.dimensions(),
            view.format(),
        );
        return Err(PyTypeError::new_err(message));
    };
    let start = view.buf_ptr().cast_const().cast::<u8>();
    // SAFETY: the view says so of its memory, and keeps it there until it is released.
    let keys = unsafe { Strided::new(start, stride, count, width) };
    if view.readonly() || !lasting {
        return Ok(Column { layout: Layout::Strided(keys), nulls: None, owner: Owner::Buffer(view) });
    }
    let mut copy = Vec::with_capacity(count * width);
    for row in 0..count {
        copy.extend_from_slice(keys.key(row));
    }
    // SAFETY: the keys were just put there one behind the other, and nothing changes the vector's memory.
    let keys = unsafe { Strided::new(copy.as_ptr(), width as isize, count, width) };
    Ok(Column { layout: Layout::Strided(keys), nulls: None, owner: Owner::Copy(copy) })
}

/// Distance, number and width of the keys, all but the number in bytes. None where the items are no keys.
fn shape(view: &PyUntypedBuffer) -> Option<(isize, usize, usize)> {
    if view.suboffsets().is_some() {
        return None;
    }
    let format = view.format().to_bytes();
    let (&kind, digits) = format.split_last()?;
    match (view.shape(), view.strides()) {
        (&[count], &[stride]) if matches!(kind, b's' | b'x') && digits.iter().all(u8::is_ascii_digit) => {
            Some((stride, count, view.item_size()))
        }
        // The distance between bytes of which there is one means nothing.
        (&[count, width], &[stride, step]) if (step == 1 || width <= 1) && matches!(format, b"B" | b"c") => {
            Some((stride, count, width))
        }
        _ => None,
    }
}
