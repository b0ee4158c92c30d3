//! Reads of keys' bytes: eight at once, how far two keys agree, asking for memory ahead of time.

use core::hint::select_unpredictable;

/// Of keys this long most reads are within them.
const LONG: usize = 16;

/// Eight bytes of a key from `at` on as a number, the first at the top, zeros behind the end.
#[inline(always)]
pub(crate) fn chunk(key: &[u8], at: usize) -> u64 {
    // Whoever takes one after the other is within the key most of the time.
    match key.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => chunk_and_mask(key, at).0,
    }
}

/// As `chunk`, with a mask of the bits that are the key's. No load goes past either end of the key.
#[inline(always)]
pub(crate) fn chunk_and_mask(key: &[u8], at: usize) -> (u64, u64) {
    let Some(left @ 1..) = key.len().checked_sub(at) else { return (0, 0) };
    if left >= 8
        && key.len() >= LONG
        && let Some(bytes) = key[at..].first_chunk()
    {
        return (u64::from_be_bytes(*bytes), !0);
    }
    let mask = !(!0u64).unbounded_shr(8 * left.min(8) as u32);
    let Some(last) = key.len().checked_sub(8) else {
        return (short_key(key).unbounded_shl(8 * at as u32), mask);
    };
    // Where fewer are left they are at the end of the last eight: whether they are is not foreseen, so not asked.
    let start = at.min(last);
    let bytes = key[start..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    (bytes.unbounded_shl(8 * (at - start) as u32), mask)
}

/// Sixteen bytes of a key from `at` on as two chunks, and the masks of both: what `chunk_and_mask` gives of each.
#[inline(always)]
pub(crate) fn two_chunks_and_masks(key: &[u8], at: usize) -> ([u64; 2], [u64; 2]) {
    let (bytes, skipped) = match key.len().checked_sub(LONG) {
        // Where fewer are left they are at the end of the last sixteen.
        Some(last) => {
            let start = at.min(last);
            let bytes = key[start..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
            (bytes, at - start)
        }
        None => (key_of_fewer(key), at),
    };
    // Whether any are is foreseen, and to move them takes longer.
    let bytes = if skipped == 0 { bytes } else { bytes.unbounded_shl(8 * skipped.min(LONG) as u32) };
    ([(bytes >> 64) as u64, bytes as u64], MASKS[key.len().saturating_sub(at).min(LONG)])
}

/// As `chunk_and_mask`. From `MASKED` on one load reads what is the key's and nothing else, whatever there is. Long
/// keys have all of it most often, and a load of all is quicker.
///
/// # Safety
/// `LEVEL` is at most what `pext::level` says.
#[inline(always)]
pub(crate) unsafe fn chunk_by<const LEVEL: u8>(key: &[u8], at: usize) -> (u64, u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if LEVEL >= crate::pext::MASKED && key.len() < LONG {
        let left = key.len().saturating_sub(at).min(8);
        // SAFETY: the caller promised that the processor has it.
        let bytes = unsafe { up_to_sixteen(key, at, left) };
        return ((bytes >> 64) as u64, MASKS[left][0]);
    }
    chunk_and_mask(key, at)
}

/// As `two_chunks_and_masks`, likewise.
///
/// # Safety
/// As of `chunk_by`.
#[inline(always)]
pub(crate) unsafe fn two_chunks_by<const LEVEL: u8>(key: &[u8], at: usize) -> ([u64; 2], [u64; 2]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if LEVEL >= crate::pext::MASKED && key.len() < 2 * LONG {
        let left = key.len().saturating_sub(at).min(LONG);
        // SAFETY: the caller promised that the processor has it.
        let bytes = unsafe { up_to_sixteen(key, at, left) };
        return ([(bytes >> 64) as u64, bytes as u64], MASKS[left]);
    }
    two_chunks_and_masks(key, at)
}

/// So many bytes of a key from `at` on, at most sixteen and no more than there are, at the top of a number.
///
/// # Safety
/// The processor has loads with a mask.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn up_to_sixteen(key: &[u8], at: usize, count: usize) -> u128 {
    use core::arch::x86_64::{__m128i, _mm_maskz_loadu_epi8};
    debug_assert!(count <= LONG && (count == 0 || at + count <= key.len()));
    let mask = ((1u32 << count) - 1) as u16;
    // SAFETY: the caller promised it. What the mask leaves out is not read, and all else is the key's.
    unsafe {
        let bytes = _mm_maskz_loadu_epi8(mask, key.as_ptr().wrapping_add(at).cast());
        core::mem::transmute::<__m128i, u128>(bytes).swap_bytes()
    }
}

/// The masks of two chunks of which so many bytes are the key's.
const MASKS: [[u64; 2]; LONG + 1] = {
    let mut masks = [[0; 2]; LONG + 1];
    let mut bytes = 1;
    while bytes <= LONG {
        let mask = !0u128 << (8 * (LONG - bytes));
        masks[bytes] = [(mask >> 64) as u64, mask as u64];
        bytes += 1;
    }
    masks
};

/// A key of fewer than sixteen bytes at the top of a number.
#[inline(always)]
fn key_of_fewer(key: &[u8]) -> u128 {
    let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) else {
        return u128::from(short_key(key)) << 64;
    };
    let [first, last] = [first, last].map(|eight| u64::from_be_bytes(*eight));
    u128::from(first) << 64 | u128::from(last.unbounded_shl(8 * (LONG - key.len()) as u32))
}

/// A key of up to seven bytes at the top of a number. Which way they are loaded depends on their number, which is not
/// foreseen: so they are loaded both ways, once from where there are only zeros.
#[inline(always)]
fn short_key(key: &[u8]) -> u64 {
    let wide = select_unpredictable(key.len() >= 4, key, &[0; 4]);
    let narrow = select_unpredictable(matches!(key.len(), 1..4), key, &[0]);
    let (Some(first), Some(last)) = (wide.first_chunk(), wide.last_chunk()) else { return 0 };
    let [first, last] = [first, last].map(|four| u64::from(u32::from_be_bytes(*four)));
    let byte = |at: usize| u64::from(narrow[at]) << (56 - 8 * at);
    let narrow = byte(0) | byte(narrow.len() / 2) | byte(narrow.len() - 1);
    first << 32 | last << (64 - 8 * wide.len()) | narrow
}

/// Bytes that two slices have in common at their start.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    common_prefix_from(a, b, 0)
}

/// As `common_prefix`, of slices that have `from` bytes in common, unless one ends before.
#[inline(always)]
pub(crate) fn common_prefix_from(a: &[u8], b: &[u8], from: usize) -> usize {
    let len = a.len().min(b.len());
    let (Some(a), Some(b)) = (a.get(from..len), b.get(from..len)) else { return len };
    let same = |a: &[u8; 16], b: &[u8; 16]| {
        let differ = u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b);
        (differ != 0).then(|| differ.trailing_zeros() as usize / 8)
    };
    for (number, (a, b)) in a.as_chunks().0.iter().zip(b.as_chunks().0).enumerate() {
        if let Some(same) = same(a, b) {
            return from + 16 * number + same;
        }
    }
    // The last sixteen may overlap those before, which are the same.
    if let (Some(a), Some(b)) = (a.last_chunk(), b.last_chunk()) {
        return same(a, b).map_or(len, |same| len - 16 + same);
    }
    let mut at = 0;
    while at < a.len() {
        let differ = chunk(a, at) ^ chunk(b, at);
        if differ != 0 {
            return len.min(from + at + differ.leading_zeros() as usize / 8);
        }
        at += 8;
    }
    len
}

/// Whether two slices that have `from` bytes in common, unless one ends before, have `to`, which are not fewer. How
/// long it takes does not depend on the slices where they do.
#[inline(always)]
pub(crate) fn agree(a: &[u8], b: &[u8], from: usize, to: usize) -> bool {
    let mut at = to;
    if a.len().min(b.len()) < to {
        return false;
    }
    // From the end on, as what lies before `from` may be looked at again, and what lies behind `to` may not.
    while at > from {
        let (Some(before_a), Some(before_b)) = (a[..at].last_chunk::<8>(), b[..at].last_chunk::<8>()) else {
            return (chunk(a, 0) ^ chunk(b, 0)) >> (64 - 8 * at) == 0;
        };
        if before_a != before_b {
            return false;
        }
        at -= 8;
    }
    true
}

/// Whether slices of one length are equal. Most often they are, and a call of the library's comparison would take
/// longer than it works.
#[inline(always)]
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    equal_by::<16>(a, b).or_else(|| equal_by::<8>(a, b)).unwrap_or_else(|| a == b)
}

/// As `equal`, if there are N bytes.
#[inline(always)]
fn equal_by<const N: usize>(a: &[u8], b: &[u8]) -> Option<bool> {
    let (last, its_last) = (a.last_chunk::<N>()?, b.last_chunk::<N>()?);
    let mut pairs = a.chunks_exact(N).zip(b.chunks_exact(N));
    // The last chunk may overlap the one before.
    Some(pairs.all(|(a, b)| a == b) && last == its_last)
}

/// Asks for memory without waiting for it.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, and does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    use crate::pext::{MASKED, level};

    /// Of any key and place, what lies there, and zeros.
    #[test]
    fn chunks_are_padded() {
        let key: Vec<u8> = (1..=30).collect();
        for len in 0..=key.len() {
            for at in 0..=len + 9 {
                let mut bytes = [0; 8];
                let rest = key[..len].get(at..).unwrap_or(&[]);
                let some = rest.len().min(8);
                bytes[..some].copy_from_slice(&rest[..some]);
                let mask = (0..some).fold(0, |mask, _| mask >> 8 | 0xff << 56);
                assert_eq!(chunk_and_mask(&key[..len], at), (u64::from_be_bytes(bytes), mask), "{len} {at}");
                let each = [at, at + 8].map(|at| chunk_and_mask(&key[..len], at));
                let both = (each.map(|chunk| chunk.0), each.map(|chunk| chunk.1));
                assert_eq!(two_chunks_and_masks(&key[..len], at), both, "{len} {at}");
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                if level() >= MASKED {
                    // SAFETY: the processor has it.
                    unsafe {
                        assert_eq!(chunk_by::<MASKED>(&key[..len], at), each[0], "{len} {at}");
                        assert_eq!(two_chunks_by::<MASKED>(&key[..len], at), both, "{len} {at}");
                    }
                }
            }
            // Eight times as far is more than a shift can count.
            assert_eq!(two_chunks_and_masks(&key[..len], 1 << 29 | 1), ([0; 2], [0; 2]), "{len}");
        }
    }

    /// Slices agree as far as they do, whatever of it was known, and not further than the shorter one reaches.
    #[test]
    fn slices_agree_up_to_where_they_differ() {
        let a: Vec<u8> = (1..=40).collect();
        for len in 0..=a.len() {
            for differ in 0..=len {
                let mut b = a[..len].to_vec();
                b.iter_mut().skip(differ).for_each(|byte| *byte = 0);
                for to in 0..=a.len() {
                    for from in 0..=to.min(differ) {
                        assert_eq!(agree(&a, &b, from, to), to <= differ, "{len} {differ} {from} {to}");
                    }
                }
            }
        }
    }
}
