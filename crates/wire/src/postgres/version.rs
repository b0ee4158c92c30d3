//! Server versions as one comparable number.

/// Turns `server_version` text into the form of `server_version_num`: `18.1` into 180001, `9.6.24`
/// into 90624, `19beta2` into 190000. Text without a number gives 0.
pub(super) fn number(text: &str) -> u32 {
    let release = text.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0_u32);
    let (major, second, third) = (part(), part(), part());
    // From 10 on the second part is the minor release.
    if major >= 10 { major * 10_000 + second } else { major * 10_000 + second * 100 + third }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn old_and_new_numbering() {
        let cases = [
            ("9.6.24", 90_624),
            ("10.23", 100_023),
            ("15.18 (Debian 15.18-0+deb12u1)", 150_018),
            ("18.1", 180_001),
            ("19beta2", 190_000),
            ("9.6", 90_600),
            ("devel", 0),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
