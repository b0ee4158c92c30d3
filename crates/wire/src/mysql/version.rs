//! The server's DBMS and version, as one comparable number.

use crate::connect::version_parts;

/// MariaDB 10 prefixes its version with this for the sake of old replicas.
const MARIADB_PREFIX: &str = "5.5.5-";

/// A server's version, from its greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// `8.0.31`, `10.11.5-MariaDB`.
    pub(super) text: String,
    /// 80031, 101105; 0 if there is no number.
    pub(super) number: u32,
    pub(super) is_mariadb: bool,
}

impl Version {
    /// Parses `8.0.31`, `9.7.4-1`, `5.5.5-10.11.5-MariaDB-log`, `11.8.6-MariaDB-...`.
    pub(super) fn parse(greeting: &str) -> Self {
        let is_mariadb = greeting.contains("MariaDB");
        let text = match greeting.strip_prefix(MARIADB_PREFIX) {
            Some(rest) if is_mariadb => rest,
            _ => greeting,
        };
        let [major, minor, patch] = version_parts(text).map(|part| part.min(99));
        Self { text: text.to_owned(), number: major * 10_000 + minor * 100 + patch, is_mariadb }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_of_mysql_and_mariadb() {
        let cases = [
            ("5.6.14", 50_614, false),
            ("8.0.31", 80_031, false),
            ("9.7.4-1", 90_704, false),
            ("5.5.5-10.11.5-MariaDB-log", 101_105, true),
            ("5.5.5-10.2.11-MariaDB", 100_211, true),
            ("11.8.6-MariaDB-0+deb13u1", 110_806, true),
            ("devel", 0, false),
        ];
        for (text, number, is_mariadb) in cases {
            let version = Version::parse(text);
            assert_eq!((version.number, version.is_mariadb), (number, is_mariadb), "{text}");
        }
        assert_eq!(Version::parse("5.5.5-10.2.11-MariaDB").text, "10.2.11-MariaDB");
    }
}
