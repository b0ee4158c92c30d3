//! The three structures of Arrow's C data interface, and the capsules in which Python passes them.
//!
//! They are an ABI that Arrow promises to keep, and small: written here, they spare the module the arrow crates, which
//! would be most of its size and of its compile time.
//! Source: Apache Arrow, "The Arrow C data interface", "The Arrow C stream interface", "The Arrow PyCapsule Interface".

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// `struct ArrowSchema`: the type of an array.
#[repr(C)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub private_data: *mut c_void,
}

/// `struct ArrowArray`: the buffers of an array.
#[repr(C)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub private_data: *mut c_void,
}

/// `struct ArrowArrayStream`: arrays of one type, one after the other.
#[repr(C)]
pub struct ArrowArrayStream {
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub private_data: *mut c_void,
}

/// A structure that is released by whoever has it, unless it was moved out or released: then it has no `release`.
pub trait Released {
    /// One that needs no release.
    fn empty() -> Self;
    /// What releases it. The pointer is the structure itself.
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    /// Marks it as moved out.
    fn forget(&mut self);
}

macro_rules! released {
    ($kind:ty) => {
        impl Released for $kind {
            fn empty() -> Self {
                // SAFETY: pointers may be null, functions may be none, and numbers may be 0.
                unsafe { core::mem::zeroed() }
            }
            fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
                self.release
            }
            fn forget(&mut self) {
                self.release = None;
            }
        }
    };
}
released!(ArrowSchema);
released!(ArrowArray);
released!(ArrowArrayStream);

/// A structure that this module has to release.
pub struct Own<T: Released>(pub T);

// SAFETY: the interface allows a structure to be used and released on any thread, one at a time; shared references to
// it only read.
unsafe impl<T: Released> Send for Own<T> {}
// SAFETY: the same.
unsafe impl<T: Released> Sync for Own<T> {}

impl<T: Released> Drop for Own<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release() {
            // SAFETY: it was not released, or it would have no `release`.
            unsafe { release(&raw mut self.0) };
        }
    }
}

impl<T: Released> Own<T> {
    /// Moves the structure out of a capsule of that name, which then owns nothing any more.
    pub fn taken(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<Own<T>> {
        let capsule =
            capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("no Arrow capsule was given"))?;
        let place = capsule.pointer_checked(Some(name))?.cast::<T>().as_ptr();
        // SAFETY: a capsule of this name holds this structure. Reading it and taking its `release` away is how the
        // interface moves one.
        unsafe {
            let own = Own(ptr::read(place));
            (*place).forget();
            if own.0.release().is_none() {
                return Err(PyValueError::new_err("the Arrow capsule is empty: it was used before"));
            }
            Ok(own)
        }
    }
}

impl Own<ArrowSchema> {
    /// The type, as the interface writes it.
    pub fn format(&self) -> &CStr {
        if self.0.format.is_null() {
            return c"";
        }
        // SAFETY: not null; it lives as long as the schema and ends with a zero byte.
        unsafe { CStr::from_ptr(self.0.format) }
    }
}

impl Own<ArrowArrayStream> {
    /// The type of all arrays of the stream.
    pub fn schema(&mut self) -> PyResult<Own<ArrowSchema>> {
        let mut schema = Own(ArrowSchema::empty());
        let get =
            self.0.get_schema.ok_or_else(|| PyValueError::new_err("the Arrow stream has no get_schema"))?;
        // SAFETY: both structures are valid, and the second is for the function to fill.
        let status = unsafe { get(&raw mut self.0, &raw mut schema.0) };
        self.checked(status)?;
        Ok(schema)
    }

    /// The next array; none at the end.
    pub fn next(&mut self) -> PyResult<Option<Own<ArrowArray>>> {
        let mut array = Own(ArrowArray::empty());
        let get = self.0.get_next.ok_or_else(|| PyValueError::new_err("the Arrow stream has no get_next"))?;
        // SAFETY: both structures are valid, and the second is for the function to fill.
        let status = unsafe { get(&raw mut self.0, &raw mut array.0) };
        self.checked(status)?;
        Ok(array.0.release.is_some().then_some(array))
    }

    fn checked(&mut self, status: c_int) -> PyResult<()> {
        if status == 0 {
            return Ok(());
        }
        let text = match self.0.get_last_error {
            // SAFETY: the stream is valid, and may be asked after an error.
            Some(get) => unsafe { get(&raw mut self.0) },
            None => ptr::null(),
        };
        let text = if text.is_null() {
            "no reason is given".into()
        } else {
            // SAFETY: not null; it lives until the stream is used again and ends with a zero byte.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(PyValueError::new_err(format!("the Arrow stream failed with status {status}: {text}")))
    }
}
