//! An entry: what the sort moves in place of a key. Sixteen bytes that order as the keys do, as far as they reach, and
//! say where the key lies.
//!
//! An entry is one `u128`, its upper half is the **head**:
//!
//! ```text
//!  127                        73  72  71     64 63         32 31        0
//! | 55 bits of the key: the word |open| length |     row     |   place   |
//! ```
//!
//! **The word** is cut from the key by the window of the entry's partition (`window`): bits in which its keys differ.
//! Bits behind the end of a key are zero. **Open** says that the key goes on behind the window. **Length** is the
//! length of the whole key, at most 255, and stands for that of a longer one too.
//!
//! Integer order of heads is the order of the keys as far as windows reach: take two entries whose words are equal. If
//! both are open, the order is decided by bytes further on; their lengths order nothing. If one is open, the other
//! one's key is the beginning of it, and is the smaller. If neither is, one key is the beginning of the other, so the
//! shorter is the smaller, and keys of one length are equal. So a zero byte needs no special case, and the end of a key
//! none either; only of two long keys that both have length 255 the true lengths have to be looked at.
//!
//! **Row and place** tell which key it is and where it lies (`finder`).

/// An entry; see the module.
pub(crate) type Entry = u128;

/// Bits of the key in an entry.
pub(crate) const WORD_BITS: u32 = 55;

/// The bit of a head from which on it is a word.
pub(crate) const WORD_SHIFT: u32 = 64 - WORD_BITS;

/// The bit of a head that says that the key goes on.
pub(crate) const OPEN: u64 = 1 << 8;

/// The bits of a head in which keys of no order differ: word and open.
pub(crate) const ORDER_MASK: u64 = !LENGTH_MASK;

/// The length of a key that is this long or longer.
pub(crate) const LENGTH_MAX: usize = 255;

const LENGTH_MASK: u64 = 0xff;
const ROW_SHIFT: u32 = 32;

/// An entry.
#[inline(always)]
pub(crate) fn entry(head: u64, row: u32, place: u32) -> Entry {
    u128::from(head) << 64 | u128::from(row) << ROW_SHIFT | u128::from(place)
}

/// The entry with another head.
#[inline(always)]
pub(crate) fn with_head(entry: Entry, head: u64) -> Entry {
    u128::from(head) << 64 | u128::from(entry as u64)
}

/// A head. `word` has its bits at the top and zeros below, `length` is at most `LENGTH_MAX`.
#[inline(always)]
pub(crate) fn head_of(word: u64, is_open: bool, length: usize) -> u64 {
    word | if is_open { OPEN } else { 0 } | length as u64
}

/// What entries are compared by.
#[inline(always)]
pub(crate) fn head(entry: Entry) -> u64 {
    (entry >> 64) as u64
}

/// The length in a head that was xored with `flip`.
#[inline(always)]
pub(crate) fn length(head: u64, flip: u64) -> usize {
    ((head ^ flip) & LENGTH_MASK) as usize
}

/// Whether the key of a head that was xored with `flip` goes on behind the window.
#[inline(always)]
pub(crate) fn is_open(head: u64, flip: u64) -> bool {
    (head ^ flip) & OPEN != 0
}

/// Whether heads do not tell the order of two keys: words are equal, and both go on, or both are too long for a length.
#[inline(always)]
pub(crate) fn is_tie(a: u64, b: u64, flip: u64) -> bool {
    (a ^ b) & ORDER_MASK == 0 && (is_open(a, flip) || length(a, flip) == LENGTH_MAX && a == b)
}

/// The row that an entry stands for.
#[inline(always)]
pub(crate) fn row(entry: Entry) -> u32 {
    (entry >> ROW_SHIFT) as u32
}

/// Where the key lies, from what the finder counts from.
#[inline(always)]
pub(crate) fn place(entry: Entry) -> u32 {
    entry as u32
}

/// The bytes that two neighbours at `depth` have in common, if their heads tell. Words are of all bits.
pub(crate) fn common_bytes(a: u64, b: u64, depth: usize, flip: u64) -> Option<usize> {
    let shortest = length(a, flip).min(length(b, flip));
    let differ = (a ^ b) >> WORD_SHIFT << WORD_SHIFT;
    // Lengths of the longest keys are not known, but the words of two that differ may still lie within them.
    let same = depth + (differ.leading_zeros() / 8) as usize;
    (differ != 0 && (same < LENGTH_MAX || shortest < LENGTH_MAX)).then_some(same.min(shortest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is put into an entry can be taken out of it, and another head changes nothing else.
    #[test]
    fn parts_of_an_entry_do_not_touch() {
        let word = 0x1234_5678_9abc_de00;
        for (length, row, place, open) in
            [(0, 0, 0, false), (255, u32::MAX, u32::MAX, true), (18, 7, 9, true)]
        {
            for flip in [0, !0] {
                let its_head = head_of(word, open, length) ^ flip;
                let one = entry(its_head, row, place);
                for entry in [one, with_head(with_head(one, !0), its_head)] {
                    assert_eq!(head(entry), its_head);
                    assert_eq!(super::length(head(entry), flip), length);
                    assert_eq!(is_open(head(entry), flip), open);
                    assert_eq!(super::row(entry), row);
                    assert_eq!(super::place(entry), place);
                }
            }
        }
    }
}
