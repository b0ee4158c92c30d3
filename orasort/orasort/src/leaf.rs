//! Leaves: partitions sorted where they are, by a quicksort that skips what keys share.
//!
//! A group is partitioned in three by the word of one of its entries, without a branch that depends on the order of
//! keys. Entries whose words are below or above keep their words. Those whose words are equal are held against the
//! first of them, which tells how far all agree, and get the next bytes of their keys behind that. So a key is touched
//! once for each branch on its way, not once for every few bytes, and nothing that all share is compared twice.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use crate::bytes::{agree, chunk, common_prefix_from};
use crate::entry::{
    Entry, LENGTH_MAX, OPEN, ORDER_MASK, WORD_SHIFT, head, head_of, is_open, is_tie, length, row, with_head,
};
use crate::finder::Finder;
use crate::insertion::{INSERTION_MAX, insertion_sort_by};
use crate::keys::Keys;

/// Bytes that are wholly in a word.
const WORD_BYTES: usize = 6;

/// From so many entries on nine of them give the one that parts the others, not three.
const NINE_FROM: usize = 256;

/// How far the keys of a group agree is guessed from one of so many, at most so many.
const SAMPLE_OF: usize = 16;
const SAMPLES_MAX: usize = 8;

/// So many entries ahead of the one whose word is loaded the memory of keys is asked for.
const AHEAD: usize = 12;

/// It is asked for in sorts of so many keys.
const AHEAD_FROM: usize = if cfg!(miri) { 40 } else { 1 << 15 };

/// Up to so many entries are sorted by their words at once where few words are likely to be equal.
const WORDS_MAX: usize = 128;

/// After so many partitions in a row of which one part had nearly all keys are compared in full: they are likely to be
/// the beginnings of others.
const STUCK_MAX: u8 = 4;

/// Entries of one partition.
#[derive(Debug, Clone, Copy)]
struct Group {
    start: u32,
    end: u32,
    /// Bytes that keys whose words are equal share, unless they end before.
    shared: usize,
    /// Whether all words are equal, and keys go on behind them.
    tied: bool,
    /// How many partitions in a row left nearly all in one part.
    stuck: u8,
}

impl Group {
    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }
}

/// The groups that wait: memory that is kept from one leaf to the next. There are few, as not many partitions in a row
/// may leave nearly all in one part.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    waiting: Vec<Group>,
    /// Whether keys are asked for ahead of time, which they need not be where all lie in the caches.
    asks_ahead: bool,
}

impl Leaves {
    /// Leaves of a sort of so many keys.
    pub(crate) const fn new(keys: usize) -> Self {
        Leaves { waiting: Vec::new(), asks_ahead: keys >= AHEAD_FROM }
    }

    /// Sorts entries that tie, at most `u32::MAX`, whose keys share `shared` bytes, unless they end before. Rows of
    /// equal keys end in order if the sort is to be stable.
    ///
    /// # Safety
    /// As of `Finder::key`, for each entry.
    pub(crate) unsafe fn sort<K: Keys + ?Sized>(
        &mut self,
        finder: &Finder<'_, K>,
        entries: &mut [Entry],
        shared: usize,
        tied: bool,
        stable: bool,
    ) {
        self.waiting.clear();
        self.waiting.push(Group { start: 0, end: entries.len() as u32, shared, tied, stuck: 0 });
        while let Some(mut group) = self.waiting.pop() {
            let its = &mut entries[group.start as usize..group.end as usize];
            if let ([a, b], true) = (&mut *its, group.tied) {
                // SAFETY: the caller promised it.
                if unsafe { compare(finder, *a, *b, group.shared) }.is_gt() {
                    core::mem::swap(a, b);
                }
                continue;
            }
            if group.tied {
                // SAFETY: the caller promised it.
                group.shared = unsafe { load(finder, its, group.shared, self.asks_ahead) };
            }
            if its.len() <= INSERTION_MAX {
                // SAFETY: the caller promised it.
                insertion_sort_by(its, |a, b| unsafe { order(finder, a, b, group.shared, stable) }.is_lt());
            } else if group.stuck == STUCK_MAX {
                // SAFETY: the caller promised it.
                its.sort_unstable_by(|a, b| unsafe { order(finder, *a, *b, group.shared, stable) });
            } else {
                let (pivot, repeats) = pivot_of(its);
                if !repeats && its.len() <= WORDS_MAX {
                    sort_words(its, stable);
                    // SAFETY: the caller promised it.
                    unsafe { self.find_ties(finder, its, group) };
                    continue;
                }
                let [equal, above] = part(its, pivot);
                let open = is_open(pivot, finder.flip);
                if !open {
                    // SAFETY: the caller promised it.
                    unsafe { sort_ended(finder, &mut its[equal..above], group.shared, stable) };
                }
                self.push(group, above..its.len(), false);
                if open {
                    self.ask_for(finder, &its[equal..above], group.shared);
                }
                self.push(group, equal..if open { above } else { equal }, true);
                self.push(group, 0..equal, false);
            }
        }
    }

    /// Asks for the keys of a few entries that are going to wait.
    #[inline(always)]
    fn ask_for<K: Keys + ?Sized>(&self, finder: &Finder<'_, K>, entries: &[Entry], depth: usize) {
        if self.asks_ahead && entries.len() <= NINE_FROM {
            entries.iter().for_each(|entry| finder.prefetch(*entry, depth));
        }
    }

    /// Has a part of a group wait, if it is more than one entry.
    fn push(&mut self, group: Group, places: Range<usize>, tied: bool) {
        if places.len() > 1 {
            let stuck = if places.len() > group.len() - group.len() / 8 { group.stuck + 1 } else { 0 };
            let (start, end) = (group.start + places.start as u32, group.start + places.end as u32);
            self.waiting.push(Group { start, end, tied, stuck, ..group });
        }
    }

    /// Has the ties of a sorted group wait.
    ///
    /// # Safety
    /// As of `sort`.
    unsafe fn find_ties<K: Keys + ?Sized>(
        &mut self,
        finder: &Finder<'_, K>,
        its: &mut [Entry],
        group: Group,
    ) {
        let mut first = 0;
        while first + 1 < its.len() {
            let its_head = head(its[first]);
            let tied =
                its[first + 1..].iter().take_while(|entry| is_tie(head(**entry), its_head, finder.flip));
            let end = first + 1 + tied.count();
            if end - first > 1 {
                if is_open(its_head, finder.flip) {
                    self.ask_for(finder, &its[first..end], group.shared);
                    self.push(group, first..end, true);
                } else {
                    // SAFETY: the caller promised it.
                    its[first..end].sort_unstable_by(|a, b| unsafe { compare(finder, *a, *b, group.shared) });
                }
            }
            first = end;
        }
    }
}

/// The head of an entry that is likely to lie in the middle of others, and whether words are likely to repeat among
/// them: whether those that were looked at did.
#[inline(always)]
pub(crate) fn pivot_of(entries: &[Entry]) -> (u64, bool) {
    let of = |eighth: usize| head(entries[(entries.len() - 1) * eighth / 8]);
    let median = |a: u64, b: u64, c: u64| a.min(b).max(a.max(b).min(c));
    let repeat = |a: u64, b: u64, c: u64| [a ^ b, b ^ c, a ^ c].iter().any(|differ| differ & ORDER_MASK == 0);
    let [mut low, mut middle, mut high] = [of(0), of(4), of(8)];
    let mut repeats = false;
    if entries.len() >= NINE_FROM {
        let three = |a: u64, b: u64, c: u64| (median(a, b, c), repeat(a, b, c));
        let thirds = [three(low, of(1), of(2)), three(of(3), middle, of(5)), three(of(6), of(7), high)];
        [low, middle, high] = [thirds[0].0, thirds[1].0, thirds[2].0];
        repeats = thirds.iter().any(|third| third.1);
    }
    (median(low, middle, high), repeats || repeat(low, middle, high))
}

/// Moves entries with words below a head's to the front, then those with equal ones. Returns where these begin and end.
fn part(entries: &mut [Entry], pivot: u64) -> [usize; 2] {
    let pivot = pivot & !(OPEN - 1);
    let equal = bring(entries, |head| head < pivot);
    [equal, equal + bring(&mut entries[equal..], |head| head & !(OPEN - 1) == pivot)]
}

/// Brings what a question is true of to the front, and says how many that are. The answers are not foreseen, so no
/// branch depends on them.
#[inline(always)]
fn bring(entries: &mut [Entry], belongs: impl Fn(u64) -> bool) -> usize {
    let mut front = 0;
    for place in 0..entries.len() {
        let entry = entries[place];
        entries.swap(place, front);
        front += usize::from(belongs(head(entry)));
    }
    front
}

/// Sorts entries whose words are equal and whose keys have ended.
///
/// # Safety
/// As of `order`, for each two entries.
unsafe fn sort_ended<K: Keys + ?Sized>(
    finder: &Finder<'_, K>,
    entries: &mut [Entry],
    shared: usize,
    stable: bool,
) {
    let Some(first) = entries.first().map(|entry| head(*entry)) else { return };
    if length(first, finder.flip) == LENGTH_MAX || entries.iter().any(|entry| head(*entry) != first) {
        // SAFETY: the caller promised it.
        entries.sort_unstable_by(|a, b| unsafe { order(finder, *a, *b, shared, stable) });
    } else if stable {
        entries.sort_unstable();
    }
}

/// Loads the words of a group whose keys share `depth` bytes, from where they begin to differ. Returns up to where keys
/// agree whose words are equal and that go on.
///
/// # Safety
/// As of `Finder::key`, for each entry.
#[inline(always)]
unsafe fn load<K: Keys + ?Sized>(
    finder: &Finder<'_, K>,
    group: &mut [Entry],
    depth: usize,
    asks_ahead: bool,
) -> usize {
    let asks_ahead = asks_ahead && group.len() > NINE_FROM;
    // SAFETY: the caller promised it.
    let key = |entry: Entry| unsafe { finder.key(entry) };
    // SAFETY: as above.
    let sixteen = |entry: Entry, at: usize| unsafe { finder.sixteen(entry, at) };
    let model = key(group[0]);
    // Most often some agree with the first as far as all do.
    let samples = (group.len() / SAMPLE_OF).clamp(1, SAMPLES_MAX);
    let agreed = (1..=samples).map(|sample| key(group[(group.len() - 1) * sample / samples]));
    let mut common = agreed.fold(model.len(), |common, key| common_prefix_from(&model[..common], key, depth));
    let load = |entry: &mut Entry, key: &[u8], common: usize| {
        let word = chunk(key, common) >> WORD_SHIFT << WORD_SHIFT;
        let head = head_of(word, key.len() > common + WORD_BYTES, key.len().min(LENGTH_MAX));
        *entry = with_head(*entry, head ^ finder.flip);
    };
    let eight_before = |common: usize| model.get(..common)?.last_chunk::<8>().copied();
    let mut expected = eight_before(common);
    // So many at the beginning were loaded from too far on.
    let mut redo = 0;
    for place in 0..group.len() {
        if asks_ahead && let Some(entry) = group.get(place + AHEAD) {
            finder.prefetch(*entry, common);
        }
        let entry = group[place];
        // Most keys go on behind the word: then eight bytes before it and eight from it on tell nearly all.
        if let Some(expected) = expected
            && let Some(bytes) = sixteen(entry, common - 8)
            && let Some((before, word)) = bytes.split_first_chunk()
            && *before == expected
            && (common <= depth + 8 || agree(model, key(entry), depth, common - 8))
        {
            let word = word.first_chunk().map_or(0, |word| u64::from_be_bytes(*word));
            let its_order = (word >> WORD_SHIFT << WORD_SHIFT | OPEN) ^ finder.flip;
            group[place] = with_head(entry, its_order & ORDER_MASK | head(entry) & !ORDER_MASK);
            continue;
        }
        let key = key(entry);
        if !agree(model, key, depth, common) {
            common = common_prefix_from(&model[..common], key, depth);
            expected = eight_before(common);
            redo = place;
        }
        load(&mut group[place], key, common);
    }
    group[..redo].iter_mut().for_each(|entry| load(entry, key(*entry), common));
    common + WORD_BYTES
}

/// Sorts entries by their words. Equal keys have one length, which is all that lies between word and row.
pub(crate) fn sort_words(entries: &mut [Entry], stable: bool) {
    if stable {
        entries.sort_unstable();
    } else {
        entries.sort_unstable_by_key(|entry| head(*entry));
    }
}

/// The order of two entries: by their words, and where those do not tell it by their keys, which then share `shared`
/// bytes unless they end before. Equal ones are ordered by row if the sort is to be stable.
///
/// # Safety
/// As of `Finder::key`, for both.
#[inline(always)]
unsafe fn order<K: Keys + ?Sized>(
    finder: &Finder<'_, K>,
    a: Entry,
    b: Entry,
    shared: usize,
    stable: bool,
) -> Ordering {
    if is_tie(head(a), head(b), finder.flip) {
        // SAFETY: the caller promised it.
        return unsafe { compare_tied(finder, a, b, shared) };
    }
    // Equal keys have one length, which is all that lies between word and row.
    if stable { a.cmp(&b) } else { head(a).cmp(&head(b)) }
}

/// As `compare`, not where it is called: what seldom happens in a loop would slow the loop down.
///
/// # Safety
/// As of `compare`.
#[inline(never)]
unsafe fn compare_tied<K: Keys + ?Sized>(
    finder: &Finder<'_, K>,
    a: Entry,
    b: Entry,
    from: usize,
) -> Ordering {
    // SAFETY: the caller promised it.
    unsafe { compare(finder, a, b, from) }
}

/// The order of two entries by their keys, which share `from` bytes unless they end before, then by their rows.
///
/// # Safety
/// As of `Finder::key`, for both.
#[inline(always)]
pub(crate) unsafe fn compare<K: Keys + ?Sized>(
    finder: &Finder<'_, K>,
    a: Entry,
    b: Entry,
    from: usize,
) -> Ordering {
    // SAFETY: the caller promised it.
    let (key_a, key_b) = unsafe { (finder.key(a), finder.key(b)) };
    let order = match chunk(key_a, from).cmp(&chunk(key_b, from)) {
        // Of what is long the library's comparison takes more at once.
        Ordering::Equal => match (key_a.get(from..), key_b.get(from..)) {
            (Some(rest_a), Some(rest_b)) => rest_a.cmp(rest_b),
            _ => key_a.cmp(key_b),
        },
        order => order,
    };
    let order = if finder.flip == 0 { order } else { order.reverse() };
    order.then_with(|| row(a).cmp(&row(b)))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::entry::entry;

    /// Keys that share a prefix, some of them equal, the beginning of others, with zeros, or too long for a head.
    fn keys(shared: usize, case: usize, len: usize) -> Vec<Vec<u8>> {
        let mut state = case as u32 + 1;
        let mut next = |below: usize| {
            state = state.wrapping_mul(0x915f_77f5).wrapping_add(0x1234_5671);
            (state >> 12) as usize % below
        };
        let branch = |next: &mut dyn FnMut(usize) -> usize| vec![next(3) as u8; next(20)];
        (0..len)
            .map(|_| {
                let mut key = vec![7; shared];
                (0..1 + next(4)).for_each(|_| key.extend(branch(&mut next)));
                if case.is_multiple_of(3) && next(4) == 0 {
                    key.resize(LENGTH_MAX - 2 + next(4), next(2) as u8);
                }
                key
            })
            .collect()
    }

    /// Sorts rows as a leaf of keys that share so many bytes.
    fn sorted(keys: &[Vec<u8>], shared: usize, flip: u64, asks_ahead: bool) -> Vec<u32> {
        let finder = Finder::new(keys, flip).far();
        let head = head_of(0, true, 0) ^ flip;
        let mut entries: Vec<Entry> = (0..keys.len() as u32).map(|row| entry(head, row, 0)).collect();
        let mut leaves = Leaves { asks_ahead, ..Leaves::new(0) };
        // SAFETY: the finder asks the list.
        unsafe { leaves.sort(&finder, &mut entries, shared, true, true) };
        entries.into_iter().map(row).collect()
    }

    /// Wherever keys branch and end, rows come in the order of keys, those of equal ones in theirs.
    #[test]
    fn leaves_sort_as_the_library_does() {
        for case in 0..if cfg!(miri) { 12 } else { 300 } {
            let shared = case % 19;
            let len =
                [2, 3, INSERTION_MAX, INSERTION_MAX + 1, 150, 700][case % if cfg!(miri) { 4 } else { 6 }];
            let keys = keys(shared, case, len);
            for flip in [0, !0] {
                let mut expected: Vec<u32> = (0..len as u32).collect();
                expected.sort_by(|a, b| {
                    let order = keys[*a as usize].cmp(&keys[*b as usize]);
                    if flip == 0 { order } else { order.reverse() }
                });
                assert_eq!(sorted(&keys, shared, flip, case % 2 == 0), expected, "case {case}");
            }
        }
    }

    /// Steps that leave nearly all in one part end in comparisons, which do not take the square of the keys.
    #[test]
    fn beginnings_of_each_other_are_sorted() {
        let len = if cfg!(miri) { 40 } else { 3_000 };
        let keys: Vec<Vec<u8>> = (0..len).map(|n| vec![0; n * 7919 % len]).collect();
        let rows = sorted(&keys, 0, 0, false);
        assert!(rows.iter().enumerate().all(|(place, row)| keys[*row as usize].len() == place));
    }

    /// Keys that do not share what was said about them are all there at the end.
    #[test]
    fn keys_that_lie_end_in_some_order() {
        for shared in [3, 8, 30] {
            let mut rows = sorted(&keys(0, shared, if cfg!(miri) { 30 } else { 400 }), shared, 0, false);
            rows.sort_unstable();
            assert!(rows.iter().enumerate().all(|(place, row)| place == *row as usize));
        }
    }

    /// Wherever the head lies, what is below it comes before it, and what is above behind.
    #[test]
    fn parts_are_what_they_say() {
        let heads: Vec<Entry> = (0..100u32).map(|n| entry(u64::from(n * 37 % 10) << 60, n, 0)).collect();
        for pivot in 0..=10u64 {
            let mut entries = heads.clone();
            let [equal, above] = part(&mut entries, pivot << 60 | 0x55);
            let word = |entry: &Entry| head(*entry) >> 60;
            let below = pivot & 15;
            assert!(entries[..equal].iter().all(|entry| word(entry) < below));
            assert!(entries[equal..above].iter().all(|entry| word(entry) == below));
            assert!(entries[above..].iter().all(|entry| word(entry) > below));
            entries.sort_unstable_by_key(|entry| row(*entry));
            assert_eq!(entries, heads);
        }
    }
}
