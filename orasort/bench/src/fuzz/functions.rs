//! Every public function that sorts, each with what must hold of it: text of a test and check in one.

use arrow_array::{BinaryArray, BinaryViewArray};
use orasort::arrow::{ArrayOptions, argsort};
use orasort::external::{ExternalOptions, ExternalSorter};
use orasort::row::{Column, Field, Kind, RowEncoder};
use orasort::{Arena, FixedWidth, Options, Order, Sorter};
use std::cmp::Reverse;
use std::num::NonZeroUsize;

/// One way to call the library.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// The body of a Rust test in which `keys` is a `Vec<&[u8]>`.
    pub source: &'static str,
    /// It is called in one case of so many.
    pub once_in: u64,
    /// Panics when the result is wrong.
    pub check: fn(&[&[u8]]),
}

/// All four options.
#[must_use]
pub fn options() -> [Options; 4] {
    let both = [Order::Ascending, Order::Descending];
    [0, 1, 2, 3].map(|number| Options { order: both[number % 2], stable: number >= 2 })
}

/// The rows in stable order of their keys.
#[must_use]
pub fn right_rows(keys: &[&[u8]], order: Order) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
    match order {
        Order::Ascending => rows.sort_by_key(|row| keys[*row as usize]),
        Order::Descending => rows.sort_by(|one, other| keys[*other as usize].cmp(keys[*one as usize])),
    }
    rows
}

/// Panics unless the rows are the first of the right order; those of equal keys may be others where it is not stable.
pub fn assert_rows(keys: &[&[u8]], rows: &[u32], options: Options) {
    let right = right_rows(keys, options.order);
    assert!(rows.len() <= right.len(), "{} rows of {} keys", rows.len(), keys.len());
    if options.stable {
        assert_eq!(rows, &right[..rows.len()], "{options:?}");
        return;
    }
    let mut seen = vec![false; keys.len()];
    for (place, row) in rows.iter().enumerate() {
        let row = *row as usize;
        assert_eq!(keys[row], keys[right[place] as usize], "place {place}, {options:?}");
        assert!(!std::mem::replace(&mut seen[row], true), "row {row} twice, {options:?}");
    }
}

const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// The keys in one buffer, and where each begins and the last ends.
#[must_use]
pub fn arena(keys: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
    let ends = keys.iter().scan(0, |end, key| {
        *end += key.len();
        Some(*end)
    });
    (keys.concat(), [0].into_iter().chain(ends).collect())
}

/// Items that carry their row beside the key.
#[must_use]
pub fn with_rows<'a>(keys: &[&'a [u8]]) -> Vec<(&'a [u8], u32)> {
    keys.iter().copied().zip(0..).collect()
}

/// Arrays that hold the beginnings of keys, with zeros behind the end.
#[must_use]
pub fn arrays<const N: usize>(keys: &[&[u8]]) -> Vec<[u8; N]> {
    let array = |key: &&[u8]| std::array::from_fn(|at| key.get(at).copied().unwrap_or(0));
    keys.iter().map(array).collect()
}

macro_rules! functions {
    ($keys:ident; $($name:ident, once in $times:literal: $body:block)*) => {
        /// Every function.
        pub const ALL: &[Function] = &[$(Function {
            name: stringify!($name),
            source: stringify!($body),
            once_in: $times,
            check: |$keys: &[&[u8]]| $body,
        }),*];
    };
}

functions! { keys;
    sort_unstable, once in 1: {
        let mut sorted = keys.to_vec();
        orasort::sort_unstable(&mut sorted);
        let mut right = keys.to_vec();
        right.sort();
        assert_eq!(sorted, right);
    }
    sort_unstable_descending, once in 3: {
        let mut sorted = keys.to_vec();
        orasort::sort_unstable_descending(&mut sorted);
        let mut right = keys.to_vec();
        right.sort_by(|one, other| other.cmp(one));
        assert_eq!(sorted, right);
    }
    sort, once in 3: {
        let mut owned: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
        let mut right = owned.clone();
        orasort::sort(&mut owned);
        right.sort();
        assert_eq!(owned, right);
    }
    sort_descending, once in 3: {
        let mut sorted = keys.to_vec();
        orasort::sort_descending(&mut sorted);
        let rows = right_rows(keys, Order::Descending);
        let right: Vec<*const u8> = rows.iter().map(|row| keys[*row as usize].as_ptr()).collect();
        let sorted: Vec<*const u8> = sorted.iter().map(|key| key.as_ptr()).collect();
        assert_eq!(sorted, right);
    }
    sort_unstable_by_key, once in 3: {
        let mut items = with_rows(keys);
        orasort::sort_unstable_by_key(&mut items, |item| item.0);
        let rows: Vec<u32> = items.iter().map(|item| item.1).collect();
        assert_rows(keys, &rows, Options::default());
    }
    sort_arrays, once in 4: {
        let (mut narrow, mut wide) = (arrays::<7>(keys), arrays::<16>(keys));
        let (mut right_narrow, mut right_wide) = (narrow.clone(), wide.clone());
        orasort::sort_arrays(&mut narrow, Order::Ascending);
        orasort::sort_arrays(&mut wide, Order::Descending);
        right_narrow.sort();
        right_wide.sort_by(|one, other| other.cmp(one));
        assert_eq!((narrow, wide), (right_narrow, right_wide));
    }
    sort_by_key, once in 3: {
        let mut items = with_rows(keys);
        orasort::sort_by_key(&mut items, |item| item.0);
        let mut right = with_rows(keys);
        right.sort_by_key(|item| item.0);
        assert_eq!(items, right);
    }
    sort_by_key_with, once in 3: {
        for options in options() {
            let mut items = with_rows(keys);
            orasort::sort_by_key_with(&mut items, |item| item.0, options);
            let rows: Vec<u32> = items.iter().map(|item| item.1).collect();
            assert_rows(keys, &rows, options);
        }
    }
    argsort, once in 1: {
        let rows = orasort::argsort(keys);
        assert_eq!(rows.len(), keys.len());
        assert_rows(keys, &rows, Options::default());
    }
    argsort_with, once in 2: {
        for options in options() {
            let rows = orasort::argsort_with(keys, options);
            assert_eq!(rows.len(), keys.len());
            assert_rows(keys, &rows, options);
        }
    }
    within_a_budget, once in 3: {
        for options in options() {
            let rows = orasort::try_argsort_with(keys, options, usize::MAX).unwrap_or_default();
            assert_eq!(rows.len(), keys.len());
            assert_rows(keys, &rows, options);
            let mut items = with_rows(keys);
            let done = orasort::try_sort_by_key_with(&mut items, |item| item.0, options, 34 * keys.len());
            assert_eq!(done, Ok(()));
            let rows: Vec<u32> = items.iter().map(|item| item.1).collect();
            assert_rows(keys, &rows, options);
        }
    }
    argsort_u64, once in 5: {
        for options in options() {
            let rows = orasort::argsort_u64_with(keys, options);
            let rows: Vec<u32> = rows.into_iter().map(|row| row as u32).collect();
            assert_eq!(rows.len(), keys.len());
            assert_rows(keys, &rows, options);
        }
        assert_eq!(orasort::argsort_u64(keys).len(), keys.len());
    }
    arena_offsets, once in 2: {
        let (bytes, offsets) = arena(keys);
        let whole = orasort::argsort(&Arena { bytes: &bytes, offsets: &offsets });
        assert_eq!(whole.len(), keys.len());
        assert_rows(keys, &whole, Options::default());
        let offsets: Vec<i32> = offsets.iter().map(|offset| *offset as i32).collect();
        assert_eq!(orasort::argsort(&Arena { bytes: &bytes, offsets: &offsets }), whole);
    }
    fixed_width, once in 2: {
        // The bytes of all keys, taken as keys of the first one's length.
        let (bytes, _) = arena(keys);
        let width = keys.first().map_or(1, |key| key.len()).max(1);
        let chunks: Vec<&[u8]> = bytes.chunks_exact(width).collect();
        let rows = orasort::argsort(&FixedWidth { bytes: &bytes, width });
        assert_eq!(rows.len(), chunks.len());
        assert_rows(&chunks, &rows, Options::default());
    }
    top_k, once in 2: {
        for k in [0, 1, 2, keys.len() / 10, keys.len() / 2, keys.len(), keys.len() + 1] {
            for options in options() {
                let rows = orasort::top_k_with(keys, k, options);
                assert_eq!(rows.len(), k.min(keys.len()));
                assert_rows(keys, &rows, options);
            }
        }
    }
    sorted, once in 2: {
        for options in options() {
            let mut rows = orasort::sorted_with(keys, options);
            assert_eq!(rows.len(), keys.len());
            let first: Vec<u32> = rows.by_ref().take(keys.len() / 3).collect();
            assert_rows(keys, &first, options);
            let all: Vec<u32> = first.into_iter().chain(rows).collect();
            assert_eq!(all.len(), keys.len());
            assert_rows(keys, &all, options);
        }
    }
    sorted_lcp, once in 2: {
        let mut sorter = Sorter::new();
        for options in options() {
            let pairs: Vec<(u32, usize)> = sorter.sorted_lcp(keys, options).collect();
            let rows: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
            assert_eq!(rows.len(), keys.len());
            assert_rows(keys, &rows, options);
            for (place, pair) in pairs.windows(2).enumerate() {
                let both = keys[pair[0].0 as usize].iter().zip(keys[pair[1].0 as usize]);
                let common = both.take_while(|(one, other)| one == other).count();
                assert_eq!(pair[1].1, common, "common prefix of places {place} and {}", place + 1);
            }
        }
    }
    sorter_again, once in 2: {
        let mut sorter = Sorter::new();
        let half = &keys[keys.len() / 2..];
        assert_rows(half, &sorter.argsort(half), Options::default());
        // Given up in the middle, by a consumer that has enough.
        let given_up: Vec<u32> = sorter.sorted(keys, Options::default()).take(keys.len() / 2).collect();
        assert_rows(keys, &given_up, Options::default());
        let stable = Options { stable: true, ..Options::default() };
        let mut rows = vec![0; keys.len()];
        sorter.argsort_into(keys, stable, &mut rows);
        assert_rows(keys, &rows, stable);
        sorter.shrink();
        let mut sorted = keys.to_vec();
        sorter.sort_unstable(&mut sorted);
        assert!(sorted.is_sorted());
    }
    external, once in 50: {
        for (options, memory_bytes) in options().into_iter().zip([1 << 16, 1 << 18, 1 << 20, 1 << 16]) {
            let longest = keys.iter().map(|key| key.len()).max().unwrap_or(0);
            let limits = ExternalOptions::new(memory_bytes.max(8 * longest));
            let mut sorter = ExternalSorter::new(ExternalOptions { sort: options, ..limits });
            for (key, row) in keys.iter().zip(0u32..) {
                sorter.push(key, &row.to_le_bytes()).expect("a record goes in");
            }
            let mut records = sorter.finish().expect("the runs can be merged");
            let mut rows = Vec::new();
            while let Some(record) = records.next_record().expect("a record comes out") {
                let row = u32::from_le_bytes(record.payload.try_into().expect("4 bytes went in"));
                assert_eq!(record.key, keys[row as usize]);
                rows.push(row);
            }
            assert_eq!(rows.len(), keys.len());
            assert_rows(keys, &rows, options);
        }
    }
    par_argsort, once in 4: {
        for options in options() {
            let rows = orasort::par_argsort_with(keys, options, THREADS);
            assert_eq!(rows.len(), keys.len());
            assert_rows(keys, &rows, options);
        }
    }
    par_sort_unstable, once in 4: {
        let mut sorted = keys.to_vec();
        orasort::par_sort_unstable(&mut sorted, THREADS);
        let mut right = keys.to_vec();
        right.sort();
        assert_eq!(sorted, right);
    }
    row, once in 3: {
        // Each key is a row: whether it has a zero, its length, its first half, its first two bytes as a float, itself.
        let fields = vec![
            Field::new(Kind::Bool),
            Field::new(Kind::I16).descending().nulls_last(),
            Field::new(Kind::Bytes).descending().nulls_first(),
            Field::new(Kind::F64),
            Field::new(Kind::Bytes),
        ];
        let mut columns = Vec::new();
        for key in keys {
            let length = (key.len() % 3 > 0).then_some(5i16.wrapping_sub(key.len() as i16));
            let half = key.get(..key.len() / 2).filter(|_| key.len() % 4 > 0);
            let float = key.first_chunk().map_or(0.5, |first| f64::from(i16::from_be_bytes(*first)));
            columns.push((key.contains(&0), length, half, float));
        }
        let zeros: Vec<bool> = columns.iter().map(|row| row.0).collect();
        let lengths: Vec<Option<i16>> = columns.iter().map(|row| row.1).collect();
        let halves: Vec<Option<&[u8]>> = columns.iter().map(|row| row.2).collect();
        let floats: Vec<f64> = columns.iter().map(|row| row.3).collect();
        let encoded = RowEncoder::new(fields).encode(&[
            Column::new(&zeros),
            Column::new(&lengths),
            Column::new(&halves),
            Column::new(&floats),
            Column::new(keys),
        ]);
        let mut right: Vec<u32> = (0..keys.len() as u32).collect();
        right.sort_by_key(|row| {
            let (zero, length, half, float) = columns[*row as usize];
            let length = (length.is_none(), length.map(Reverse));
            (zero, length, half.map(Reverse), (2.0 * float) as i64, keys[*row as usize])
        });
        let stable = Options { stable: true, ..Options::default() };
        assert_eq!(orasort::argsort_with(&encoded.expect("the columns fit the fields"), stable), right);
    }
    arrow, once in 3: {
        // Each third key is a null; nulls stand last.
        let values: Vec<Option<&[u8]>> =
            keys.iter().enumerate().map(|(row, key)| (row % 3 > 0).then_some(*key)).collect();
        let mut right: Vec<u32> = (0..keys.len() as u32).collect();
        right.sort_by_key(|row| (values[*row as usize].is_none(), values[*row as usize]));
        let stable = Options { stable: true, ..Options::default() };
        let options = ArrayOptions { sort: stable, nulls_first: false };
        let array = BinaryArray::from(values.clone());
        assert_eq!(argsort(&mut Sorter::new(), &array, options), right);
        let views = BinaryViewArray::from(values);
        assert_eq!(argsort(&mut Sorter::new(), &views, options), right);
    }
}

/// The test that fails as the library does now, to be put beside the others.
#[must_use]
pub fn as_test(function: &Function, keys: &[Vec<u8>]) -> String {
    let literals = keys.iter().map(|key| format!("        b\"{}\",\n", key.escape_ascii()));
    let body = function.source.trim_start_matches('{').trim_end_matches('}').trim();
    format!(
        "#[test]\nfn found_by_fuzzing_{}() {{\n    let keys: Vec<&[u8]> = vec![\n{}    ];\n    let keys = &keys[..];\n    {body}\n}}\n",
        function.name,
        literals.collect::<String>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_case_is_a_test() {
        let function = ALL.iter().find(|function| function.name == "argsort").unwrap();
        let test = as_test(function, &[b"\0a".to_vec(), vec![]]);
        assert!(test.starts_with("#[test]\nfn found_by_fuzzing_argsort() {\n"), "{test}");
        assert!(test.contains("        b\"\\x00a\",\n        b\"\",\n"), "{test}");
        assert!(test.contains("orasort::argsort(keys)"), "{test}");
    }

    #[test]
    #[should_panic(expected = "place 0")]
    fn rows_out_of_order_are_seen() {
        assert_rows(&[b"b", b"a"], &[0, 1], Options::default());
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn a_row_that_comes_twice_is_seen() {
        assert_rows(&[b"a", b"a"], &[1, 1], Options::default());
    }

    #[test]
    fn a_few_cases_pass() {
        for case in 0..40 {
            let keys = crate::fuzz::cases::draw(1, case);
            let keys: Vec<&[u8]> = keys.iter().take(300).map(Vec::as_slice).collect();
            ALL.iter().for_each(|function| (function.check)(&keys));
        }
    }
}
