//! Ranks: eight bytes of few values as the digits of a number.
//!
//! A decimal digit takes four bits of a word, of whose sixteen values ten are used, and none is left for the end of the
//! key. As a number of base 11, in which a byte's digit is its rank among its values and 0 stands behind the end, eight
//! take 28 bits, nearly all values of which are used, so that a radix step by its upper bits tells apart as many keys
//! as it can, and keys of one digit from those that go on with a zero.

/// Every byte of a number, and its highest bit.
const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * LOW;

/// Values at most: eight digits of them, and of the end, fit in a word.
const VALUES_MAX: u32 = 100;

/// Of the values between the least and the greatest one of so many, at least, was seen.
const SEEN_OF: u32 = 3;

/// Ranks of bytes between two values, both below 128.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ranks {
    /// Bits of the largest number.
    pub(crate) bits: u32,
    /// The least value, and what takes the greatest one to 127, for each byte.
    least: u64,
    to_top: u64,
    /// The base, and its second and fourth power.
    base: u64,
    base_2: u64,
    base_4: u64,
}

impl Ranks {
    /// Ranks of samples' bytes, each given as a number with the mask of those that are there, if they take fewer bits
    /// by a ninth or more than those in which bytes differ, and many of the values were seen.
    pub(crate) fn fitting(samples: impl Iterator<Item = (u64, u64)>, differ: u64) -> Option<Ranks> {
        let (mut seen, mut longest) = (0u128, 0);
        for (bytes, mask) in samples {
            let len = mask.leading_ones() as usize / 8;
            longest = longest.max(len);
            for byte in &bytes.to_be_bytes()[..len] {
                seen |= 1u128.checked_shl(u32::from(*byte))?;
            }
        }
        let (least, greatest) = (seen.trailing_zeros(), seen.checked_ilog2()?);
        let values = greatest - least + 1;
        if values > VALUES_MAX || seen.count_ones() * SEEN_OF < values {
            return None;
        }
        let base = u64::from(values) + 1;
        let bits = |digits: u32| 64 - (base.pow(digits) - 1).leading_zeros();
        (8 * differ.count_ones() >= 9 * bits(longest as u32)).then_some(Ranks {
            bits: bits(8),
            least: u64::from(least) * LOW,
            to_top: u64::from(0x7f - greatest) * LOW,
            base,
            base_2: base.pow(2),
            base_4: base.pow(4),
        })
    }

    /// The bits in which bytes may differ that have ranks.
    pub(crate) fn may_differ(&self) -> u64 {
        let greatest = (0x7f - (self.to_top & 0x7f)) as u8;
        u64::from(u8::MAX.unbounded_shr((self.least as u8 ^ greatest).leading_zeros())) * LOW
    }

    /// The number of eight bytes, of which those in the mask are there, the first ones, and zeros the others. If a byte
    /// has no rank the second result is not 0, and the number is of no use.
    #[inline(always)]
    pub(crate) fn number(&self, bytes: u64, mask: u64) -> (u64, u64) {
        const PAIRS: u64 = 0x00ff_00ff_00ff_00ff;
        const FOURS: u64 = 0x0000_ffff_0000_ffff;
        // The highest bit of each byte keeps what is below it from the next one, and is left where that is not less.
        let above = (bytes | HIGH).wrapping_sub(self.least);
        let misfits = (bytes | bytes.wrapping_add(self.to_top) | !above) & HIGH & mask;
        let ranks = ((above & !HIGH) + LOW) & mask;
        let pairs = ((ranks >> 8) & PAIRS).wrapping_mul(self.base) + (ranks & PAIRS);
        let fours = ((pairs >> 16) & FOURS).wrapping_mul(self.base_2) + (pairs & FOURS);
        ((fours >> 32).wrapping_mul(self.base_4).wrapping_add(fours & 0xffff_ffff), misfits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::chunk_and_mask;

    /// Numbers order as keys of up to eight bytes do, the end before all, and take the bits that they are said to.
    #[test]
    fn numbers_order_as_keys() {
        let digits =
            Ranks::fitting([(u64::from_be_bytes(*b"01290909"), !0)].into_iter(), !0).expect("few values");
        assert_eq!(digits.bits, 28);
        let spread = (0..8u8).map(|first| core::array::from_fn(|at| 27 + 12 * first + at as u8));
        let spread = spread.chain([[126; 8]]).map(|bytes| (u64::from_be_bytes(bytes), !0));
        let widest = Ranks::fitting(spread, !0);
        let widest = widest.expect("few enough values");
        let mut keys: [&[u8]; 9] =
            [b"", b"0", b"00", b"00000000", b"0000001", b"1", b"1999", b"199999", b"99999999"];
        keys.sort_unstable();
        for ranks in [digits, widest] {
            let numbers =
                keys.map(|key| chunk_and_mask(key, 0)).map(|(bytes, mask)| ranks.number(bytes, mask));
            assert!(numbers.is_sorted_by(|a, b| a.0 < b.0) && numbers.iter().all(|number| number.1 == 0));
            assert!(numbers[8].0 >> ranks.bits == 0);
        }
        let greatest = widest.number(u64::from_be_bytes([126; 8]), !0).0;
        assert_eq!(64 - greatest.leading_zeros(), widest.bits);
    }

    /// A byte that has no rank is seen wherever it stands, and one behind the end is none.
    #[test]
    fn other_bytes_do_not_fit() {
        let digits =
            Ranks::fitting([(u64::from_be_bytes(*b"01290909"), !0)].into_iter(), !0).expect("few values");
        for byte in 0..=255u8 {
            for at in 0..8 {
                let mut key = *b"57005700";
                key[at] = byte;
                let (bytes, mask) = chunk_and_mask(&key[..8], 0);
                assert_eq!(digits.number(bytes, mask).1 == 0, byte.is_ascii_digit(), "{byte} {at}");
                if digits.number(bytes, mask).1 == 0 {
                    assert_eq!((bytes ^ u64::from_be_bytes(*b"57005700")) & !digits.may_differ(), 0);
                }
            }
        }
        assert_eq!(digits.number(0, 0), (0, 0));
    }

    /// Where bits take less room, or values are many, there are no ranks.
    #[test]
    fn ranks_are_taken_where_they_are_shorter() {
        let sample = |key: &[u8; 8]| (u64::from_be_bytes(*key), !0);
        let fit = |samples: &[&[u8; 8]], differ: u64| {
            Ranks::fitting(samples.iter().map(|key| sample(key)), differ).is_some()
        };
        assert!(fit(&[b"01234567", b"98765432"], 0x0f * LOW));
        assert!(!fit(&[b"20240117", b"20251231"], 0x0000_000f_0f0f_0f0f));
        assert!(!fit(&[b"abcdefgh", b"zyxwvuts"], 0x1f * LOW));
        assert!(!fit(&[b"\0\0\0\0abcd", b"zyxwvuts"], !0));
        assert!(!fit(&[b"0123abcd", b"9876fed0"], 0x7f * LOW));
        assert!(!fit(&[b"abcdefg\xff", b"zyxwvuts"], !0));
        assert!(Ranks::fitting(core::iter::empty(), 0).is_none());
    }
}
