//! The external sort gives back what was pushed, in order, in the memory it was given, and leaves no file.
#![cfg(all(feature = "external", not(miri)))]
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use orasort::external::{ExternalError, ExternalOptions, ExternalSorter, ExternalStats, MEMORY_BYTES_MIN};
use orasort::{Options, Order};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

/// Counts the bytes that this thread has allocated, and the most there were.
struct Counting;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

fn count(more: usize, less: usize) {
    // A thread that ends may have no counters any more.
    let _ = NOW.try_with(|now| {
        now.set((now.get() + more).saturating_sub(less));
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Pair = (Vec<u8>, Vec<u8>);

fn options(directory: &Path, memory_bytes: usize, order: Order) -> ExternalOptions {
    let sort = Options { order, stable: true };
    ExternalOptions { memory_bytes, directory: directory.to_owned(), sort }
}

fn sorted(pairs: &[Pair], order: Order) -> Vec<Pair> {
    let mut expected = pairs.to_vec();
    match order {
        Order::Ascending => expected.sort_by(|a, b| a.0.cmp(&b.0)),
        Order::Descending => expected.sort_by(|a, b| b.0.cmp(&a.0)),
    }
    expected
}

/// Sorts the pairs and checks the answer, its LCPs among it.
fn check(options: ExternalOptions, pairs: &[Pair]) -> ExternalStats {
    let order = options.sort.order;
    let mut sorter = ExternalSorter::new(options);
    for (key, payload) in pairs {
        sorter.push(key, payload).unwrap();
    }
    let expected = sorted(pairs, order);
    let mut records = sorter.finish().unwrap();
    let mut before: &[u8] = &[];
    for (at, (key, payload)) in expected.iter().enumerate() {
        let record =
            records.next_record().unwrap().unwrap_or_else(|| panic!("{at} of {} records", pairs.len()));
        assert!(record.key == key && record.payload == payload, "record {at}: {:?}, not {key:?}", record.key);
        assert_eq!(record.lcp, key.iter().zip(before).take_while(|(a, b)| a == b).count(), "record {at}");
        before = key;
    }
    assert_eq!(records.next_record().unwrap(), None);
    drop(records);
    sorter.stats()
}

/// Small numbers in no order, the same in every run.
fn numbers() -> impl Iterator<Item = u64> {
    let mut state = 7u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

/// Pairs whose keys share long beginnings, with a fifth of them twice.
fn urls(count: usize) -> Vec<Pair> {
    let pair = |(at, number): (usize, u64)| {
        let key = format!("https://example.org/{}/section/{:07}", number % 7, number % (count as u64 * 4));
        (key.into_bytes(), format!("payload {at}").into_bytes())
    };
    numbers().take(count).enumerate().map(pair).collect()
}

fn files_in(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn many_runs_are_merged_in_several_passes_and_equal_keys_stay_in_order() {
    let directory = tempfile::tempdir().unwrap();
    for order in [Order::Ascending, Order::Descending] {
        let stats = check(options(directory.path(), MEMORY_BYTES_MIN, order), &urls(60_000));
        assert_eq!(stats.records, 60_000);
        assert!(stats.runs > 60, "{stats:?}");
        assert!(stats.merges > 1, "{stats:?}");
    }
    assert_eq!(files_in(directory.path()), 0);
}

#[test]
fn bytes_that_keys_share_are_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let pairs: Vec<Pair> = urls(20_000).into_iter().map(|(key, _)| (key, Vec::new())).collect();
    let bytes: usize = pairs.iter().map(|(key, _)| key.len()).sum();
    let stats = check(options(directory.path(), 512 << 10, Order::Ascending), &pairs);
    assert!(stats.runs >= 2 && stats.merges == 0, "{stats:?}");
    assert!(stats.written_bytes * 3 < bytes as u64, "{} bytes of keys, {stats:?}", bytes);
}

#[test]
fn the_memory_limit_holds_for_runs_passes_and_final_merge() {
    let directory = tempfile::tempdir().unwrap();
    for (memory_bytes, key_bytes) in [(64 << 10, 9), (64 << 10, 400), (1 << 20, 9), (1 << 20, 3000)] {
        let mut sorter = ExternalSorter::new(options(directory.path(), memory_bytes, Order::Ascending));
        let count = memory_bytes * 15 / (key_bytes + 60);
        let (mut key, payload) = (vec![b'k'; key_bytes], [1; 20]);
        let before = NOW.get();
        MOST.set(before);
        for number in numbers().take(count) {
            key[key_bytes - 8..].copy_from_slice(&number.to_be_bytes());
            sorter.push(&key, &payload).unwrap();
        }
        let pushed_bytes = MOST.get() - before;
        let mut records = sorter.finish().unwrap();
        let mut found = 0;
        while records.next_record().unwrap().is_some() {
            found += 1;
        }
        assert_eq!(found, count);
        let most_bytes = MOST.get() - before;
        // An eighth more: lists of runs, and counters of the sort.
        let limit = memory_bytes + memory_bytes / 8 + (40 << 10);
        assert!(
            most_bytes <= limit,
            "{pushed_bytes} and {most_bytes} bytes, limit {memory_bytes}, keys {key_bytes}"
        );
        assert!(most_bytes * 2 > memory_bytes, "{most_bytes} bytes of {memory_bytes}: the limit is not used");
    }
}

#[test]
fn records_larger_than_blocks_segments_and_the_whole_limit_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut pairs = urls(300);
    for (at, number) in numbers().take(12).enumerate() {
        let mut key = b"https://example.org/3/".repeat(20_000 + number as usize % 3 * 5_000);
        key.push(number as u8);
        pairs.insert(at * 20, (key, vec![at as u8; 200_000]));
    }
    let stats = check(options(directory.path(), MEMORY_BYTES_MIN, Order::Ascending), &pairs);
    assert!(stats.runs >= 12, "{stats:?}");
    let stats = check(options(directory.path(), 100 << 20, Order::Descending), &pairs);
    assert_eq!(stats.runs, 0);
}

#[test]
fn what_fits_makes_no_file_and_empty_input_gives_nothing() {
    let nowhere = Path::new("/nowhere/at/all");
    assert_eq!(check(options(nowhere, 1 << 20, Order::Ascending), &urls(1000)).written_bytes, 0);
    assert_eq!(check(options(nowhere, 1 << 20, Order::Ascending), &[]), ExternalStats::default());
    let empty = vec![(Vec::new(), Vec::new()); 5000];
    check(options(&std::env::temp_dir(), 1, Order::Descending), &empty);
}

#[test]
fn a_directory_that_is_not_there_is_an_error_that_loses_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("later");
    let mut sorter = ExternalSorter::new(options(&directory, MEMORY_BYTES_MIN, Order::Ascending));
    let pairs = urls(5000);
    let mut refused = 0;
    for (key, payload) in &pairs {
        if let Err(error) = sorter.push(key, payload) {
            assert!(
                matches!(&error, ExternalError::Create { directory: at, .. } if *at == directory),
                "{error}"
            );
            assert!(error.to_string().contains("choose a directory that exists"), "{error}");
            refused += 1;
            std::fs::create_dir(&directory).unwrap();
            sorter.push(key, payload).unwrap();
        }
    }
    assert_eq!(refused, 1);
    let found: Result<Vec<Pair>, _> = sorter.finish().unwrap().collect();
    assert_eq!(found.unwrap(), sorted(&pairs, Order::Ascending));
}

#[test]
fn a_sorter_sorts_again_and_gives_the_same_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut sorter = ExternalSorter::new(options(directory.path(), MEMORY_BYTES_MIN, Order::Ascending));
    for count in [4000, 10, 3000] {
        let pairs = urls(count);
        pairs.iter().for_each(|(key, payload)| sorter.push(key, payload).unwrap());
        let expected = sorted(&pairs, Order::Ascending);
        assert!(sorter.finish().unwrap().take(3).map(Result::unwrap).eq(expected[..3].iter().cloned()));
        assert!(sorter.finish().unwrap().map(Result::unwrap).eq(expected));
        assert_eq!(sorter.stats().records, count as u64);
    }
}

#[test]
fn no_file_is_left_by_a_sort_that_panics_or_is_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let panicked = std::panic::catch_unwind(|| {
        let mut sorter = ExternalSorter::new(options(directory.path(), MEMORY_BYTES_MIN, Order::Ascending));
        urls(5000).iter().for_each(|(key, payload)| sorter.push(key, payload).unwrap());
        assert!(sorter.stats().runs > 2);
        // Files have lost their names while the sort goes on: nothing has to be done for one that is killed.
        if cfg!(unix) {
            assert_eq!(files_in(directory.path()), 0);
        }
        let _records = sorter.finish().unwrap();
        panic!("on purpose");
    });
    let message = panicked.unwrap_err();
    assert_eq!(message.downcast_ref::<&str>(), Some(&"on purpose"));
    assert_eq!(files_in(directory.path()), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Few letters and long shared beginnings, zeros and ends among them: whatever codes could get wrong.
    #[test]
    fn merges_order_as_std_does(
        beginnings in prop::collection::vec(prop::collection::vec(0..3u8, 0..40), 1..4),
        ends in prop::collection::vec((any::<prop::sample::Index>(), prop::collection::vec(0..2u8, 0..12)), 0..8000),
        descending in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let pair = |(at, (beginning, end)): (usize, (prop::sample::Index, Vec<u8>))| {
            ([beginning.get(&beginnings), &end[..]].concat(), (at as u32).to_le_bytes().to_vec())
        };
        let pairs: Vec<Pair> = ends.into_iter().enumerate().map(pair).collect();
        let order = if descending { Order::Descending } else { Order::Ascending };
        check(options(directory.path(), MEMORY_BYTES_MIN, order), &pairs);
    }
}

#[test]
fn equal_records_are_counted_and_none_is_lost_where_the_order_of_equal_keys_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path(), MEMORY_BYTES_MIN, Order::Ascending);
    options.sort.stable = false;
    let mut sorter = ExternalSorter::new(options);
    let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for number in numbers().take(20_000) {
        let key = format!("{}", number % 100).into_bytes();
        sorter.push(&key, b"one").unwrap();
        *expected.entry(key).or_default() += 1;
    }
    let mut found: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut records = sorter.finish().unwrap();
    while let Some(record) = records.next_record().unwrap() {
        match found.last_mut() {
            Some((key, count)) if record.lcp == record.key.len() && record.lcp == key.len() => *count += 1,
            _ => found.push((record.key.to_vec(), 1)),
        }
    }
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
}
