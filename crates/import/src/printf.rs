//! Numbers as C's printf writes them.

/// `%.Nf`.
pub fn fixed(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

/// `%.6g`: six significant digits, without trailing zeros, with an exponent below 0.0001 and from a million on.
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { format!("{value}") };
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{value:.*}", (5 - exponent) as usize)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

fn trimmed(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.001, "0.001"),
            (1.236, "1.236"),
            (129_870.4, "129870"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_012_345_678, "1.23457e-05"),
            (0.0001, "0.0001"),
            (100.0, "100"),
            (999_999.5, "1e+06"),
        ] {
            assert_eq!(general(value), text);
        }
        // Ties of the decimal are no ties of the binary value; those that are go to the even digit.
        assert_eq!([fixed(0.125, 2), fixed(2.5, 0), fixed(0.375, 2)], ["0.12", "2", "0.38"]);
    }
}
