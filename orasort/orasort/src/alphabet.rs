//! Alphabets: what is the same in all bytes that keys are written with, however these bytes follow each other.
//!
//! Which bits differ at one place of a few keys does not tell in which they do at that place of all keys. But where
//! many places have bytes of the same kind, a bit that differs at none of them is likely to differ in no key: of bytes
//! that are 0 or 1 one bit is left. And the bytes of some alphabets, such as hexadecimal digits and the letters of DNA,
//! have **twins**: a bit that is the same as a higher one in all of them, or the opposite in all. The lower one tells
//! nothing, and where it differs a higher bit does too, so that to leave it out keeps the order. Words then reach
//! further into keys, and a radix step by their upper bits tells more of them apart.

/// Every byte of a number.
const LOW: u64 = 0x0101_0101_0101_0101;

/// So many bytes of samples tell what is the same in all.
const BYTES_MIN: u32 = 192;

/// So many of them, at least, have each of the values of a twin.
const EACH_MIN: u32 = 24;

/// A bit of each byte, and a higher one that tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Twins {
    /// How far the higher bit is above the lower one.
    shift: u32,
    /// The lower bit of each byte.
    lower: u64,
    /// All bits if one bit is the opposite of the other, else none.
    opposite: u64,
}

/// Eight bytes of a sample, and the mask of those that are there.
type Sample = (u64, u64);

/// The bits that may differ in bytes of which those of a few samples do in `differ` and those of their kind in `wide`.
pub(crate) fn narrowed(samples: impl Iterator<Item = Sample>, differ: u64, wide: u64) -> u64 {
    let places = differing_bytes(differ);
    let bytes: u32 = samples.map(|(_, mask)| (mask & places).count_ones() / 8).sum();
    if bytes < BYTES_MIN { wide } else { wide & (any_byte(differ) * LOW) }
}

impl Twins {
    /// The twins of samples' bytes where bits may differ, if many bytes show that they are.
    pub(crate) fn of(samples: impl Iterator<Item = Sample> + Clone, differ: u64) -> Option<Twins> {
        // Bits of the same byte, so far apart.
        (1..8).find_map(|shift| {
            let both = differ & differ >> shift & ((0xff >> shift) * LOW);
            let (mut same, mut opposite) = (0, 0);
            for (bytes, mask) in samples.clone() {
                let its = bytes ^ bytes >> shift;
                same |= !its & both & mask;
                opposite |= its & both & mask;
            }
            let [same, opposite] = [same, opposite].map(any_byte);
            // The highest of the bits that are twins.
            let lower = 1 << (same ^ opposite).checked_ilog2()?;
            let twins = Twins { shift, lower: lower * LOW, opposite: if same & lower == 0 { !0 } else { 0 } };
            let count = |is_set: bool| -> u32 {
                let flip = if is_set { 0 } else { !0 };
                samples
                    .clone()
                    .map(|(bytes, mask)| ((bytes ^ flip) & both & twins.lower & mask).count_ones())
                    .sum()
            };
            (count(false).min(count(true)) >= EACH_MIN).then_some(twins)
        })
    }

    /// The bits that higher ones tell, of bytes in which the bits in `differ` may.
    pub(crate) fn told(&self, differ: u64) -> u64 {
        differ & differ >> self.shift & self.lower
    }

    /// Those of some lower bits that are not what the higher ones tell.
    #[inline(always)]
    pub(crate) fn misfits(&self, bytes: u64, told: u64) -> u64 {
        (bytes ^ bytes >> (self.shift & 7) ^ self.opposite) & told
    }
}

/// The bits that any byte has, in one.
fn any_byte(bytes: u64) -> u64 {
    bytes.to_ne_bytes().iter().fold(0, |any, byte| any | u64::from(*byte))
}

/// All bits of the bytes that are not 0.
fn differing_bytes(differ: u64) -> u64 {
    u64::from_ne_bytes(differ.to_ne_bytes().map(|byte| if byte == 0 { 0 } else { 0xff }))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Samples of bytes drawn from an alphabet.
    fn samples(alphabet: &[u8], count: usize) -> Vec<Sample> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            alphabet[(state >> 33) as usize % alphabet.len()]
        };
        (0..count).map(|_| (u64::from_be_bytes(core::array::from_fn(|_| next())), !0)).collect()
    }

    /// Twins are found where there are some, and a byte that has others does not fit.
    #[test]
    fn twins_are_found() {
        for (alphabet, lower, byte) in [(&b"ACGT"[..], 0x01, b'E'), (b"0123456789abcdef", 0x10, b'p')] {
            let samples = samples(alphabet, 40);
            let differ = samples.iter().fold(0, |all, sample| all | sample.0 ^ samples[0].0);
            let twins = Twins::of(samples.iter().copied(), differ);
            let twins = twins.expect("they are there");
            let told = twins.told(differ);
            assert_eq!(told, lower * LOW);
            assert!(samples.iter().all(|sample| twins.misfits(sample.0, told) == 0));
            let other = samples[0].0 & !0xff | u64::from(byte);
            assert_eq!(twins.misfits(other, told) != 0, byte == b'p');
        }
    }

    /// Too few samples tell nothing, nor do letters.
    #[test]
    fn others_have_no_twins() {
        for (alphabet, count) in [(&b"ACGT"[..], 3), (b"abcdefghijklmnopqrstuvwxyz", 40), (b"0123456789", 40)]
        {
            let samples = samples(alphabet, count);
            let twins = Twins::of(samples.iter().copied(), 0x1f * LOW);
            assert_eq!(twins, None);
        }
    }

    /// A bit that differs in no place of many is left out, of few it is not.
    #[test]
    fn what_is_the_same_everywhere_is_left_out() {
        let samples = samples(b"01", 40);
        assert_eq!(narrowed(samples.iter().copied(), LOW, 0x0f * LOW), LOW);
        assert_eq!(narrowed(samples.iter().copied(), 1, 0x0f), 0x0f);
        assert_eq!(narrowed(samples[..9].iter().copied(), LOW, 0x0f * LOW), 0x0f * LOW);
    }
}
