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
//! Fresh   as Tied, rows are positions
//! Tied    keys share `depth` bytes       -> load words there (load.rs)            -> Open
//! Open    words of no known order        -> few: insertion sort                    -> Sorted
//!                                           all the same: finished, or             -> Tied, a word deeper
//!                                           else: radix step (digit.rs)            -> a frame for each bucket
//! Near    as Open, but no entry is far from its place: insertion sort              -> Sorted
//! Sorted  words in order                 -> up to the first tie: ready; then       -> Tied and the rest
//! ```
//!
//! **Cost.** Every load takes each key of the range at least one word further into the bytes that tell it apart, or
//! finishes it. Within a word, a radix step that splits off little in a small range gives way to a comparison sort of
//! the words. In a large range it takes ten of the varying bits or three runs of them, with what lies between: at least
//! nine of the 96 bits, so there are at most eleven steps to a word.

use alloc::vec::Vec;

use crate::digit::{DIGIT_BITS_MAX, Digit};
use crate::entry::{Entry, TAG_OPEN, WORD_BYTES, WORD_MASK, row, same_word, tag};
use crate::keys::Keys;
use crate::load::{load, load_fresh, prefetch_all, scan};
use crate::{Options, Order};

/// The two arrays of entries.
pub(crate) type Sides<'a> = [&'a mut [Entry]; 2];

/// Up to this many entries are sorted by insertion.
const INSERTION_MAX: usize = 20;

/// Up to this many keys whose words tie are compared in full instead of loaded anew.
const TIED_COMPARE_MAX: usize = 8;

/// Ranges up to this length are sorted by comparing words when a digit splits off less than an eighth.
const COMPARE_MAX: usize = 16 << 10;

/// From this length on, a digit has `DIGIT_BITS_LARGE`: more buckets would not stay in the cache of a core.
const LARGE: usize = 1 << 16;
pub(crate) const DIGIT_BITS_LARGE: u32 = 10;

/// What is known about a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fresh,
    Tied,
    Open,
    Near,
    Sorted,
}

/// Positions `start..end` of one side. Their keys share `depth` bytes; words begin there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) side: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) depth: usize,
}

impl Range {
    fn len(&self) -> usize {
        self.end - self.start
    }

    /// The entries of the range.
    pub(crate) fn of<'s>(&self, sides: &'s Sides<'_>) -> &'s [Entry] {
        &sides[self.side][self.start..self.end]
    }

    fn of_mut<'s>(&self, sides: &'s mut Sides<'_>) -> &'s mut [Entry] {
        &mut sides[self.side][self.start..self.end]
    }
}

/// The state between two ranges.
#[derive(Debug)]
pub(crate) struct Engine {
    /// Everything left of it is ready.
    position: usize,
    len: usize,
    /// The side of the range that begins at `position`.
    side: usize,
    /// What words are xored with: their bits, all set, where the order is descending.
    pub(crate) flip: u128,
    stable: bool,
    counts: Vec<u32>,
}

impl Engine {
    /// An engine for all rows from 0 on, as many as a side is long. What the sides hold does not matter.
    pub(crate) fn start_fresh(sides: &mut Sides<'_>, options: Options) -> Engine {
        Engine::start_as(sides, 0, options, Kind::Fresh)
    }

    /// An engine for the entries in `sides[0]`, whose rows are set and whose keys share `depth` bytes.
    #[cfg(feature = "parallel")]
    pub(crate) fn start(sides: &mut Sides<'_>, depth: usize, options: Options) -> Engine {
        Engine::start_as(sides, depth, options, Kind::Tied)
    }

    /// An engine for the entries in `sides[0]`, whose words were loaded at `depth`.
    #[cfg(feature = "parallel")]
    pub(crate) fn start_loaded(sides: &mut Sides<'_>, depth: usize, options: Options) -> Engine {
        Engine::start_as(sides, depth, options, Kind::Open)
    }

    fn start_as(sides: &mut Sides<'_>, depth: usize, options: Options, kind: Kind) -> Engine {
        let len = sides[0].len();
        let flip = flip_of(options.order);
        let mut engine =
            Engine { position: 0, len, side: 0, flip, stable: options.stable, counts: Vec::new() };
        if len > 0 {
            engine.push(sides, Range { side: 0, start: 0, end: len, depth }, kind);
        }
        engine
    }

    /// Puts a range before all that wait. It ends where they begin.
    fn push(&mut self, sides: &mut Sides<'_>, range: Range, kind: Kind) {
        let next_side = self.side as u128;
        let frame = range.end as u128 | (kind as u128) << 40 | next_side << 48 | (range.depth as u128) << 64;
        sides[1 - range.side][range.start] = frame;
        self.side = range.side;
    }

    /// Takes the range that begins at `position`.
    fn pop(&mut self, sides: &Sides<'_>) -> (Range, Kind) {
        let frame = sides[1 - self.side][self.position];
        let kind = match (frame >> 40) as u8 {
            0 => Kind::Fresh,
            1 => Kind::Tied,
            2 => Kind::Open,
            3 => Kind::Near,
            _ => Kind::Sorted,
        };
        let end = (frame & 0xff_ffff_ffff) as usize;
        let range = Range { side: self.side, start: self.position, end, depth: (frame >> 64) as usize };
        self.side = (frame >> 48) as usize & 1;
        (range, kind)
    }

    /// The next range whose entries are in their final order, or none if all were given out.
    pub(crate) fn next<K: Keys + ?Sized>(&mut self, keys: &K, sides: &mut Sides<'_>) -> Option<Range> {
        while self.position < self.len {
            let (range, kind) = self.pop(sides);
            if let Some(ready) = self.work(keys, sides, range, kind) {
                self.position = ready.end;
                return Some(ready);
            }
        }
        None
    }

    /// Gives out all ranges, as rows in their order.
    pub(crate) fn rows_into<K: Keys + ?Sized>(&mut self, keys: &K, sides: &mut Sides<'_>, rows: &mut [u32]) {
        while let Some(range) = self.next(keys, sides) {
            for (place, entry) in rows[range.start..range.end].iter_mut().zip(range.of(sides)) {
                *place = row(*entry);
            }
        }
    }

    /// Works on one range until its first part is ready, or until it is cut into ranges that wait.
    fn work<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        sides: &mut Sides<'_>,
        mut range: Range,
        mut kind: Kind,
    ) -> Option<Range> {
        loop {
            let varying = match kind {
                Kind::Near => {
                    insertion_sort(range.of_mut(sides));
                    return self.resolve_ties(keys, sides, range);
                }
                Kind::Sorted => return self.resolve_ties(keys, sides, range),
                Kind::Fresh | Kind::Tied => {
                    let entries = range.of_mut(sides);
                    let loaded = match kind {
                        Kind::Fresh => load_fresh(keys, entries, 0, self.flip),
                        _ => load(keys, entries, range.depth, self.flip),
                    };
                    range.depth = loaded.depth;
                    loaded.varying
                }
                Kind::Open if range.len() <= INSERTION_MAX => 0,
                Kind::Open => scan(range.of(sides)),
            };
            if range.len() <= INSERTION_MAX {
                kind = Kind::Near;
            } else if varying == 0 {
                let entries = range.of_mut(sides);
                if tag(entries[0], self.flip) != TAG_OPEN {
                    self.order_rows(entries);
                    return Some(range);
                }
                range.depth += WORD_BYTES;
                kind = Kind::Tied;
            } else if range.of(sides).is_sorted() {
                kind = Kind::Sorted;
            } else if self.split(sides, range, varying) {
                return None;
            } else {
                kind = Kind::Sorted;
            }
        }
    }

    /// The radix step: moves the range to its shadow by a digit, and pushes a frame for each bucket. Where the digit
    /// splits off too little, the range is sorted instead, and the answer is false.
    fn split(&mut self, sides: &mut Sides<'_>, range: Range, varying: u128) -> bool {
        let len = range.len();
        let bits_max = if len >= LARGE { DIGIT_BITS_LARGE } else { (len.ilog2() - 1).min(DIGIT_BITS_MAX) };
        let digit = Digit::choose(varying, bits_max);
        if self.counts.len() < digit.values() {
            self.counts.resize(digit.values(), 0);
        }
        let [left, right] = sides;
        let (from, to) = if range.side == 0 { (left, right) } else { (right, left) };
        let counted = digit.prepare(&from[range.start..range.end], &mut self.counts);
        if len <= COMPARE_MAX && counted.largest > len - len / 8 {
            self.sort_words(&mut from[range.start..range.end]);
            return false;
        }
        counted.scatter(&mut to[range.start..range.end]);
        self.push_buckets(sides, range, digit.values());
        true
    }

    /// Pushes frames for the buckets of a range that was just scattered: one for each large bucket, one for all small
    /// ones between two of those. After the scatter `counts` has the end of each bucket.
    fn push_buckets(&mut self, sides: &mut Sides<'_>, parent: Range, values: usize) {
        let side = 1 - parent.side;
        let depth = parent.depth;
        let mut near_end = parent.end;
        for value in (0..values).rev() {
            let end = parent.start + self.counts[value] as usize;
            let start = parent.start + if value == 0 { 0 } else { self.counts[value - 1] as usize };
            if end - start > INSERTION_MAX {
                if end < near_end {
                    self.push(sides, Range { side, start: end, end: near_end, depth }, Kind::Near);
                }
                self.push(sides, Range { side, start, end, depth }, Kind::Open);
                near_end = start;
            }
        }
        if parent.start < near_end {
            self.push(sides, Range { side, start: parent.start, end: near_end, depth }, Kind::Near);
        }
    }

    /// Sorts entries by their words. Rows of equal keys end in order if the sort is to be stable.
    fn sort_words(&self, entries: &mut [Entry]) {
        entries.sort_unstable_by_key(|entry| entry >> 32);
        if self.stable {
            for equal in entries.chunk_by_mut(|a, b| same_word(*a, *b)) {
                if tag(equal[0], self.flip) != TAG_OPEN {
                    self.order_rows(equal);
                }
            }
        }
    }

    /// Puts entries of equal keys in order of rows if the sort is to be stable. Most often they are.
    fn order_rows(&self, equal: &mut [Entry]) {
        if self.stable && !equal.is_sorted() {
            equal.sort_unstable();
        }
    }

    /// Gives out a sorted range up to its first large tie, and pushes the tie and the rest. Small ties are resolved
    /// in place.
    fn resolve_ties<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        sides: &mut Sides<'_>,
        range: Range,
    ) -> Option<Range> {
        let entries = range.of_mut(sides);
        let mut next = 0;
        while let Some(first) = first_tie(&entries[next..], self.flip) {
            let first = next + first;
            let tied = entries[first..].iter().take_while(|entry| same_word(**entry, entries[first])).count();
            next = first + tied;
            if tied <= TIED_COMPARE_MAX {
                self.sort_tied(keys, &mut entries[first..next], range.depth + WORD_BYTES);
                continue;
            }
            let (start, end) = (range.start + first, range.start + next);
            if end < range.end {
                self.push(sides, Range { start: end, ..range }, Kind::Sorted);
            }
            self.push(sides, Range { start, end, depth: range.depth + WORD_BYTES, ..range }, Kind::Tied);
            return (first > 0).then_some(Range { end: start, ..range });
        }
        Some(range)
    }

    /// Sorts a few entries whose keys share `depth` bytes by comparing the rest of the keys.
    fn sort_tied<K: Keys + ?Sized>(&self, keys: &K, entries: &mut [Entry], depth: usize) {
        prefetch_all(keys, entries, depth);
        let rest = |entry: Entry| keys.key(row(entry) as usize).get(depth..).unwrap_or(&[]);
        insertion_sort_by(entries, |a, b| {
            let order = rest(a).cmp(rest(b));
            let order = if self.flip == 0 { order } else { order.reverse() };
            order.then(row(a).cmp(&row(b))).is_lt()
        });
    }
}

/// What words are xored with: a descending order is the ascending order of inverted words.
pub(crate) fn flip_of(order: Order) -> u128 {
    match order {
        Order::Ascending => 0,
        Order::Descending => WORD_MASK,
    }
}

/// The place of the first entry whose word the next one has too, and whose key goes on.
fn first_tie(entries: &[Entry], flip: u128) -> Option<usize> {
    entries.windows(2).position(|pair| same_word(pair[0], pair[1]) && tag(pair[1], flip) == TAG_OPEN)
}

/// Sorts entries that are few, or none of which is far from its place.
fn insertion_sort(entries: &mut [Entry]) {
    insertion_sort_by(entries, |a, b| a < b);
}

#[inline(always)]
fn insertion_sort_by(entries: &mut [Entry], less: impl Fn(Entry, Entry) -> bool) {
    let Some(mut last) = entries.first().copied() else { return };
    for i in 1..entries.len() {
        let moving = entries[i];
        if !less(moving, last) {
            last = moving;
            continue;
        }
        // What is left of `i` moves up by one, so its greatest, `last`, comes to `i`.
        entries[i] = last;
        let mut hole = i - 1;
        // SAFETY: `hole` starts below the length, falls, and is above 0 where 1 is taken from it.
        unsafe {
            while hole > 0 && less(moving, *entries.get_unchecked(hole - 1)) {
                *entries.get_unchecked_mut(hole) = *entries.get_unchecked(hole - 1);
                hole -= 1;
            }
            *entries.get_unchecked_mut(hole) = moving;
        }
    }
}
