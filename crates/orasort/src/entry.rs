//! An entry: what the sort moves in place of a key. Sixteen bytes that order as the keys do, as far as they reach.
//!
//! An entry is one `u128`. From the top: eleven bytes of the key, starting at the depth of the entry's partition; the
//! tag; the row. Integer order of entries is then the order of the keys' next bytes, and of rows where those are
//! equal:
//!
//! ```text
//!  127                                    40 39     32 31          0
//! | key[depth .. depth + 11], zeros past end |  tag    |    row     |
//! ```
//!
//! **The tag** is the number of bytes that the key has left at the depth, at most 12. It makes "the key ends here" a
//! part of the order. Take two entries whose eleven bytes are equal. If both tags are 12, neither key has ended: the
//! order is decided by bytes further on. If one tag is less, that key is a prefix of the other, or ends with zero
//! bytes where the other has zero bytes too: the shorter is the smaller, and so is its tag. If both tags are equal and
//! less than 12, the keys are equal. So a zero byte needs no special case, and no length is ever compared.
//!
//! **The row** at the bottom makes entries distinct, and a sort of entries stable, at no cost.

/// An entry; see the module.
pub(crate) type Entry = u128;

/// Bytes of the key in an entry.
pub(crate) const WORD_BYTES: usize = 11;

/// The tag of a key that goes on past the entry's bytes.
pub(crate) const TAG_OPEN: u8 = 12;

/// Where the tag begins, in bits.
pub(crate) const TAG_SHIFT: u32 = 32;

/// The bits that hold key bytes and tag: all but the row.
pub(crate) const WORD_MASK: u128 = !0 << TAG_SHIFT;

const BYTES_MASK: u128 = !0 << (TAG_SHIFT + 8);

/// `KEEP[n]` has the bits of the first n bytes of an entry.
const KEEP: [u128; 13] = {
    let mut keep = [0; 13];
    let mut n = 1;
    while n < 13 {
        let bytes = if n < WORD_BYTES { n } else { WORD_BYTES };
        keep[n] = !0 << (128 - 8 * bytes);
        n += 1;
    }
    keep
};

/// The row that an entry stands for.
#[inline(always)]
pub(crate) fn row(entry: Entry) -> u32 {
    entry as u32
}

/// Whether key bytes and tag of two entries are equal.
#[inline(always)]
pub(crate) fn same_word(a: Entry, b: Entry) -> bool {
    // The upper halves decide nearly always.
    (a >> 64) as u64 == (b >> 64) as u64 && (a as u64 ^ b as u64) >> TAG_SHIFT == 0
}

/// The tag of an entry whose word was xored with `flip`.
#[inline(always)]
pub(crate) fn tag(entry: Entry, flip: u128) -> u8 {
    ((entry ^ flip) >> TAG_SHIFT) as u8
}

/// An entry for the key `bytes[..len]` at `depth`, with row 0.
///
/// `bytes` may go on past the key: what lies there is read, so that one load serves nearly every key, and masked off.
/// A depth past the end of the key gives an entry without bytes, tag 0.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], len: usize, depth: usize) -> Entry {
    let left = len.saturating_sub(depth);
    let tag = left.min(TAG_OPEN as usize);
    let head = match bytes.get(depth..).and_then(|rest| rest.first_chunk::<16>()) {
        Some(chunk) => u128::from_be_bytes(*chunk) & KEEP[tag],
        None => word_near_end(bytes.get(..len).unwrap_or(bytes), left) & BYTES_MASK,
    };
    head | (tag as u128) << TAG_SHIFT
}

/// The last `left` bytes of a key, at most 15, in the top of a word, zeros below. The loads overlap, so that none goes
/// past either end of the key.
#[inline(always)]
fn word_near_end(key: &[u8], left: usize) -> u128 {
    if left == 0 || left > 15 {
        return 0;
    }
    let drop = 128 - 8 * left as u32;
    if let Some(last) = key.last_chunk::<16>() {
        return u128::from_be_bytes(*last) << drop;
    }
    let rest = &key[key.len() - left.min(key.len())..];
    if let (Some(head), Some(last)) = (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
        return u128::from(u64::from_be_bytes(*head)) << 64 | u128::from(u64::from_be_bytes(*last)) << drop;
    }
    if let (Some(head), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        return u128::from(u32::from_be_bytes(*head)) << 96 | u128::from(u32::from_be_bytes(*last)) << drop;
    }
    match *rest {
        [a] => u128::from(a) << 120,
        [a, b] => u128::from(a) << 120 | u128::from(b) << 112,
        [a, b, c] => u128::from(a) << 120 | u128::from(b) << 112 | u128::from(c) << 104,
        _ => 0,
    }
}

/// A lower bound of the bytes that two neighbours at `depth` have in common; exact where their words differ.
pub(crate) fn common_bytes(a: Entry, b: Entry, depth: usize, flip: u128) -> usize {
    let same = ((a ^ b).leading_zeros() / 8) as usize;
    let short = tag(a, flip).min(tag(b, flip)) as usize;
    depth + same.min(short).min(WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// Order of words is order of keys, wherever the words do not tie as open; also with bytes behind the key.
    #[test]
    fn words_order_as_keys() {
        let mut keys: Vec<Vec<u8>> = vec![vec![]];
        for len in (0..20).step_by(if cfg!(miri) { 5 } else { 1 }) {
            for fill in [0u8, 1, 255] {
                keys.push(vec![fill; len]);
                keys.push((0..len as u8).map(|i| i.wrapping_mul(fill)).collect());
                let mut key = vec![0; len];
                key.push(fill);
                keys.push(key);
            }
        }
        for depth in if cfg!(miri) { vec![0, 5, 30] } else { vec![0, 1, 5, 11, 17, 30] } {
            for a in &keys {
                for b in &keys {
                    let (left, right) = (a.get(depth..).unwrap_or(&[]), b.get(depth..).unwrap_or(&[]));
                    let (x, y) = (word(a, a.len(), depth), word(b, b.len(), depth));
                    if x == y && tag(x, 0) == TAG_OPEN {
                        assert_eq!(left[..11], right[..11]);
                    } else {
                        assert_eq!(x.cmp(&y), left.cmp(right), "{a:?} {b:?} at {depth}");
                        let same = left.iter().zip(right).take_while(|(x, y)| x == y).count();
                        assert_eq!(common_bytes(x, y, depth, 0), depth + same.min(11), "{a:?} {b:?}");
                    }
                    let mut longer = a.clone();
                    longer.extend([7; 20]);
                    assert_eq!(word(&longer, a.len(), depth), x);
                }
            }
        }
    }
}
