//! Keys that are likely to break a sort of prefixes: every case is known by the seed and its number.

use crate::random::{Random, Zipf};

/// Most bytes of all keys of a case together.
const BYTES_MAX: usize = 4_000_000;

/// The keys of a case.
#[must_use]
pub fn draw(seed: u64, case: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed ^ case.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let random = &mut random;
    let n = number(random);
    let mut keys = match random.below(12) {
        0 => staircase(random, n),
        1 => fixed(random, n),
        2 | 3 => few_values(random, n),
        4 => long_common(random, n),
        5 => numbers(random, n),
        6 => neighbours(random, n),
        7 | 8 => columns(random, n),
        _ => mixed(random, n),
    };
    limit(&mut keys);
    arrange(random, &mut keys);
    keys
}

/// Mostly few keys, sometimes enough for radix steps and for what happens at block sizes.
fn number(random: &mut Random) -> usize {
    match random.below(40) {
        0 => random.below(40_000),
        1..=3 => random.below(5_000),
        4..=10 => random.below(700),
        11..=20 => random.below(100),
        _ => random.below(24),
    }
}

/// The first keys that are within the limit.
fn limit(keys: &mut Vec<Vec<u8>>) {
    let mut left = BYTES_MAX;
    let kept = keys.iter().take_while(|key| {
        let fits = key.len() <= left;
        left = left.saturating_sub(key.len());
        fits
    });
    keys.truncate(kept.count());
}

/// Bytes from few values: those that are special to a sort, or any.
fn alphabet(random: &mut Random) -> Vec<u8> {
    match random.below(11) {
        0 => vec![0],
        1 => vec![0, 1],
        2 => vec![0, 255],
        3 => b"ab".to_vec(),
        4 => b"ACGT".to_vec(),
        5 => (0..16).collect(),
        6 => (0..8).map(|bit| 1 << bit).collect(),
        7 => b"0123456789".to_vec(),
        8 => (b'-'..=b'z').collect(),
        9 => b"0123456789abcdef".to_vec(),
        _ => (0..=255).collect(),
    }
}

fn text(random: &mut Random, alphabet: &[u8], length: usize) -> Vec<u8> {
    (0..length).map(|_| *random.pick(alphabet)).collect()
}

/// A length: near the width of a word, near a window, near the longest that an entry tells, near 16 bits, or any small
/// one.
fn length(random: &mut Random) -> usize {
    let around = |random: &mut Random, middle: usize| (middle + random.below(5)).saturating_sub(2);
    match random.below(12) {
        0 => 0,
        1 | 2 => around(random, 7),
        3 | 4 => around(random, 8),
        5 => around(random, 16),
        6 => around(random, 64),
        7 => random.below(300),
        8 if random.once_in(4) => around(random, 255),
        9 if random.once_in(40) => around(random, 65_536),
        _ => random.below(24),
    }
}

/// "", "a", "aa", and so on: each is a prefix of the next.
fn staircase(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let letters = alphabet(random);
    let whole = text(random, &letters, n);
    (0..n.min(2_000)).map(|length| whole[..length].to_vec()).collect()
}

fn fixed(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let (letters, width) = (alphabet(random), length(random));
    (0..n).map(|_| text(random, &letters, width)).collect()
}

fn few_values(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let count = random.between(1, 40);
    let values = mixed(random, count);
    let law = Zipf::new(values.len());
    (0..n).map(|_| values[law.draw(random)].clone()).collect()
}

/// A long prefix that all have, or several.
fn long_common(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let letters = alphabet(random);
    let prefixes: Vec<Vec<u8>> = (0..random.between(1, 4))
        .map(|_| {
            let length = length(random) + length(random);
            text(random, &letters, length)
        })
        .collect();
    let rest_max = random.between(1, 20);
    (0..n)
        .map(|_| {
            let mut key = random.pick(&prefixes).clone();
            let rest = random.below(rest_max);
            key.extend(text(random, &letters, rest));
            key
        })
        .collect()
}

/// Big-endian numbers, dense or sparse, with zero bytes before and bytes behind.
fn numbers(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let (range, zeros, behind) = (1 << random.below(40), random.below(20), random.below(10));
    (0..n)
        .map(|_| {
            let mut key = vec![0; zeros];
            key.extend((random.below(range) as u64).to_be_bytes());
            key.resize(key.len() + behind, 7);
            key
        })
        .collect()
}

/// Rows of columns with the same bytes between them. In few cases some rows have other bytes there, or end early.
fn columns(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let parts: Vec<(Vec<u8>, Vec<u8>, usize)> = (0..random.between(1, 6))
        .map(|_| {
            let (letters, length) = (alphabet(random), random.below(30));
            let constant = text(random, &letters, length);
            let drawn = if random.once_in(2) { b"0123456789".to_vec() } else { alphabet(random) };
            (constant, drawn, random.between(1, 7))
        })
        .collect();
    let odd_once_in = *random.pick(&[3, 40, 1_000_000]);
    (0..n)
        .map(|_| {
            let mut key = Vec::new();
            for (constant, drawn, width) in &parts {
                key.extend(constant);
                key.extend(text(random, drawn, *width));
            }
            if random.once_in(odd_once_in) {
                let at = random.below(key.len());
                if random.once_in(2) { key.truncate(at) } else { key[at] ^= 1 << random.below(8) }
            }
            key
        })
        .collect()
}

/// Keys that differ from one key in one byte or are cut off or longer by a little.
fn neighbours(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let letters = alphabet(random);
    let length = length(random);
    let middle = text(random, &letters, length);
    (0..n)
        .map(|_| {
            let mut key = middle.clone();
            match random.below(4) {
                0 => key.truncate(random.below(key.len() + 1)),
                1 => {
                    let more = random.below(10);
                    key.extend(text(random, &letters, more));
                }
                _ => {
                    let at = random.below(key.len());
                    if let Some(byte) = key.get_mut(at) {
                        *byte = *random.pick(&letters);
                    }
                }
            }
            key
        })
        .collect()
}

fn mixed(random: &mut Random, n: usize) -> Vec<Vec<u8>> {
    let letters = alphabet(random);
    (0..n)
        .map(|_| {
            let length = length(random);
            text(random, &letters, length)
        })
        .collect()
}

/// An order of arrival.
fn arrange(random: &mut Random, keys: &mut [Vec<u8>]) {
    match random.below(10) {
        0 => keys.sort(),
        1 => keys.sort_by(|one, other| other.cmp(one)),
        2 => {
            keys.sort();
            for _ in 0..random.between(1, 4) {
                let (one, other) = (random.below(keys.len()), random.below(keys.len()));
                if !keys.is_empty() {
                    keys.swap(one, other);
                }
            }
        }
        3 => {
            let run = random.between(1, keys.len() / 2 + 1);
            keys.chunks_mut(run).for_each(<[_]>::sort);
        }
        4 => {
            let middle = keys.len() / 2;
            keys[..middle].sort();
            keys[middle..].sort_by(|one, other| other.cmp(one));
        }
        _ => random.shuffle(keys),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_repeat_and_differ() {
        let cases: Vec<_> = (0..300).map(|case| draw(5, case)).collect();
        assert_eq!(cases[17], draw(5, 17));
        assert!(cases.iter().any(|keys| keys.len() > 5_000), "none is large");
        assert!(cases.iter().any(Vec::is_empty), "none is empty");
        assert!(cases.iter().flatten().any(|key| key.len() > 200), "no key is long");
        assert!(cases.iter().all(|keys| keys.iter().map(Vec::len).sum::<usize>() <= BYTES_MAX));
    }
}
