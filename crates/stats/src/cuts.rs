//! Backtracking in the table of a dynamic program.

/// The cuts of the best segmentation of `0..length`, ascending. `previous[until]` is the start of the segment
/// that ends at `until`.
pub(crate) fn cuts_back_from(length: usize, previous: &[usize]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut place = previous[length];
    while place > 0 {
        cuts.push(place);
        place = previous[place];
    }
    cuts.reverse();
    cuts
}
