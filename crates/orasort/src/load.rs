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

/// Loads the words of `entries`, whose rows are set and whose keys share `base` bytes. Words are xored with `flip`.
pub(crate) fn load<K: Keys + ?Sized>(keys: &K, entries: &mut [Entry], base: usize, flip: u128) -> Loaded {
    let Some(first) = entries.first() else { return Loaded { depth: base, varying: 0 } };
    let model = rest(keys, row(*first), base);
    let mut jump = model.len().min(JUMP_BYTES_MAX);
    for sample in 1..=SAMPLES {
        let other = entries[(entries.len() - 1) * sample / SAMPLES];
        jump = common_prefix(&model[..jump], rest(keys, row(other), base));
    }
    if jump == 0 {
        return Loaded { depth: base, varying: fill(keys, entries, base, flip) };
    }
    let model = &model[..jump];
    let mut redo = 0;
    let mut varying = 0;
    let mut first_word = None;
    for i in 0..entries.len() {
        let (bytes, len) = keys.key_and_after(row(entries[i]) as usize);
        let key = bytes.get(base..len).unwrap_or(&[]);
        if !key.starts_with(&model[..jump]) {
            jump = common_prefix(&model[..jump], key);
            redo = i;
        }
        let loaded = word(bytes, len, base + jump) ^ flip;
        entries[i] = loaded | u128::from(row(entries[i]));
        varying |= loaded ^ *first_word.get_or_insert(loaded);
    }
    let depth = base + jump;
    if redo > 0 {
        fill(keys, &mut entries[..redo], depth, flip);
        varying = scan(entries);
    }
    Loaded { depth, varying }
}

/// Loads the words at a depth that is known to be right, and returns the bits that vary.
fn fill<K: Keys + ?Sized>(keys: &K, entries: &mut [Entry], depth: usize, flip: u128) -> u128 {
    let mut varying = 0;
    let mut first = None;
    for entry in entries {
        let (bytes, len) = keys.key_and_after(row(*entry) as usize);
        let loaded = word(bytes, len, depth) ^ flip;
        *entry = loaded | u128::from(row(*entry));
        varying |= loaded ^ *first.get_or_insert(loaded);
    }
    varying
}

/// The word bits in which entries differ.
pub(crate) fn scan(entries: &[Entry]) -> u128 {
    let Some(first) = entries.first() else { return 0 };
    entries.iter().fold(0, |varying, entry| varying | (entry ^ first)) & WORD_MASK
}
