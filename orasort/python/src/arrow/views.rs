//! Arrow's view layout: 16 bytes a value, which hold a short one itself, or where a longer one lies.

use super::abi::ArrowArray;
use super::{buffer, count};
use orasort::Keys;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// Values of up to this many bytes are in the view itself.
const INLINE_MAX: usize = 12;

/// `length`, then either the bytes, or four of them, the number of a buffer and the place in it. As in Arrow's
/// "Variable-size Binary View Layout".
#[repr(C)]
#[derive(Clone, Copy)]
struct View {
    length: i32,
    rest: [u8; INLINE_MAX],
}

impl View {
    fn number(&self, at: usize) -> usize {
        let bytes = [self.rest[at], self.rest[at + 1], self.rest[at + 2], self.rest[at + 3]];
        // One that is negative becomes one that no buffer reaches.
        i32::from_ne_bytes(bytes) as usize
    }
}

/// The values of an array of views.
pub struct Views {
    views: &'static [View],
    data: Vec<&'static [u8]>,
}

impl Views {
    /// Finds the views and their buffers.
    ///
    /// # Safety
    /// The array is one of views. Its buffers stay as they are until it is released, and these `Views` go before.
    pub unsafe fn new(array: &ArrowArray, offset: usize, length: usize) -> PyResult<Views> {
        // Validity, views, any number of data buffers, and the lengths of those.
        let buffers = count(array.n_buffers)?;
        let data_buffers = buffers.checked_sub(3);
        let data_buffers =
            data_buffers.ok_or_else(|| PyValueError::new_err("an Arrow view array without views"))?;
        // SAFETY: the caller promises an array of this layout.
        unsafe {
            let views = &buffer::<View>(array, 1, offset + length)?[offset..];
            let lengths = buffer::<i64>(array, buffers - 1, data_buffers)?;
            let mut data = Vec::with_capacity(data_buffers);
            for (index, &length) in lengths.iter().enumerate() {
                data.push(buffer::<u8>(array, 2 + index, count(length)?)?);
            }
            Ok(Views { views, data })
        }
    }
}

impl Keys for Views {
    fn len(&self) -> usize {
        self.views.len()
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        let view = &self.views[row];
        let length = view.length as usize;
        if length <= INLINE_MAX {
            return &view.rest[..length];
        }
        &self.data[view.number(4)][view.number(8)..][..length]
    }
}
