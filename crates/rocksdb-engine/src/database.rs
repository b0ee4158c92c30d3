//! An open database: safe functions around the library's.
//!
//! RocksDB's database object may be used by any number of threads at the same time; iterators and other objects here
//! belong to the thread that made them.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use crate::api::{Api, Object};
use crate::describe::{each_option, option_in, without};
use crate::error::{Error, Result};
use crate::protocol::{Level, OpenOptions};

/// Calls a function whose last argument is the place of its error.
macro_rules! checked {
    ($api:expr, |$error:ident| $call:expr) => {{
        let mut text: *mut c_char = null_mut();
        let $error = &raw mut text;
        // SAFETY: the arguments are live objects of this library, made by its own functions and not yet destroyed, and
        // buffers with the lengths that are passed with them. The error is a pointer that may be written.
        let result = unsafe { $call };
        if text.is_null() { Ok(result) } else { Err(Error::Engine(take_text($api, text))) }
    }};
}

/// The library's text, which is freed.
fn take_text(api: &Api, text: *mut c_char) -> String {
    // SAFETY: the library returned it as a text that ends with 0 and is ours to free, by its own function.
    unsafe {
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        (api.free)(text.cast());
        owned
    }
}

fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Misuse(format!("{text:?} has a zero byte")))
}

fn c_path(path: &Path) -> Result<CString> {
    c_text(&path.to_string_lossy())
}

/// Options, destroyed when dropped.
struct Options {
    api: &'static Api,
    raw: Object,
}

impl Options {
    fn new(api: &'static Api) -> Self {
        // SAFETY: has no arguments.
        Self { api, raw: unsafe { (api.options_create)() } }
    }

    /// The defaults, with those of an options string.
    fn parse(api: &'static Api, text: &str) -> Result<Self> {
        let (base, parsed, text) = (Self::new(api), Self::new(api), c_text(text)?);
        checked!(api, |error| (api.get_options_from_string)(base.raw, text.as_ptr(), parsed.raw, error))?;
        Ok(parsed)
    }

    /// As [`Options::parse`], with an error that names each option that is refused: RocksDB names one, and of one of a
    /// table it may name the table alone.
    fn parse_config(api: &'static Api, text: &str) -> Result<Self> {
        let mut left = text.to_owned();
        let mut said = Vec::new();
        loop {
            let error = match Self::parse(api, &left) {
                Ok(options) if said.is_empty() => return Ok(options),
                Ok(_) => break,
                Err(error) => error.to_string(),
            };
            let alone = each_option(&left).into_iter();
            let refused: Vec<_> = alone
                .filter_map(|(option, alone)| Some((option, Self::parse(api, &alone).err()?.to_string())))
                .collect();
            // Alone, others may be refused for want of those that they come with.
            let found = refused.iter().find(|(_, its)| *its == error).or(refused.first());
            let Some((option, _)) = found else {
                said.push(error);
                break;
            };
            said.push(format!("{error}; the config has {option}"));
            left = without(&left, option);
        }
        Err(Error::Engine(said.join("; and ")))
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: made by `options_create`; a database keeps a copy of what it needs.
        unsafe { (self.api.options_destroy)(self.raw) }
    }
}

/// The options for a step that fills the database, as db_bench sets them. An options string ends with `;`.
fn for_filling(options: &str) -> String {
    let mut filling = format!("{options}allow_concurrent_memtable_write=false;");
    if let (Some(levels), Some(compression)) =
        (option_in(options, "compression_per_level"), option_in(options, "compression"))
    {
        let each = vec![compression; levels.split(':').count()].join(":");
        filling.push_str(&format!("compression_per_level={each};"));
    }
    filling
}

/// Whether a library can read options from an options string.
pub(crate) fn accepts(api: &'static Api, options: &str) -> bool {
    Options::parse(api, options).is_ok()
}

pub(crate) struct Database {
    api: &'static Api,
    raw: Object,
    options: Options,
    statistics: bool,
    read: Object,
    write: Object,
    path: PathBuf,
}

// SAFETY: RocksDB's database, and its options for reading and writing as long as nobody changes them, may be used by
// several threads at once; the fields are never changed after opening.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens a database with an options string, or creates it.
    pub fn open(api: &'static Api, path: &Path, options: &str, how: OpenOptions) -> Result<Self> {
        let options =
            Options::parse_config(api, &if how.fills { for_filling(options) } else { options.to_owned() })?;
        // SAFETY: `options` was made above.
        unsafe {
            (api.options_set_create_if_missing)(options.raw, 1);
            if how.statistics {
                (api.options_enable_statistics)(options.raw);
            }
            if how.fills {
                (api.options_set_memtable_vector_rep)(options.raw);
            }
        }
        let name = c_path(path)?;
        let raw = checked!(api, |error| (api.open)(options.raw, name.as_ptr(), error))?;
        // SAFETY: functions without arguments, and one that sets a flag of what the one before it made.
        let (read, write) = unsafe {
            let (read, write) = ((api.readoptions_create)(), (api.writeoptions_create)());
            (api.writeoptions_disable_WAL)(write, how.fills.into());
            (read, write)
        };
        Ok(Self { api, raw, options, statistics: how.statistics, read, write, path: path.to_path_buf() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        checked!(self.api, |error| (self.api.put)(
            self.raw,
            self.write,
            key.as_ptr().cast(),
            key.len(),
            value.as_ptr().cast(),
            value.len(),
            error
        ))
    }

    /// The length of a key's value; `None` if the database does not have the key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<usize>> {
        let slice = checked!(self.api, |error| (self.api.get_pinned)(
            self.raw,
            self.read,
            key.as_ptr().cast(),
            key.len(),
            error
        ))?;
        if slice.is_null() {
            return Ok(None);
        }
        let mut length = 0;
        // SAFETY: the library returned the slice, and it is destroyed only after its length is known.
        unsafe {
            (self.api.pinnableslice_value)(slice, &raw mut length);
            (self.api.pinnableslice_destroy)(slice);
        }
        Ok(Some(length))
    }

    /// The number of found keys, and the bytes of their values.
    pub fn multi_get<const KEYS: usize>(&self, keys: &[&[u8]; KEYS]) -> Result<(u64, usize)> {
        let pointers = keys.map(|key| key.as_ptr().cast::<c_char>());
        let lengths = keys.map(<[u8]>::len);
        let mut values = [null_mut::<c_char>(); KEYS];
        let mut value_lengths = [0; KEYS];
        let mut errors = [null_mut::<c_char>(); KEYS];
        // SAFETY: all arrays have as many entries as the count says; keys outlive the call.
        unsafe {
            (self.api.multi_get)(
                self.raw,
                self.read,
                KEYS,
                pointers.as_ptr(),
                lengths.as_ptr(),
                values.as_mut_ptr(),
                value_lengths.as_mut_ptr(),
                errors.as_mut_ptr(),
            );
        }
        let (mut found, mut bytes) = (0, 0);
        for (value, length) in values.iter().zip(value_lengths).filter(|(value, _)| !value.is_null()) {
            (found, bytes) = (found + 1, bytes + length);
            // SAFETY: the library allocated the value for us.
            unsafe { (self.api.free)(value.cast()) };
        }
        match errors.into_iter().find(|error| !error.is_null()) {
            Some(error) => Err(Error::Engine(take_text(self.api, error))),
            None => Ok((found, bytes)),
        }
    }

    #[inline]
    pub fn iterator(&self) -> Iterator<'_> {
        // SAFETY: database and options are open as long as `self`.
        let raw = unsafe { (self.api.create_iterator)(self.raw, self.read) };
        Iterator { api: self.api, raw, _database: PhantomData }
    }

    /// Writes all memtables to files and waits for it.
    pub fn flush(&self) -> Result<()> {
        // SAFETY: makes an object and sets its flag.
        let options = unsafe {
            let options = (self.api.flushoptions_create)();
            (self.api.flushoptions_set_wait)(options, 1);
            options
        };
        let flushed = checked!(self.api, |error| (self.api.flush)(self.raw, options, error));
        // SAFETY: made above.
        unsafe { (self.api.flushoptions_destroy)(options) };
        flushed
    }

    /// Writes the log to disk, if this release can do so alone; else the memtables.
    pub fn sync(&self) -> Result<()> {
        match self.api.flush_wal {
            Some(flush_wal) => checked!(self.api, |error| flush_wal(self.raw, 1, error)),
            None => self.flush(),
        }
    }

    /// A property such as `rocksdb.stats`; `None` if this release does not have it.
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        let name = c_text(name)?;
        // SAFETY: an open database and a text that ends with 0.
        let text = unsafe { (self.api.property_value)(self.raw, name.as_ptr()) };
        Ok((!text.is_null()).then(|| take_text(self.api, text)))
    }

    /// A property that is a number; 0 if this release does not have it.
    pub fn number(&self, name: &str) -> Result<u64> {
        Ok(self.property(name)?.and_then(|text| text.trim().parse().ok()).unwrap_or(0))
    }

    /// Tickers and histograms as text; `None` without statistics.
    pub fn statistics(&self) -> Option<String> {
        if !self.statistics {
            return None;
        }
        // SAFETY: the options that the database was opened with, which share its statistics.
        let text = unsafe { (self.api.options_statistics_get_string)(self.options.raw) };
        (!text.is_null()).then(|| take_text(self.api, text))
    }

    /// Changes an option of the open database.
    pub fn set_option(&self, name: &str, value: &str) -> Result<()> {
        let (name, value) = (c_text(name)?, c_text(value)?);
        let (names, values) = ([name.as_ptr()], [value.as_ptr()]);
        checked!(self.api, |error| (self.api.set_options)(
            self.raw,
            1,
            names.as_ptr(),
            values.as_ptr(),
            error
        ))
    }

    /// The files of each level.
    pub fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        // SAFETY: an open database; the list is ours until destroyed, and its entries are counted by itself.
        unsafe {
            let files = (self.api.livefiles)(self.raw);
            for at in 0..(self.api.livefiles_count)(files) {
                let number = (self.api.livefiles_level)(files, at).unsigned_abs() as usize;
                if levels.len() <= number {
                    levels.resize(number + 1, Level::default());
                }
                levels[number].files += 1;
                levels[number].bytes += (self.api.livefiles_size)(files, at) as u64;
                if let Some(entries) = self.api.livefiles_entries {
                    levels[number].entries += entries(files, at);
                }
            }
            (self.api.livefiles_destroy)(files);
        }
        levels
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: nobody else has a reference, and iterators borrow the database. Closing waits for its threads.
        unsafe {
            (self.api.readoptions_destroy)(self.read);
            (self.api.writeoptions_destroy)(self.write);
            (self.api.close)(self.raw);
        }
    }
}

/// A position in the database.
pub(crate) struct Iterator<'d> {
    api: &'static Api,
    raw: Object,
    _database: PhantomData<&'d Database>,
}

impl Iterator<'_> {
    /// Goes to the first key that is not before `key`; false if there is none.
    #[inline]
    pub fn seek(&mut self, key: &[u8]) -> bool {
        // SAFETY: the iterator lives as long as `self`.
        unsafe { (self.api.iter_seek)(self.raw, key.as_ptr().cast(), key.len()) };
        self.is_valid()
    }

    /// Whether it is at an entry.
    #[inline]
    fn is_valid(&self) -> bool {
        // SAFETY: the iterator lives as long as `self`.
        unsafe { (self.api.iter_valid)(self.raw) != 0 }
    }

    /// Goes to the entry after or before this one. Call only at an entry.
    #[inline]
    pub fn step(&mut self, reverse: bool) -> bool {
        let step = if reverse { self.api.iter_prev } else { self.api.iter_next };
        // SAFETY: as above, and it is at an entry.
        unsafe { step(self.raw) };
        self.is_valid()
    }

    /// The key of the entry. Call only at an entry.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: at an entry, the library returns its bytes, which stay until the iterator moves; that takes `&mut`.
        unsafe {
            let bytes = (self.api.iter_key)(self.raw, &raw mut length);
            std::slice::from_raw_parts(bytes.cast(), length)
        }
    }

    /// The value of the entry. Call only at an entry.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: as for the key.
        unsafe {
            let bytes = (self.api.iter_value)(self.raw, &raw mut length);
            std::slice::from_raw_parts(bytes.cast(), length)
        }
    }

    /// Why it is at no entry, if not because there are no more.
    pub fn check(&self) -> Result<()> {
        checked!(self.api, |error| (self.api.iter_get_error)(self.raw, error))
    }
}

impl Drop for Iterator<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made by `create_iterator` and used by nobody any more.
        unsafe { (self.api.iter_destroy)(self.raw) }
    }
}
