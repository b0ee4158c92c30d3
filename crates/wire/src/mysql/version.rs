//! Server versions as one comparable number, and which of the two DBMSs it is.

/// What a MariaDB server of version 10 puts before its version, for old replicas.
const MARIADB_PREFIX: &str = "5.5.5-";

/// A server's version as its greeting tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// `8.0.31`, `10.11.5-MariaDB`.
    pub(super) text: String,
    /// 80031, 101105; 0 for a text without a number.
    pub(super) number: u32,
    pub(super) is_mariadb: bool,
}

impl Version {
    /// Reads `8.0.31`, `9.7.4-1`, `5.5.5-10.11.5-MariaDB-log`, `11.8.6-MariaDB-...`.
    pub(super) fn parse(greeting: &str) -> Self {
        let is_mariadb = greeting.contains("MariaDB");
        let text = match greeting.strip_prefix(MARIADB_PREFIX) {
            Some(rest) if is_mariadb => rest,
            _ => greeting,
        };
        let release = text.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0_u32).min(99));
        let mut part = || parts.next().unwrap_or(0);
        let number = part() * 10_000 + part() * 100 + part();
        Self { text: text.to_owned(), number, is_mariadb }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn both_families() {
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
