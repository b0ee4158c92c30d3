//! Loading: gives the entries of a partition their words, cut from the keys by a window that fits all of them.
//!
//! A window is guessed from a few keys, and one pass over all of them both checks the guess and loads the words. So a
//! key's memory is touched once a load, however much of it all keys share. Where the guess claimed too much it is
//! weakened until it fits, and the entries loaded before that are loaded again: at most two passes, and the second
//! needs no check.

use core::ops::Range;

use crate::entry::{Entry, WORD_BITS, head, is_tie, with_head};
use crate::finder::Finder;
use crate::keys::Keys;
use crate::pext;
use crate::window::{RANKED_ONE, RANKED_TWO, TWINNED_TWO, Window};

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
    pext::level() >= pext::PEXT || cfg!(miri)
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

/// The places of the keys that a window for `len` keys is guessed from.
fn samples(len: usize) -> impl Iterator<Item = usize> + Clone {
    let samples = (len / SAMPLE_OF).clamp(SAMPLES_MIN, SAMPLES_MAX);
    (0..=samples).map(move |sample| (len - 1) * sample / samples)
}

/// A window guessed from a few of `len` keys, one at least, that share `base` bytes.
fn guess<'k>(
    len: usize,
    base: usize,
    packed: bool,
    room: u32,
    key: impl Fn(usize) -> &'k [u8],
) -> Window<'k> {
    let mut its_samples: [&[u8]; SAMPLES_MAX + 1] = [&[]; SAMPLES_MAX + 1];
    let mut count = 0;
    for (sample, place) in its_samples.iter_mut().zip(samples(len)) {
        *sample = key(place).get(base..).unwrap_or(&[]);
        count += 1;
    }
    Window::guess(base, &its_samples[..count], packed && len > PLAIN_MAX, room)
}

/// A window guessed for the first `len` keys of the list, one at least, of words with room for so many bits.
pub(crate) fn guess_fresh<'k, K: Keys + ?Sized>(
    finder: &Finder<'k, K>,
    len: usize,
    packed: bool,
    room: u32,
) -> Window<'k> {
    guess(len, 0, packed, room, |row| finder.keys.key(row))
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
    let its_samples = samples(entries.len()).map(|place| entries[place]);
    its_samples.clone().for_each(|entry| finder.prefetch_place(entry));
    its_samples.for_each(|entry| finder.prefetch_key(entry, base, base));
    // SAFETY: the caller promised it.
    guess(entries.len(), base, packed, WORD_BITS, |place| unsafe { finder.key(entries[place]) })
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

/// The bits in which words differ.
pub(crate) fn varying_bits(words: impl Iterator<Item = u64>) -> u64 {
    let mut common = Common::NEW;
    words.for_each(|word| common.add(word));
    common.varying()
}

/// The bits in which heads of entries differ.
pub(crate) fn scan(entries: &[Entry]) -> u64 {
    varying_bits(entries.iter().map(|entry| head(*entry)))
}

/// What a pass over keys found.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Passed {
    /// The bits in which heads differ.
    pub(crate) varying: u64,
    /// So many entries at the beginning were loaded by a window that claimed more, and have to be loaded again.
    pub(crate) redo: usize,
}

/// One of three ways to load, by what the processor has, so that the compiler makes the best of each.
macro_rules! by_level {
    ($(
        $(#[$doc:meta])*
        [$($unsafe:tt)?] $name:ident [$($param:ident: $bound:ident)?], $pext:ident, $masked:ident =>
            $work:ident ($($arg:ident: $kind:ty),*) -> $result:ty;
    )*) => {$(
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[target_feature(enable = "bmi2")]
        unsafe fn $pext<'k, K: Keys + ?Sized $(, $param: $bound)?>(
            finder: &Finder<'k, K>,
            $($arg: $kind),*
        ) -> $result {
            // SAFETY: the caller promised what `work` asks for, and asked the processor.
            unsafe { $work::<K, $($param,)? { pext::PEXT }>(finder, $($arg),*) }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[target_feature(enable = "bmi2,avx512bw,avx512vl")]
        unsafe fn $masked<'k, K: Keys + ?Sized $(, $param: $bound)?>(
            finder: &Finder<'k, K>,
            $($arg: $kind),*
        ) -> $result {
            // SAFETY: as above.
            unsafe { $work::<K, $($param,)? { pext::MASKED }>(finder, $($arg),*) }
        }

        $(#[$doc])*
        pub(crate) $($unsafe)? fn $name<'k, K: Keys + ?Sized $(, $param: $bound)?>(
            finder: &Finder<'k, K>,
            $($arg: $kind),*
        ) -> $result {
            // SAFETY: the caller promised what `work` asks for, and the processor has what its level says.
            unsafe {
                match pext::level() {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    pext::MASKED => $masked(finder, $($arg),*),
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    pext::PEXT => $pext(finder, $($arg),*),
                    _ => $work::<K, $($param,)? { pext::PLAIN }>(finder, $($arg),*),
                }
            }
        }
    )*};
}

by_level! {
    /// Makes what is sorted for rows `first` and so on. Weakens the window where a key does not fit. None if one can't
    /// be made; then those before are of no use.
    [] make [M: Made], make_pext, make_masked =>
        make_as(made: &mut [M], first: u32, window: &mut Window<'k>) -> Option<Passed>;
    /// Loads the words of entries whose keys share the bytes before the window's base. Weakens the window where a key
    /// does not fit.
    ///
    /// # Safety
    /// As of `Finder::key`, for each entry.
    [unsafe] load [], load_pext, load_masked => load_as(entries: &mut [Entry], window: &mut Window<'k>) -> Passed;
}

/// What is sorted in place of keys.
pub(crate) trait Made: Copy {
    /// It, for a key that fits its window and that the list just gave for a row. None if there is none.
    fn of<'k, K: Keys + ?Sized>(finder: &Finder<'k, K>, head: u64, row: u32, key: &'k [u8]) -> Option<Self>;
}

impl Made for Entry {
    #[inline(always)]
    fn of<'k, K: Keys + ?Sized>(finder: &Finder<'k, K>, head: u64, row: u32, key: &'k [u8]) -> Option<Self> {
        finder.entry(head, row, key)
    }
}

/// # Safety
/// As of `extract`.
#[inline(always)]
unsafe fn make_as<'k, K: Keys + ?Sized, M: Made, const LEVEL: u8>(
    finder: &Finder<'k, K>,
    made: &mut [M],
    first: u32,
    window: &mut Window<'k>,
) -> Option<Passed> {
    let (mut common, mut redo) = (Common::NEW, 0);
    loop {
        // SAFETY: the caller asked the processor.
        let stopped = unsafe {
            match window.way() {
                1 => make_while_fit::<K, M, LEVEL, 1>(finder, made, redo, first, window, &mut common),
                2 => make_while_fit::<K, M, LEVEL, 2>(finder, made, redo, first, window, &mut common),
                RANKED_ONE => {
                    make_while_fit::<K, M, LEVEL, RANKED_ONE>(finder, made, redo, first, window, &mut common)
                }
                RANKED_TWO => {
                    make_while_fit::<K, M, LEVEL, RANKED_TWO>(finder, made, redo, first, window, &mut common)
                }
                TWINNED_TWO => {
                    make_while_fit::<K, M, LEVEL, TWINNED_TWO>(finder, made, redo, first, window, &mut common)
                }
                _ => make_while_fit::<K, M, LEVEL, 0>(finder, made, redo, first, window, &mut common),
            }
        };
        let Some(stopped) = stopped else {
            return Some(Passed { varying: common.varying(), redo });
        };
        if stopped.fits {
            return None;
        }
        window.weaken(stopped.key);
        redo = stopped.place;
    }
}

/// The first key that does not fit, or of which nothing can be made. The list might give another one if it was asked
/// again, and the window would not become weaker by that.
struct Stopped<'k> {
    place: usize,
    key: &'k [u8],
    fits: bool,
}

/// Makes what is sorted from place `from` on, up to the first for which that can't be done.
///
/// # Safety
/// As of `Window::head`.
#[inline(always)]
unsafe fn make_while_fit<'k, K: Keys + ?Sized, M: Made, const LEVEL: u8, const WAY: usize>(
    finder: &Finder<'k, K>,
    made: &mut [M],
    from: usize,
    first: u32,
    window: &Window<'k>,
    common: &mut Common,
) -> Option<Stopped<'k>> {
    let mut seen = *common;
    let mut stopped = None;
    // The first window of all keys begins where they begin, unless all share something.
    let depth = if WAY == 0 { window.depth } else { 0 };
    for (row, place) in (first + from as u32..).zip(&mut made[from..]) {
        let key = finder.keys.key(row as usize);
        // SAFETY: the caller promised it.
        let (head, fits) = unsafe { window.head::<LEVEL, WAY>(key, depth, finder.flip) };
        let Some(its) = M::of(finder, head, row, key).filter(|_| fits) else {
            stopped = Some(Stopped { place: (row - first) as usize, key, fits });
            break;
        };
        *place = its;
        seen.add(head);
    }
    *common = seen;
    stopped
}

/// # Safety
/// As of `Finder::key`, for each entry, and of `extract`.
#[inline(always)]
unsafe fn load_as<'k, K: Keys + ?Sized, const LEVEL: u8>(
    finder: &Finder<'k, K>,
    entries: &mut [Entry],
    window: &mut Window<'k>,
) -> Passed {
    let (mut common, mut redo) = (Common::NEW, 0);
    // What is read before `prefetch_ahead` has come far enough.
    let bytes = window.depth..window.end();
    entries.iter().take(2 * AHEAD).for_each(|entry| finder.prefetch_place(*entry));
    entries.iter().take(AHEAD).for_each(|entry| finder.prefetch_key(*entry, bytes.start, bytes.end));
    loop {
        // SAFETY: the caller promised it, and asked the processor.
        let stopped = unsafe {
            match window.way() {
                1 => load_while_fit::<K, LEVEL, 1>(finder, entries, redo, window, &mut common),
                2 => load_while_fit::<K, LEVEL, 2>(finder, entries, redo, window, &mut common),
                RANKED_ONE => {
                    load_while_fit::<K, LEVEL, RANKED_ONE>(finder, entries, redo, window, &mut common)
                }
                RANKED_TWO => {
                    load_while_fit::<K, LEVEL, RANKED_TWO>(finder, entries, redo, window, &mut common)
                }
                TWINNED_TWO => {
                    load_while_fit::<K, LEVEL, TWINNED_TWO>(finder, entries, redo, window, &mut common)
                }
                _ => load_while_fit::<K, LEVEL, 0>(finder, entries, redo, window, &mut common),
            }
        };
        let Some((place, key)) = stopped else {
            return Passed { varying: common.varying(), redo };
        };
        window.weaken(key);
        redo = place;
    }
}

/// Loads entries from place `from` on, up to the first whose key does not fit. Returns its place and the key.
///
/// # Safety
/// As of `Finder::key`, for each entry, and of `Window::head`.
#[inline(always)]
unsafe fn load_while_fit<'k, K: Keys + ?Sized, const LEVEL: u8, const WAY: usize>(
    finder: &Finder<'k, K>,
    entries: &mut [Entry],
    from: usize,
    window: &Window<'k>,
    common: &mut Common,
) -> Option<(usize, &'k [u8])> {
    let bytes = window.depth..window.end();
    let mut its = *common;
    let mut stopped = None;
    for place in from..entries.len() {
        prefetch_ahead(finder, entries, place, &bytes);
        let entry = entries[place];
        // SAFETY: the caller promised it.
        let key = unsafe { finder.key(entry) };
        // SAFETY: the caller promised it.
        let (head, fits) = unsafe { window.head::<LEVEL, WAY>(key, window.depth, finder.flip) };
        if !fits {
            stopped = Some((place, key));
            break;
        }
        // A head of the same key changes nothing about where it is found.
        entries[place] = with_head(entry, head);
        its.add(head);
    }
    *common = its;
    stopped
}
