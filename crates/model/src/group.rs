//! The sections of tables, in the words of the benchmark.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::text::Natural;

/// A group of tests. It is stored with the run, so readers need not know the benchmark. Groups with equal keys are
/// equal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Group {
    /// Key in files: `point`, `range-aggregate`.
    pub key: Cow<'static, str>,
    /// Heading of a table: `point queries`.
    pub title: Cow<'static, str>,
    /// Name in a sentence: `range with aggregation`; empty for the only group of imported tests.
    pub short: Cow<'static, str>,
    /// Position among the benchmark's groups, from 1.
    pub position: u32,
    /// Each step starts from the data that the previous one left, so tables list them in order. Tests of other groups
    /// are sorted by name.
    pub consecutive: bool,
}

impl Group {
    /// A group of tests whose order does not matter.
    pub const fn new(position: u32, key: &'static str, title: &'static str, short: &'static str) -> Self {
        Self {
            key: Cow::Borrowed(key),
            title: Cow::Borrowed(title),
            short: Cow::Borrowed(short),
            position,
            consecutive: false,
        }
    }

    /// A group of steps that each start from the data of the previous one.
    pub const fn consecutive(position: u32, key: &'static str, title: &'static str) -> Self {
        let mut group = Self::new(position, key, title, title);
        group.consecutive = true;
        group
    }

    /// The sort key of a step: its group, then its position in the plan if the group is consecutive, else its name,
    /// numbers in it by their size.
    pub fn order<'a>(&'a self, name: &'a str, position: u32) -> impl Ord + use<'a> {
        (self.position, &*self.key, if self.consecutive { position } else { 0 }, Natural(name))
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Group {}
