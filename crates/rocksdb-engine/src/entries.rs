//! Keys and values: keys are numbers in big-endian order filled up with `0`, values are compressible to a given share.

use rqps_model::random::Stream;

/// Bytes of the number in a key.
const NUMBER_BYTES: usize = 8;
/// Bytes that all values are cut from.
const POOL_BYTES: usize = 1 << 20;
/// Each piece of this size compresses by itself.
const PIECE_BYTES: usize = 100;

/// A key that is changed in place.
pub(crate) struct Key(Vec<u8>);

impl Key {
    pub fn new(bytes: usize) -> Self {
        Self(vec![b'0'; bytes.max(NUMBER_BYTES)])
    }

    #[inline]
    pub fn set(&mut self, number: u64) -> &[u8] {
        self.0[..NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
        &self.0
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Values of equal length, from a pool that is used again and again.
pub(crate) struct Values {
    pool: Vec<u8>,
    at: usize,
    length: usize,
}

impl Values {
    pub fn new(length: usize, compression_ratio: f64, random: &mut Stream) -> Self {
        let mut pool = Vec::with_capacity(POOL_BYTES + PIECE_BYTES + length);
        let random_bytes = ((PIECE_BYTES as f64 * compression_ratio) as usize).clamp(1, PIECE_BYTES);
        while pool.len() < POOL_BYTES + length {
            let piece: Vec<u8> = (0..random_bytes).map(|_| b' ' + (random.bits() % 95) as u8).collect();
            pool.extend(piece.iter().cycle().take(PIECE_BYTES));
        }
        Self { pool, at: 0, length }
    }

    #[inline]
    pub fn next(&mut self) -> &[u8] {
        if self.at + self.length > self.pool.len() {
            self.at = 0;
        }
        let value = &self.pool[self.at..self.at + self.length];
        self.at += self.length;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_their_numbers() {
        let mut key = Key::new(20);
        let keys: Vec<Vec<u8>> =
            [0, 1, 255, 256, 65_536, u64::MAX].map(|number| key.set(number).to_vec()).to_vec();
        assert!(keys.is_sorted() && keys.iter().all(|key| key.len() == 20));
        assert_eq!(&keys[1], b"\0\0\0\0\0\0\0\x01000000000000");
    }

    #[test]
    fn values_have_their_length_and_repeat_half_of_each_piece() {
        let mut values = Values::new(400, 0.5, &mut Stream::new(&[1]));
        let first = values.next().to_vec();
        assert_eq!((first.len(), &first[..50]), (400, &first[50..100]));
        assert_ne!(first[..50], first[100..150]);
        for _ in 0..10_000 {
            assert_eq!(values.next().len(), 400);
        }
    }
}
