//! Loading: gives the entries of a partition their words, cut from the keys by a window that fits all of them.
//!
//! A window is guessed from a few keys, and one pass over all of them both checks the guess and loads the words. So a
//! key's memory is touched once a load, however much of it all keys share. Where the guess claimed too much it is
//! weakened until it fits, and the entries loaded before that are loaded again: at most two passes, and the second
//! needs no check.

use core::ops::Range;

use crate::entry::{Entry, head, is_tie, with_head};
use crate::finder::Finder;
use crate::keys::Keys;
use crate::pext;
use crate::window::Window;

/// Keys that a window is guessed from, beside the first: one of so many, at least and at most this many.
const SAMPLE_OF: usize = 32;
const SAMPLES_MIN: usize = 4;
const SAMPLES_MAX: usize = 48;

/// How many keys ahead of the one that is loaded memory is asked for.
const AHEAD: usize = 12;

/// Up to this many keys, words are of all bits: a guess at which bits differ costs more than it saves.
const PLAIN_MAX: usize = 64;

/// Whether words are of the bits in which keys differ, not of all bits. That takes a processor that is quick at it.
pub(crate) fn packs() -> bool {
    pext::is_fast() || cfg!(miri)
}

/// Asks for what the load of entry `i` plus a distance will read: at twice the distance for what says where the key
/// lies, so that the address of the key itself can be had at the distance without a wait.
#[inline(always)]
fn prefetch_ahead<K: Keys + ?Sized>(
    finder: &Finder<'_, K>,
    entries: &[Entry],
    i: usize,
    bytes: &Range<usize>,
) {
    if let Some(entry) = entries.get(i + 2 * AHEAD) {
        finder.prefetch_place(*entry);
    }
    if let Some(entry) = entries.get(i + AHEAD) {
        finder.prefetch_key(*entry, bytes.start, bytes.end);
    }
}

/// Asks for the keys of those of some sorted entries that tie, around `depth`, or, if they are far, for where they lie.
pub(crate) fn prefetch_ties<K: Keys + ?Sized>(finder: &Finder<'_, K>, entries: &[Entry], depth: usize) {
    for pair in entries.windows(2) {
        if is_tie(head(pair[0]), head(pair[1]), finder.flip) {
            pair.iter().for_each(|entry| finder.prefetch(*entry, depth));
        }
    }
}

/// Asks for the keys of a few entries around two of their bytes, first for what says where they lie.
pub(crate) fn prefetch_all<K: Keys + ?Sized>(
    finder: &Finder<'_, K>,
    entries: impl Iterator<Item = Entry> + Clone,
    bytes: &Range<usize>,
) {
    entries.clone().for_each(|entry| finder.prefetch_place(entry));
    entries.for_each(|entry| finder.prefetch_key(entry, bytes.start, bytes.end));
}

/// The places of the keys that a window for `len` keys is guessed from.
fn samples(len: usize) -> impl Iterator<Item = usize> + Clone {
    let samples = (len / SAMPLE_OF).clamp(SAMPLES_MIN, SAMPLES_MAX);
    (0..=samples).map(move |sample| (len - 1) * sample / samples)
}

/// A window guessed from a few of `len` keys, one at least, that share `base` bytes.
fn guess<'k>(len: usize, base: usize, packed: bool, key: impl Fn(usize) -> &'k [u8]) -> Window<'k> {
    let mut its_samples: [&[u8]; SAMPLES_MAX + 1] = [&[]; SAMPLES_MAX + 1];
    let mut count = 0;
    for (sample, place) in its_samples.iter_mut().zip(samples(len)) {
        *sample = key(place).get(base..).unwrap_or(&[]);
        count += 1;
    }
    Window::guess(base, &its_samples[..count], packed && len > PLAIN_MAX)
}

/// A window guessed for the first `len` keys of the list, one at least.
pub(crate) fn guess_fresh<'k, K: Keys + ?Sized>(
    finder: &Finder<'k, K>,
    len: usize,
    packed: bool,
) -> Window<'k> {
    guess(len, 0, packed, |row| finder.keys.key(row))
}

/// A window guessed for entries, one at least, whose keys share `base` bytes.
///
/// # Safety
/// As of `Finder::key`, for each entry.
pub(crate) unsafe fn guess_for<'k, K: Keys + ?Sized>(
    finder: &Finder<'k, K>,
    entries: &[Entry],
    base: usize,
    packed: bool,
) -> Window<'k> {
    prefetch_all(finder, samples(entries.len()).map(|place| entries[place]), &(base..base));
    // SAFETY: the caller promised it.
    guess(entries.len(), base, packed, |place| unsafe { finder.key(entries[place]) })
}

/// What all heads have in common, found while they pass by.
#[derive(Clone, Copy)]
struct Common {
    all: u64,
    any: u64,
}

impl Common {
    const NEW: Common = Common { all: !0, any: 0 };

    #[inline(always)]
    fn add(&mut self, head: u64) {
        self.all &= head;
        self.any |= head;
    }

    /// The bits that differ.
    fn varying(self) -> u64 {
        self.any & !self.all
    }
}

/// The bits in which heads of entries differ.
pub(crate) fn scan(entries: &[Entry]) -> u64 {
    let mut common = Common::NEW;
    entries.iter().for_each(|entry| common.add(head(*entry)));
    common.varying()
}

/// What a pass over keys found.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Passed {
    /// The bits in which heads differ.
    pub(crate) varying: u64,
    /// So many entries at the beginning were loaded by a window that claimed more, and have to be loaded again.
    pub(crate) redo: usize,
}

/// One of two ways to load, so that the compiler makes the best of each.
macro_rules! fast_or_not {
    ($(
        $(#[$doc:meta])*
        [$($unsafe:tt)?] $name:ident, $fast:ident => $work:ident ($($arg:ident: $kind:ty),*) -> $result:ty;
    )*) => {$(
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[target_feature(enable = "bmi2")]
        unsafe fn $fast<'k, K: Keys + ?Sized>(finder: &Finder<'k, K>, $($arg: $kind),*) -> $result {
            // SAFETY: the caller promised what `work` asks for, and asked the processor.
            unsafe { $work::<K, true>(finder, $($arg),*) }
        }

        $(#[$doc])*
        pub(crate) $($unsafe)? fn $name<'k, K: Keys + ?Sized>(finder: &Finder<'k, K>, $($arg: $kind),*) -> $result {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            if pext::is_fast() {
                // SAFETY: the caller promised what `work` asks for, and the processor has the instruction.
                return unsafe { $fast(finder, $($arg),*) };
            }
            // SAFETY: the caller promised it.
            unsafe { $work::<K, false>(finder, $($arg),*) }
        }
    )*};
}

fast_or_not! {
    /// Makes the entries of rows `first` and so on. Weakens the window where a key does not fit. None if a key lies too
    /// far off for the finder; then the entries are of no use.
    [] make, make_fast =>
        make_as(entries: &mut [Entry], first: u32, window: &mut Window<'k>) -> Option<Passed>;
    /// Loads the words of entries whose keys share the bytes before the window's base. Weakens the window where a key
    /// does not fit.
    ///
    /// # Safety
    /// As of `Finder::key`, for each entry.
    [unsafe] load, load_fast => load_as(entries: &mut [Entry], window: &mut Window<'k>) -> Passed;
    /// Loads the words of entries whose keys are known to fit the window, and returns the bits in which heads differ.
    ///
    /// # Safety
    /// As of `Finder::key`, for each entry.
    [unsafe] fill, fill_fast => fill_as(entries: &mut [Entry], window: &Window<'k>) -> u64;
}

/// The head of a key that fits the window once this is done. `i` is the key's place; what is before it has to be loaded
/// again if the window changed.
///
/// # Safety
/// As of `extract`.
#[inline(always)]
unsafe fn fit<const FAST: bool>(
    window: &mut Window<'_>,
    key: &[u8],
    flip: u64,
    i: usize,
    redo: &mut usize,
) -> u64 {
    loop {
        // SAFETY: the caller promised it.
        let (head, fits) = unsafe { window.head::<FAST>(key, flip) };
        if fits {
            return head;
        }
        window.weaken(key);
        *redo = i;
    }
}

#[inline(always)]
unsafe fn make_as<'k, K: Keys + ?Sized, const FAST: bool>(
    finder: &Finder<'k, K>,
    entries: &mut [Entry],
    first: u32,
    window: &mut Window<'k>,
) -> Option<Passed> {
    let (mut common, mut redo) = (Common::NEW, 0);
    for (i, entry) in entries.iter_mut().enumerate() {
        let row = first + i as u32;
        let key = finder.keys.key(row as usize);
        // SAFETY: the caller asked the processor.
        let head = unsafe { fit::<FAST>(window, key, finder.flip, i, &mut redo) };
        *entry = finder.entry(head, row, key)?;
        common.add(head);
    }
    Some(Passed { varying: common.varying(), redo })
}

/// Gives entries the heads that `head_of` makes of their places and keys, and returns the bits in which heads differ.
/// `bytes` are those that it looks at.
///
/// # Safety
/// As of `Finder::key`, for each entry. A head is one of the key.
#[inline(always)]
unsafe fn pass<'k, K: Keys + ?Sized>(
    finder: &Finder<'k, K>,
    entries: &mut [Entry],
    bytes: &Range<usize>,
    mut head_of: impl FnMut(usize, &'k [u8]) -> u64,
) -> u64 {
    let mut common = Common::NEW;
    // What is read before `prefetch_ahead` has come far enough.
    entries.iter().take(2 * AHEAD).for_each(|entry| finder.prefetch_place(*entry));
    entries.iter().take(AHEAD).for_each(|entry| finder.prefetch_key(*entry, bytes.start, bytes.end));
    for i in 0..entries.len() {
        prefetch_ahead(finder, entries, i, bytes);
        // SAFETY: the caller promised it. A head of the same key changes nothing about it.
        let head = head_of(i, unsafe { finder.key(entries[i]) });
        entries[i] = with_head(entries[i], head);
        common.add(head);
    }
    common.varying()
}

#[inline(always)]
unsafe fn load_as<'k, K: Keys + ?Sized, const FAST: bool>(
    finder: &Finder<'k, K>,
    entries: &mut [Entry],
    window: &mut Window<'k>,
) -> Passed {
    let mut redo = 0;
    let bytes = window.depth..window.end();
    // SAFETY: the caller promised it, and asked the processor.
    let varying = unsafe {
        pass(finder, entries, &bytes, |i, key| fit::<FAST>(window, key, finder.flip, i, &mut redo))
    };
    Passed { varying, redo }
}

#[inline(always)]
unsafe fn fill_as<'k, K: Keys + ?Sized, const FAST: bool>(
    finder: &Finder<'k, K>,
    entries: &mut [Entry],
    window: &Window<'k>,
) -> u64 {
    let bytes = window.depth..window.end();
    // SAFETY: the caller promised it, and asked the processor.
    unsafe { pass(finder, entries, &bytes, |_, key| window.head::<FAST>(key, finder.flip).0) }
}
