//! Whether a result is what the sort of std gives: a sort that is wrong has no time.

use crate::data::DataSet;

/// What an algorithm hands back.
#[derive(Clone, Debug)]
pub enum Output<'a> {
    /// The keys in order.
    Keys(Vec<&'a [u8]>),
    /// The rows in order of their keys.
    Rows(Vec<u32>),
    /// The same, of 8 bytes each.
    WideRows(Vec<usize>),
    /// The bytes of keys of one width, in order.
    Arena(Vec<u8>),
    /// Copies of the keys in order.
    Copies(Vec<Vec<u8>>),
}

/// The right order of a data set.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    arrived: Vec<&'a [u8]>,
    sorted: Vec<&'a [u8]>,
    addresses_sum: usize,
}

/// The same for every order of the same slices, and another where one of them stands in twice.
fn addresses(keys: &[&[u8]]) -> usize {
    keys.iter().fold(0, |sum, key| sum.wrapping_add((key.as_ptr() as usize).wrapping_mul(0x9e37_79b9)))
}

impl<'a> Reference<'a> {
    /// Sorts with std.
    #[must_use]
    pub fn new(data: &'a DataSet) -> Self {
        let arrived = data.keys();
        let mut sorted = arrived.clone();
        sorted.sort_unstable();
        let addresses_sum = addresses(&arrived);
        Self { arrived, sorted, addresses_sum }
    }

    /// The keys in order of arrival.
    #[must_use]
    pub fn arrived(&self) -> &[&'a [u8]] {
        &self.arrived
    }

    /// The keys in order.
    #[must_use]
    pub fn sorted(&self) -> &[&'a [u8]] {
        &self.sorted
    }

    /// What is wrong with a whole result, or nothing.
    #[must_use]
    pub fn fault_of(&self, output: &Output<'_>) -> Option<String> {
        match output {
            Output::Keys(keys) => {
                let fault = self.fault_of_keys(keys.iter().copied(), keys.len());
                let other = addresses(keys) != self.addresses_sum;
                fault.or_else(|| other.then(|| "a key was lost and another is there twice".to_owned()))
            }
            Output::Rows(rows) => self.fault_of_rows(rows.iter().map(|row| *row as usize), self.sorted.len()),
            Output::WideRows(rows) => self.fault_of_rows(rows.iter().copied(), self.sorted.len()),
            Output::Arena(bytes) => {
                let width = self.sorted.first().map_or(1, |key| key.len()).max(1);
                self.fault_of_keys(bytes.chunks(width), self.sorted.len())
            }
            Output::Copies(keys) => self.fault_of_keys(keys.iter().map(Vec::as_slice), keys.len()),
        }
    }

    /// What is wrong with the first `expected` rows of an order, or nothing.
    pub fn fault_of_rows(&self, rows: impl Iterator<Item = usize>, expected: usize) -> Option<String> {
        let mut seen = vec![false; self.sorted.len()];
        let mut keys = Vec::with_capacity(expected);
        for row in rows {
            match seen.get_mut(row) {
                Some(seen) if !*seen => *seen = true,
                _ => return Some(format!("row {row} is there twice, or there is no such row")),
            }
            keys.push(self.arrived[row]);
        }
        self.fault_of_keys(keys.iter().copied(), expected)
    }

    fn fault_of_keys<'k>(&self, keys: impl Iterator<Item = &'k [u8]>, expected: usize) -> Option<String> {
        let mut place = 0;
        for key in keys {
            if self.sorted.get(place).is_none_or(|right| *right != key) {
                return Some(format!("the key in place {place} is wrong"));
            }
            place += 1;
        }
        (place != expected).then(|| format!("{place} keys came, {expected} should"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_results_are_seen() {
        let data: DataSet = [&b"b"[..], b"a", b"a"].into_iter().collect();
        let reference = Reference::new(&data);
        let keys = data.keys();
        let fault = |output| reference.fault_of(&output);
        assert_eq!(fault(Output::Rows(vec![2, 1, 0])), None);
        assert_eq!(fault(Output::Keys(vec![keys[1], keys[2], keys[0]])), None);
        assert_eq!(fault(Output::Arena(b"aab".to_vec())), None);
        assert!(fault(Output::Rows(vec![1, 1, 0])).is_some(), "a row twice");
        assert!(fault(Output::Rows(vec![1, 2])).is_some(), "a row too few");
        assert!(fault(Output::WideRows(vec![1, 0, 2])).is_some(), "out of order");
        assert!(fault(Output::Keys(vec![keys[1], keys[1], keys[0]])).is_some(), "an equal key twice");
    }
}
