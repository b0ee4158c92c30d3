//! The unit that a test's rate counts, in the words of its benchmark.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A unit of work: rates count it, costs are divided by it. It is stored with the run, so readers need not know the
/// benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// Key in files and before `/s`: `queries`, `krows`, `rows`.
    pub key: Cow<'static, str>,
    /// Singular in a sentence: `a query`, `reading a thousand rows`.
    pub one: Cow<'static, str>,
    /// Singular after a slash: `query`, `1000 rows`.
    pub per: Cow<'static, str>,
    /// Plural before "per second": `queries`, `thousand rows`, `rows inserted (l.x: indexed)`.
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

    /// What those are called that do such work at the same time, singular: fio has jobs.
    pub fn client_noun(&self) -> &'static str {
        if matches!(&*self.key, "writes" | "requests") { "job" } else { "client" }
    }

    /// Whether rates in this unit are QPS, so that tables need no footnote about it.
    pub fn is_queries(&self) -> bool {
        self.key == "queries"
    }
}
