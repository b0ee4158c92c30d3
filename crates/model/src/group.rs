//! The groups in which tables show tests, in the words of the benchmark that declares them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A group of tests. It is kept with the run, so that what reads a run knows the words and the order of any benchmark.
/// Two groups are the same when their keys are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Group {
    /// In files: `point`, `range-aggregate`.
    pub key: Cow<'static, str>,
    /// Above a table: `point queries`.
    pub title: Cow<'static, str>,
    /// In a sentence: `range with aggregation`.
    pub short: Cow<'static, str>,
    /// Its place among the benchmark's groups, from 1.
    pub position: u32,
    /// Each of its steps finds the data that the one before it left, so that their order means something. Tests of
    /// other groups stand by name.
    pub consecutive: bool,
}

impl Group {
    /// A group of tests that do not depend on each other's order.
    pub const fn new(position: u32, key: &'static str, title: &'static str, short: &'static str) -> Self {
        Self {
            key: Cow::Borrowed(key),
            title: Cow::Borrowed(title),
            short: Cow::Borrowed(short),
            position,
            consecutive: false,
        }
    }

    /// A group whose steps each find what the one before left.
    pub const fn consecutive(position: u32, key: &'static str, title: &'static str) -> Self {
        let mut group = Self::new(position, key, title, title);
        group.consecutive = true;
        group
    }

    /// What steps are sorted by: their group, then their place in the plan where it means something, else the name.
    pub fn order<'a>(&'a self, name: &'a str, position: u32) -> impl Ord + use<'a> {
        (self.position, &*self.key, if self.consecutive { position } else { 0 }, name)
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Group {}
