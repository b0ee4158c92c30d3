//! Which runs are merged first when all together need more memory than there is.

use super::run::Run;
use core::ops::Range;

/// What a source of a merge needs beside its block and its longest record.
const SOURCE_BYTES: usize = 512;

fn source_bytes(run: &Run, block_bytes: usize) -> usize {
    block_bytes + run.record_bytes_max() + SOURCE_BYTES
}

/// Memory for the final merge of these runs.
pub(super) fn merge_bytes(runs: &[Run], block_bytes: usize) -> usize {
    runs.iter().map(|run| source_bytes(run, block_bytes)).sum()
}

/// How many of the first runs can be merged at once: at least two.
fn fan_in(runs: &[Run], budget_bytes: usize, block_bytes: usize) -> usize {
    let mut left_bytes = budget_bytes;
    let fits = |run: &&Run| match left_bytes.checked_sub(source_bytes(run, block_bytes)) {
        Some(left) => {
            left_bytes = left;
            true
        }
        None => false,
    };
    runs.iter().take_while(fits).count().max(2).min(runs.len())
}

/// The runs to merge into one before the final merge: neighbours, so that equal keys stay in order. `None` when the
/// final merge can have all of them.
///
/// A window is no longer than needed for the final merge, and no longer than fits. Of these windows the one that
/// costs the fewest bytes for each run less is taken: new runs are merged before runs that are merges themselves.
pub(super) fn next_window(runs: &[Run], budget_bytes: usize, block_bytes: usize) -> Option<Range<usize>> {
    let total_bytes = merge_bytes(runs, block_bytes);
    if total_bytes <= budget_bytes || runs.len() <= 2 {
        return None;
    }
    let mut best: Option<(f64, Range<usize>)> = None;
    for start in 0..runs.len() - 1 {
        let most = start + fan_in(&runs[start..], budget_bytes, block_bytes);
        let (mut read_bytes, mut freed_bytes, mut longest) = (0, 0, 0);
        let mut end = start;
        while end < most {
            let run = &runs[end];
            read_bytes += run.bytes();
            freed_bytes += source_bytes(run, block_bytes);
            longest = longest.max(source_bytes(run, block_bytes));
            end += 1;
            if end - start >= 2 && total_bytes - freed_bytes + longest <= budget_bytes {
                break;
            }
        }
        let cost = read_bytes as f64 / (end - start - 1) as f64;
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, start..end));
        }
    }
    best.map(|(_, window)| window)
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;
    use crate::external::file::Space;
    use crate::external::run::RunWriter;
    use std::vec;
    use std::vec::Vec;

    const BLOCK_BYTES: usize = 1 << 10;

    /// Runs of so many bytes each.
    fn runs(bytes: &[usize]) -> Vec<Run> {
        let mut space = Space::new(std::env::temp_dir(), BLOCK_BYTES);
        let run = |bytes: &usize| {
            let mut writer = RunWriter::new(&mut space).unwrap();
            (0..*bytes).for_each(|_| writer.push(0, b"k", b"").unwrap());
            writer.finish().unwrap()
        };
        bytes.iter().map(run).collect()
    }

    /// The windows merged until the rest fits into memory for `fan_in` runs.
    fn windows(mut sizes: Vec<usize>, fan_in: usize) -> Vec<(usize, usize)> {
        let budget_bytes = fan_in * (BLOCK_BYTES + 1 + SOURCE_BYTES);
        let mut windows = Vec::new();
        while let Some(window) = next_window(&runs(&sizes), budget_bytes, BLOCK_BYTES) {
            let merged = sizes[window.clone()].iter().sum();
            sizes.splice(window.clone(), [merged]);
            windows.push((window.start, window.end));
        }
        assert!(sizes.len() <= fan_in.max(2));
        windows
    }

    #[test]
    fn no_run_is_merged_when_all_fit() {
        assert_eq!(windows(vec![10, 20, 30], 3), []);
        assert_eq!(windows(vec![10, 20], 1), []);
    }

    #[test]
    fn one_run_too_many_merges_the_two_smallest_neighbours() {
        assert_eq!(windows(vec![90, 50, 20, 30, 80], 4), [(2, 4)]);
    }

    #[test]
    fn new_runs_are_merged_before_merged_ones() {
        assert_eq!(windows(vec![10; 16], 4), [(0, 4), (1, 5), (2, 6), (3, 7)]);
        let merged = windows(vec![10; 64], 4);
        assert_eq!(merged.len(), 16 + 4, "{merged:?}");
    }

    #[test]
    fn memory_for_less_than_two_runs_still_merges_two() {
        assert_eq!(windows(vec![10; 4], 1), [(0, 2), (1, 3)]);
    }
}
