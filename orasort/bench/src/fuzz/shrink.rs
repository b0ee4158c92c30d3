//! Makes a failing case small: fewer keys, shorter keys, plainer bytes, as long as it still fails.

/// Tries at most.
const TRIES_MAX: usize = 3_000;

/// A key with less in it; nothing where that can't be.
type Change = fn(&[u8]) -> Option<Vec<u8>>;

/// What is tried with each key.
const CHANGES: [Change; 5] = [front_halved, back_halved, front_cut, back_cut, plain];

/// A smaller list of keys for which `fails` still says so.
pub fn shrink(keys: Vec<Vec<u8>>, mut fails: impl FnMut(&[Vec<u8>]) -> bool) -> Vec<Vec<u8>> {
    let mut tries = 0;
    let mut still = |keys: &[Vec<u8>]| {
        tries += 1;
        tries <= TRIES_MAX && fails(keys)
    };
    let mut kept = fewer(keys, &mut still);
    for place in 0..kept.len() {
        for change in CHANGES {
            while let Some(changed) = change(&kept[place]) {
                let before = std::mem::replace(&mut kept[place], changed);
                if !still(&kept) {
                    kept[place] = before;
                    break;
                }
            }
        }
    }
    fewer(kept, &mut still)
}

/// Leaves out stretches, from half of the keys down to single ones.
fn fewer(mut keys: Vec<Vec<u8>>, still: &mut impl FnMut(&[Vec<u8>]) -> bool) -> Vec<Vec<u8>> {
    let mut stretch = keys.len().div_ceil(2);
    while stretch > 0 {
        let mut start = 0;
        while start < keys.len() {
            let end = keys.len().min(start + stretch);
            let rest = [&keys[..start], &keys[end..]].concat();
            if still(&rest) {
                keys = rest;
            } else {
                start = end;
            }
        }
        stretch /= 2;
    }
    keys
}

fn front_halved(key: &[u8]) -> Option<Vec<u8>> {
    (key.len() > 1).then(|| key[key.len() / 2..].to_vec())
}

fn back_halved(key: &[u8]) -> Option<Vec<u8>> {
    (key.len() > 1).then(|| key[..key.len() / 2].to_vec())
}

fn front_cut(key: &[u8]) -> Option<Vec<u8>> {
    key.split_first().map(|(_, rest)| rest.to_vec())
}

fn back_cut(key: &[u8]) -> Option<Vec<u8>> {
    key.split_last().map(|(_, rest)| rest.to_vec())
}

/// All bytes the same letter.
fn plain(key: &[u8]) -> Option<Vec<u8>> {
    key.iter().any(|byte| *byte != b'a').then(|| vec![b'a'; key.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        let keys: Vec<Vec<u8>> = (0..100u8).map(|n| vec![n; 10]).collect();
        // Fails while a key with byte 77 and one with byte 5 are there.
        let has = |keys: &[Vec<u8>], byte| keys.iter().any(|key| key.contains(&byte));
        let small = shrink(keys, |keys| has(keys, 77) && has(keys, 5));
        assert_eq!(small, [vec![5], vec![77]]);
    }
}
