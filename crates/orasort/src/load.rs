//! Loading: gives the entries of a partition their words at a new depth, as far along the keys as all of them agree.
//!
//! All keys of the partition are known to share `base` bytes. How many more they share is guessed from a few of them
//! (`SAMPLES`), and one pass over the keys both checks the guess and loads the words behind it. So a key's memory is
//! touched once a load, however long the prefix that is jumped over. Where the guess was too long it is cut to what
//! holds, and the entries loaded before that are loaded again: at most two passes, and the second needs no check.
//!
//! A jump is at most `JUMP_BYTES_MAX`. That bounds what a pass can waste on a guess that does not hold; a longer
//! prefix takes several loads, which is still far less than one per word.

use crate::entry::{Entry, WORD_MASK, row, word};
use crate::keys::Keys;

/// Keys that a guess is made from, beside the first.
const SAMPLES: usize = 4;

/// The longest prefix that one load jumps over.
const JUMP_BYTES_MAX: usize = 256;

/// How many keys ahead of the one that is loaded memory is asked for.
const AHEAD: usize = 12;

/// What a load found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loaded {
    /// Bytes that all keys share; the words begin there.
    pub(crate) depth: usize,
    /// The word bits in which entries differ; 0 when all words are equal.
    pub(crate) varying: u128,
}

/// Bytes that two slices have in common at their start.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        if x != y {
            break;
        }
        same += 8;
    }
    same + a[same..].iter().zip(&b[same..]).take_while(|(x, y)| x == y).count()
}

/// The bytes of a key from `from` on, none if it ends before.
fn rest<K: Keys + ?Sized>(keys: &K, row: u32, from: usize) -> &[u8] {
    keys.key(row as usize).get(from..).unwrap_or(&[])
}

/// Asks for memory without waiting for it.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, and does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// Asks for the memory of an entry's key around `depth`.
#[inline(always)]
fn prefetch_key<K: Keys + ?Sized>(keys: &K, entry: Entry, depth: usize) {
    prefetch(keys.key_and_after(row(entry) as usize).0.as_ptr().wrapping_add(depth));
}

/// Asks for what the load of entry `i` plus a distance will read: at twice the distance for what says where the key
/// lies, so that the address of the key itself can be had at the distance without a wait.
#[inline(always)]
fn prefetch_ahead<K: Keys + ?Sized>(keys: &K, entries: &[Entry], i: usize, depth: usize) {
    if let Some(entry) = entries.get(i + 2 * AHEAD) {
        keys.prefetch(row(*entry) as usize);
    }
    if let Some(entry) = entries.get(i + AHEAD) {
        prefetch_key(keys, *entry, depth);
    }
}

/// Asks for the keys of a few entries.
pub(crate) fn prefetch_all<K: Keys + ?Sized>(keys: &K, entries: &[Entry], depth: usize) {
    for entry in entries {
        keys.prefetch(row(*entry) as usize);
    }
    for entry in entries {
        prefetch_key(keys, *entry, depth);
    }
}

/// Asks for what a load reads before `prefetch_ahead` has come far enough: its first keys and its samples.
fn prefetch_first<K: Keys + ?Sized>(keys: &K, entries: &[Entry], depth: usize) {
    let samples = (1..=SAMPLES).map(|sample| entries[(entries.len() - 1) * sample / SAMPLES]);
    let first = entries.iter().copied().take(AHEAD);
    for entry in entries.iter().copied().take(2 * AHEAD).chain(samples.clone()) {
        keys.prefetch(row(entry) as usize);
    }
    for entry in samples.chain(first) {
        prefetch_key(keys, entry, depth);
    }
}

/// The prefix that a load jumps over, made ready to be looked for in one key after the other.
struct Prefix<'a> {
    bytes: &'a [u8],
    /// The first and the last 16 bytes of a prefix that is 16 to 32 long. Of a shorter one both are its bytes, in the
    /// top of the word.
    ends: [u128; 2],
    /// The bits of `ends` that count; none where the prefix is too long for them.
    mask: u128,
    last_at: usize,
}

impl<'a> Prefix<'a> {
    fn new(bytes: &'a [u8]) -> Prefix<'a> {
        let len = bytes.len();
        if len > 32 || len == 0 {
            return Prefix { bytes, ends: [0; 2], mask: 0, last_at: 0 };
        }
        let mut padded = [0; 48];
        padded[..len].copy_from_slice(bytes);
        let last_at = len.saturating_sub(16);
        let ends =
            [0, last_at].map(|at| padded[at..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes)));
        Prefix { bytes, ends, mask: !0 << (128 - 8 * len.min(16)), last_at }
    }

    /// Whether the key `bytes[..len]` has the prefix at `base`.
    #[inline(always)]
    fn starts(&self, bytes: &[u8], len: usize, base: usize) -> bool {
        let Some(rest) = bytes.get(base..) else { return self.bytes.is_empty() };
        if let (Some(head), Some(last)) =
            (rest.first_chunk::<16>(), rest.get(self.last_at..).and_then(|rest| rest.first_chunk::<16>()))
            && self.mask != 0
        {
            let differ =
                (u128::from_be_bytes(*head) ^ self.ends[0]) | (u128::from_be_bytes(*last) ^ self.ends[1]);
            return len >= base + self.bytes.len() && differ & self.mask == 0;
        }
        rest.get(..len.saturating_sub(base)).unwrap_or(rest).starts_with(self.bytes)
    }
}

/// What all entries have in common, found while they pass by.
#[derive(Clone, Copy)]
struct Common {
    all: u128,
    any: u128,
}

impl Common {
    const NEW: Common = Common { all: !0, any: 0 };

    #[inline(always)]
    fn add(&mut self, entry: Entry) {
        self.all &= entry;
        self.any |= entry;
    }

    /// The word bits that differ.
    fn varying(self) -> u128 {
        (self.any & !self.all) & WORD_MASK
    }
}

/// Loads the words of `entries`, whose rows are set and whose keys share `base` bytes. Words are xored with `flip`.
pub(crate) fn load<K: Keys + ?Sized>(keys: &K, entries: &mut [Entry], base: usize, flip: u128) -> Loaded {
    load_as::<K, false>(keys, entries, base, 0, flip)
}

/// As `load`, for entries whose rows are not set: they become `first`, and so on.
pub(crate) fn load_fresh<K: Keys + ?Sized>(
    keys: &K,
    entries: &mut [Entry],
    first: u32,
    flip: u128,
) -> Loaded {
    load_as::<K, true>(keys, entries, 0, first, flip)
}

fn load_as<K: Keys + ?Sized, const FRESH: bool>(
    keys: &K,
    entries: &mut [Entry],
    base: usize,
    first: u32,
    flip: u128,
) -> Loaded {
    let row_at = |entries: &[Entry], i: usize| if FRESH { first + i as u32 } else { row(entries[i]) };
    if entries.is_empty() {
        return Loaded { depth: base, varying: 0 };
    }
    if !FRESH {
        prefetch_first(keys, entries, base);
    }
    let model = rest(keys, row_at(entries, 0), base);
    let mut jump = model.len().min(JUMP_BYTES_MAX);
    for sample in 1..=SAMPLES {
        let other = row_at(entries, (entries.len() - 1) * sample / SAMPLES);
        jump = common_prefix(&model[..jump], rest(keys, other, base));
    }
    if jump == 0 {
        return Loaded { depth: base, varying: fill_as::<K, FRESH>(keys, entries, base, first, flip) };
    }
    let mut common = Common::NEW;
    let mut redo = 0;
    let mut prefix = Prefix::new(&model[..jump]);
    for i in 0..entries.len() {
        if !FRESH {
            prefetch_ahead(keys, entries, i, base);
        }
        let row = row_at(entries, i);
        let (bytes, len) = keys.key_and_after(row as usize);
        if !prefix.starts(bytes, len, base) {
            jump = common_prefix(&model[..jump], bytes.get(base..len).unwrap_or(&[]));
            prefix = Prefix::new(&model[..jump]);
            redo = i;
        }
        entries[i] = (word(bytes, len, base + jump) ^ flip) | u128::from(row);
        common.add(entries[i]);
    }
    let depth = base + jump;
    let varying = if redo > 0 {
        fill(keys, &mut entries[..redo], depth, flip);
        scan(entries)
    } else {
        common.varying()
    };
    Loaded { depth, varying }
}

/// Loads the words at a depth that is known to be right, and returns the bits that vary.
pub(crate) fn fill<K: Keys + ?Sized>(keys: &K, entries: &mut [Entry], depth: usize, flip: u128) -> u128 {
    fill_as::<K, false>(keys, entries, depth, 0, flip)
}

fn fill_as<K: Keys + ?Sized, const FRESH: bool>(
    keys: &K,
    entries: &mut [Entry],
    depth: usize,
    first: u32,
    flip: u128,
) -> u128 {
    let mut common = Common::NEW;
    for i in 0..entries.len() {
        if !FRESH {
            prefetch_ahead(keys, entries, i, depth);
        }
        let entry = &mut entries[i];
        let row = if FRESH { first + i as u32 } else { row(*entry) };
        let (bytes, len) = keys.key_and_after(row as usize);
        *entry = (word(bytes, len, depth) ^ flip) | u128::from(row);
        common.add(*entry);
    }
    common.varying()
}

/// The word bits in which entries differ.
pub(crate) fn scan(entries: &[Entry]) -> u128 {
    let mut common = Common::NEW;
    entries.iter().for_each(|entry| common.add(*entry));
    common.varying()
}
