//! Sorts on several threads give what the sort on one gives, whatever the keys are and however many threads there are.
#![cfg(feature = "parallel")]

use orasort::{FixedWidth, Options, Order, Sorter};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for each of four threads to get a share.
const KEYS: usize = if cfg!(miri) { 600 } else { 40_000 };

fn threads(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).expect("a number of threads")
}

/// Numbers in no order, the same in every run.
fn numbers() -> impl Iterator<Item = u64> {
    let mut state = 11u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

fn keys(key: impl Fn(u64) -> Vec<u8>) -> Vec<Vec<u8>> {
    numbers().take(KEYS).map(key).collect()
}

/// Lists of keys, each with what is special about it.
fn shapes() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let long = [vec![b'x'; 700], vec![0; 13]].concat();
    let mut late = vec![b"the same".to_vec(); KEYS];
    late[KEYS / 2] = b"the samf".to_vec();
    let mut lonely = keys(|number| [&long[..], &number.to_be_bytes()[..2]].concat());
    lonely[KEYS - 7].clear();
    let mut decimals =
        keys(|number| (number % 10u64.pow((number >> 40) as u32 % 12)).to_string().into_bytes());
    decimals[KEYS - 9] = b"12x".to_vec();
    let mut halves = keys(|number| format!("a shared beginning {:05}", number % 50_000).into_bytes());
    halves[KEYS / 2..].iter_mut().for_each(|key| key[2] = b'S');
    vec![
        ("random bytes", keys(|number| number.to_be_bytes().to_vec())),
        ("few keys, often", keys(|number| format!("key number {}", number % 9).into_bytes())),
        ("prefixes of each other", keys(|number| vec![0; (number % 90) as usize])),
        ("a long shared beginning", keys(|number| [&long[..], &number.to_be_bytes()].concat())),
        ("a beginning that all but one share", lonely),
        ("one that differs", late),
        ("decimals and one that is none", decimals),
        ("halves that share more than all do", halves),
        (
            "nearly all in one bucket",
            keys(|number| format!("{:040b}", (1u64 << (number % 3)) | (number % 2)).into_bytes()),
        ),
        ("sorted", (0..KEYS as u32).map(|number| number.to_be_bytes().to_vec()).collect()),
        (
            "sorted the other way",
            (0..KEYS as u32).rev().map(|number| number.to_be_bytes().to_vec()).collect(),
        ),
        ("all equal", vec![b"equal".to_vec(); KEYS]),
    ]
}

#[test]
fn rows_are_those_of_the_stable_sort_for_any_number_of_threads() {
    let mut sorter = Sorter::new();
    for (shape, keys) in shapes() {
        for order in [Order::Ascending, Order::Descending] {
            let mut expected: Vec<u32> = (0..KEYS as u32).collect();
            expected.sort_by(|a, b| {
                let by_key = keys[*a as usize].cmp(&keys[*b as usize]);
                if order == Order::Descending { by_key.reverse() } else { by_key }
            });
            for number in [1, 2, 3, 7] {
                let options = Options { order, stable: false };
                let found = sorter.par_argsort_with(&keys, options, threads(number));
                assert!(found == expected, "{shape}, {order:?}, {number} threads");
            }
        }
    }
}

#[test]
fn items_of_any_size_are_sorted() {
    for (shape, mut keys) in shapes() {
        let mut expected = keys.clone();
        expected.sort();
        let mut slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        orasort::par_sort_unstable(&mut slices, threads(2));
        assert!(slices == expected, "{shape}: slices");
        // With a number and 40 bytes more than fit into the sort's own memory.
        let mut large: Vec<(Vec<u8>, usize, [u64; 5])> =
            keys.iter().enumerate().map(|(row, key)| (key.clone(), row, [row as u64; 5])).collect();
        Sorter::new().par_sort_by_key_with(&mut large, |item| &item.0, Options::default(), threads(3));
        assert!(
            large.is_sorted_by_key(|item| (&item.0, item.1)),
            "{shape}: large items, in order where equal"
        );
        orasort::par_sort_unstable(&mut keys, threads(2));
        assert!(keys == expected, "{shape}: vectors");
    }
}

#[test]
fn few_keys_and_keys_of_one_width_are_sorted_too() {
    assert!(orasort::par_argsort(&[""; 0], threads(2)).is_empty());
    assert_eq!(orasort::par_argsort(&["b", "c", "a"], threads(8)), [2, 0, 1]);
    let bytes: Vec<u8> = numbers().take(KEYS).flat_map(u64::to_le_bytes).collect();
    let keys = FixedWidth { bytes: &bytes, width: 8 };
    let options = Options { stable: true, ..Options::default() };
    assert_eq!(orasort::par_argsort(&keys, threads(2)), orasort::argsort_with(&keys, options));
}

/// Counts how many of its kind there are.
struct Counted<'a>(Vec<u8>, &'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_key_function_that_panics_on_any_thread_leaves_all_items_as_they_were() {
    let alive = AtomicUsize::new(KEYS);
    let mut items: Vec<Counted<'_>> =
        numbers().take(KEYS).map(|number| Counted(number.to_be_bytes().to_vec(), &alive)).collect();
    let before: Vec<Vec<u8>> = items.iter().map(|item| item.0.clone()).collect();
    // A sort asks for a key a few times: the first limit is reached while threads load, the second never.
    for calls in [KEYS / 2, usize::MAX] {
        let left = AtomicUsize::new(calls);
        let sorted = catch_unwind(AssertUnwindSafe(|| {
            Sorter::new().par_sort_by_key_with(
                &mut items,
                |item| {
                    assert!(left.fetch_sub(1, Ordering::Relaxed) != 0, "on purpose");
                    &item.0
                },
                Options::default(),
                threads(2),
            );
        }));
        assert_eq!(sorted.is_err(), calls < KEYS, "{calls} calls");
        assert_eq!(alive.load(Ordering::Relaxed), KEYS);
        if sorted.is_err() {
            assert!(items.iter().map(|item| &item.0).eq(&before));
        }
    }
    assert!(items.is_sorted_by_key(|item| item.0.clone()));
    drop(items);
    assert_eq!(alive.into_inner(), 0);
}

#[test]
fn keys_that_change_while_they_are_sorted_lose_no_item() {
    let alive = AtomicUsize::new(KEYS);
    let mut items: Vec<Counted<'_>> =
        numbers().take(KEYS).map(|number| Counted(number.to_be_bytes().repeat(4), &alive)).collect();
    let mut before: Vec<Vec<u8>> = items.iter().map(|item| item.0.clone()).collect();
    for bytes_max in [1, 5, 33] {
        let calls = AtomicUsize::new(0);
        // It may panic, for what it finds is no order; items must be there all the same.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            Sorter::new().par_sort_by_key_with(
                &mut items,
                |item| &item.0[..calls.fetch_add(1, Ordering::Relaxed) * 7 % bytes_max],
                Options::default(),
                threads(3),
            );
        }));
        assert_eq!(alive.load(Ordering::Relaxed), KEYS);
    }
    let mut after: Vec<Vec<u8>> = items.iter().map(|item| item.0.clone()).collect();
    before.sort();
    after.sort();
    assert!(before == after);
}
