//! Reads of keys' bytes: eight at once, how far two keys agree, asking for memory ahead of time.

/// Eight bytes of a key from `at` on as a number, the first at the top, zeros behind the end.
#[inline(always)]
pub(crate) fn chunk(key: &[u8], at: usize) -> u64 {
    chunk_and_mask(key, at).0
}

/// As `chunk`, with a mask of the bits that are the key's. No load goes past either end of the key.
#[inline(always)]
pub(crate) fn chunk_and_mask(key: &[u8], at: usize) -> (u64, u64) {
    let Some(rest) = key.get(at..) else { return (0, 0) };
    match rest.first_chunk() {
        Some(bytes) => (u64::from_be_bytes(*bytes), !0),
        None if rest.is_empty() => (0, 0),
        None => (chunk_near_end(key, rest.len()), !0 << (64 - 8 * rest.len())),
    }
}

/// The last `left` bytes of a key, 1 to 7, at the top of a number, zeros below.
#[inline(always)]
fn chunk_near_end(key: &[u8], left: usize) -> u64 {
    let drop = 64 - 8 * left as u32;
    if let Some(last) = key.last_chunk() {
        return u64::from_be_bytes(*last) << drop;
    }
    let rest = &key[key.len() - left..];
    if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        return u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last)) << drop;
    }
    match *rest {
        [a] => u64::from(a) << 56,
        [a, b] => u64::from(a) << 56 | u64::from(b) << 48,
        [a, b, c] => u64::from(a) << 56 | u64::from(b) << 48 | u64::from(c) << 40,
        _ => 0,
    }
}

/// Bytes that two slices have in common at their start.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    common_prefix_from(a, b, 0)
}

/// As `common_prefix`, of slices that have `from` bytes in common, unless one ends before.
#[inline(always)]
pub(crate) fn common_prefix_from(a: &[u8], b: &[u8], from: usize) -> usize {
    let len = a.len().min(b.len());
    let mut at = from;
    while at < len {
        let differ = chunk(a, at) ^ chunk(b, at);
        if differ != 0 {
            return len.min(at + differ.leading_zeros() as usize / 8);
        }
        at += 8;
    }
    len
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
            }
        }
    }
}
