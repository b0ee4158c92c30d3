//! Splitting by whole keys: a partition whose next bytes tell little apart is cut at keys drawn from it.
//!
//! Where keys branch at many depths, as paths do, each word holds a few of the bits that tell them apart, and a radix
//! step a few of the word's. A comparison with a whole key always tells one bit, at whatever depth it lies. So some
//! keys are drawn, put in order, and made a search tree; each key of the partition goes down the tree, and what arrives
//! at one leaf is a partition of its own. All keys that reach a node lie between two of the drawn keys, and so share
//! what those two share: a node looks at the sixteen bytes behind that, and further only where these are the same.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::bytes::{chunk, common_prefix_from};
use crate::entry::Entry;
use crate::finder::Finder;
use crate::keys::Keys;
use crate::survey::spread;

/// Nodes of the largest tree, and one.
const NODES_MAX: usize = 256;
/// Keys for a leaf of the tree, about.
const LEAF_LEN: usize = 400;
/// Keys drawn for each node.
const DRAWN: usize = 4;
/// So many entries ahead the memory of keys is asked for.
const AHEAD: usize = 8;

/// A node of the tree.
#[derive(Debug, Clone, Copy, Default)]
struct Node<'k> {
    /// The sixteen bytes of the key from `depth` on.
    word: u128,
    /// Bytes that all keys that come here share, unless they end before.
    depth: usize,
    key: &'k [u8],
}

/// A search tree of keys.
pub(crate) struct Splitters<'k> {
    /// Node i has the nodes 2i and 2i + 1 below it. The first is not used.
    nodes: Vec<Node<'k>>,
    /// For each leaf what the two keys around it share.
    depths: Vec<usize>,
}

impl<'k> Splitters<'k> {
    /// The tree for entries of no order whose keys share `depth` bytes, unless they end before.
    ///
    /// # Safety
    /// As of `Finder::key`, for each entry.
    pub(crate) unsafe fn draw<K: Keys + ?Sized>(
        finder: &Finder<'k, K>,
        entries: &[Entry],
        depth: usize,
    ) -> Self {
        let leaves = (entries.len() / LEAF_LEN).next_power_of_two().clamp(4, NODES_MAX);
        let count = leaves * DRAWN;
        let place = |number| spread(entries.len(), number, count);
        (0..count).for_each(|number| finder.prefetch(entries[place(number)], depth));
        // SAFETY: the caller promised it.
        let mut drawn: Vec<&[u8]> =
            (0..count).map(|number| unsafe { finder.key(entries[place(number)]) }).collect();
        drawn.sort_unstable();
        // Each once: what equals a key has a leaf of its own.
        let mut chosen: Vec<&[u8]> = (1..leaves).map(|leaf| drawn[leaf * DRAWN]).collect();
        chosen.dedup();
        let leaves = (chosen.len() + 1).next_power_of_two();
        let last = chosen.last().copied().unwrap_or(&[]);
        chosen.resize(leaves - 1, last);
        let mut tree = Splitters { nodes: alloc::vec![Node::default(); leaves], depths: Vec::new() };
        tree.build(1, &chosen, None, None, depth);
        tree
    }

    /// Makes node `number` and those below of `keys`, which lie between two others.
    fn build(
        &mut self,
        number: usize,
        keys: &[&'k [u8]],
        low: Option<&[u8]>,
        high: Option<&[u8]>,
        depth: usize,
    ) {
        let depth = match (low, high) {
            (Some(low), Some(high)) => common_prefix_from(low, high, depth),
            _ => depth,
        };
        let Some(key) = keys.get(keys.len() / 2).copied() else {
            self.depths.push(depth);
            return;
        };
        self.nodes[number] = Node { word: wide_chunk(key, depth), depth, key };
        self.build(2 * number, &keys[..keys.len() / 2], low, Some(key), depth);
        self.build(2 * number + 1, &keys[keys.len() / 2 + 1..], Some(key), high, depth);
    }

    /// Buckets that keys are put into: leaves with what equals their lower key before each but the first.
    pub(crate) fn buckets(&self) -> usize {
        2 * self.nodes.len()
    }

    /// What keys of a bucket share, unless they end before. None for a bucket whose keys are equal.
    pub(crate) fn depth_of(&self, bucket: usize) -> Option<usize> {
        (bucket % 2 == 1).then(|| self.depths[bucket / 2])
    }

    /// The bucket of a key.
    #[inline(always)]
    fn bucket_of(&self, key: &[u8]) -> usize {
        let leaves = self.nodes.len();
        let (mut at, mut equal) = (1, 0);
        while at < leaves {
            let node = &self.nodes[at];
            let word = wide_chunk(key, node.depth);
            let mut above = word > node.word;
            if word == node.word {
                let order = order_behind(key, node.key, node.depth);
                above = order != Ordering::Less;
                if order == Ordering::Equal {
                    equal = 1;
                }
            }
            at = 2 * at + usize::from(above);
        }
        2 * (at - leaves) + 1 - equal
    }

    /// The bucket of each entry; adds to the counts of buckets.
    ///
    /// # Safety
    /// As of `Finder::key`, for each entry.
    pub(crate) unsafe fn classify<K: Keys + ?Sized>(
        &self,
        finder: &Finder<'k, K>,
        entries: &[Entry],
        buckets: &mut Vec<u16>,
        counts: &mut [u32],
    ) {
        let depth = self.nodes.get(1).map_or(0, |node| node.depth);
        let last = finder.flip as u16 & (self.buckets() as u16);
        buckets.clear();
        buckets.extend(entries.iter().enumerate().map(|(place, entry)| {
            if let Some(entry) = entries.get(place + 2 * AHEAD) {
                finder.prefetch_place(*entry);
            }
            if let Some(entry) = entries.get(place + AHEAD) {
                finder.prefetch_key(*entry, depth, depth + 48);
            }
            // SAFETY: the caller promised it.
            let bucket = self.bucket_of(unsafe { finder.key(*entry) }) as u16;
            // Descending: from the last bucket to the first.
            let bucket = if last > 0 { last - bucket } else { bucket };
            counts[usize::from(bucket)] += 1;
            bucket
        }));
    }
}

/// Sixteen bytes of a key from `at` on as a number, the first at the top, zeros behind the end.
#[inline(always)]
fn wide_chunk(key: &[u8], at: usize) -> u128 {
    match key.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => u128::from(chunk(key, at)) << 64 | u128::from(chunk(key, at + 8)),
    }
}

/// The order of two keys whose sixteen bytes from `depth` on are the same, zeros where one ends.
#[inline(always)]
fn order_behind(a: &[u8], b: &[u8], depth: usize) -> Ordering {
    let len = a.len().min(b.len());
    let mut at = depth + 16;
    while at < len {
        let (one, other) = (chunk(a, at), chunk(b, at));
        if one != other {
            return one.cmp(&other).then_with(|| a.len().cmp(&b.len()));
        }
        at += 8;
    }
    a.len().cmp(&b.len())
}
