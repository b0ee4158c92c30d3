//! Iterators that give rows in order while the sort goes on.

use crate::Options;
use crate::bytes::common_prefix;
use crate::engine::Engine;
use crate::entry::{Entry, common_bytes, head, row};
use crate::keys::Keys;
use crate::load::packs;
use crate::range::{Range, Sides};
use crate::scratch::Scratch;

/// The memory of an iterator: its own, or a sorter's.
#[derive(Debug)]
enum Memory<'s> {
    Own(Scratch),
    Lent(&'s mut Scratch),
}

/// Rows in order, each sorted out no sooner than it is asked for. Made by [`sorted`](crate::sorted) and
/// [`Sorter::sorted`](crate::Sorter::sorted). May be dropped at any time; what was not asked for was not sorted.
#[derive(Debug)]
pub struct Sorted<'s, K: ?Sized> {
    memory: Memory<'s>,
    engine: Engine<'s, K>,
    /// The range that rows are taken from, its start the next one.
    ready: Range,
    len: usize,
}

impl<'s, K: Keys + ?Sized> Sorted<'s, K> {
    /// If it is not `packed`, words have all bits of their bytes.
    pub(crate) fn new(scratch: &'s mut Scratch, keys: &'s K, options: Options, packed: bool) -> Self {
        Sorted::with(Memory::Lent(scratch), keys, options, packed)
    }

    pub(crate) fn own(keys: &'s K, options: Options) -> Self {
        Sorted::with(Memory::Own(Scratch::new()), keys, options, packs())
    }

    fn with(mut memory: Memory<'s>, keys: &'s K, options: Options, packed: bool) -> Self {
        let len = keys.len();
        assert!(u32::try_from(len).is_ok(), "more than u32::MAX keys");
        memory.scratch().reserve(len);
        let engine = Engine::start_fresh(keys, &mut memory.scratch().sides(len), options, packed);
        Sorted {
            memory,
            engine,
            ready: Range { side: 0, start: 0, end: 0, depth: 0, shared: 0, stuck: 0 },
            len,
        }
    }

    /// Makes sure that the ready range has a row; false at the end.
    #[inline(always)]
    fn refill(&mut self) -> bool {
        if self.ready.start < self.ready.end {
            return true;
        }
        let mut sides = self.memory.scratch().sides(self.len);
        // SAFETY: the memory is this iterator's own, or lent to it alone.
        match unsafe { self.engine.next(&mut sides) } {
            Some(range) => {
                self.ready = range;
                true
            }
            None => false,
        }
    }
}

impl Memory<'_> {
    fn scratch(&mut self) -> &mut Scratch {
        match self {
            Memory::Own(scratch) => scratch,
            Memory::Lent(scratch) => scratch,
        }
    }
}

impl<K: Keys + ?Sized> Iterator for Sorted<'_, K> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if !self.refill() {
            return None;
        }
        let sides: Sides<'_> = self.memory.scratch().sides(self.len);
        let row = row(sides[self.ready.side][self.ready.start]);
        self.ready.start += 1;
        Some(row)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len - self.ready.start;
        (left, Some(left))
    }
}

impl<K: Keys + ?Sized> ExactSizeIterator for Sorted<'_, K> {}

/// Rows in order, each with the number of bytes that its key shares with the key before it, 0 for the first. Made by
/// [`Sorter::sorted_lcp`](crate::Sorter::sorted_lcp).
///
/// The sort knows the number already for most neighbours; it compares keys only where two ranges meet, and for keys
/// whose next six bytes are the same.
#[derive(Debug)]
pub struct SortedLcp<'s, K: ?Sized> {
    rows: Sorted<'s, K>,
    /// The entry before.
    last: Option<Entry>,
}

impl<'s, K: Keys + ?Sized> SortedLcp<'s, K> {
    pub(crate) fn new(rows: Sorted<'s, K>) -> Self {
        SortedLcp { rows, last: None }
    }
}

impl<K: Keys + ?Sized> Iterator for SortedLcp<'_, K> {
    type Item = (u32, usize);

    fn next(&mut self) -> Option<(u32, usize)> {
        let range_end = self.rows.ready.end;
        if !self.rows.refill() {
            return None;
        }
        let new_range = self.rows.ready.end != range_end;
        let Range { side, start, depth, .. } = self.rows.ready;
        let entry = self.rows.memory.scratch().sides(self.rows.len)[side][start];
        self.rows.ready.start += 1;
        let finder = &self.rows.engine.finder;
        let shared = self.last.map_or(0, |last| {
            let known =
                if new_range { None } else { common_bytes(head(last), head(entry), depth, finder.flip) };
            known.unwrap_or_else(|| {
                let [a, b] = [last, entry].map(|entry| finder.keys.key(row(entry) as usize));
                common_prefix(a, b)
            })
        });
        self.last = Some(entry);
        Some((row(entry), shared))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl<K: Keys + ?Sized> ExactSizeIterator for SortedLcp<'_, K> {}
