//! Server versions as one comparable number.

use crate::connect::version_parts;

/// Converts `server_version` to the format of `server_version_num`: `18.1` to 180001, `9.6.24` to 90624,
/// `19beta2` to 190000. Text without a number gives 0.
pub(super) fn number(text: &str) -> u32 {
    let [major, second, third] = version_parts(text);
    // Since version 10, the second part is the minor release.
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
