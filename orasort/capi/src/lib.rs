//! The C interface of orasort. What C sees is described in `include/orasort.h`; this is the library behind it.
//!
//! Each function checks what it was passed, and catches a panic of the sort, since none may reach C.

// The header is the documentation of these functions and of what their pointers must be.
#![allow(clippy::missing_safety_doc)]

mod keys;
mod pull;
mod status;

use core::ffi::{c_char, c_void};
use core::{ptr, slice};
use engine::{Keys, Options, Order, Sorter};
use keys::{Checked, KeyList, check, with_keys};
use pull::Pull;
use status::{Code, Error};
use std::panic::{AssertUnwindSafe, catch_unwind};

const DESCENDING: u32 = 1;
const STABLE: u32 = 2;

/// What a function answers for what it did.
fn answer(done: Result<(), Error>) -> Code {
    done.map_or_else(Error::code, |()| status::OK)
}

fn options(flags: u32) -> Result<Options, Error> {
    if flags & !(DESCENDING | STABLE) != 0 {
        return Err(Error::Flags);
    }
    let order = if flags & DESCENDING == 0 { Order::Ascending } else { Order::Descending };
    Ok(Options { order, stable: flags & STABLE != 0 })
}

/// Runs what may panic.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_panic| Error::Internal)
}

/// Runs a sort with the caller's sorter, or with one of its own. A sorter that met a panic is made anew.
///
/// # Safety
/// `sorter` is null or came from `orasort_sorter_new`, and nothing else uses it now.
unsafe fn with_sorter<T>(sorter: *mut Sorter, sort: impl FnOnce(&mut Sorter) -> T) -> Result<T, Error> {
    // SAFETY: the caller promises it.
    let Some(sorter) = (unsafe { sorter.as_mut() }) else {
        return guarded(|| sort(&mut Sorter::new()));
    };
    let done = guarded(|| sort(sorter));
    if done.is_err() {
        *sorter = Sorter::new();
    }
    done
}

/// How many rows there are, which rows of 32 bits have to number.
fn count_u32(keys: &Checked<'_>) -> Result<usize, Error> {
    let count = keys.count();
    if u32::try_from(count).is_ok() { Ok(count) } else { Err(Error::Size) }
}

/// The caller's room for rows, with defined content.
///
/// # Safety
/// `rows` is null or has room for `count` values, and nothing else uses it for `'a`.
unsafe fn room<'a, T>(rows: *mut T, count: usize) -> Result<&'a mut [T], Error> {
    if count == 0 {
        return Ok(&mut []);
    }
    if rows.is_null() {
        return Err(Error::Null);
    }
    if !rows.is_aligned() {
        return Err(Error::Layout);
    }
    // SAFETY: not null and aligned; the caller promises room and that it is alone. Zero is a value of both row types.
    unsafe {
        ptr::write_bytes(rows, 0, count);
        Ok(slice::from_raw_parts_mut(rows, count))
    }
}

/// The sentence of a status.
#[unsafe(no_mangle)]
pub extern "C" fn orasort_status_text(status: Code) -> *const c_char {
    status::text(status).as_ptr()
}

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn orasort_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// A new sorter.
#[unsafe(no_mangle)]
pub extern "C" fn orasort_sorter_new() -> *mut Sorter {
    Box::into_raw(Box::new(Sorter::new()))
}

/// Frees a sorter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_sorter_free(sorter: *mut Sorter) {
    if !sorter.is_null() {
        // SAFETY: the caller promises that it came from `orasort_sorter_new` and is freed once.
        drop(unsafe { Box::from_raw(sorter) });
    }
}

/// The bytes that a sorter keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_sorter_scratch_bytes(sorter: *const Sorter) -> usize {
    // SAFETY: the caller promises that it is null or came from `orasort_sorter_new`.
    unsafe { sorter.as_ref() }.map_or(0, Sorter::scratch_bytes)
}

/// Gives a sorter's memory back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_sorter_shrink(sorter: *mut Sorter) {
    // SAFETY: the caller promises that it is null or came from `orasort_sorter_new`.
    if let Some(sorter) = unsafe { sorter.as_mut() } {
        sorter.shrink();
    }
}

/// Writes rows of 32 bits in the order of their keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_argsort_u32(
    sorter: *mut Sorter,
    keys: *const KeyList,
    flags: u32,
    rows: *mut u32,
) -> Code {
    let sort = || {
        let options = options(flags)?;
        // SAFETY: the caller promises what the header asks of a list, a sorter and the room for rows.
        unsafe {
            let keys = check(keys)?;
            let rows = room(rows, count_u32(&keys)?)?;
            with_sorter(sorter, |sorter| with_keys!(&keys, keys => sorter.argsort_into(keys, options, rows)))
        }
    };
    answer(sort())
}

/// Writes rows of 64 bits in the order of their keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_argsort_u64(
    sorter: *mut Sorter,
    keys: *const KeyList,
    flags: u32,
    rows: *mut u64,
) -> Code {
    let sort = || {
        let options = options(flags)?;
        // SAFETY: as in `orasort_argsort_u32`.
        unsafe {
            let keys = check(keys)?;
            let rows = room(rows, keys.count())?;
            with_sorter(sorter, |sorter| with_keys!(&keys, keys => argsort_wide(sorter, keys, options, rows)))
        }
    };
    answer(sort())
}

/// Sorts with rows of 32 bits where these can number all, since that takes half the memory, and widens them.
fn argsort_wide<K: Keys>(sorter: &mut Sorter, keys: &K, options: Options, rows: &mut [u64]) {
    let count = rows.len();
    if u32::try_from(count).is_err() {
        rows.copy_from_slice(&sorter.argsort_u64_with(keys, options));
        return;
    }
    let wide = rows.as_mut_ptr();
    let narrow = wide.cast::<u32>();
    // SAFETY: the upper half of the room is `count` aligned places of 32 bits, and zeros are rows.
    sorter.argsort_into(keys, options, unsafe { slice::from_raw_parts_mut(narrow.add(count), count) });
    for place in 0..count {
        // SAFETY: both are within the room. In places of 32 bits, what is written ends at `2 * place + 2`, and the next
        // row to be read begins at `count + place + 1`, which is no less until the last: none is overwritten unread.
        unsafe { wide.add(place).write(u64::from(narrow.add(count + place).read())) };
    }
}

/// Writes the first rows in the order of their keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_top_k(
    sorter: *mut Sorter,
    keys: *const KeyList,
    flags: u32,
    k: usize,
    rows: *mut u32,
    found: *mut usize,
) -> Code {
    let sort = || {
        let options = options(flags)?;
        if found.is_null() {
            return Err(Error::Null);
        }
        // SAFETY: as in `orasort_argsort_u32`; `found` is not null and the caller promises that it can be written.
        unsafe {
            let keys = check(keys)?;
            let k = k.min(count_u32(&keys)?);
            let rows = room(rows, k)?;
            let first =
                with_sorter(sorter, |sorter| with_keys!(&keys, keys => sorter.top_k_with(keys, k, options)))?;
            rows.copy_from_slice(&first);
            found.write(k);
        }
        Ok(())
    };
    answer(sort())
}

/// Begins a sort whose rows are pulled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_iter_new(keys: *const KeyList, flags: u32, iter: *mut *mut c_void) -> Code {
    let begin = || {
        let options = options(flags)?;
        if iter.is_null() {
            return Err(Error::Null);
        }
        // SAFETY: the caller promises what the header asks of a list, also that it lives as long as the iterator;
        // `iter` is not null and can be written.
        unsafe {
            let keys = check(keys)?;
            count_u32(&keys)?;
            let pull = guarded(|| Pull::new(keys, options))?;
            iter.write(Box::into_raw(Box::new(pull)).cast());
        }
        Ok(())
    };
    answer(begin())
}

/// Writes the next rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_iter_next(
    iter: *mut c_void,
    rows: *mut u32,
    capacity: usize,
    found: *mut usize,
) -> Code {
    let pull = || {
        if found.is_null() {
            return Err(Error::Null);
        }
        // SAFETY: the caller promises that `iter` came from `orasort_iter_new` and is used by this thread alone, that
        // there is room for `capacity` rows, and that `found` can be written.
        unsafe {
            let pull = iter.cast::<Pull>().as_mut().ok_or(Error::Null)?;
            let rows = room(rows, capacity)?;
            let Ok(count) = guarded(|| pull.fill(rows)) else {
                pull.end();
                return Err(Error::Internal);
            };
            found.write(count);
        }
        Ok(())
    };
    answer(pull())
}

/// Frees an iterator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orasort_iter_free(iter: *mut c_void) {
    if !iter.is_null() {
        // SAFETY: the caller promises that it came from `orasort_iter_new` and is freed once.
        drop(unsafe { Box::from_raw(iter.cast::<Pull>()) });
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, orasort_sorter_free, orasort_sorter_new, with_sorter};

    #[test]
    fn a_panic_is_a_status_and_the_sorter_works_on() {
        let sorter = orasort_sorter_new();
        // SAFETY: it was just made and is used here only.
        unsafe {
            let failed = with_sorter(sorter, |sorter| {
                sorter.argsort(&["b", "a"]);
                panic!("as a defect would");
            });
            assert_eq!(failed, Err::<(), _>(Error::Internal));
            assert_eq!(with_sorter(sorter, |sorter| sorter.argsort(&["b", "a"])), Ok(vec![1, 0]));
            orasort_sorter_free(sorter);
        }
    }
}
