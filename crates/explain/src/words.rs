//! Formats figures for sentences.

use crate::quantity::Quantity;
use rqps_stats::{Tag, Verdict};

/// Formats with three significant digits, or as a whole number with thousands separators from 1000 on.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 999.5 {
        return grouped(value.round());
    }
    let decimals = match size {
        _ if size == 0.0 => 0,
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.995 => 2,
        _ if size >= 0.0995 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a mean count, with `1.00` for 1 so that it does not read as a single thing: `1.00 fsyncs`.
pub(crate) fn count(value: f64) -> String {
    let text = number(value);
    if text == "1" { "1.00".to_owned() } else { text }
}

fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Formats a share as percent: `3.2 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// The arm's figure relative to base's: `31 % more than pg17 (315)`, `3.1 times pg17's 133`, `against 300 on
/// pg17`, `none on pg17`.
pub(crate) fn than(found: &Quantity, base: &str) -> String {
    relation(found, base, "less")
}

/// The same of things that are counted: `3.1 % fewer than pg17 (133)`.
pub(crate) fn than_many(found: &Quantity, base: &str) -> String {
    relation(found, base, "fewer")
}

/// The arm's figure beside base's, where another sentence tells their ratio: `against 300 on pg17`, `none on pg17`.
pub(crate) fn against(found: &Quantity, base: &str) -> String {
    match &*number(found.base) {
        "0" => format!("none on {base}"),
        value => format!("against {value} on {base}"),
    }
}

fn relation(found: &Quantity, base: &str, less: &str) -> String {
    let ratio = found.ratio();
    let value = number(found.base);
    if value == "0" {
        against(found, base)
    } else if (0.5..2.0).contains(&ratio) {
        let word = if ratio > 1.0 { "more" } else { less };
        format!("{} {word} than {base} ({value})", percent((ratio - 1.0).abs()))
    } else if (2.0..100.0).contains(&ratio) {
        format!("{} times {base}'s {value}", number(ratio))
    } else {
        against(found, base)
    }
}

/// How certain a change is that a verdict does not establish.
pub(crate) fn likely(verdict: &Verdict) -> String {
    match verdict.tags.contains(&Tag::FewBlocks) {
        true => {
            let enough =
                verdict.blocks_enough().map(|blocks| format!("; {blocks} would do")).unwrap_or_default();
            format!(
                "likely, not established: seen in all {} blocks, too few for a count{enough}",
                verdict.blocks
            )
        }
        false => "likely, not established".to_owned(),
    }
}

/// Joins items: `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_significant_digits() {
        let formatted: Vec<String> =
            [0.0, 0.012_34, 0.5, 1.314, 12.0, 99.96, 412.4, 999.6, 1_234_567.0, -0.25].map(number).to_vec();
        assert_eq!(
            formatted,
            ["0", "0.0123", "0.5", "1.31", "12", "100", "412", "1,000", "1,234,567", "-0.25"]
        );
    }

    #[test]
    fn wording_of_a_relation_depends_on_its_size() {
        let text = |base: f64, arm: f64| than(&Quantity { base, arm, half_width: 0.0, blocks: 3 }, "pg17");
        assert_eq!(text(315.0, 412.0), "31 % more than pg17 (315)");
        assert_eq!(text(100.0, 97.0), "3.0 % less than pg17 (100)");
        let many = than_many(&Quantity { base: 100.0, arm: 97.0, half_width: 0.0, blocks: 3 }, "pg17");
        assert_eq!(many, "3.0 % fewer than pg17 (100)");
        assert_eq!(text(133.0, 412.0), "3.1 times pg17's 133");
        assert_eq!(text(300.0, 3.0), "against 300 on pg17");
        assert_eq!(text(0.0004, 1.0), "against 0.0004 on pg17");
        assert_eq!(text(0.0, 412.0), "none on pg17");
    }
}
