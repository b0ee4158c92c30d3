//! Downsamples long lines without losing peaks and dips.

/// Returns at most `points_max` points, in order: the first, the last, and the lowest and highest of each
/// stretch.
///
/// A NaN value is a gap; one per stretch is kept, so that gaps stay visible. At least five points can be
/// kept: both ends, both extremes and a gap.
pub fn thin(points: &[(f64, f64)], points_max: usize) -> Vec<(f64, f64)> {
    let points_max = points_max.max(5);
    if points.len() <= points_max {
        return points.to_vec();
    }
    let last = points.len() - 1;
    let has_gap = points.iter().any(|(_, value)| value.is_nan());
    let per_stretch = if has_gap { 3 } else { 2 };
    let stretches = ((points_max - 2) / per_stretch).max(1);
    let inner = last - 1;
    let mut kept = vec![0];
    for stretch in 0..stretches {
        let from = 1 + inner * stretch / stretches;
        let to = 1 + inner * (stretch + 1) / stretches;
        kept.extend(extremes(points, from, to));
    }
    kept.push(last);
    kept.into_iter().map(|place| points[place]).collect()
}

/// Indexes of the lowest value, the highest value and the first gap in `from..to`, in ascending order.
fn extremes(points: &[(f64, f64)], from: usize, to: usize) -> Vec<usize> {
    let values = || (from..to).filter(|place| !points[*place].1.is_nan());
    let by_value = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
    let gap = (from..to).find(|place| points[*place].1.is_nan());
    let mut kept: Vec<usize> =
        values().min_by(by_value).into_iter().chain(values().max_by(by_value)).chain(gap).collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}
