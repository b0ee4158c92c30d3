//! The radix step on several threads: load or scan, choose a digit, count, scatter.

use super::threads::for_each;
use crate::digit::{DIGIT_BITS_LARGE, Digit};
use crate::entry::{Entry, ORDER_MASK, WORD_BITS, head, is_open};
use crate::finder::Finder;
use crate::keys::Keys;
use crate::load::{Passed, guess_for, guess_fresh, load, make, packs, scan};
use crate::window::Window;
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
    /// Bytes that keys of a bucket share if their words are equal, unless they end before.
    pub(super) shared: usize,
    pub(super) kind: Kind,
}

/// What is known about the entries of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: rows are positions.
    Fresh,
    /// Their rows, and the words.
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
pub(super) struct Shared<'k, 'a, 's, K: ?Sized> {
    pub(super) finder: Finder<'k, K>,
    pub(super) sides: &'a mut [&'s mut [Entry]; 2],
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

impl<'k, K: Keys + Sync + ?Sized> Shared<'k, '_, '_, K> {
    /// All entries, none of them loaded.
    pub(super) fn whole(&self) -> Part {
        Part { side: 0, start: 0, ends: vec![self.sides[0].len()], shared: 0, kind: Kind::Fresh }
    }

    /// Cuts the only bucket of a part by the first bits that differ. Neighbours that are small go together into parts
    /// of up to `target` entries.
    pub(super) fn step(&mut self, mut part: Part, target: usize) -> Cut {
        let range = part.start..part.end();
        let mut varying = match part.kind {
            Kind::Fresh => self.make(&mut part),
            Kind::Loaded => self.scan(&part),
        };
        while varying & ORDER_MASK == 0 {
            if !is_open(head(self.sides[part.side][part.start]), self.finder.flip) {
                return Cut::Equal(part);
            }
            varying = self.load(&mut part);
        }
        let ends = self.scatter(&part, range.clone(), Digit::choose(varying & ORDER_MASK, DIGIT_BITS_LARGE));
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

    /// The bits in which heads differ.
    fn scan(&mut self, part: &Part) -> u64 {
        let varying = self.of_chunks(part, |_, entries, varying| *varying = scan(entries));
        self.varying(part, varying)
    }

    /// Makes the entries of all keys, and returns the bits in which their heads differ.
    fn make(&mut self, part: &mut Part) -> u64 {
        loop {
            let finder = self.finder;
            let window = guess_fresh(&finder, part.len(), packs(), WORD_BITS);
            let loaded = self.of_chunks(part, |first, entries, loaded| {
                let mut window = window.clone();
                // Not more than `u32::MAX` rows.
                let passed = make(&finder, entries, first as u32, &mut window);
                *loaded = passed.map(|passed| (passed, window));
            });
            match loaded.into_iter().collect() {
                Some(loaded) => return self.agree(part, window, loaded),
                None => self.finder = finder.far(),
            }
        }
    }

    /// Loads words behind those of a part, which are all the same, and returns the bits in which heads differ.
    fn load(&mut self, part: &mut Part) -> u64 {
        let finder = self.finder;
        let entries = &self.sides[part.side][part.start..part.end()];
        // SAFETY: `make` made all entries with this finder. Since then they were moved, and given other words.
        let window = unsafe { guess_for(&finder, entries, part.shared, packs()) };
        let loaded = self.of_chunks(part, |_, entries, loaded| {
            let mut window = window.clone();
            // SAFETY: as above.
            let passed = unsafe { load(&finder, entries, &mut window) };
            *loaded = Some((passed, window));
        });
        self.agree(part, window, loaded.into_iter().flatten().collect())
    }

    /// Brings chunks that were loaded by different windows to one that fits all of them.
    fn agree(&mut self, part: &mut Part, window: Window<'k>, loaded: Vec<(Passed, Window<'k>)>) -> u64 {
        let guessed = window.clone();
        let fitted = loaded.iter().filter(|(_, its)| *its != guessed);
        let window = fitted.fold(window, |mut window, (_, its)| {
            window.merge(its);
            window
        });
        let varying = if window == guessed {
            loaded.into_iter().map(|(passed, _)| passed.varying).collect()
        } else {
            let finder = self.finder;
            self.of_chunks(part, |_, entries, varying| {
                // SAFETY: as in `load`.
                *varying = unsafe { load(&finder, entries, &mut window.clone()) }.varying;
            })
        };
        (part.shared, part.kind) = (window.end(), Kind::Loaded);
        self.varying(part, varying)
    }

    /// The bits in which heads differ, from those in which they do within each chunk.
    fn varying(&self, part: &Part, within: Vec<u64>) -> u64 {
        let mut first = self.first_of_chunks(part);
        let one = first.next().unwrap_or(0);
        within.into_iter().chain(first.map(|entry| head(entry) ^ head(one))).fold(0, |all, some| all | some)
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
            digit.count(entries, head, counts);
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
            digit.visit(entries, head, |value, entry| {
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
