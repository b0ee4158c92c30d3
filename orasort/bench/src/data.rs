//! A data set: its keys in one arena, in the order in which they arrive.

use crate::random::Random;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

/// Keys one after the other, as an engine has them in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSet {
    bytes: Vec<u8>,
    /// Key i is `bytes[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
}

impl Default for DataSet {
    fn default() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }
}

/// What shape the keys have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Number of keys.
    pub keys: usize,
    /// Average length of a key, bytes.
    pub length_bytes: f64,
    /// Average number of first bytes that a key has in common with the next in order, bytes.
    pub common_bytes: f64,
    /// Keys that are equal to another and come after it in order, as a share of all.
    pub duplicates: f64,
}

impl DataSet {
    /// Appends a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.offsets.push(self.bytes.len());
    }

    /// Appends a key that a function writes to the end of the arena.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.offsets.push(self.bytes.len());
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True when there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The arena.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where keys begin and end in the arena: one more than there are keys.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The keys in order of arrival.
    #[must_use]
    pub fn keys(&self) -> Vec<&[u8]> {
        self.offsets.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]]).collect()
    }

    /// The length that all keys have, if they have one.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        let width = *self.offsets.get(1)?;
        self.offsets.iter().enumerate().all(|(row, start)| *start == row * width).then_some(width)
    }

    /// The same as arrays, for keys that all have N bytes.
    #[must_use]
    pub fn arrays<const N: usize>(&self) -> &[[u8; N]] {
        self.bytes().as_chunks().0
    }

    /// The same keys in another order, also in memory.
    #[must_use]
    pub fn reordered(&self, order: impl FnOnce(&mut [&[u8]])) -> Self {
        let mut keys = self.keys();
        order(&mut keys);
        keys.into_iter().collect()
    }

    /// The same keys in random order.
    #[must_use]
    pub fn shuffled(&self, random: &mut Random) -> Self {
        self.reordered(|keys| random.shuffle(keys))
    }

    /// The same keys in order.
    #[must_use]
    pub fn in_order(&self) -> Self {
        self.reordered(|keys| keys.sort_unstable())
    }

    /// The same keys, each so many in order.
    #[must_use]
    pub fn in_runs(&self, keys: usize) -> Self {
        self.reordered(|all| all.chunks_mut(keys.max(1)).for_each(<[_]>::sort_unstable))
    }

    /// The first `keys` keys, or all if there are fewer.
    #[must_use]
    pub fn first(mut self, keys: usize) -> Self {
        self.offsets.truncate(keys.saturating_add(1));
        self.bytes.truncate(*self.offsets.last().unwrap_or(&0));
        self
    }

    /// Counts; sorts a copy of the key slices for it.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut keys = self.keys();
        keys.sort_unstable();
        let pairs = || keys.windows(2);
        let common: usize = pairs().map(|pair| common_prefix(pair[0], pair[1])).sum();
        let equal = pairs().filter(|pair| pair[0] == pair[1]).count();
        let per_key = |sum: usize| sum as f64 / self.len().max(1) as f64;
        Statistics {
            keys: self.len(),
            length_bytes: per_key(self.bytes.len()),
            common_bytes: per_key(common),
            duplicates: per_key(equal),
        }
    }

    /// Writes the keys to a file: their number, where each begins and the last ends, all their bytes; numbers as 8
    /// bytes little-endian.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        file.write_all(&(self.len() as u64).to_le_bytes())?;
        for offset in &self.offsets {
            file.write_all(&(*offset as u64).to_le_bytes())?;
        }
        file.write_all(&self.bytes)?;
        file.flush()
    }

    /// Reads what [`write`](Self::write) wrote, with little work per key.
    ///
    /// # Errors
    /// When the file can't be read or is cut off.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = fs::File::open(path)?;
        let mut number = [0; 8];
        file.read_exact(&mut number)?;
        let mut offsets = vec![0; 8 * (u64::from_le_bytes(number) as usize + 1)];
        file.read_exact(&mut offsets)?;
        let (offsets, _) = offsets.as_chunks::<8>();
        let offsets: Vec<usize> = offsets.iter().map(|offset| u64::from_le_bytes(*offset) as usize).collect();
        let mut bytes = vec![0; offsets.last().copied().unwrap_or(0)];
        file.read_exact(&mut bytes)?;
        Ok(Self { bytes, offsets })
    }
}

impl<'a> FromIterator<&'a [u8]> for DataSet {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(keys: I) -> Self {
        let mut data = Self::default();
        keys.into_iter().for_each(|key| data.push(key));
        data
    }
}

/// Number of first bytes that two keys have in common.
#[must_use]
pub fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_the_sorted_keys() {
        let data: DataSet = [&b"abc"[..], b"", b"abd", b"abc"].into_iter().collect();
        // In order: "", abc, abc, abd: 0 + 3 + 2 common bytes.
        let expected = Statistics { keys: 4, length_bytes: 2.25, common_bytes: 1.25, duplicates: 0.25 };
        assert_eq!(data.statistics(), expected);
    }

    #[test]
    fn a_file_gives_back_the_keys() {
        let data: DataSet = [&b"abc"[..], b"", b"\0\0"].into_iter().collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        data.write(&path).unwrap();
        assert_eq!(DataSet::read(&path).unwrap(), data);
        assert_eq!(data.width(), None);
        assert_eq!(data.offsets(), [0, 3, 3, 5]);
    }
}
