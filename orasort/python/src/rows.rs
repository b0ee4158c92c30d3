//! `Rows`: row numbers that NumPy and Arrow read where they are.

use crate::arrow::{ArrowArray, ArrowSchema, Released};
use core::ffi::{c_int, c_void};
use core::ptr;
use pyo3::exceptions::{PyBufferError, PyIndexError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PySlice, PyTuple};
use std::sync::Arc;

/// Row numbers in order, of 32 bits each.
///
/// `numpy.asarray(rows)`, `pyarrow.array(rows)`, `polars.Series(rows)` and `memoryview(rows)` read them without a copy.
#[pyclass(frozen, sequence, module = "orasort")]
pub struct Rows {
    rows: Arc<Vec<u32>>,
}

/// A place of a Python sequence: a number, negative from the end, or a slice.
#[derive(FromPyObject)]
enum Place<'py> {
    One(isize),
    Some(Bound<'py, PySlice>),
}

impl Rows {
    /// Of row numbers.
    pub fn new(rows: Vec<u32>) -> Rows {
        Rows { rows: Arc::new(rows) }
    }

    /// The row numbers.
    pub fn as_slice(&self) -> &[u32] {
        &self.rows
    }
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, place: Place<'py>) -> PyResult<Bound<'py, PyAny>> {
        match place {
            Place::One(place) => {
                let from_start = if place < 0 { place + self.rows.len() as isize } else { place };
                let row = usize::try_from(from_start).ok().and_then(|place| self.rows.get(place));
                let row = row.ok_or_else(|| PyIndexError::new_err("row out of range"))?;
                Ok(row.into_pyobject(py)?.into_any())
            }
            Place::Some(slice) => {
                let range = slice.indices(self.rows.len() as isize)?;
                let places = (0..range.slicelength as isize).map(|step| range.start + step * range.step);
                let rows = places.map(|place| self.rows[place as usize]).collect();
                Ok(Bound::new(py, Rows::new(rows))?.into_any())
            }
        }
    }

    fn __repr__(&self) -> String {
        let shown: Vec<String> = self.rows.iter().take(8).map(u32::to_string).collect();
        let more = if self.rows.len() > shown.len() { ", ..." } else { "" };
        format!("Rows([{}{more}])", shown.join(", "))
    }

    /// The row numbers as a list of int.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.rows.iter())
    }

    /// The row numbers as an Arrow array of uint32.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface asks for an effort to give that type, and there is one type to give.
        drop(requested_schema);
        let schema = capsule(py, uint32(), c"arrow_schema")?;
        let array = capsule(py, exported(Arc::clone(&self.rows)), c"arrow_array")?;
        PyTuple::new(py, [schema, array])
    }

    /// # Safety
    /// Python's interpreter calls it, with a structure that it may fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            // SAFETY: the protocol wants it null after an error.
            unsafe { (*view).obj = ptr::null_mut() };
            return Err(PyBufferError::new_err("rows are read-only"));
        }
        let rows = slf.get().as_slice();
        let shape = Box::into_raw(Box::new([rows.len() as isize, 4]));
        // SAFETY: the interpreter passes a structure to fill. The rows live as long as the object, which the view
        // holds, and its shape and strides until `__releasebuffer__`.
        unsafe {
            let wants = |flag: c_int| flags & flag == flag;
            (*view).buf = rows.as_ptr().cast_mut().cast();
            (*view).len = size_of_val(rows) as isize;
            (*view).readonly = 1;
            (*view).itemsize = 4;
            (*view).ndim = 1;
            (*view).format =
                if wants(ffi::PyBUF_FORMAT) { c"I".as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).shape = if wants(ffi::PyBUF_ND) { shape.cast() } else { ptr::null_mut() };
            (*view).strides =
                if wants(ffi::PyBUF_STRIDES) { shape.cast::<isize>().add(1) } else { ptr::null_mut() };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = shape.cast();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// # Safety
    /// Python's interpreter calls it once for a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: it came from the box of `__getbuffer__`.
        drop(unsafe { Box::from_raw((*view).internal.cast::<[isize; 2]>()) });
    }
}

/// A capsule that holds a structure and releases it, unless somebody moved it out.
fn capsule<'py, T: Released + 'static>(
    py: Python<'py>,
    content: T,
    name: &'static core::ffi::CStr,
) -> PyResult<Bound<'py, PyAny>> {
    let content = crate::arrow::Own(content);
    Ok(PyCapsule::new_with_value(py, content, name)?.into_any())
}

/// The schema of uint32. All it points at is static.
fn uint32() -> ArrowSchema {
    unsafe extern "C" fn release(schema: *mut ArrowSchema) {
        // SAFETY: the interface passes the structure to be released.
        unsafe { (*schema).release = None };
    }
    ArrowSchema { format: c"I".as_ptr(), name: c"".as_ptr(), release: Some(release), ..ArrowSchema::empty() }
}

/// What an exported array keeps: the rows, and the list of its buffers.
struct Exported {
    rows: Arc<Vec<u32>>,
    buffers: [*const c_void; 2],
}

/// An array of these rows. It needs no interpreter to be released.
fn exported(rows: Arc<Vec<u32>>) -> ArrowArray {
    unsafe extern "C" fn release(array: *mut ArrowArray) {
        // SAFETY: the interface passes the structure to be released, once; its private data came from the box below.
        unsafe {
            drop(Box::from_raw((*array).private_data.cast::<Exported>()));
            (*array).release = None;
        }
    }
    let buffers = [ptr::null(), rows.as_ptr().cast()];
    let kept = Box::into_raw(Box::new(Exported { rows, buffers }));
    // SAFETY: just made.
    let (length, buffers) = unsafe { ((*kept).rows.len() as i64, (&raw mut (*kept).buffers).cast()) };
    ArrowArray {
        length,
        n_buffers: 2,
        buffers,
        release: Some(release),
        private_data: kept.cast(),
        ..ArrowArray::empty()
    }
}
