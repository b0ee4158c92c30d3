//! The engine: sorts entries range by range, from left to right, and hands out each range as soon as it is final.
//!
//! **Two sides.** Entries lie in two arrays of the same length, the sides. A range of positions has its entries on one
//! side; the same positions of the other side are free. They are its shadow.
//!
//! **Frames without a stack.** A range that waits for its turn is described by a frame. Ranges are taken from left to
//! right, so the next one always begins where the last one ended, and its frame can lie in the first place of its own
//! shadow. Which side that is, the frame to the left of it says. So pending ranges cost no memory, however many there
//! are, and there is no recursion: the depth of nesting, which bad keys can drive up to one level per key, is nowhere.
//!
//! **One step** takes a range and does what its kind asks for:
//!
//! ```text
//! Fresh   nothing is known               -> entries are made (load.rs)               -> Open
//! Tied    all words are the same         -> few: a leaf (leaf.rs)                    -> ready
//!                                           else: words further on (load.rs)         -> Open
//! Open    words of no known order        -> few: insertion sort                      -> Sorted
//!                                           all the same: finished, or               -> Tied
//!                                           else: radix step (digit.rs), by length   -> a frame for each bucket,
//!                                           where words are the same and keys end;      or Near if all are small
//!                                           no digit spreads, and words repeat:
//!                                           few as a leaf,                           -> ready
//!                                           many are parted in three by a word       -> a frame for each part
//!                                           no digit spreads: by comparing words     -> Sorted
//! Near    as Open, but no entry is far from its place: insertion sort                -> Sorted
//! Sorted  words in order                 -> up to the first large tie, small ones    -> Tied and the rest
//!                                           sorted as leaves: ready; then
//! ```
//!
//! **Cost.** Every load takes each key of the range at least one word further into the bytes that tell it apart, or
//! finishes it. A range of which step after step tells little apart is sorted by comparing keys.
//!
//! **If a key can't be got** because the caller's code panics, the engine has ended: what waits is not to be trusted.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

use crate::Options;
use crate::digit::Digit;
use crate::entry::{Entry, LENGTH_MAX, ORDER_MASK, WORD_BITS, head, is_open, is_tie, length, row, with_head};
use crate::finder::Finder;
use crate::insertion::{INSERTION_MAX, insertion_sort};
use crate::keys::Keys;
use crate::leaf::{Leaves, compare, pivot_of, sort_words};
use crate::load::{Passed, guess_for, guess_fresh, load, make, prefetch_ties, scan};
use crate::range::{Kind, Range, Sides};
use crate::window::Window;

/// Up to this many keys are sorted as a leaf where their words tie, or where some do and no digit spreads. Of more,
/// those who want the first rows would wait for all. Under Miri, where few keys have to do, it is less.
const LEAF_MAX: usize = if cfg!(miri) { 24 } else { 1 << 16 };

/// Up to this many words are sorted by comparison, unless a digit tells nearly all of them apart.
const COMPARE_MAX: usize = if cfg!(miri) { 40 } else { 4096 };

/// Buckets of up to so many entries are sorted by insertion, together with those beside them, whose places are no
/// further off: a step for each would take longer.
const BUCKET_MAX: usize = 36;

/// After so many steps that told few keys apart they are compared in full: many are likely to be the beginnings of
/// others, which no step by their bytes gets out of soon.
const STUCK_MAX: u8 = 6;

/// From so many entries on more are looked at to tell whether words repeat than `pivot_of` does: so many, of which so
/// many have the word of another if they do.
const SAMPLED_FROM: usize = if cfg!(miri) { 32 } else { 1024 };
const SAMPLES: usize = 24;
const REPEATS_MIN: usize = 8;

/// So many entries ahead keys whose words tie are asked for.
const TIES_AHEAD: usize = 64;

/// The state between two ranges.
#[derive(Debug)]
pub(crate) struct Engine<'k, K: ?Sized> {
    pub(crate) finder: Finder<'k, K>,
    /// Everything left of it is ready.
    position: usize,
    len: usize,
    /// The side of the range that begins at `position`.
    side: usize,
    /// Whether words are of the bits in which keys differ, not of all bits.
    packed: bool,
    stable: bool,
    counts: Vec<u32>,
    leaves: Leaves,
}

impl<'k, K: Keys + ?Sized> Engine<'k, K> {
    /// An engine for the first keys, as many as a side is long. What the sides hold does not matter.
    ///
    /// If it is not `packed`, words have all bits of the keys' bytes from a range's depth on.
    pub(crate) fn start_fresh(keys: &'k K, sides: &mut Sides<'_>, options: Options, packed: bool) -> Self {
        let finder = Finder::new(keys, options.order.flip());
        // SAFETY: nothing is known of the entries of a fresh range, and nothing is read of them.
        unsafe { Engine::start_as(finder, sides, 0, options, packed, Kind::Fresh) }
    }

    /// An engine for the entries in `sides[0]`, which have their words. Where those are equal keys share `shared`
    /// bytes, unless they end before.
    ///
    /// # Safety
    /// The entries were made by `make` with this finder, or one that it is a copy of.
    #[cfg(feature = "parallel")]
    pub(crate) unsafe fn start_loaded(
        finder: Finder<'k, K>,
        sides: &mut Sides<'_>,
        shared: usize,
        options: Options,
        packed: bool,
    ) -> Self {
        // SAFETY: the caller promised it.
        unsafe { Engine::start_as(finder, sides, shared, options, packed, Kind::Open) }
    }

    /// # Safety
    /// Unless the kind is `Fresh`, as of `start_loaded`.
    unsafe fn start_as(
        finder: Finder<'k, K>,
        sides: &mut Sides<'_>,
        shared: usize,
        options: Options,
        packed: bool,
        kind: Kind,
    ) -> Self {
        let len = sides[0].len();
        let stable = options.stable;
        let mut engine = Engine {
            finder,
            position: 0,
            len,
            side: 0,
            packed,
            stable,
            counts: Vec::new(),
            leaves: Leaves::new(len),
        };
        if len > 0 {
            engine.push(sides, Range { side: 0, start: 0, end: len, depth: shared, shared, stuck: 0 }, kind);
        }
        engine
    }

    /// Puts a range before all that wait. It ends where they begin.
    fn push(&mut self, sides: &mut Sides<'_>, range: Range, kind: Kind) {
        let frame = range.to_frame(kind, self.side);
        sides[1 - range.side][range.start] = frame;
        self.side = range.side;
    }

    /// Takes the range that begins at `position`.
    fn pop(&mut self, sides: &Sides<'_>, position: usize) -> (Range, Kind) {
        let frame = sides[1 - self.side][position];
        let (range, kind, next_side) = Range::of_frame(frame, self.side, position);
        self.side = next_side;
        (range, kind)
    }

    /// The next range whose entries are in their final order, or none if all were given out.
    ///
    /// # Safety
    /// `sides` are those that the engine was started with, and nothing else has written to what was not given out.
    pub(crate) unsafe fn next(&mut self, sides: &mut Sides<'_>) -> Option<Range> {
        let mut position = self.position;
        // If the caller's code panics, what waits is not to be trusted, and is behind the end.
        self.position = self.len;
        while position < self.len {
            let (range, kind) = self.pop(sides, position);
            // SAFETY: the caller promised it: the range's entries are what this engine made of them.
            if let Some(ready) = unsafe { self.work(sides, range, kind) } {
                self.position = ready.end;
                return Some(ready);
            }
            position = range.start;
        }
        None
    }

    /// Gives out all ranges, as rows in their order.
    ///
    /// # Safety
    /// As of `next`.
    pub(crate) unsafe fn rows_into(&mut self, sides: &mut Sides<'_>, rows: &mut [u32]) {
        // SAFETY: the caller promised it.
        while let Some(range) = unsafe { self.next(sides) } {
            for (place, entry) in rows[range.start..range.end].iter_mut().zip(range.of(sides)) {
                *place = row(*entry);
            }
        }
    }

    /// Works on one range until its first part is ready, or until it is cut into ranges that wait.
    ///
    /// # Safety
    /// Unless the range is fresh, its entries were made by this engine's finder, or by one that it is a copy of. They
    /// may have been moved, and given other words.
    unsafe fn work(&mut self, sides: &mut Sides<'_>, mut range: Range, mut kind: Kind) -> Option<Range> {
        if range.stuck >= STUCK_MAX && matches!(kind, Kind::Open | Kind::Tied) {
            // SAFETY: the caller promised it.
            let compare = |a: &Entry, b: &Entry| unsafe { compare(&self.finder, *a, *b, range.depth) };
            range.of_mut(sides).sort_unstable_by(compare);
            return Some(range);
        }
        loop {
            let varying = match kind {
                Kind::Near => {
                    insertion_sort(range.of_mut(sides));
                    // SAFETY: the caller promised it.
                    return unsafe { self.resolve_ties(sides, range) };
                }
                // SAFETY: as above.
                Kind::Sorted => return unsafe { self.resolve_ties(sides, range) },
                Kind::Tied if range.len() <= LEAF_MAX => {
                    // SAFETY: as above.
                    unsafe { self.sort_leaf(sides, range) };
                    return Some(range);
                }
                Kind::Fresh => self.make(sides, &mut range),
                // SAFETY: as above.
                Kind::Tied => unsafe { self.load(sides, &mut range) },
                Kind::Open if range.len() <= INSERTION_MAX => 0,
                Kind::Open => scan(range.of(sides)),
            };
            let words_vary = varying & ORDER_MASK;
            if range.len() <= INSERTION_MAX {
                kind = Kind::Near;
            } else if words_vary == 0 && is_open(head(range.of(sides)[0]), self.finder.flip) {
                kind = Kind::Tied;
            } else if varying == 0 {
                // SAFETY: as above.
                unsafe { self.order_longest(range.of_mut(sides)) };
                return Some(range);
            } else if range.of(sides).is_sorted_by_key(|entry| head(*entry)) {
                kind = Kind::Sorted;
            } else {
                let varying = if words_vary == 0 { varying } else { words_vary };
                let digit = Digit::fitting(varying, range.len());
                let spreads = digit.spreads(range.of(sides));
                if spreads && let Some(next) = self.split(sides, &mut range, digit) {
                    kind = next?;
                    continue;
                }
                if words_vary != 0 && self.packed && words_repeat(range.of(sides)) {
                    if range.len() > LEAF_MAX {
                        self.part(sides, range);
                        return None;
                    }
                    let entries = range.of_mut(sides);
                    // SAFETY: as above.
                    unsafe { self.leaves.sort(&self.finder, entries, range.shared, false, self.stable) };
                    return Some(range);
                }
                // Where few digits are frequent their places stay in the cache, however many values there are.
                let widest = Digit::widest(varying, range.len());
                if !spreads
                    && range.len() > COMPARE_MAX
                    && let Some(next) = self.split(sides, &mut range, widest)
                {
                    kind = next?;
                    continue;
                }
                sort_words(range.of_mut(sides), self.stable);
                kind = Kind::Sorted;
            }
        }
    }

    /// Makes the entries of all keys, and returns the bits in which heads differ.
    fn make(&mut self, sides: &mut Sides<'_>, range: &mut Range) -> u64 {
        let entries = range.of_mut(sides);
        let mut window = guess_fresh(&self.finder, entries.len(), self.packed, WORD_BITS);
        loop {
            if let Some(passed) = make(&self.finder, entries, 0, &mut window) {
                // SAFETY: the entries were just made.
                return unsafe { self.finish(entries, range, &mut window, passed) };
            }
            // Once, for no key is too far off for a finder that asks the list.
            self.finder = self.finder.far();
        }
    }

    /// Loads words behind those that are all the same, and returns the bits in which heads differ.
    ///
    /// # Safety
    /// As of `work`.
    unsafe fn load(&mut self, sides: &mut Sides<'_>, range: &mut Range) -> u64 {
        let entries = range.of_mut(sides);
        // SAFETY: the caller promised it.
        unsafe {
            let mut window = guess_for(&self.finder, entries, range.shared, self.packed);
            let passed = load(&self.finder, entries, &mut window);
            self.finish(entries, range, &mut window, passed)
        }
    }

    /// Sorts a range whose entries tie as a leaf.
    ///
    /// # Safety
    /// As of `work`.
    unsafe fn sort_leaf(&mut self, sides: &mut Sides<'_>, range: Range) {
        let entries = range.of_mut(sides);
        if entries.len() > 1 {
            entries.iter().for_each(|entry| self.finder.prefetch(*entry, range.shared));
            // SAFETY: the caller promised it.
            unsafe {
                Self::sort_tied(
                    &self.finder,
                    &mut self.leaves,
                    self.stable,
                    self.packed,
                    entries,
                    range.shared,
                )
            };
        }
    }

    /// Loads again what was loaded before the window became what it is, which now fits all.
    ///
    /// # Safety
    /// As of `work`.
    unsafe fn finish(
        &self,
        entries: &mut [Entry],
        range: &mut Range,
        window: &mut Window<'k>,
        passed: Passed,
    ) -> u64 {
        (range.depth, range.shared) = (window.depth, window.end());
        if passed.redo == 0 {
            return passed.varying;
        }
        // SAFETY: the caller promised it.
        unsafe { load(&self.finder, &mut entries[..passed.redo], window) };
        scan(entries)
    }

    /// The step of a quicksort: moves a range to its shadow, parted in three by a word, and pushes a frame for each
    /// part. Each keeps its order, which is all that tells equal keys of a stable sort apart.
    fn part(&mut self, sides: &mut Sides<'_>, range: Range) {
        let [from, to] = range.both_mut(sides);
        let pivot = pivot_of(from).0 & ORDER_MASK;
        let word = |entry: &Entry| head(*entry) & ORDER_MASK;
        let equal = from.iter().filter(|entry| word(entry) < pivot).count();
        let above = from.iter().filter(|entry| word(entry) <= pivot).count();
        let (mut below_next, mut equal_next, mut above_next) = (0, equal, above);
        for entry in from {
            let (is_below, is_above) = (word(entry) < pivot, word(entry) > pivot);
            let place = select_unpredictable(is_above, above_next, equal_next);
            to[select_unpredictable(is_below, below_next, place)] = *entry;
            below_next += usize::from(is_below);
            above_next += usize::from(is_above);
            equal_next += usize::from(!is_below & !is_above);
        }
        let side = 1 - range.side;
        let [equal, above] = [equal, above].map(|place| range.start + place);
        for (start, end) in [(above, range.end), (equal, above), (range.start, equal)] {
            if start < end {
                let stuck = if end - start > range.len() - range.len() / 8 { range.stuck + 1 } else { 0 };
                self.push(sides, Range { side, start, end, stuck, ..range }, Kind::Open);
            }
        }
    }

    /// The radix step: moves the range to its shadow by a digit. If all buckets are small it is near to its order
    /// there; else a frame is pushed for each bucket, and no kind is left. None if the digit splits off too little.
    fn split(&mut self, sides: &mut Sides<'_>, range: &mut Range, digit: Digit) -> Option<Option<Kind>> {
        if self.counts.len() < digit.values() {
            self.counts.resize(digit.values(), 0);
        }
        let [from, to] = range.both_mut(sides);
        let counted = digit.prepare(from, head, &mut self.counts);
        if counted.tells_little() {
            return None;
        }
        let largest = counted.largest();
        counted.scatter(to);
        range.side = 1 - range.side;
        if largest <= BUCKET_MAX {
            return Some(Some(Kind::Near));
        }
        self.push_buckets(sides, *range, digit.values());
        Some(None)
    }

    /// Pushes frames for the buckets of a range that was just scattered: one for each large bucket, one for all small
    /// ones between two of those. After the scatter `counts` has the end of each bucket.
    fn push_buckets(&mut self, sides: &mut Sides<'_>, parent: Range, values: usize) {
        let mut near_end = parent.end;
        for value in (0..values).rev() {
            let end = parent.start + self.counts[value] as usize;
            let start = parent.start + if value == 0 { 0 } else { self.counts[value - 1] as usize };
            if end - start > BUCKET_MAX {
                if end < near_end {
                    self.push(sides, Range { start: end, end: near_end, ..parent }, Kind::Near);
                }
                let stuck = if end - start > parent.len() - parent.len() / 8 { parent.stuck + 1 } else { 0 };
                self.push(sides, Range { start, end, stuck, ..parent }, Kind::Open);
                near_end = start;
            }
        }
        if parent.start < near_end {
            self.push(sides, Range { end: near_end, ..parent }, Kind::Near);
        }
    }

    /// Puts entries in order whose heads are equal and whose keys have ended. Those are equal, unless they are so long
    /// that a head does not tell their lengths.
    ///
    /// # Safety
    /// As of `work`.
    unsafe fn order_longest(&self, entries: &mut [Entry]) {
        if length(head(entries[0]), self.finder.flip) == LENGTH_MAX {
            // SAFETY: the caller promised it.
            entries.sort_unstable_by(|a, b| unsafe { compare(&self.finder, *a, *b, 0) });
        }
    }

    /// Gives out a sorted range up to its first large tie, and pushes the tie and the rest. Small ties are resolved
    /// in place.
    ///
    /// # Safety
    /// As of `work`.
    unsafe fn resolve_ties(&mut self, sides: &mut Sides<'_>, range: Range) -> Option<Range> {
        let flip = self.finder.flip;
        let entries = range.of_mut(sides);
        let Some(mut next) = first_tie(entries, flip) else {
            return Some(range);
        };
        let mut asked = next;
        loop {
            // Ties of a few keys each would wait for one miss after the other.
            if asked < next + TIES_AHEAD && asked < entries.len() {
                let from = asked.saturating_sub(1);
                asked = entries.len().min(next + 2 * TIES_AHEAD);
                prefetch_ties(&self.finder, &entries[from..asked], range.shared);
            }
            // A tie that begins before the end of what was looked at is seen whole below.
            let Some(first) = first_tie(&entries[next..asked], flip) else {
                if asked == entries.len() {
                    return Some(range);
                }
                next = asked - 1;
                continue;
            };
            let first = next + first;
            let its_head = head(entries[first]);
            next = first
                + entries[first..].iter().take_while(|entry| is_tie(head(**entry), its_head, flip)).count();
            if next - first <= LEAF_MAX || !is_open(its_head, flip) {
                // SAFETY: the caller promised it.
                unsafe {
                    Self::sort_tied(
                        &self.finder,
                        &mut self.leaves,
                        self.stable,
                        self.packed,
                        &mut entries[first..next],
                        range.shared,
                    )
                };
                continue;
            }
            let (start, end) = (range.start + first, range.start + next);
            if end < range.end {
                self.push(sides, Range { start: end, ..range }, Kind::Sorted);
            }
            self.push(sides, Range { start, end, ..range }, Kind::Tied);
            return (first > 0).then_some(Range { end: start, ..range });
        }
    }

    /// Sorts entries that tie and whose keys share `shared` bytes, unless they end before.
    ///
    /// # Safety
    /// As of `work`.
    unsafe fn sort_tied(
        finder: &Finder<'k, K>,
        leaves: &mut Leaves,
        stable: bool,
        packed: bool,
        entries: &mut [Entry],
        shared: usize,
    ) {
        let its_head = head(entries[0]);
        if !is_open(its_head, finder.flip) {
            // SAFETY: the caller promised it.
            entries.sort_unstable_by(|a, b| unsafe { compare(finder, *a, *b, shared) });
            return;
        }
        if finder.asks_the_list() {
            // Where they lie was asked for with the ties.
            entries.iter().for_each(|entry| finder.prefetch_key(*entry, shared, shared));
        }
        // SAFETY: the caller promised it.
        unsafe { leaves.sort(finder, entries, shared, true, stable) };
        if !packed && entries.len() > 2 {
            // Whoever asks for what neighbours share finds the words of one depth.
            for entry in entries {
                *entry = with_head(*entry, its_head & ORDER_MASK | head(*entry) & !ORDER_MASK);
            }
        }
    }
}

/// Whether words are likely to repeat among entries: whether those of a few do.
fn words_repeat(entries: &[Entry]) -> bool {
    let repeats = pivot_of(entries).1;
    if repeats || entries.len() < SAMPLED_FROM {
        return repeats;
    }
    let mut words = [0; SAMPLES];
    for (number, word) in words.iter_mut().enumerate() {
        *word = head(entries[entries.len() * number / SAMPLES]) & ORDER_MASK;
    }
    words.sort_unstable();
    words.windows(2).filter(|pair| pair[0] == pair[1]).count() >= REPEATS_MIN
}

/// The place of the first entry that ties with the next one.
fn first_tie(entries: &[Entry], flip: u64) -> Option<usize> {
    entries.windows(2).position(|pair| is_tie(head(pair[0]), head(pair[1]), flip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{entry, head_of};

    /// What nine entries do not show, more do; a word or two that come twice are not enough, nor are equal ends.
    #[test]
    fn words_repeat_where_many_do() {
        let entries = |word: &dyn Fn(u64) -> u64| -> Vec<Entry> {
            let head = |n: u64| head_of(word(n) << 16, false, 8);
            (0..SAMPLED_FROM as u64 + 1).map(|n| entry(head(n), n as u32, 0)).collect()
        };
        assert!(!words_repeat(&entries(&|n| n)));
        // Under Miri the few entries are nearly all sampled, both of a pair.
        assert!(cfg!(miri) || !words_repeat(&entries(&|n| n & !1)));
        // Neighbours among the samples are alike, those that `pivot_of` holds against each other are not.
        let alike = entries(&|n| n * 12 / (SAMPLED_FROM as u64 + 1));
        assert!(!pivot_of(&alike).1 && words_repeat(&alike));
        assert_eq!(words_repeat(&alike[..SAMPLED_FROM - 1]), pivot_of(&alike[..SAMPLED_FROM - 1]).1);
    }
}
