//! Reading segments out of a dynamic programme's table.

/// The places where the best segmentation of `0..length` cuts, ascending; `previous[until]` is where the segment that
/// ends at `until` begins.
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
