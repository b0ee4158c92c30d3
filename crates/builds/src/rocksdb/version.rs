//! Versions of RocksDB as users write them: `10.10.1`, or `10` or `10.10` for the newest of that series.

use rqps_model::Dbms;

use crate::error::{Error, Result};
use crate::product::version_numbers;

/// The first release whose C API has what rqps calls.
const OLDEST: [u64; 2] = [5, 18];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub text: String,
    numbers: Vec<u64>,
}

impl Request {
    pub fn parse(text: &str) -> Result<Request> {
        let bad = |remedy: &str| Error::BadVersion {
            dbms: Dbms::Rocksdb,
            request: text.to_owned(),
            remedy: remedy.to_owned(),
        };
        let numbers = version_numbers(text, 3).filter(|numbers| (1..=3).contains(&numbers.len()));
        let numbers = numbers.ok_or_else(|| bad("write for example 10.10.1, or 10 for the newest 10"))?;
        let is_old = numbers[0] < OLDEST[0] || numbers.len() > 1 && numbers[..2] < OLDEST[..];
        if is_old {
            return Err(bad("rqps supports 5.18 and later"));
        }
        Ok(Request { text: text.to_owned(), numbers })
    }

    pub fn is_exact(&self) -> bool {
        self.numbers.len() == 3
    }

    /// Whether a full version satisfies the request.
    pub fn matches(&self, version: &str) -> bool {
        version_numbers(version, 3).is_some_and(|numbers| numbers.starts_with(&self.numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_one_number_or_two() {
        let matches = |request: &str, version: &str| Request::parse(request).unwrap().matches(version);
        assert!(matches("10", "10.10.1") && matches("10.1", "10.1.3") && matches("10.10.1", "10.10.1"));
        assert!(!matches("10.1", "10.10.1") && !matches("5", "10.1.3"));
        assert!(Request::parse("10.10.1").unwrap().is_exact() && !Request::parse("10").unwrap().is_exact());
    }

    #[test]
    fn old_and_odd_versions_are_refused() {
        let remedy = |request: &str| Request::parse(request).unwrap_err().to_string();
        assert!(remedy("5.17.2").contains("5.18 and later") && remedy("4").contains("5.18 and later"));
        assert!(remedy("10.10.1.1").contains("for example 10.10.1") && remedy("").contains("for example"));
    }
}
