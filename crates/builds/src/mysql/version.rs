//! Versions of MySQL and MariaDB as users write them: `8.0.31`, or `8.0` for a series.

use std::collections::BTreeSet;

use rqps_model::Dbms;

use super::recipe::Recipes;
use crate::error::{Error, Result};
use crate::product::version_numbers;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub text: String,
    /// False for a series, which means its newest version.
    exact: bool,
}

impl Request {
    pub fn parse(dbms: Dbms, text: &str) -> Result<Request> {
        let bad = |remedy: String| Error::BadVersion { dbms, request: text.to_owned(), remedy };
        let (example, series, oldest) = match dbms {
            Dbms::Mariadb => ("10.11.5", "10.11", (10, 2)),
            _ => ("8.0.31", "8.0", (5, 6)),
        };
        let Some(numbers) = version_numbers(text, 3).filter(|numbers| numbers.len() <= 3) else {
            return Err(bad(format!(
                "write for example {example}, or {series} for the newest of that series"
            )));
        };
        let &[major, minor, ..] = numbers.as_slice() else {
            let known = known_series(dbms, &format!("{text}."))?;
            let example = if known.is_empty() { series.to_owned() } else { known.join(" or ") };
            return Err(bad(format!("a series has two numbers: write {example}")));
        };
        if dbms == Dbms::Mysql && major >= 10 {
            return Err(bad(format!("MySQL has no such series; did you mean mariadb {text}?")));
        }
        if (major, minor) < oldest {
            return Err(bad(format!("rqps supports {}.{} and later", oldest.0, oldest.1)));
        }
        Ok(Request { text: text.to_owned(), exact: numbers.len() == 3 })
    }

    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether a full version satisfies the request.
    pub fn matches(&self, version: &str) -> bool {
        version == self.text || (!self.exact && series_of(version) == self.text)
    }

    /// The requested series, or the series of the requested version.
    pub fn series(&self) -> &str {
        series_of(&self.text)
    }
}

/// Series with known builds that begin like this.
fn known_series(dbms: Dbms, start: &str) -> Result<Vec<String>> {
    let recipes = Recipes::load(dbms)?;
    let versions = recipes.maven.iter().map(|build| series_of(&build.version));
    let series = versions.chain(recipes.debian.iter().map(|suite| suite.series.as_str()));
    let known: BTreeSet<String> = series.filter(|one| one.starts_with(start)).map(str::to_owned).collect();
    Ok(known.into_iter().collect())
}

pub(crate) fn series_of(version: &str) -> &str {
    let end = version.match_indices('.').nth(1).map_or(version.len(), |(at, _)| at);
    &version[..end]
}

/// The numeric prefix of a version, without what packagers append: `11.8.9` of `11.8.9+ds-4`.
pub(crate) fn numeric_prefix(version: &str) -> &str {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version[..end].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_requests_are_explained() {
        for (dbms, bad, advice) in [
            (Dbms::Mysql, "8", "write 8.0"),
            (Dbms::Mysql, "9", "write 9.7"),
            (Dbms::Mysql, "8.0.31.1", "for example 8.0.31"),
            (Dbms::Mysql, "8.0x", "for example 8.0.31"),
            (Dbms::Mysql, "5.5", "5.6 and later"),
            (Dbms::Mysql, "10.11", "mariadb 10.11"),
            (Dbms::Mariadb, "10.1.2", "10.2 and later"),
            (Dbms::Mariadb, "", "for example 10.11.5"),
        ] {
            let message = Request::parse(dbms, bad).unwrap_err().to_string();
            assert!(message.contains(advice), "{dbms} {bad}: {message}");
        }
    }

    #[test]
    fn a_series_matches_only_its_versions() {
        let series = Request::parse(Dbms::Mariadb, "10.1").map(|_| ());
        assert!(series.is_err());
        let series = Request::parse(Dbms::Mariadb, "10.2").unwrap();
        assert!(series.matches("10.2.11") && !series.matches("10.20.1") && !series.is_exact());
        let exact = Request::parse(Dbms::Mysql, "8.0.3").unwrap();
        assert!(exact.matches("8.0.3") && !exact.matches("8.0.31") && exact.series() == "8.0");
    }

    #[test]
    fn suffixes_of_packagers_are_ignored() {
        assert_eq!(numeric_prefix("11.8.9+ds-4"), "11.8.9");
    }
}
