//! Leaves: partitions small enough for the caches next to the core, sorted where they are.
//!
//! All entries of a group tie: their keys share a prefix, and go on behind it. The group's keys are held against the
//! first of them, which tells how far all agree, so that nothing they share is loaded; the next bytes of each are put
//! into its entry, and the entries are sorted by them. What ties again is a group of its own. So every load tells keys
//! apart, and a key is touched once for each branch on its way, not once for every few bytes.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::bytes::{chunk, common_prefix_from};
use crate::entry::{Entry, LENGTH_MAX, WORD_SHIFT, head, head_of, is_open, is_tie, row, with_head};
use crate::finder::Finder;
use crate::insertion::{INSERTION_MAX, insertion_sort, insertion_sort_by};
use crate::keys::Keys;

/// Bytes that are wholly in a word.
const WORD_BYTES: usize = 6;

/// Entries whose keys share `depth` bytes, unless they end before.
#[derive(Debug, Clone, Copy)]
struct Group {
    start: u32,
    end: u32,
    depth: usize,
    /// How many loads in a row told few of the keys apart.
    stuck: u8,
}

/// After so many loads that told few apart keys are compared in full: they are likely to be the beginnings of others.
const STUCK_MAX: u8 = 3;

/// The groups that wait: memory that is kept from one leaf to the next.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    waiting: Vec<Group>,
}

impl Leaves {
    pub(crate) const fn new() -> Self {
        Leaves { waiting: Vec::new() }
    }

    /// Sorts entries that tie, two at least and at most `u32::MAX`, whose keys share `depth` bytes, unless they end
    /// before. Rows of equal keys end in order if the sort is to be stable.
    ///
    /// # Safety
    /// As of `Finder::key`, for each entry.
    pub(crate) unsafe fn sort<K: Keys + ?Sized>(
        &mut self,
        finder: &Finder<'_, K>,
        entries: &mut [Entry],
        depth: usize,
        stable: bool,
    ) {
        if let [a, b] = entries {
            // SAFETY: the caller promised it.
            if unsafe { compare(finder, *a, *b, depth) }.is_gt() {
                core::mem::swap(a, b);
            }
            return;
        }
        self.waiting.clear();
        self.waiting.push(Group { start: 0, end: entries.len() as u32, depth, stuck: 0 });
        while let Some(Group { start, end, depth, stuck }) = self.waiting.pop() {
            let group = &mut entries[start as usize..end as usize];
            if stuck == STUCK_MAX {
                // SAFETY: the caller promised it.
                group.sort_unstable_by(|a, b| unsafe { compare(finder, *a, *b, depth) });
                continue;
            }
            // SAFETY: the caller promised it.
            unsafe {
                let depth = load(finder, group, depth);
                sort_words(group, stable);
                self.find_ties(finder, group, start as usize, depth, stuck);
            }
        }
    }

    /// Has the ties of a sorted group wait; those of two are put in order.
    ///
    /// # Safety
    /// As of `sort`.
    #[inline(always)]
    unsafe fn find_ties<K: Keys + ?Sized>(
        &mut self,
        finder: &Finder<'_, K>,
        group: &mut [Entry],
        start: usize,
        depth: usize,
        stuck: u8,
    ) {
        let mut first = 0;
        while first + 1 < group.len() {
            let its_head = head(group[first]);
            if !is_tie(its_head, head(group[first + 1]), finder.flip) {
                first += 1;
                continue;
            }
            let more =
                group[first + 2..].iter().take_while(|entry| is_tie(head(**entry), its_head, finder.flip));
            let end = first + 2 + more.count();
            if end - first == 2 || !is_open(its_head, finder.flip) {
                // SAFETY: the caller promised it.
                insertion_sort_by(&mut group[first..end], |a, b| unsafe {
                    compare(finder, a, b, depth).is_lt()
                });
            } else {
                group[first..end].iter().for_each(|entry| finder.prefetch(*entry, depth));
                let stuck = if end - first > group.len() - group.len() / 8 { stuck + 1 } else { 0 };
                let (start, end) = ((start + first) as u32, (start + end) as u32);
                self.waiting.push(Group { start, end, depth, stuck });
            }
            first = end;
        }
    }
}

/// Loads the words of a group whose keys share `depth` bytes, from where they begin to differ. Returns up to where keys
/// agree whose words are equal and that go on.
///
/// # Safety
/// As of `Finder::key`, for each entry.
#[inline(always)]
unsafe fn load<K: Keys + ?Sized>(finder: &Finder<'_, K>, group: &mut [Entry], depth: usize) -> usize {
    // SAFETY: the caller promised it.
    let key = |entry: Entry| unsafe { finder.key(entry) };
    let model = key(group[0]);
    // Most often the last key agrees with the first as far as all do.
    let mut common = common_prefix_from(model, key(group[group.len() - 1]), depth);
    let mut place = 0;
    while place < group.len() {
        let key = key(group[place]);
        if common > depth {
            let same = common_prefix_from(&model[..common], key, depth);
            if same < common {
                common = same;
                // Anew: what was loaded begins too far on.
                place = 0;
                continue;
            }
        }
        let word = chunk(key, common) >> WORD_SHIFT << WORD_SHIFT;
        let head = head_of(word, key.len() > common + WORD_BYTES, key.len().min(LENGTH_MAX));
        group[place] = with_head(group[place], head ^ finder.flip);
        place += 1;
    }
    common + WORD_BYTES
}

/// Sorts entries by their words. Equal keys have one length, which is all that lies between word and row.
#[inline(always)]
fn sort_words(entries: &mut [Entry], stable: bool) {
    match (entries.len() <= INSERTION_MAX, stable) {
        (true, false) => insertion_sort(entries),
        (true, true) => insertion_sort_by(entries, |a, b| a < b),
        (false, false) => entries.sort_unstable_by_key(|entry| head(*entry)),
        (false, true) => entries.sort_unstable(),
    }
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
    let [key_a, key_b] = [a, b].map(|entry| unsafe { finder.key(entry) });
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
