//! Every way to sort gives what the standard library's stable sort gives, on keys made to be awkward.

use orasort::{Arena, FixedWidth, Options, Order, Refused, Sorter};
use proptest::prelude::*;

const ALL_OPTIONS: [Options; 4] = [
    Options { order: Order::Ascending, stable: false },
    Options { order: Order::Ascending, stable: true },
    Options { order: Order::Descending, stable: false },
    Options { order: Order::Descending, stable: true },
];

/// Keys of a random case. Miri takes some thousand times as long.
const KEYS_MAX: usize = if cfg!(miri) { 60 } else { 900 };

/// Rows in order, by the standard library.
fn expected(keys: &[Vec<u8>], order: Order) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
    rows.sort_by(|a, b| {
        let (a, b) = (&keys[*a as usize], &keys[*b as usize]);
        if order == Order::Ascending { a.cmp(b) } else { b.cmp(a) }
    });
    rows
}

/// Checks rows against the standard library's, which are `expected`: the same rows if stable, the same keys and a
/// permutation if not.
fn check_rows(keys: &[Vec<u8>], rows: &[u32], expected: &[u32], options: Options, what: &str) {
    if rows == expected {
        return;
    }
    assert!(!options.stable, "{what}: {options:?}");
    let key = |row: &u32| &keys[*row as usize];
    assert!(rows.iter().map(key).eq(expected.iter().map(key)), "{what}: {options:?}");
    let mut seen = vec![false; keys.len()];
    for row in rows {
        assert!(!std::mem::replace(&mut seen[*row as usize], true), "{what}: {row} comes twice");
    }
}

fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Sorts keys in every way there is and checks each.
fn check(keys: &[Vec<u8>]) {
    let [rising, falling] = [Order::Ascending, Order::Descending].map(|order| expected(keys, order));
    let mut sorter = Sorter::new();
    let bytes: Vec<u8> = keys.concat();
    let mut offsets = vec![0i64];
    offsets.extend(keys.iter().scan(0, |end, key| {
        *end += key.len() as i64;
        Some(*end)
    }));
    let arena = Arena { bytes: &bytes, offsets: &offsets };
    for options in ALL_OPTIONS {
        let expected = if options.order == Order::Ascending { &rising } else { &falling };
        check_rows(keys, &sorter.argsort_with(keys, options), expected, options, "argsort");
        check_rows(keys, &orasort::argsort_with(&arena, options), expected, options, "arena");
        let wide: Vec<u32> =
            orasort::argsort_u64_with(keys, options).into_iter().map(|row| row as u32).collect();
        check_rows(keys, &wide, expected, options, "argsort_u64");
        let rows: Vec<u32> = orasort::sorted_with(&arena, options).collect();
        check_rows(keys, &rows, expected, options, "sorted");
        let with_lcp: Vec<(u32, usize)> = sorter.sorted_lcp(keys, options).collect();
        for pair in with_lcp.windows(2) {
            let (a, b) = (&keys[pair[0].0 as usize], &keys[pair[1].0 as usize]);
            assert_eq!(pair[1].1, shared(a, b), "{a:?} {b:?}");
        }
        let rows: Vec<u32> = with_lcp.into_iter().map(|(row, _)| row).collect();
        check_rows(keys, &rows, expected, options, "sorted_lcp");

        let mut items: Vec<(u32, &Vec<u8>)> = (0..).zip(keys).collect();
        sorter.sort_by_key_with(&mut items, |item| item.1.as_slice(), options);
        let rows: Vec<u32> = items.into_iter().map(|(row, _)| row).collect();
        check_rows(keys, &rows, expected, options, "sort_by_key_with");

        let rows = sorter.try_argsort_with(keys, options, usize::MAX).expect("a budget for all");
        check_rows(keys, &rows, expected, options, "try_argsort_with");
        let mut items: Vec<(u32, &Vec<u8>)> = (0..).zip(keys).collect();
        let sorted = sorter.try_sort_by_key_with(&mut items, |item| item.1.as_slice(), options, usize::MAX);
        assert_eq!(sorted, Ok(()));
        let rows: Vec<u32> = items.into_iter().map(|(row, _)| row).collect();
        check_rows(keys, &rows, expected, options, "try_sort_by_key_with");

        for k in [0, 1, 2, keys.len() / 100, keys.len() / 3, keys.len(), keys.len() + 1] {
            let rows = sorter.top_k_with(keys, k, options);
            assert_eq!(rows.len(), k.min(keys.len()));
            for (row, expected) in rows.iter().zip(expected) {
                assert!(!options.stable || row == expected, "top {k}");
                assert_eq!(keys[*row as usize], keys[*expected as usize], "top {k}: {options:?}");
            }
        }
    }
    let mut sorted = keys.to_vec();
    sorted.sort();
    for sort in [orasort::sort::<Vec<u8>>, orasort::sort_unstable::<Vec<u8>>] {
        let mut items = keys.to_vec();
        sort(&mut items);
        assert_eq!(items, sorted);
    }
    sorted.reverse();
    for sort in [orasort::sort_descending::<Vec<u8>>, orasort::sort_unstable_descending::<Vec<u8>>] {
        let mut items = keys.to_vec();
        sort(&mut items);
        assert_eq!(items, sorted);
    }
}

/// Keys of few different bytes, so that they share much.
fn key(bytes: &'static [u8], len_max: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(bytes), 0..=len_max)
}

/// Keys put together from a few parts, as the rows of a table are.
fn compound() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"tenant-0000000000000042/".to_vec()),
        Just(vec![0; 13]),
        Just(vec![255; 11]),
        key(b"\0\x01\xff", 3),
        key(b"abcdefghijklmnop", 14),
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 96 }, ..ProptestConfig::default() })]

    #[test]
    fn random_keys(keys in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..KEYS_MAX)) {
        check(&keys);
    }

    #[test]
    fn zeros_and_ends(keys in proptest::collection::vec(key(b"\0\x01", 30), 0..KEYS_MAX)) {
        check(&keys);
    }

    #[test]
    fn compound_keys(keys in proptest::collection::vec(compound(), 0..KEYS_MAX)) {
        check(&keys);
    }

    #[test]
    fn few_distinct(
        distinct in proptest::collection::vec(compound(), 1..9),
        picks in proptest::collection::vec(any::<usize>(), 0..KEYS_MAX),
    ) {
        check(&picks.into_iter().map(|pick| distinct[pick % distinct.len()].clone()).collect::<Vec<_>>());
    }
}

/// Numbers without a pattern, the same in every run.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |last| {
        Some(last.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407))
    })
    .map(|state| (state ^ (state >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11)
}

fn size(len: usize) -> usize {
    if cfg!(miri) { (len / 1_000 + 40).min(90) } else { len }
}

#[test]
fn nothing_and_one() {
    check(&[]);
    check(&[vec![]]);
    check(&[vec![0; 100]]);
    check(&vec![vec![]; 100]);
}

/// Large enough for wide digits and for the digits of large ranges.
#[test]
fn many_random_keys() {
    check(&numbers(1).take(size(70_000)).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>());
    check(&numbers(2).take(size(20_000)).map(|n| format!("{n:x}").into_bytes()).collect::<Vec<_>>());
}

#[test]
fn rising_and_falling() {
    let rising: Vec<Vec<u8>> = (0..size(3_000)).map(|n| format!("{:06}", n / 3).into_bytes()).collect();
    check(&rising);
    check(&rising.iter().rev().cloned().collect::<Vec<_>>());
    check(&rising.iter().rev().step_by(3).cloned().collect::<Vec<_>>());
    let mut nearly = rising.clone();
    nearly.push(b"000001x".to_vec());
    check(&nearly);
    nearly.reverse();
    check(&nearly);
}

/// Equal keys stay in their order also where more of them than a leaf takes are parted by a word.
#[test]
fn equal_keys_of_large_inputs() {
    let key = |n: u64| {
        format!("{}{}/{}", "directory/".repeat((n % 5) as usize), n / 5 % 90, n / 450 % 90).into_bytes()
    };
    let keys: Vec<Vec<u8>> = numbers(11).take(size(80_000)).map(key).collect();
    for options in ALL_OPTIONS {
        let rows = orasort::argsort_with(&keys, options);
        check_rows(&keys, &rows, &expected(&keys, options.order), options, "argsort");
    }
}

/// The first keys share more than the rest, so that the guess of a load has to be cut, early and late.
#[test]
fn guesses_that_do_not_hold() {
    for place in if cfg!(miri) { vec![150] } else { vec![0, 1, 150, 499] } {
        let mut keys: Vec<Vec<u8>> = (0..if cfg!(miri) { 300 } else { 500u32 })
            .map(|n| [vec![b'p'; 300], n.reverse_bits().to_be_bytes().to_vec()].concat())
            .collect();
        keys[place] = vec![b'p'; 40];
        check(&keys);
        keys[place] = vec![];
        let other = (place + 7) % keys.len();
        keys[other] = [vec![b'p'; 290], vec![b'q']].concat();
        check(&keys);
    }
}

/// Rows of several columns with constant parts between them, and a few rows where a constant part is another one, or
/// that end within it: a window that claims too much is weakened, early and late.
#[test]
fn constant_parts_that_are_not() {
    let rows = || {
        numbers(8).take(size(6_000)).map(|n| {
            let (tenant, day, number) = (n % 7, n / 7 % 28, n / 196 % 5_000);
            format!("tenant-{tenant:03}|2024-03-{day:02}|\0\0customer-{number:06}|eu")
        })
    };
    check(&rows().map(String::into_bytes).collect::<Vec<_>>());
    let odd: [fn(&mut Vec<u8>); 6] = [
        |row| row[15] = b'3',
        |row| row.truncate(20),
        |row| row[26] = 1,
        |row| row.push(0),
        |row| row.truncate(26),
        |row| row[1] = 0xff,
    ];
    for (kind, odd) in odd.into_iter().enumerate() {
        let mut keys: Vec<Vec<u8>> = rows().map(String::into_bytes).collect();
        let len = keys.len();
        for place in [0, len / 3, len / 2 + kind, len - 1] {
            odd(&mut keys[place]);
        }
        check(&keys);
    }
}

/// Decimal numbers as text, alone and behind what all share, and a few keys with a byte that is no digit or that end
/// early: a window that takes the first eight bytes for the digits of a number no longer does.
#[test]
fn digits_that_are_not() {
    for shared in ["", "id ", "of a customer "] {
        let number = |n: u64| {
            format!("{shared}{}", n % [10, 1_000, 100_000, 1 << 40, 1 << 53][(n % 5) as usize]).into_bytes()
        };
        let numbers: Vec<Vec<u8>> = numbers(12).take(size(5_000)).map(number).collect();
        check(&numbers);
        for odd in [&b"12a"[..], b"5\xff", b"", b"7\0", b"00000000/", b"12345678:"] {
            let mut keys = numbers.clone();
            for place in [1, keys.len() / 2, keys.len() - 2] {
                keys[place] = [shared.as_bytes(), odd].concat();
            }
            check(&keys);
        }
    }
}

/// Keys of an alphabet whose bytes have bits that tell others, alone and behind what all share, and a few keys with
/// another letter or that end early: a window that leaves such bits out no longer does.
#[test]
fn letters_that_are_not() {
    for alphabet in [&b"ACGT"[..], b"0123456789abcdef", b"\0\x01"] {
        for shared in ["", "of a customer "] {
            let of = |seed: u64, len: usize| {
                numbers(seed).take(len).map(|n| alphabet[n as usize % alphabet.len()]).collect::<Vec<u8>>()
            };
            let key = |n: u64| [shared.as_bytes(), &of(n, 24 + n as usize % 9)].concat();
            let keys: Vec<Vec<u8>> = numbers(5).take(size(5_000)).map(|n| key(n % 4_000)).collect();
            check(&keys);
            for odd in [&b"N"[..], b"p", b"", b"\xff", b"ACGTACGTACGTACGTACGTB"] {
                let mut keys = keys.clone();
                for place in [1, keys.len() / 2, keys.len() - 2] {
                    let kept = shared.len() + place % 20;
                    keys[place].truncate(kept);
                    keys[place].extend(odd);
                }
                check(&keys);
            }
        }
    }
}

/// Values that a sample is likely to miss, beside some that most keys have.
#[test]
fn seldom_values() {
    let value = |n: u64| if n.is_multiple_of(50) { n / 50 % 400 } else { n % 12 };
    let key = |n: u64| format!("value {:03}{}", value(n) * 37 % 1_000, "+".repeat((value(n) % 3) as usize));
    check(&numbers(13).take(size(9_000)).map(|n| key(n).into_bytes()).collect::<Vec<_>>());
}

/// Keys at and beyond the longest length that an entry tells, which differ in nothing but their length, or behind it.
#[test]
fn lengths_that_entries_do_not_tell() {
    for fill in [0, b'a'] {
        let mut keys: Vec<Vec<u8>> =
            numbers(9).take(size(900)).map(|n| vec![fill; 240 + (n % 40) as usize]).collect();
        check(&keys);
        for key in keys.iter_mut().step_by(3) {
            key.push(fill + 1);
        }
        check(&keys);
    }
}

/// Keys in parts of the address space that are too far apart for one base: in the program, on the stack, on the heap.
#[test]
fn keys_far_apart() {
    let stack: [u8; 64] = std::array::from_fn(|n| ((n * 37) & 15) as u8 | 0x30);
    let heap: Vec<Vec<u8>> =
        numbers(10).take(300).map(|n| format!("{:05}", n % 20_000).into_bytes()).collect();
    let program = b"01234567890314159265358979323846264338327950288419716939937510";
    let mut keys: Vec<&[u8]> = heap.iter().map(Vec::as_slice).collect();
    keys.extend(stack.windows(9));
    keys.extend(program.windows(7));
    let mut expected = keys.clone();
    expected.sort();
    orasort::sort(&mut keys);
    assert_eq!(keys, expected);
}

#[test]
#[cfg_attr(miri, ignore)]
fn keys_beyond_64_kib() {
    let keys: Vec<Vec<u8>> =
        (0..40u32).map(|n| [vec![7; 70_000], (n * 77 % 40).to_be_bytes().to_vec()].concat()).collect();
    check(&keys);
}

#[test]
fn fixed_width_keys() {
    let bytes: Vec<u8> = numbers(3).take(size(5_000)).flat_map(|n| n.to_le_bytes()).collect();
    for width in [1, 3, 8, 16, 24] {
        let keys: Vec<Vec<u8>> = bytes.chunks_exact(width).map(<[u8]>::to_vec).collect();
        let options = Options { stable: true, ..Options::default() };
        let rows = orasort::argsort_with(&FixedWidth { bytes: &bytes, width }, options);
        assert_eq!(rows, expected(&keys, options.order), "of {width} bytes");
    }
    assert!(orasort::argsort(&FixedWidth { bytes: &bytes, width: 0 }).is_empty());
}

/// Arrays of any width: of all bits, of few, of equal first bytes, few and many, rising and falling.
#[test]
fn arrays_as_numbers() {
    fn check<const N: usize>() {
        for (seed, mask) in
            [(10, [0xff; 16]), (11, [0x11; 16]), (12, std::array::from_fn(|at| (at / 8) as u8 * 255))]
        {
            let mut random = numbers(seed);
            let mut array = || -> [u8; N] {
                let bytes = [random.next(), random.next()]
                    .map(|n| n.unwrap_or(0).rotate_left(21).to_be_bytes())
                    .concat();
                std::array::from_fn(|at| bytes[at % 16] & mask[at % 16])
            };
            // From 262,144 numbers on the first digit is another.
            let most = if matches!(N, 8 | 16) { 270_000 } else { 140_000 };
            for len in [0, 1, 30, 150, 260, 5_000, most] {
                let len = if cfg!(miri) { len.min(100) } else { len };
                let mut items: Vec<[u8; N]> = (0..len).map(|_| array()).collect();
                let mut rising = items.clone();
                rising.sort();
                let falling: Vec<[u8; N]> = rising.iter().rev().copied().collect();
                for _ in 0..2 {
                    orasort::sort_arrays(&mut items, Order::Ascending);
                    assert!(items == rising, "{len} of {N} bytes, rising");
                    orasort::sort_arrays(&mut items, Order::Descending);
                    assert!(items == falling, "{len} of {N} bytes, falling");
                }
                items = (0..len).map(|place| rising[place * 7919 % len]).collect();
                let mut expected = items.clone();
                expected.sort_by(|a, b| b.cmp(a));
                orasort::sort_arrays(&mut items, Order::Descending);
                assert!(items == expected, "{len} of {N} bytes, mixed, falling");
            }
        }
    }
    check::<0>();
    check::<1>();
    check::<3>();
    check::<4>();
    check::<5>();
    check::<8>();
    check::<9>();
    check::<16>();
    check::<20>();
}

/// Items that own memory, small and larger than the scratch has room for: each is moved once, none is dropped.
#[test]
fn items_that_own_memory() {
    struct Wide {
        key: String,
        _pad: [u64; 9],
    }
    let texts: Vec<String> = numbers(4).take(size(2_000)).map(|n| format!("key {}", n % 5_000)).collect();
    let mut sorted = texts.clone();
    sorted.sort();
    let mut strings = texts.clone();
    orasort::sort_unstable(&mut strings);
    assert_eq!(strings, sorted);
    let mut wide: Vec<Wide> = texts.into_iter().map(|key| Wide { key, _pad: [0; 9] }).collect();
    orasort::sort_by_key(&mut wide, |item| item.key.as_bytes());
    assert!(wide.iter().map(|item| &item.key).eq(&sorted));
    let mut nothing = vec![(); 50];
    orasort::sort_by_key(&mut nothing, |_| b"x");
}

/// What takes more memory than it may is refused, with what it would take, and nothing is moved.
#[test]
fn a_budget_that_does_not_do_refuses() {
    let keys: Vec<Vec<u8>> =
        numbers(3).take(size(20_000)).map(|number| number.to_string().into_bytes()).collect();
    let needed = |keys: &[Vec<u8>]| {
        let refused = orasort::try_argsort_with(keys, Options::default(), 4 * keys.len());
        let Err(Refused::OverBudget { needed_bytes, budget_bytes }) = refused else {
            panic!("no refusal: {refused:?}")
        };
        assert_eq!((needed_bytes, budget_bytes), (36 * keys.len(), 4 * keys.len()));
        needed_bytes
    };
    let rows =
        orasort::try_argsort_with(&keys, Options::default(), needed(&keys)).expect("what it asked for");
    check_rows(
        &keys,
        &rows,
        &expected(&keys, Order::Ascending),
        Options::default(),
        "the budget it asked for",
    );
    for options in ALL_OPTIONS {
        let mut items = keys.clone();
        let refused = orasort::try_sort_by_key_with(&mut items, |item| item, options, 31 * keys.len());
        assert!(matches!(refused, Err(Refused::OverBudget { .. })), "{refused:?}");
        assert!(refused.unwrap_err().to_string().ends_with("sort in parts"));
        assert_eq!(items, keys);
    }
    let mut sorted = keys.clone();
    sorted.sort();
    assert_eq!(
        orasort::try_argsort_with(&sorted, Options::default(), 4 * keys.len()).map(|rows| rows[1]),
        Ok(1)
    );
    assert_eq!(orasort::try_sort_by_key_with(&mut sorted, |item| item, Options::default(), 0), Ok(()));
}

#[test]
fn a_sorter_keeps_its_memory() {
    let keys: Vec<Vec<u8>> = numbers(5).take(1_000).map(|n| n.to_be_bytes().to_vec()).collect();
    let mut sorter = Sorter::new();
    assert_eq!(sorter.scratch_bytes(), 0);
    let first = sorter.argsort(&keys);
    let bytes = sorter.scratch_bytes();
    assert!((32_000..=36_000).contains(&bytes), "{bytes}");
    assert_eq!(sorter.argsort(&keys), first);
    assert_eq!(sorter.argsort(&keys[..500]).len(), 500);
    assert_eq!(sorter.scratch_bytes(), bytes);
    sorter.shrink();
    assert_eq!(sorter.scratch_bytes(), 0);
}

/// Checks that keys that are not what they were give a permutation all the same, or a panic, and nothing else.
fn check_permutation_or_panic<K: orasort::Keys>(keys: &K) {
    let rows = std::panic::AssertUnwindSafe(|| orasort::argsort(keys));
    if let Ok(mut rows) = std::panic::catch_unwind(rows) {
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..keys.len() as u32));
    }
}

/// Items whose keys change between two looks are all there afterwards, in whatever way they are sorted.
#[test]
fn items_whose_keys_change() {
    let state = std::cell::Cell::new(1u64);
    static BYTES: [u8; 130] = [7; 130];
    for case in 0..if cfg!(miri) { 2 } else { 300 } {
        let len = if cfg!(miri) { 300 } else { 260 + case * 7 };
        let key = |item: &usize| -> &'static [u8] {
            state.set(state.get().wrapping_mul(6364136223846793005).wrapping_add(*item as u64 | 1));
            // Mostly honest, so that every way of sorting is taken.
            let drawn =
                if state.get() >> 60 == 0 { state.get() as usize >> 7 } else { *item % (1 + case % 40) };
            &BYTES[..drawn % 130]
        };
        let mut items: Vec<Box<usize>> = (0..len).map(Box::new).collect();
        let options = ALL_OPTIONS[case % 4];
        let sort = std::panic::AssertUnwindSafe(|| {
            Sorter::new().sort_by_key_with(&mut items, |item| key(item), options);
        });
        let _ = std::panic::catch_unwind(sort);
        items.sort();
        assert!(items.into_iter().map(|item| *item).eq(0..len));
    }
}

/// A key that changes between two looks gives some order, and a permutation, or a panic.
#[test]
fn keys_that_change() {
    struct Fickle(std::cell::Cell<u64>, Vec<u8>);
    impl orasort::Keys for Fickle {
        fn len(&self) -> usize {
            500
        }
        fn key(&self, row: usize) -> &[u8] {
            self.0.set(self.0.get().wrapping_mul(6364136223846793005).wrapping_add(row as u64));
            &self.1[(self.0.get() >> 55) as usize % 90..][..(self.0.get() >> 40) as usize % 40]
        }
    }
    for seed in 0..if cfg!(miri) { 3 } else { 2_000 } {
        let keys = Fickle(std::cell::Cell::new(seed), (0..130).map(|n| n / 20).collect());
        check_permutation_or_panic(&keys);
    }
}

/// A list that gives another key whenever it is asked comes to an end all the same, whichever key is seen first.
#[test]
fn keys_that_alternate() {
    struct Alternating(std::cell::Cell<usize>, Vec<Vec<u8>>);
    impl orasort::Keys for Alternating {
        fn len(&self) -> usize {
            if cfg!(miri) { 60 } else { 500 }
        }
        fn key(&self, _: usize) -> &[u8] {
            self.0.set(self.0.get() + 1);
            &self.1[self.0.get() % self.1.len()]
        }
    }
    for kinds in 2..7 {
        for start in 0..kinds {
            let keys = (0..kinds).map(|kind| vec![b'a' + kind as u8; 300 * (kind % 2) + 20]).collect();
            let keys = Alternating(std::cell::Cell::new(start), keys);
            check_permutation_or_panic(&keys);
        }
    }
}

/// A key function that panics leaves the items as they were, wherever in the sort it does, unless that is std's.
#[test]
fn keys_that_panic() {
    let texts: Vec<String> = numbers(6).take(500).map(|n| format!("a shared prefix {}", n % 100)).collect();
    for last in [0, 1, 5, 310, 700, 1_000, 1_400] {
        let mut items = texts.clone();
        let asked = std::cell::Cell::new(0);
        let sort = std::panic::AssertUnwindSafe(|| {
            orasort::sort_by_key(&mut items, |item| {
                asked.set(asked.get() + 1);
                assert!(asked.get() <= last, "as the test wants");
                item.as_bytes()
            });
        });
        if std::panic::catch_unwind(sort).is_err() {
            assert!(items == texts);
        } else {
            assert!(items.is_sorted());
        }
    }
}
