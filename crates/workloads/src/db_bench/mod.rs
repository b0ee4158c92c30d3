//! db_bench: the steps of published comparisons of RocksDB, on keys that are numbers and values that compress to a
//! given share.
//!
//! Every step works on the database that the step before it left. All keys `0..keys` exist once `fillseq` is done, so a
//! read that finds nothing is a wrong answer.

mod options;
mod plan;

pub use options::DbBenchOptions;
pub use plan::{DbBench, DbBenchPlan};

use rqps_model::{Group, Unit};

/// Unit of all steps: an operation of the engine; a range scan is one.
pub static OPERATIONS: Unit = Unit::new("ops", "an operation", "operation", "operations");

static FILL: Group = Group::new(1, "fill", "filling the database", "fill");
static RANGE: Group = Group::new(2, "range", "range scans", "range");
static POINT: Group = Group::new(3, "point", "point reads", "point");
static OVERWRITE: Group = Group::new(4, "overwrite", "overwrites", "overwrite");

/// Bytes of a key.
pub const KEY_BYTES: usize = 20;
/// Entries of a range scan.
pub const ENTRIES_PER_SCAN: u32 = 10;
/// Share of the keys that `overwritesome` puts: a tenth.
const OVERWRITTEN: u64 = 10;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Puts all keys in order, without the write-ahead log, into a memtable that is a vector.
    FillSequential,
    Overwrite,
    Get,
    MultiGet,
    Scan {
        reverse: bool,
    },
}

/// A step of the benchmark.
#[derive(Debug, PartialEq, Eq)]
pub struct DbBenchTest {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether a background writer puts random keys at a rate meanwhile.
    pub while_writing: bool,
    pub about: &'static str,
}

impl DbBenchTest {
    pub(crate) fn group(&self) -> &'static Group {
        match self.kind {
            Kind::FillSequential => &FILL,
            Kind::Scan { .. } => &RANGE,
            Kind::Get | Kind::MultiGet => &POINT,
            Kind::Overwrite => &OVERWRITE,
        }
    }

    pub fn writes(&self) -> bool {
        self.while_writing || matches!(self.kind, Kind::FillSequential | Kind::Overwrite)
    }
}

const fn test(name: &'static str, kind: Kind, while_writing: bool, about: &'static str) -> DbBenchTest {
    DbBenchTest { name, kind, while_writing, about }
}

/// All steps.
pub static TESTS: [DbBenchTest; 10] = [
    test("fillseq", Kind::FillSequential, false, "puts all keys in order, one client, no write-ahead log"),
    test(
        "revrange",
        Kind::Scan { reverse: true },
        false,
        "seeks a random key and reads ten entries backward",
    ),
    test(
        "fwdrange",
        Kind::Scan { reverse: false },
        false,
        "seeks a random key and reads ten entries forward",
    ),
    test("readrandom", Kind::Get, false, "gets random keys"),
    test("multireadrandom", Kind::MultiGet, false, "gets ten random keys at a time"),
    test("overwritesome", Kind::Overwrite, false, "puts a tenth as many random keys as there are: no result"),
    test("revrangeww", Kind::Scan { reverse: true }, true, "as revrange, beside the background writer"),
    test("fwdrangeww", Kind::Scan { reverse: false }, true, "as fwdrange, beside the background writer"),
    test("readww", Kind::Get, true, "as readrandom, beside the background writer"),
    test("overwrite", Kind::Overwrite, false, "puts random keys"),
];

/// The step that randomises the levels before the measured ones; its figures are no results.
pub(crate) const OVERWRITESOME: &str = "overwritesome";

/// The steps of published comparisons, in their order. Each settle waits until no compaction is left.
pub(crate) const SEQUENCE: [&str; 9] = [
    "fillseq",
    "settle",
    OVERWRITESOME,
    "settle",
    "revrangeww",
    "fwdrangeww",
    "readww",
    "overwrite",
    "settle",
];

pub fn test_by_name(name: &str) -> Option<&'static DbBenchTest> {
    TESTS.iter().find(|test| test.name == name)
}
