//! What the rate of a test counts, in the words of the benchmark that declares it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A unit of work: rates count it, and costs are divided by it. It is kept with the run, so that what reads a run
/// knows the words of any benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// In files, and before `/s`: `queries`, `krows`, `rows`.
    pub key: Cow<'static, str>,
    /// One of it in a sentence: `a query`, `a thousand rows`.
    pub one: Cow<'static, str>,
    /// One of it after a slash: `query`, `1000 rows`.
    pub per: Cow<'static, str>,
    /// Many of it before "per second": `queries`, `thousand rows`, `rows inserted (l.x: indexed)`.
    pub many: Cow<'static, str>,
}

impl Unit {
    pub const fn new(key: &'static str, one: &'static str, per: &'static str, many: &'static str) -> Self {
        Self {
            key: Cow::Borrowed(key),
            one: Cow::Borrowed(one),
            per: Cow::Borrowed(per),
            many: Cow::Borrowed(many),
        }
    }

    /// Whether it is what tables call QPS, so that no footnote has to say what is counted.
    pub fn is_queries(&self) -> bool {
        self.key == "queries"
    }
}
