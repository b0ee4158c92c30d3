//! Lists of keys as C describes them, checked once, so that sorting can rely on them.

use crate::status::Error;
use core::ffi::c_void;
use core::slice;
use engine::{Arena, FixedWidth, Keys};

const POINTERS: u32 = 1;
const ARENA32: u32 = 2;
const ARENA64: u32 = 3;
const FIXED: u32 = 4;

/// `orasort_keys` of the header.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KeyList {
    layout: u32,
    reserved: u32,
    count: usize,
    data: *const c_void,
    index: *const c_void,
    size: usize,
}

/// Keys anywhere in memory: an array of pointers and one of lengths. No length is above 0 where the pointer is null.
pub struct Pointers<'a> {
    pointers: &'a [*const u8],
    lengths: &'a [usize],
}

impl Keys for Pointers<'_> {
    fn len(&self) -> usize {
        self.pointers.len()
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        let (pointer, length) = (self.pointers[row], self.lengths[row]);
        // Looked at again, as the caller might have changed the arrays since they were checked.
        if pointer.is_null() {
            return &[];
        }
        // SAFETY: the caller of the C function promises that so many bytes are there and stay as they are.
        unsafe { slice::from_raw_parts(pointer, length) }
    }
}

// SAFETY: the keys are only read, and the header allows any thread to read them.
unsafe impl Send for Pointers<'_> {}
// SAFETY: the same.
unsafe impl Sync for Pointers<'_> {}

/// A list whose arrays were looked through.
pub enum Checked<'a> {
    /// An array of pointers and one of lengths.
    Pointers(Pointers<'a>),
    /// One buffer and offsets of 32 bits.
    Arena32(Arena<'a, u32>),
    /// One buffer and offsets of 64 bits.
    Arena64(Arena<'a, u64>),
    /// One buffer of keys of one width.
    Fixed(FixedWidth<'a>),
}

/// Does the same with the keys of any layout, each in code of its own.
macro_rules! with_keys {
    ($checked:expr, $keys:ident => $body:expr) => {
        match $checked {
            $crate::keys::Checked::Pointers($keys) => $body,
            $crate::keys::Checked::Arena32($keys) => $body,
            $crate::keys::Checked::Arena64($keys) => $body,
            $crate::keys::Checked::Fixed($keys) => $body,
        }
    };
}
pub(crate) use with_keys;

impl Checked<'_> {
    /// The number of keys.
    pub fn count(&self) -> usize {
        with_keys!(self, keys => keys.len())
    }
}

/// Checks a list: one pass over its pointers or offsets, none over its keys.
///
/// # Safety
/// `list` is null or points at an `orasort_keys`. Arrays that it names have as many elements as it says, and they and
/// the keys stay as they are for `'a`.
pub unsafe fn check<'a>(list: *const KeyList) -> Result<Checked<'a>, Error> {
    if list.is_null() {
        return Err(Error::Null);
    }
    // SAFETY: not null, and the caller promises the rest.
    let list = unsafe { *list };
    // SAFETY: the caller promises that the arrays are there and long enough.
    unsafe {
        match list.layout {
            POINTERS => pointers(list),
            ARENA32 => Ok(Checked::Arena32(arena(list, |offset| offset as usize)?)),
            ARENA64 => Ok(Checked::Arena64(arena(list, clamped)?)),
            FIXED => fixed(list),
            _ => Err(Error::Layout),
        }
    }
}

/// An offset that no arena reaches where the platform cannot express it.
fn clamped(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// # Safety
/// As `check`.
unsafe fn pointers<'a>(list: KeyList) -> Result<Checked<'a>, Error> {
    // SAFETY: the caller promises `count` pointers and as many lengths.
    let (pointers, lengths) = unsafe {
        (array::<*const u8>(list.data.cast(), list.count)?, array::<usize>(list.index.cast(), list.count)?)
    };
    let mut longest = 0;
    for (pointer, &length) in pointers.iter().zip(lengths) {
        if pointer.is_null() && length > 0 {
            return Err(Error::Null);
        }
        longest = longest.max(length);
    }
    if isize::try_from(longest).is_err() {
        return Err(Error::Size);
    }
    Ok(Checked::Pointers(Pointers { pointers, lengths }))
}

/// # Safety
/// As `check`.
unsafe fn arena<'a, O: Copy + PartialOrd>(
    list: KeyList,
    place: impl Fn(O) -> usize,
) -> Result<Arena<'a, O>, Error> {
    let offset_count = list.count.checked_add(1).ok_or(Error::Size)?;
    // SAFETY: the caller promises `size` bytes and one offset more than there are keys.
    let (bytes, offsets) =
        unsafe { (array::<u8>(list.data.cast(), list.size)?, array::<O>(list.index.cast(), offset_count)?) };
    let ascending = offsets.windows(2).fold(true, |ascending, pair| ascending & (pair[0] <= pair[1]));
    let within = offsets.last().is_some_and(|&end| place(end) <= bytes.len());
    if ascending && within { Ok(Arena { bytes, offsets }) } else { Err(Error::Offsets) }
}

/// # Safety
/// As `check`.
unsafe fn fixed<'a>(list: KeyList) -> Result<Checked<'a>, Error> {
    if list.size == 0 {
        return Err(Error::Layout);
    }
    let length = list.count.checked_mul(list.size).ok_or(Error::Size)?;
    // SAFETY: the caller promises `count` keys of `size` bytes.
    let bytes = unsafe { array::<u8>(list.data.cast(), length) }?;
    Ok(Checked::Fixed(FixedWidth { bytes, width: list.size }))
}

/// An array that C passed. One of no elements may be null.
///
/// # Safety
/// Unless `count` is 0, `start` is null or points at `count` values that stay as they are for `'a`.
unsafe fn array<'a, T>(start: *const T, count: usize) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Error::Null);
    }
    if !start.is_aligned() {
        return Err(Error::Layout);
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Error::Size);
    }
    // SAFETY: neither null nor unaligned nor too large; the caller promises the rest.
    Ok(unsafe { slice::from_raw_parts(start, count) })
}
