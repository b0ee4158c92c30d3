//! Number formats, and the simple statistics of tables.

use rqps_model::Digits;

use crate::document::DECIMALS_ALONE;

/// Red at or below, green at or above; compared after rounding to two decimals.
const RED_POINTS: i64 = 95;
const GREEN_POINTS: i64 = 105;

/// A ratio rounded to points of 0.01: 0.954 is 95. Colours and lists use this, so that cells with the same
/// text are treated the same.
pub(crate) fn points(ratio: f64) -> i64 {
    (ratio * 100.0).round() as i64
}

/// Where a ratio lies relative to the thresholds, after rounding: -1 at or below, 1 at or above, 0 between.
pub(crate) fn side_of_band(ratio: f64) -> i8 {
    match points(ratio) {
        low if low <= RED_POINTS => -1,
        high if high >= GREEN_POINTS => 1,
        _ => 0,
    }
}

/// A change in points with its sign: `-5`, `+12`, `0`.
pub(crate) fn points_change(ratio: f64) -> String {
    match points(ratio) - 100 {
        0 => "0".to_owned(),
        change => format!("{change:+}"),
    }
}

/// A rate: no decimals from 100, one from 10, two from 0.1, else three significant digits.
pub(crate) fn rate(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => format!("{value:.0}"),
        middle if middle >= 9.995 => format!("{value:.1}"),
        small if small >= 0.0995 || small == 0.0 => format!("{value:.2}"),
        _ => significant(value, 3),
    }
}

/// A number with at most `digits` significant digits and no trailing zeros, like C's `%g`.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let exponent = value.abs().log10().floor() as i32;
    if !(-5..15).contains(&exponent) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A ratio without an interval, in tables and figures alike.
pub(crate) fn ratio_alone(ratio: f64) -> String {
    Digits::of_ratio((f64::NAN, f64::NAN), DECIMALS_ALONE).text(ratio)
}

/// `value / base`; None if one is missing or the result is not finite.
pub(crate) fn ratio(value: Option<f64>, base: Option<f64>) -> Option<f64> {
    value.zip(base).map(|(value, base)| value / base).filter(|ratio| ratio.is_finite())
}

/// The median of values with their texts: that of a value is its own, what lies between two has the digits of the less
/// precise one.
pub(crate) fn median(mut values: Vec<(f64, String)>) -> Option<(f64, String)> {
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let middle = values.len() / 2;
    let (above, printed_above) = values.get(middle)?;
    if values.len() % 2 == 1 {
        return values.get(middle).cloned();
    }
    let (below, printed_below) = values.get(middle - 1)?;
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (median, decimals) = ((below + above) / 2.0, decimals(printed_below).min(decimals(printed_above)));
    Some((median, format!("{median:.decimals$}")))
}

/// The smallest value; None if empty.
pub(crate) fn min(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

/// The largest value; None if empty.
pub(crate) fn max(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

/// Formats milliseconds since 1970 as `2026-07-30 14:15:03 UTC`.
pub(crate) fn utc(at_ms: i64) -> String {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(at_ms.max(0) as u64);
    humantime::format_rfc3339_seconds(at).to_string().replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_apply_to_rounded_ratios() {
        assert_eq!([0.944, 0.954, 0.956, 1.044, 1.046].map(side_of_band), [-1, -1, 0, 0, 1]);
        assert_eq!([0.85, 1.0, 1.26].map(points_change), ["-15", "0", "+26"]);
    }

    #[test]
    fn a_median_has_the_digits_of_its_members() {
        let median = |members: &[&str]| {
            let members = members.iter().map(|text| (text.parse().unwrap(), (*text).to_owned()));
            super::median(members.collect()).map(|(_, text)| text)
        };
        assert_eq!(median(&["1.8", "0.986", "0.97"]).as_deref(), Some("0.986"));
        assert_eq!(median(&["0.9871", "1.8", "1.0", "0.5"]).as_deref(), Some("1.0"));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn significant_digits() {
        let text = |value| significant(value, 6);
        assert_eq!(text(0.0), "0");
        assert_eq!(text(2.0), "2");
        assert_eq!(text(0.000557), "0.000557");
        assert_eq!(text(1234567.0), "1234567");
        assert_eq!(text(1.23456789), "1.23457");
        assert_eq!(text(1.5e-7), "1.50000e-7");
    }
}
