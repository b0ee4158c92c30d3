//! The shipped plans, built into the program so that `rqps run small-server` works from anywhere. Their files are in
//! `/plans`.

/// A shipped plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedPlan {
    /// The file's name without `.toml`, and the plan's own name.
    pub name: &'static str,
    pub text: &'static str,
}

impl ShippedPlan {
    /// The first line of its opening comment: a sentence.
    pub fn summary(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(ShippedPlan { name: $name, text: include_str!(concat!("../../../plans/", $name, ".toml")) }),+]
    };
}

/// All shipped plans, benchmark by benchmark.
pub const SHIPPED_PLANS: &[ShippedPlan] = shipped![
    "demo",
    "verdicts",
    "quick",
    "nulls",
    "small-server",
    "large-cached",
    "large-io-bound",
    "writes-only-long",
    "mysql-versions",
    "innodb-flush-methods",
    "own-sql",
    "tprocc-smoke",
    "tprocc-verdicts",
    "tprocc-small",
    "tprocc-published",
    "tprocc-published-large",
    "insert-smoke",
    "insert-mini",
    "insert-small",
    "insert-cached",
    "insert-io-bound",
    "insert-io-bound-small",
    "insert-vacuum",
    "insert-delete-form",
    "rocksdb-versions",
    "rocksdb-iobuf",
    "rocksdb-iodir",
    "rocksdb-lz4",
    "sync-quick",
    "sync-published",
];

/// The shipped plan with this name.
pub fn shipped_plan(name: &str) -> Option<&'static ShippedPlan> {
    SHIPPED_PLANS.iter().find(|plan| plan.name == name)
}
