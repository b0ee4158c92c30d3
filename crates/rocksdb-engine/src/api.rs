//! The functions of RocksDB's C API that rqps calls, found by name in a library that is loaded at run time.
//!
//! Their types are those of `rocksdb/c.h`, which have not changed since 5.0. Functions that older releases lack are
//! optional.

#![allow(non_snake_case)] // a function's name has capitals

use std::error::Error as _;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::error::{Error, Result};

/// An object of the library.
pub(crate) type Object = *mut c_void;
/// Where a function puts its error, a text to be freed.
type ErrorText = *mut *mut c_char;
type Create = unsafe extern "C" fn() -> Object;
type Destroy = unsafe extern "C" fn(Object);
type SetByte = unsafe extern "C" fn(Object, c_uchar);
type SetInt = unsafe extern "C" fn(Object, c_int);
type Slice = unsafe extern "C" fn(Object, *mut usize) -> *const c_char;
type Text = unsafe extern "C" fn(Object) -> *mut c_char;
type OfLiveFile = unsafe extern "C" fn(Object, c_int) -> u64;

macro_rules! api {
    (required { $($name:ident: $kind:ty),* $(,)? } optional { $($older:ident: $older_kind:ty),* $(,)? }) => {
        /// The functions, without their prefix `rocksdb_`.
        pub(crate) struct Api {
            $(pub $name: $kind,)*
            $(pub $older: Option<$older_kind>,)*
            /// Never unloaded: its threads may outlive a database.
            _library: std::mem::ManuallyDrop<Library>,
        }

        impl Api {
            /// Finds all functions.
            fn find(library: Library, path: &Path) -> Result<Api> {
                let mut missing: Vec<&str> = Vec::new();
                $(
                    let name = concat!("rocksdb_", stringify!($name));
                    // SAFETY: the symbol has this type in every release with a C API, see `rocksdb/c.h`.
                    let $name = unsafe { library.get::<$kind>(name.as_bytes()) }.ok().map(|found| *found);
                    if $name.is_none() {
                        missing.push(name);
                    }
                )*
                $(
                    let name = concat!("rocksdb_", stringify!($older));
                    // SAFETY: as above; releases without the function lack the symbol.
                    let $older = unsafe { library.get::<$older_kind>(name.as_bytes()) }.ok().map(|found| *found);
                )*
                let ($(Some($name),)*) = ($($name,)*) else {
                    return Err(Error::no_c_api(path, &missing));
                };
                Ok(Api { $($name,)* $($older,)* _library: std::mem::ManuallyDrop::new(library) })
            }
        }
    };
}

api! {
    required {
        free: Destroy,
        options_create: Create,
        options_destroy: Destroy,
        options_set_create_if_missing: SetByte,
        options_enable_statistics: Destroy,
        options_statistics_get_string: Text,
        options_set_memtable_vector_rep: Destroy,
        get_options_from_string: unsafe extern "C" fn(Object, *const c_char, Object, ErrorText),
        open: unsafe extern "C" fn(Object, *const c_char, ErrorText) -> Object,
        close: Destroy,
        put: unsafe extern "C" fn(Object, Object, *const c_char, usize, *const c_char, usize, ErrorText),
        get_pinned: unsafe extern "C" fn(Object, Object, *const c_char, usize, ErrorText) -> Object,
        pinnableslice_value: Slice,
        pinnableslice_destroy: Destroy,
        multi_get: unsafe extern "C" fn(
            Object,
            Object,
            usize,
            *const *const c_char,
            *const usize,
            *mut *mut c_char,
            *mut usize,
            *mut *mut c_char,
        ),
        create_iterator: unsafe extern "C" fn(Object, Object) -> Object,
        iter_destroy: Destroy,
        iter_seek: unsafe extern "C" fn(Object, *const c_char, usize),
        iter_valid: unsafe extern "C" fn(Object) -> c_uchar,
        iter_next: Destroy,
        iter_prev: Destroy,
        iter_key: Slice,
        iter_value: Slice,
        iter_get_error: unsafe extern "C" fn(Object, ErrorText),
        readoptions_create: Create,
        readoptions_destroy: Destroy,
        writeoptions_create: Create,
        writeoptions_destroy: Destroy,
        writeoptions_disable_WAL: SetInt,
        flushoptions_create: Create,
        flushoptions_destroy: Destroy,
        flushoptions_set_wait: SetByte,
        flush: unsafe extern "C" fn(Object, Object, ErrorText),
        property_value: unsafe extern "C" fn(Object, *const c_char) -> *mut c_char,
        set_options: unsafe extern "C" fn(
            Object,
            c_int,
            *const *const c_char,
            *const *const c_char,
            ErrorText,
        ),
        livefiles: unsafe extern "C" fn(Object) -> Object,
        livefiles_destroy: Destroy,
        livefiles_count: unsafe extern "C" fn(Object) -> c_int,
        livefiles_level: unsafe extern "C" fn(Object, c_int) -> c_int,
        livefiles_size: unsafe extern "C" fn(Object, c_int) -> usize,
    }
    optional {
        flush_wal: unsafe extern "C" fn(Object, c_uchar, ErrorText),
        livefiles_entries: OfLiveFile,
    }
}

impl Api {
    /// Loads a library and finds its functions. The library stays loaded as long as the process lives.
    pub(crate) fn load(path: &Path) -> Result<&'static Api> {
        // SAFETY: loading runs the library's initialisers. A user names a RocksDB library to have it run, and it runs
        // in this process only, which exists for nothing else.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| {
            // The loader's own words, which name what is missing.
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Error::NotLoaded { path: path.to_path_buf(), reason }
        })?;
        Ok(Box::leak(Box::new(Api::find(library, path)?)))
    }
}
