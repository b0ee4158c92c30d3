//! The window: which bits of its keys the words of a partition are made of.
//!
//! Keys of a partition share bytes: at their start, and often further on too, as the constant parts of dates, paths and
//! rows of several columns do. A word that held them would hold nothing. So a window begins behind the bytes that all
//! keys share at their start, is up to 64 bytes long, and has for each of its bytes a mask of the bits in which keys
//! may differ: four for a digit, five for a letter of one case, none where all keys have the same byte. A word is these
//! bits moved together, as many as it has room for. Leaving out bits that are the same in all keys keeps the order.
//! Behind the end of a key they are zero, and nothing is claimed of it. Where the first eight bytes are of so few
//! values that they take less room as the digits of a number, as decimal digits do, they are (`ranks`). Bits that
//! others of their byte tell are left out (`alphabet`).
//!
//! What the keys share is **guessed** from a few of them, and **checked** on every key when its word is made. A key
//! that does not fit makes the window weaker: it claims less of all keys from then on, never more, so that what fitted
//! before still does; only words that were made before have to be made anew.

use crate::alphabet::{Twins, narrowed};
use crate::bytes::{chunk, chunk_and_mask, chunk_by, common_prefix, equal, two_chunks_by};
use crate::entry::{LENGTH_MAX, head_of};
use crate::pext::extract;
use crate::ranks::Ranks;

/// Eight bytes each.
const CHUNKS: usize = 8;

/// Bytes of the longest window.
const BYTES_MAX: usize = 8 * CHUNKS;

/// The longest prefix that is jumped over at once. It bounds what a guess that does not hold can waste.
const JUMP_BYTES_MAX: usize = 256;

/// The ways in which a head is made where the first chunk gives ranks, see `Window::way`.
const RANKED: usize = 2;
pub(crate) const RANKED_ONE: usize = RANKED + 1;
pub(crate) const RANKED_TWO: usize = RANKED + 2;

/// The way in which a head is made of two chunks with twins.
pub(crate) const TWINNED_TWO: usize = RANKED + 3;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window<'k> {
    /// The key that the others are held against, from `base` on.
    model: &'k [u8],
    /// Its first eight bytes.
    short: u64,
    /// Bytes that all keys were known to share.
    base: usize,
    /// Bytes that all keys share: where the window begins.
    pub(crate) depth: usize,
    /// The bits in which keys may differ, chunk by chunk.
    differ: [u64; CHUNKS],
    packed: bool,
    /// Bits that a word has room for.
    room: u32,
    /// How the first chunk is taken, if it is not by its bits.
    ranks: Option<Ranks>,
    /// Bits that others of their byte tell, and which of those that may differ they are, chunk by chunk.
    twins: Option<Twins>,
    told: [u64; CHUNKS],
    /// Bytes of the window that may be looked at.
    limit: usize,
    /// The first bytes of the window, so many, are wholly in the word or the same in all keys.
    after: usize,
    chunks: [Chunk; CHUNKS],
    /// Chunks in use.
    used: usize,
}

/// What is done with eight bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Chunk {
    /// The model's bytes.
    model: u64,
    /// The bits that are the same in all keys.
    check: u64,
    /// The bits that others tell.
    told: u64,
    /// The bits that go to the word, and by how much they are shifted left.
    take: u64,
    shift: u32,
}

impl<'k> Window<'k> {
    /// The window that fits `samples`, of which there is one at least, each from `base` on. If it is not `packed`,
    /// words have all bits of their bytes. A word has room for so many bits, at most `WORD_BITS`.
    pub(crate) fn guess(base: usize, samples: &[&'k [u8]], packed: bool, room: u32) -> Self {
        // Of bytes that the model does not have, nothing can be claimed.
        let model = samples.iter().copied().max_by_key(|sample| sample.len()).unwrap_or(&[]);
        let shared = model.len().min(JUMP_BYTES_MAX);
        let jump = samples.iter().fold(shared, |shared, other| common_prefix(&model[..shared], other));
        let mut window = Window {
            model,
            short: chunk(model, 0),
            base,
            depth: base + jump,
            differ: [!0; CHUNKS],
            packed,
            room,
            ranks: None,
            twins: None,
            told: [0; CHUNKS],
            limit: 8,
            after: 0,
            chunks: [Chunk::default(); CHUNKS],
            used: 0,
        };
        if packed {
            window.limit = (model.len() - jump).next_multiple_of(8).clamp(8, BYTES_MAX);
            window.claim(samples);
        }
        window.settle();
        window
    }

    /// Claims what samples show, each given from `base` on.
    fn claim(&mut self, samples: &[&[u8]]) {
        let jump = self.depth - self.base;
        let mut bits = self.room;
        for number in 0..self.limit / 8 {
            let at = jump + 8 * number;
            let chunks = samples.iter().map(|sample| chunk_and_mask(sample, at));
            let seen = samples.iter().fold(0, |all, sample| all | difference(sample, self.model, at));
            let differ = narrowed(chunks.clone(), seen, widen(seen));
            if number == 0 {
                let ranks = Ranks::fitting(chunks.clone(), differ);
                self.ranks = ranks.filter(|ranks| ranks.bits <= self.room);
                self.twins = if self.ranks.is_none() { Twins::of(chunks.clone(), differ) } else { None };
            }
            if let Some(twins) = &self.twins {
                let told = twins.told(differ);
                let fits = |(bytes, mask): (u64, u64)| twins.misfits(bytes, told) & mask == 0;
                self.told[number] = if chunks.clone().all(fits) { told } else { 0 };
            }
            self.differ[number] = differ;
            bits = bits.saturating_sub((differ & !self.told[number]).count_ones());
            if bits == 0 {
                break;
            }
        }
        if let Some(ranks) = &self.ranks {
            let (_, mask) = chunk_and_mask(self.model, jump);
            self.differ[0] |= ranks.may_differ() | !mask;
        }
    }

    /// Bytes that all keys of equal words share, unless they end before.
    pub(crate) fn end(&self) -> usize {
        self.depth + self.after
    }

    /// Works out what is done with each chunk.
    fn settle(&mut self) {
        let mut bits = self.room;
        self.after = self.limit;
        self.used = self.limit / 8;
        for number in 0..self.used {
            let differ = self.differ[number];
            let its = &mut self.chunks[number];
            its.model = chunk(self.model, self.depth - self.base + 8 * number);
            if number == 0
                && let Some(ranks) = &self.ranks
            {
                bits -= ranks.bits;
                (its.take, its.check, its.told, its.shift) = (0, 0, 0, 64 - self.room + bits);
                continue;
            }
            its.told = self.told[number];
            let wanted = differ & !its.told;
            (its.take, its.check) = (wanted, !differ);
            while its.take.count_ones() > bits {
                // The last bit.
                its.take &= its.take - 1;
            }
            bits -= its.take.count_ones();
            its.shift = 64 - self.room + bits;
            if its.take != wanted {
                // The first byte of which not all is in the word is checked, as its beginning may be in it.
                let whole = (its.take ^ wanted).leading_zeros() as usize / 8;
                its.check &= first_bytes(whole + 1);
                its.told &= first_bytes(whole + 1);
                self.after = 8 * number + whole;
                self.used = number + usize::from(its.check | its.take | its.told != 0);
                return;
            }
        }
    }

    /// The bits in which keys may differ in eight bytes from `at` behind `base` on.
    fn claims(&self, at: usize) -> u64 {
        let jump = self.depth - self.base;
        match at.checked_sub(jump) {
            Some(at) if at >= self.after => !0,
            Some(at) if at % 8 == 0 => self.differ[at / 8] | !first_bytes(self.after - at),
            _ => {
                let byte = |at: usize| match at.checked_sub(jump) {
                    None => 0,
                    Some(at) if at < self.after => self.differ[at / 8].to_be_bytes()[at % 8],
                    Some(_) => 0xff,
                };
                u64::from_be_bytes(core::array::from_fn(|more| byte(at + more)))
            }
        }
    }

    /// Makes the window one that fits a key too, given from its start.
    #[cold]
    pub(crate) fn weaken(&mut self, key: &[u8]) {
        let rest = key.get(self.base..).unwrap_or(&[]);
        let model = self.model;
        let jump = common_prefix(&model[..self.depth - self.base], rest);
        self.claim_less(jump, |at| difference(rest, model, at));
    }

    /// Makes the window one that fits whatever `other` does, of the same model and base.
    #[cfg(feature = "parallel")]
    pub(crate) fn merge(&mut self, other: &Self) {
        if self == other {
            return;
        }
        self.claim_less(other.depth - other.base, |at| other.claims(at));
    }

    fn claim_less(&mut self, jump: usize, differ: impl Fn(usize) -> u64) {
        (self.ranks, self.twins, self.told) = (None, None, [0; CHUNKS]);
        let jump = jump.min(self.depth - self.base);
        if self.packed {
            let at = |number: usize| jump + 8 * number;
            let claims = core::array::from_fn(|number| self.claims(at(number)) | differ(at(number)));
            self.differ = claims.map(widen);
        }
        self.depth = self.base + jump;
        self.settle();
    }

    /// The way in which a head is made: where keys are known to begin to differ, of one chunk or two, `RANKED` more if
    /// the first gives ranks, or of two with twins; 0 if it is not so simple.
    pub(crate) fn way(&self) -> usize {
        match (self.used, &self.ranks, &self.twins) {
            _ if self.depth != self.base => 0,
            (2, _, Some(_)) => TWINNED_TWO,
            (1 | 2, None, None) => self.used,
            (1 | 2, Some(_), None) => self.used + RANKED,
            _ => 0,
        }
    }

    /// The head of a key, xored with `flip`, and whether the key fits. If it does not, the head is of no use.
    ///
    /// # Safety
    /// As of `extract`. `WAY` is what `way` says, or 0. `depth` is the window's, known to the compiler where it can be.
    #[inline(always)]
    pub(crate) unsafe fn head<const LEVEL: u8, const WAY: usize>(
        &self,
        key: &[u8],
        depth: usize,
        flip: u64,
    ) -> (u64, bool) {
        let (mut word, mut differs) = (0, 0);
        let mut add = |its: &Chunk, bytes: u64, mask: u64| {
            differs |= (bytes ^ its.model) & its.check & mask;
            // SAFETY: the caller promised it.
            word |= unsafe { extract::<LEVEL>(bytes, its.take) } << (its.shift & 63);
        };
        // SAFETY: as above.
        let one_chunk = |at: usize| unsafe { chunk_by::<LEVEL>(key, at) };
        let ranked = |(bytes, mask): (u64, u64)| match &self.ranks {
            Some(ranks) => {
                let (number, misfits) = ranks.number(bytes, mask);
                (number << (self.chunks[0].shift & 63), misfits)
            }
            None => (0, 0),
        };
        let (mut its_word, mut misfits) = (0, 0);
        let starts = match WAY {
            1 | RANKED_ONE => {
                let (bytes, mask) = one_chunk(depth);
                if WAY == RANKED_ONE {
                    (its_word, misfits) = ranked((bytes, mask));
                } else {
                    add(&self.chunks[0], bytes, mask);
                }
                true
            }
            2 | RANKED_TWO | TWINNED_TWO => {
                // SAFETY: as above.
                let (bytes, masks) = unsafe { two_chunks_by::<LEVEL>(key, depth) };
                if WAY == RANKED_TWO {
                    (its_word, misfits) = ranked((bytes[0], masks[0]));
                } else {
                    add(&self.chunks[0], bytes[0], masks[0]);
                }
                add(&self.chunks[1], bytes[1], masks[1]);
                if WAY == TWINNED_TWO
                    && let Some(twins) = &self.twins
                {
                    let told = |number: usize| {
                        twins.misfits(bytes[number], self.chunks[number].told) & masks[number]
                    };
                    misfits = told(0) | told(1);
                }
                true
            }
            _ => {
                let chunks = &self.chunks[..self.used.min(CHUNKS)];
                let told = |its: &Chunk, bytes: u64| match &self.twins {
                    Some(twins) => twins.misfits(bytes, its.told),
                    None => 0,
                };
                // Most keys reach beyond the window.
                if let Some(bytes) = key.get(depth..depth + 8 * chunks.len()) {
                    for (its, bytes) in chunks.iter().zip(bytes.as_chunks().0) {
                        let bytes = u64::from_be_bytes(*bytes);
                        add(its, bytes, !0);
                        misfits |= told(its, bytes);
                    }
                } else {
                    for (number, its) in chunks.iter().enumerate() {
                        let (bytes, mask) = one_chunk(depth + 8 * number);
                        add(its, bytes, mask);
                        misfits |= told(its, bytes) & mask;
                    }
                }
                // Then the first of the chunks took nothing, and there are no twins.
                if self.ranks.is_some() {
                    (its_word, misfits) = ranked(one_chunk(depth));
                }
                let jump = depth - self.base;
                match key.get(self.base..depth) {
                    None => jump == 0,
                    Some(_) if jump < 8 => {
                        jump == 0 || (chunk(key, self.base) ^ self.short) >> (64 - 8 * jump) == 0
                    }
                    Some(bytes) => equal(bytes, &self.model[..jump]),
                }
            }
        };
        (self.head_of(key, word | its_word) ^ flip, starts && differs | misfits == 0)
    }

    #[inline(always)]
    fn head_of(&self, key: &[u8], word: u64) -> u64 {
        head_of(word, key.len() > self.end(), key.len().min(LENGTH_MAX))
    }
}

/// The bits in which a key differs from the model in eight bytes from `at` on, none behind its end.
fn difference(key: &[u8], model: &[u8], at: usize) -> u64 {
    let (bytes, mask) = chunk_and_mask(key, at);
    (bytes ^ chunk(model, at)) & mask
}

/// The bits of the first bytes of a chunk, all from eight on.
fn first_bytes(bytes: usize) -> u64 {
    if bytes < 8 { !(!0 >> (8 * bytes)) } else { !0 }
}

/// Widens the bits in which a few keys differ to those in which keys of their kind do, byte by byte: to four bits as
/// digits do, five as letters of one case, seven as other letters, or all.
fn widen(differ: u64) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let has = |mask: u64| {
        // A byte of which any bit in the mask is set gets bit 0; sums stay within their byte.
        let some = differ & mask;
        ((((some & (0x7f * LOW)) + 0x7f * LOW) | some) >> 7) & LOW
    };
    (has(0xff * LOW) * 0x0f) | (has(0xf0 * LOW) * 0x1f) | (has(0xe0 * LOW) * 0x7f) | (has(0x80 * LOW) * 0xff)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::entry::WORD_BITS;
    use crate::pext::PLAIN;

    /// The head of a key that fits, the same by each way that the window allows.
    fn head(window: &Window<'_>, key: &[u8]) -> Option<u64> {
        // SAFETY: nothing is asked of the processor.
        let (head, fits) = unsafe { window.head::<PLAIN, 0>(key, window.depth, 0) };
        let simple = match window.way() {
            // SAFETY: as above.
            1 => unsafe { window.head::<PLAIN, 1>(key, window.depth, 0) },
            // SAFETY: as above.
            2 => unsafe { window.head::<PLAIN, 2>(key, window.depth, 0) },
            // SAFETY: as above.
            RANKED_ONE => unsafe { window.head::<PLAIN, RANKED_ONE>(key, window.depth, 0) },
            // SAFETY: as above.
            RANKED_TWO => unsafe { window.head::<PLAIN, RANKED_TWO>(key, window.depth, 0) },
            // SAFETY: as above.
            TWINNED_TWO => unsafe { window.head::<PLAIN, TWINNED_TWO>(key, window.depth, 0) },
            _ => (head, fits),
        };
        assert_eq!((fits, fits.then_some(head)), (simple.1, fits.then_some(simple.0)), "{window:?}");
        fits.then_some(head)
    }

    /// Four bits of a digit, none of what is constant: two columns with all between them go into one word.
    #[test]
    fn constant_parts_take_no_room() {
        let keys: Vec<Vec<u8>> =
            ["2024-03-17|customer-0123", "2024-03-28|customer-4871", "2024-03-04|customer-9900"]
                .map(|key| key.as_bytes().to_vec())
                .to_vec();
        let samples: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let window = Window::guess(0, &samples, true, WORD_BITS);
        assert_eq!((window.depth, window.after), (8, 16));
        let word = head(&window, b"2024-03-31|customer-5678").expect("a key that fits") >> (64 - 24);
        assert_eq!(word, 0x31_5678);
        assert_eq!(head(&window, b"2024-03-31|Customer-5678"), None);
        // Digits, with a value for the end of the key, so that they leave room for nine more.
        let digits: [&[u8]; 2] = [b"5091338467", b"3846751290"];
        let window = Window::guess(0, &digits, true, WORD_BITS);
        assert_eq!((window.way(), window.after), (RANKED_TWO, 16));
        let words = [&b"5"[..], b"50", b"500", b"6"].map(|key| head(&window, key).expect("digits") >> 9);
        assert!(words.is_sorted_by(|a, b| a < b));
        assert_eq!(head(&window, b"5x"), None);
        let plain = Window::guess(0, &samples, false, WORD_BITS);
        assert_eq!((plain.depth, plain.after), (8, 6));
    }

    /// Of alphabets with twins a word has fewer bits, orders keys as they do, and takes no key with other letters.
    #[test]
    fn what_an_alphabet_tells_is_left_out() {
        let mut state = 1u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) as usize % below
        };
        let sets: [(&[u8], usize, usize); 3] =
            [(b"ACGT", 18, 1), (b"0123456789abcdef", 11, 1), (b"\0\x01", 55, 0)];
        for (alphabet, after, twins) in sets {
            let mut keys: Vec<Vec<u8>> = (0..60)
                .map(|_| (0..60 + next(30)).map(|_| alphabet[next(alphabet.len())]).collect())
                .collect();
            let drawn = keys.clone();
            let samples: Vec<&[u8]> = drawn.iter().map(Vec::as_slice).collect();
            let window = Window::guess(0, &samples, true, WORD_BITS);
            assert_eq!((window.after, usize::from(window.twins.is_some())), (after, twins), "{window:?}");
            let other: Vec<u8> = (0..9).flat_map(|_| [alphabet[0], b'~']).collect();
            assert_eq!(head(&window, &other), None);
            let mut weaker = window.clone();
            weaker.weaken(&other);
            assert!(head(&weaker, &other).is_some());
            // Ends at all places.
            for len in 0..after {
                let end = keys[next(60)][..len].to_vec();
                keys.push(end);
            }
            let keys: Vec<Vec<u8>> = keys.into_iter().step_by(if cfg!(miri) { 15 } else { 1 }).collect();
            for window in [window, weaker] {
                for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
                    let heads = [a, b].map(|key| head(&window, key).expect("it fits"));
                    if crate::entry::is_tie(heads[0], heads[1], 0) {
                        assert_eq!(a.get(..window.end()), b.get(..window.end()));
                    } else if (heads[0] ^ heads[1]) & crate::entry::ORDER_MASK != 0
                        || a.len().min(b.len()) <= window.end()
                    {
                        assert_eq!(heads[0].cmp(&heads[1]), a.cmp(b), "{a:?} {b:?} {window:?}");
                    }
                }
            }
        }
    }

    /// Whatever key comes, the window fits it when it was weakened, and still fits all that it fitted before.
    #[test]
    fn a_weaker_window_fits_what_a_stronger_one_did() {
        let mut state = 1u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) as usize % below
        };
        let mut ranked = 0;
        for case in 0..if cfg!(miri) { 9 } else { 400 } {
            let base = case % 3;
            let mut model: Vec<u8> = (0..next(120) + base).map(|_| next(4) as u8 * 63).collect();
            let mut other = model.clone();
            if case % 4 == 0 {
                // What both have behind some bytes is of few values.
                model.truncate(base + next(9));
                other.truncate(model.len());
                for n in 0..next(10) as u8 {
                    model.push(b'0' + n);
                    other.push(b'9' - n);
                }
            }
            let mut window = Window::guess(base, &[&model[base..], &other[base..]], case % 2 == 0, WORD_BITS);
            ranked += usize::from(window.ranks.is_some());
            let mut fitted = vec![model.clone()];
            for _ in 0..12 {
                let mut key = model.clone();
                for _ in 0..next(3) {
                    let len = key.len();
                    match next(5) {
                        0 => key.truncate(base.max(next(len + 1))),
                        4 if len > base => key[base + next(len - base)] = b'0' + next(10) as u8,
                        1 => key.push(next(256) as u8),
                        _ if len > base => key[base + next(len - base)] = next(256) as u8,
                        _ => {}
                    }
                }
                if head(&window, &key).is_none() {
                    window.weaken(&key);
                }
                fitted.push(key);
                for (a, b) in fitted.iter().flat_map(|a| fitted.iter().map(move |b| (a, b))) {
                    let heads = [a, b].map(|key| head(&window, key).expect("it fits"));
                    // Of keys this short a head that differs decides, unless both go on behind the window.
                    if crate::entry::is_tie(heads[0], heads[1], 0) {
                        assert_eq!(a.get(..window.end()), b.get(..window.end()), "{window:?}");
                    } else if (heads[0] ^ heads[1]) & crate::entry::ORDER_MASK != 0
                        || a.len().min(b.len()) <= window.end()
                    {
                        assert_eq!(heads[0].cmp(&heads[1]), a.cmp(b), "{a:?} {b:?} {window:?}");
                    }
                }
            }
        }
        assert!(ranked > 0);
    }
}
