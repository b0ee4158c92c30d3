//! The radix step on several threads: load or scan, choose a digit, count, scatter.

use super::threads::for_each;
use crate::digit::Digit;
use crate::engine::DIGIT_BITS_LARGE;
use crate::entry::{Entry, TAG_OPEN, WORD_BYTES, WORD_MASK, row, tag};
use crate::keys::Keys;
use crate::load::{common_prefix, fill, load, load_fresh, scan};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Parts of the entries for each thread: a thread that is held up leaves some of its share to the others.
const CHUNKS_PER_THREAD: usize = 4;

/// Buckets that follow each other on one side, or a single one.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) side: usize,
    pub(super) start: usize,
    /// Where each of its buckets ends; the next one begins there.
    pub(super) ends: Vec<usize>,
    /// Bytes that the keys of a bucket share at least.
    pub(super) depth: usize,
    pub(super) kind: Kind,
}

/// What is known about the entries of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: rows are positions.
    Fresh,
    /// Their rows.
    Tied,
    /// Their rows, and the words at the part's depth.
    Loaded,
}

impl Part {
    pub(super) fn len(&self) -> usize {
        self.end() - self.start
    }

    fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.start)
    }
}

/// What became of a part.
pub(super) enum Cut {
    /// It was cut.
    Parts(Vec<Part>),
    /// All its keys are equal.
    Equal(Part),
}

/// What all threads work on.
pub(super) struct Shared<'a, 's, K: ?Sized> {
    pub(super) keys: &'a K,
    pub(super) sides: &'a mut [&'s mut [Entry]; 2],
    pub(super) flip: u128,
    pub(super) threads: usize,
}

/// A side that several threads write to, each to places of its own.
struct Places {
    first: *mut Entry,
    len: usize,
}

// SAFETY: entries are plain integers, and whoever writes promises to be the only one at the place (`Places::put`).
unsafe impl Sync for Places {}

impl Places {
    fn new(side: &mut [Entry]) -> Self {
        Self { first: side.as_mut_ptr(), len: side.len() }
    }

    /// Writes an entry.
    ///
    /// # Safety
    /// The slice of [`Places::new`] is still borrowed, has this place, and no other thread reads or writes there.
    #[inline(always)]
    unsafe fn put(&self, place: usize, entry: Entry) {
        debug_assert!(place < self.len, "a count was wrong");
        // SAFETY: the caller promised it.
        unsafe { self.first.add(place).write(entry) };
    }
}

impl<K: Keys + Sync + ?Sized> Shared<'_, '_, K> {
    /// All entries, none of them loaded.
    pub(super) fn whole(&self) -> Part {
        Part { side: 0, start: 0, ends: vec![self.sides[0].len()], depth: 0, kind: Kind::Fresh }
    }

    /// Cuts the only bucket of a part by the first bits that differ. Neighbours that are small go together into parts
    /// of up to `target` entries.
    pub(super) fn step(&mut self, mut part: Part, target: usize) -> Cut {
        let range = part.start..part.end();
        let varying = loop {
            let varying = if part.kind == Kind::Loaded { self.scan(&part) } else { self.load(&mut part) };
            if varying != 0 {
                break varying;
            }
            if tag(self.sides[part.side][part.start], self.flip) != TAG_OPEN {
                return Cut::Equal(part);
            }
            part.depth += WORD_BYTES;
            part.kind = Kind::Tied;
        };
        let ends = self.scatter(&part, range.clone(), Digit::choose(varying, DIGIT_BITS_LARGE));
        let side = 1 - part.side;
        Cut::Parts(join(range.start, &ends, target, |start, ends| Part {
            side,
            start,
            ends,
            kind: Kind::Loaded,
            ..part
        }))
    }

    /// Calls `work` with each chunk of the part, its place in it, and room for an answer. Returns the answers.
    fn of_chunks<R, F>(&mut self, part: &Part, work: F) -> Vec<R>
    where
        R: Send + Default,
        F: Fn(usize, &mut [Entry], &mut R) + Sync,
    {
        let entries = &mut self.sides[part.side][part.start..part.end()];
        let chunk = chunk_len(entries.len(), self.threads);
        let mut answers = Vec::new();
        answers.resize_with(entries.len().div_ceil(chunk), R::default);
        let jobs = entries.chunks_mut(chunk).zip(&mut answers).enumerate().collect();
        for_each(self.threads, jobs, |(number, (entries, answer)): (usize, (&mut [Entry], &mut R))| {
            work(number * chunk, entries, answer);
        });
        answers
    }

    /// The bits in which words differ.
    fn scan(&mut self, part: &Part) -> u128 {
        let varying = self.of_chunks(part, |_, entries, varying| *varying = scan(entries));
        self.varying(part, varying)
    }

    /// Loads words behind the bytes that all keys of the part share, and returns the bits in which they differ.
    fn load(&mut self, part: &mut Part) -> u128 {
        let (keys, flip, base, kind) = (self.keys, self.flip, part.depth, part.kind);
        let (depths, mut varying): (Vec<_>, Vec<_>) = self
            .of_chunks(part, |first, entries, answer| {
                let loaded = match kind {
                    // Not more than `u32::MAX` rows.
                    Kind::Fresh => load_fresh(keys, entries, first as u32, flip),
                    _ => load(keys, entries, base, flip),
                };
                *answer = (loaded.depth, loaded.varying);
            })
            .into_iter()
            .unzip();
        let depth = self.shared_bytes(part, depths.iter().copied().min().unwrap_or(base));
        (part.depth, part.kind) = (depth, Kind::Loaded);
        if depths.iter().any(|its| *its != depth) {
            varying = self.of_chunks(part, |_, entries, varying| {
                *varying = fill(keys, entries, depth, flip);
            });
        }
        self.varying(part, varying)
    }

    /// The bits in which words differ, from those in which they do within each chunk.
    fn varying(&self, part: &Part, within: Vec<u128>) -> u128 {
        let mut first = self.first_of_chunks(part);
        let one = first.next().unwrap_or(0);
        within.into_iter().chain(first.map(|entry| (entry ^ one) & WORD_MASK)).fold(0, |all, some| all | some)
    }

    /// Bytes that all keys of a part share, at most `least`, which are the bytes that those of any chunk share.
    fn shared_bytes(&self, part: &Part, least: usize) -> usize {
        let head = |entry: Entry| self.keys.key(row(entry) as usize).get(part.depth..least).unwrap_or(&[]);
        let mut first = self.first_of_chunks(part).map(head);
        let one = first.next().unwrap_or(&[]);
        part.depth + first.map(|other| common_prefix(one, other)).min().unwrap_or(one.len())
    }

    fn first_of_chunks(&self, part: &Part) -> impl Iterator<Item = Entry> {
        let entries = &self.sides[part.side][part.start..part.end()];
        entries.iter().step_by(chunk_len(entries.len(), self.threads)).copied()
    }

    /// Moves a range to the other side by a digit, and returns where each bucket ends.
    fn scatter(&mut self, part: &Part, range: Range<usize>, digit: Digit) -> Vec<usize> {
        let values = digit.values();
        let mut places = self.of_chunks(part, |_, entries, counts: &mut Vec<u32>| {
            counts.resize(values, 0);
            digit.count(entries, counts);
        });
        let mut place = 0;
        let mut ends = Vec::with_capacity(values);
        for value in 0..values {
            for counts in &mut places {
                place += core::mem::replace(&mut counts[value], place);
            }
            ends.push(range.start + place as usize);
        }
        let [left, right] = &mut *self.sides;
        let (from, to) = if part.side == 0 { (left, right) } else { (right, left) };
        let to = Places::new(&mut to[range.clone()]);
        let from = from[range.clone()].chunks(chunk_len(range.len(), self.threads));
        for_each(self.threads, from.zip(places).collect(), |(entries, mut places): (&[Entry], Vec<u32>)| {
            digit.visit(entries, |value, entry| {
                let place = &mut places[value];
                // SAFETY: `to` is borrowed until all threads have ended. Places are the sums of counts: a chunk has as
                // many for a digit as the count found in it, from where those of the chunk before end. Both steps see
                // the same entries, cut into the same chunks, and nothing changes entries in between. So every place
                // is within `to`, which is as long as all chunks, and no two entries have the same.
                unsafe { to.put(*place as usize, entry) };
                *place += 1;
            });
        });
        ends
    }
}

fn chunk_len(len: usize, threads: usize) -> usize {
    len.div_ceil(threads * CHUNKS_PER_THREAD).max(1)
}

/// Buckets as parts: a bucket of more than `target` entries is one, smaller neighbours go together.
fn join(start: usize, ends: &[usize], target: usize, part: impl Fn(usize, Vec<usize>) -> Part) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut part_start, mut bucket_start, mut joined) = (start, start, Vec::new());
    for end in ends {
        if end - part_start > target && !joined.is_empty() {
            parts.push(part(part_start, core::mem::take(&mut joined)));
            part_start = bucket_start;
        }
        if *end > bucket_start {
            joined.push(*end);
        }
        bucket_start = *end;
    }
    if !joined.is_empty() {
        parts.push(part(part_start, joined));
    }
    parts
}
