//! Random draws of a workload, all derived from the plan's seed: every arm gets the same operations in the same order.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Length of a `c` string: ten groups of eleven digits.
pub const C_LEN: usize = 119;
/// Length of a `pad` string: five groups of eleven digits.
pub const PAD_LEN: usize = 59;

const GROUP_DIGITS: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

/// A stream of random draws.
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream for these words, such as seed, step, client. Different words give unrelated streams.
    pub fn new(words: &[u64]) -> Self {
        let seed = words.iter().fold(0x5171_6272_7071_7073, |state, word| mix(state ^ mix(*word)));
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over `1..=max`; `max` is at most 2^32. The bias is below `max / 2^64`.
    #[inline]
    pub fn key(&mut self, max: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(max)) >> 64) as u64 + 1
    }

    /// Uniform over `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// `0..count` in random order (Fisher and Yates).
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = self.key(last as u64 + 1) as usize - 1;
            order.swap(last, other);
        }
        order
    }

    /// Fills `out` with groups of eleven random digits joined by `-`: the strings of the columns c and pad.
    pub fn digits(&mut self, out: &mut [u8]) {
        for group in out.chunks_mut(GROUP_DIGITS + 1) {
            let mut value = ((u128::from(self.bits()) * u128::from(GROUP_VALUES)) >> 64) as u64;
            let digits = group.len().min(GROUP_DIGITS);
            for digit in group[..digits].iter_mut().rev() {
                *digit = b'0' + (value % 10) as u8;
                value /= 10;
            }
            if let Some(dash) = group.get_mut(GROUP_DIGITS) {
                *dash = b'-';
            }
        }
    }
}

/// Hashes a name to a word for [`Stream::new`] (FNV-1a).
pub const fn name_word(name: &str) -> u64 {
    let (bytes, mut hash, mut at) = (name.as_bytes(), 0xcbf2_9ce4_8422_2325_u64, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit affects the whole word.
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_give_equal_streams() {
        let draws = |words: &[u64]| {
            let mut stream = Stream::new(words);
            (0..4).map(|_| stream.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draws(&[1, 2, 3]), draws(&[1, 2, 3]));
        assert_ne!(draws(&[1, 2, 3]), draws(&[1, 3, 2]));
        assert_ne!(draws(&[1, 0]), draws(&[1]));
    }

    #[test]
    fn keys_cover_the_range_evenly() {
        let mut stream = Stream::new(&[7]);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[stream.key(10) as usize - 1] += 1;
        }
        assert!(seen.iter().all(|n| (9_500..10_500).contains(n)), "{seen:?}");
    }

    #[test]
    fn strings_have_the_published_shape() {
        let mut c = [0; C_LEN];
        let mut pad = [0; PAD_LEN];
        let mut stream = Stream::new(&[7]);
        stream.digits(&mut c);
        stream.digits(&mut pad);
        for (text, groups) in [(&c[..], 10), (&pad[..], 5)] {
            let text = std::str::from_utf8(text).unwrap();
            assert_eq!(text.split('-').count(), groups);
            assert!(text.split('-').all(|g| g.len() == 11 && g.bytes().all(|b| b.is_ascii_digit())));
        }
    }
}
