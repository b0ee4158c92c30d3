//! A tree of losers over runs, decided by offset-value codes.
//!
//! The code of a source's record says how it differs from the record that left the merge last: at which byte (the LCP
//! with it), and by which bytes from there on. All sources on the path that a comparison takes have codes relative to
//! the same record, so codes decide: whoever shares more with that record is nearer to it and comes first. Codes with
//! equal LCPs compare by the bytes, seven at a time in a word. The loser's code then becomes relative to the winner:
//! its LCP grows to where the two differ. If the LCPs differ, the loser's code is already right: it differs from the
//! winner exactly where it differs from that record.

use super::ExternalError;
use super::buffer::Buffer;
use super::records::Record;
use super::run::RunReader;
use crate::bytes::common_prefix;
use crate::{Order, SortedLcp};
use core::cmp::Ordering;
use std::vec;
use std::vec::Vec;

/// Bytes of a key in a code's word; the word's last byte says how many there were.
const WORD_BYTES: usize = 7;

/// What is merged.
pub(super) enum Source<'a> {
    /// A run in a file.
    Run(RunReader),
    /// The records in memory, while they are being sorted.
    Memory { sorted: SortedLcp<'a, Buffer>, buffer: &'a Buffer, row: Option<usize> },
}

impl Source<'_> {
    #[inline]
    fn key(&self) -> &[u8] {
        match self {
            Self::Run(run) => run.key(),
            Self::Memory { buffer, row, .. } => row.map_or(&[], |row| buffer.record(row).0),
        }
    }

    #[inline]
    fn payload(&self) -> &[u8] {
        match self {
            Self::Run(run) => run.payload(),
            Self::Memory { buffer, row, .. } => row.map_or(&[], |row| buffer.record(row).1),
        }
    }

    /// Goes to the next record, and returns its LCP with the one before.
    #[inline]
    fn advance(&mut self) -> Result<Option<usize>, ExternalError> {
        match self {
            Self::Run(run) => run.advance(),
            Self::Memory { sorted, row, .. } => Ok(sorted.next().map(|(next, lcp)| {
                *row = Some(next as usize);
                lcp
            })),
        }
    }
}

/// How a source's record differs from the one that left the merge last.
#[derive(Clone, Copy, Debug)]
struct Code {
    /// One more than the LCP; 0 for a source without more records, which comes last.
    rank: usize,
    /// The bytes behind the LCP, in the order of the merge: the smaller word comes first.
    word: u64,
}

impl Code {
    const END: Self = Self { rank: 0, word: 0 };

    /// The code of a key. `flip` has all bits set for descending order.
    #[inline]
    fn new(key: &[u8], lcp: usize, flip: u64) -> Self {
        Self { rank: lcp + 1, word: word(&key[lcp..]) ^ flip }
    }

    fn lcp(self) -> usize {
        self.rank - 1
    }
}

/// The first seven bytes, big-endian, filled up with zeros; then the number of bytes, at most 8. The number is what
/// tells an ended key from one with zeros in it: words of different keys with up to seven bytes are different.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*first) & !0xff | 8;
    }
    let mut filled = [0; 8];
    filled[..bytes.len()].copy_from_slice(bytes);
    filled[WORD_BYTES] = bytes.len() as u8;
    u64::from_be_bytes(filled)
}

/// Sources and the tree of losers over them.
pub(super) struct Merge<'a> {
    sources: Vec<Source<'a>>,
    codes: Vec<Code>,
    /// The winner at 0; at each other node, numbered as in a heap, the source that lost there.
    tree: Vec<u32>,
    flip: u64,
    started: bool,
}

impl<'a> Merge<'a> {
    /// Reads the first record of each source. Where keys are equal the earlier source comes first.
    pub(super) fn new(sources: Vec<Source<'a>>, order: Order) -> Result<Self, ExternalError> {
        let flip = match order {
            Order::Ascending => 0,
            Order::Descending => u64::MAX,
        };
        let count = sources.len();
        let mut merge = Self {
            sources,
            codes: vec![Code::END; count],
            tree: vec![0; count.max(1)],
            flip,
            started: false,
        };
        for source in 0..count {
            merge.pull(source)?;
        }
        // Leaves are the nodes from `count` on; every node's winner goes on to its parent.
        let mut winners = vec![0; 2 * count];
        for node in (1..2 * count).rev() {
            if node >= count {
                winners[node] = node - count;
                continue;
            }
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if merge.beats(a, b) { (a, b) } else { (b, a) };
            winners[node] = winner;
            merge.tree[node] = loser as u32;
        }
        merge.tree[0] = winners.get(1).map_or(0, |winner| *winner as u32);
        Ok(merge)
    }

    /// Goes to the next record in order. Returns whether there is one.
    pub(super) fn advance(&mut self) -> Result<bool, ExternalError> {
        if self.started && !self.sources.is_empty() {
            let mut current = self.winner();
            self.pull(current)?;
            let mut node = (current + self.sources.len()) / 2;
            while node > 0 {
                let loser = self.tree[node] as usize;
                if !self.beats(current, loser) {
                    self.tree[node] = current as u32;
                    current = loser;
                }
                node /= 2;
            }
            self.tree[0] = current as u32;
        }
        self.started = true;
        Ok(self.codes.get(self.winner()).is_some_and(|code| code.rank > 0))
    }

    /// The current record; the last [`Merge::advance`] said that there is one.
    #[inline]
    pub(super) fn record(&self) -> Record<'_> {
        let source = &self.sources[self.winner()];
        Record { key: source.key(), payload: source.payload(), lcp: self.codes[self.winner()].lcp() }
    }

    fn winner(&self) -> usize {
        self.tree[0] as usize
    }

    /// Takes the source's next record. Its code is relative to the record before, which left the merge last.
    #[inline]
    fn pull(&mut self, source: usize) -> Result<(), ExternalError> {
        self.codes[source] = match self.sources[source].advance()? {
            Some(lcp) => Code::new(self.sources[source].key(), lcp, self.flip),
            None => Code::END,
        };
        Ok(())
    }

    /// Whether the record of source `a` comes before that of `b`. The loser's code becomes relative to the winner.
    #[inline]
    fn beats(&mut self, a: usize, b: usize) -> bool {
        let (a_code, b_code) = (self.codes[a], self.codes[b]);
        if a_code.rank != b_code.rank {
            return a_code.rank > b_code.rank;
        }
        if a_code.rank == 0 {
            return a < b;
        }
        let lcp = a_code.lcp();
        let (a_word, b_word) = (a_code.word ^ self.flip, b_code.word ^ self.flip);
        let differing = a_word ^ b_word;
        if differing != 0 {
            // Zeros that only fill up are not shared: an ended key shares no more bytes than it has.
            let shared =
                (differing.leading_zeros() as usize / 8).min((a_word as u8).min(b_word as u8).into());
            let wins = a_code.word < b_code.word;
            self.lose(if wins { b } else { a }, lcp + shared);
            return wins;
        }
        self.compare_rest(a, b, lcp + usize::from(a_word as u8).min(WORD_BYTES))
    }

    /// As [`Merge::beats`] for two keys that share `shared` bytes, or are equal if they have no more.
    #[cold]
    fn compare_rest(&mut self, a: usize, b: usize, shared: usize) -> bool {
        let (a_key, b_key) = (self.sources[a].key(), self.sources[b].key());
        let lcp = shared + common_prefix(&a_key[shared..], &b_key[shared..]);
        let wins = match a_key[lcp..].first().cmp(&b_key[lcp..].first()) {
            Ordering::Equal => a < b,
            order => order.is_lt() == (self.flip == 0),
        };
        self.lose(if wins { b } else { a }, lcp);
        wins
    }

    /// The source lost against one with which its key shares `lcp` bytes.
    #[inline]
    fn lose(&mut self, source: usize, lcp: usize) {
        self.codes[source] = Code::new(self.sources[source].key(), lcp, self.flip);
    }
}
