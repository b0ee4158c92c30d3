//! The sysbench-style microbenchmarks: 32 tests over tables `sbtest1..sbtestT`, and the order in which they
//! run.
//!
//! Every statement, test and step is defined here. Names and SQL are those of published benchmarks, so that
//! results can be compared with older ones.

mod plan;
pub mod step;

pub(crate) use plan::{ALL_TESTS, read_tests};
pub use plan::{MicroPlan, Microbenchmarks, WriteWork};

use crate::model::{Expect, Key, Param, Part, Protocol, Statement, Table, Test};
use rqps_model::{Group, Unit};

/// Statements sent, BEGIN and COMMIT included, as sysbench counts them.
pub static QUERIES: Unit = Unit::new("queries", "a query", "query", "queries");
/// Table rows that full scans read, summed over all clients.
pub static THOUSAND_ROWS: Unit = Unit::new("krows", "reading a thousand rows", "1000 rows", "thousand rows");

pub static POINT_QUERIES: Group = Group::new(1, "point", "point queries", "point");
pub static RANGES: Group = Group::new(2, "range", "range queries without aggregation", "range");
/// The read-only family.
pub static RANGE_AGGREGATES: Group =
    Group::new(3, "range-aggregate", "range queries with aggregation", "range with aggregation");
pub static WRITES: Group = Group::new(4, "write", "writes", "writes");

const fn read(kind: &'static str, sql: &'static str, params: &'static [Param], expect: Expect) -> Statement {
    Statement { kind, sql, params, protocol: Protocol::Prepared, expect }
}

const POINT: Statement = read("point", "SELECT c FROM {t} WHERE id=?", &[Param::Key], Expect::Rows(1));
const RANGE: &[Param] = &[Param::Key, Param::RangeEnd];
const SIMPLE: Statement =
    read("simple-range", "SELECT c FROM {t} WHERE id BETWEEN ? AND ?", RANGE, Expect::RangeRows);
const SUM: Statement =
    read("sum-range", "SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?", RANGE, Expect::Rows(1));
const ORDER: Statement =
    read("order-range", "SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c", RANGE, Expect::RangeRows);
const DISTINCT: Statement = read(
    "distinct-range",
    "SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c",
    RANGE,
    Expect::RangeValues,
);
const COUNT: Statement =
    read("count-range", "SELECT count(c) FROM {t} WHERE id BETWEEN ? AND ?", RANGE, Expect::Rows(1));
const LIST: &[Param] = &[Param::Keys];
const UPDATE_INDEX: Statement =
    read("update-index", "UPDATE {t} SET k=k+1 WHERE id=?", &[Param::Key], Expect::Changed);
const UPDATE_NONINDEX: Statement =
    read("update-nonindex", "UPDATE {t} SET c=? WHERE id=?", &[Param::C, Param::Key], Expect::Changed);
const DELETE: Statement = read("delete", "DELETE FROM {t} WHERE id=?", &[Param::Key], Expect::Changed);
const REINSERT: Statement = read(
    "insert",
    "INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)",
    &[Param::Key, Param::K, Param::C, Param::Pad],
    Expect::Inserted,
);

const fn part(key: Key, times: u16, statements: &'static [Statement]) -> Part {
    Part { table: Table::Random, key, times, statements }
}

const TEN_POINTS: Part = part(Key::Uniform, 10, &[POINT]);
const CLASSIC_READS: &[Part] = &[
    TEN_POINTS,
    part(Key::Uniform, 1, &[SIMPLE]),
    part(Key::Uniform, 1, &[SUM]),
    part(Key::Uniform, 1, &[ORDER]),
    part(Key::Uniform, 1, &[DISTINCT]),
];
const CLASSIC_READS_AND_WRITES: &[Part] = &[
    TEN_POINTS,
    part(Key::Uniform, 1, &[SIMPLE]),
    part(Key::Uniform, 1, &[SUM]),
    part(Key::Uniform, 1, &[ORDER]),
    part(Key::Uniform, 1, &[DISTINCT]),
    part(Key::Uniform, 1, &[UPDATE_INDEX]),
    part(Key::Uniform, 1, &[UPDATE_NONINDEX]),
    part(Key::Uniform, 1, &[DELETE, REINSERT]),
];
const CLASSIC_WRITES: &[Part] = &[
    part(Key::Uniform, 1, &[UPDATE_INDEX]),
    part(Key::Uniform, 1, &[UPDATE_NONINDEX]),
    part(Key::Uniform, 1, &[DELETE, REINSERT]),
];
const POINTS_BY_ID: &[Part] = &[part(
    Key::None,
    1,
    &[read("points", "SELECT c FROM {t} WHERE id IN ({list})", LIST, Expect::DistinctKeys)],
)];

const fn test(
    name: &'static str,
    group: &'static Group,
    range: u32,
    parts: &'static [Part],
    about: &'static str,
) -> Test {
    Test::new(name, group, &QUERIES, range, parts, about)
}

const fn transaction(test: Test) -> Test {
    Test { transaction: true, ..test }
}

const PER_STATEMENT: &str = "Least work in the storage engine: shows overhead per statement.";
const LIST_LENGTH: &str = "Compare lengths 10, 100, 1000: a loss that shrinks with length is above the storage engine, one that grows is in it.";
const COVERING: &str = "Covered against not covered, primary key against secondary index: separates index access from row lookup.";
const AGGREGATE: &str = "Ten point queries and one range of 1000 rows in a transaction.";
const CLASSIC: &str = "The classic read-only transaction: ten point queries and four ranges.";

/// Every test, in table order.
pub static TESTS: [Test; 32] = [
    test(
        "hot-points",
        &POINT_QUERIES,
        100,
        &[part(
            Key::None,
            1,
            &[read(
                "hot-points",
                "SELECT c FROM {t} WHERE id IN ({list})",
                &[Param::HotKeys],
                Expect::Rows(100),
            )],
        )],
        "The same 100 rows each time: CPU-bound even where the rest waits for storage.",
    ),
    test("point-query", &POINT_QUERIES, 1, &[part(Key::Uniform, 1, &[POINT])], PER_STATEMENT),
    test(
        "points-covered-pk",
        &POINT_QUERIES,
        100,
        &[part(
            Key::None,
            1,
            &[read("points", "SELECT id FROM {t} WHERE id IN ({list})", LIST, Expect::DistinctKeys)],
        )],
        COVERING,
    ),
    test(
        "points-covered-si",
        &POINT_QUERIES,
        100,
        &[part(
            Key::None,
            1,
            &[read("points", "SELECT k FROM {t} WHERE k IN ({list})", LIST, Expect::KList)],
        )],
        COVERING,
    ),
    test(
        "points-notcovered-pk",
        &POINT_QUERIES,
        100,
        &[part(
            Key::None,
            1,
            &[read("points", "SELECT id, c FROM {t} WHERE id IN ({list})", LIST, Expect::DistinctKeys)],
        )],
        COVERING,
    ),
    test(
        "points-notcovered-si",
        &POINT_QUERIES,
        100,
        &[part(
            Key::None,
            1,
            &[read("points", "SELECT k, c FROM {t} WHERE k IN ({list})", LIST, Expect::KList)],
        )],
        COVERING,
    ),
    test("random-points_range=10", &POINT_QUERIES, 10, POINTS_BY_ID, LIST_LENGTH),
    test("random-points_range=100", &POINT_QUERIES, 100, POINTS_BY_ID, LIST_LENGTH),
    test("random-points_range=1000", &POINT_QUERIES, 1000, POINTS_BY_ID, LIST_LENGTH),
    test(
        "range-covered-pk",
        &RANGES,
        101,
        &[part(
            Key::Uniform,
            1,
            &[read("range", "SELECT id FROM {t} WHERE id BETWEEN ? AND ?", RANGE, Expect::RangeRows)],
        )],
        COVERING,
    ),
    test(
        "range-covered-si",
        &RANGES,
        101,
        &[part(
            Key::Uniform,
            1,
            &[read("range", "SELECT k FROM {t} WHERE k BETWEEN ? AND ?", RANGE, Expect::KRange)],
        )],
        COVERING,
    ),
    test(
        "range-notcovered-pk",
        &RANGES,
        101,
        &[part(
            Key::Uniform,
            1,
            &[read("range", "SELECT id, c FROM {t} WHERE id BETWEEN ? AND ?", RANGE, Expect::RangeRows)],
        )],
        COVERING,
    ),
    test(
        "range-notcovered-si",
        &RANGES,
        101,
        &[part(
            Key::Uniform,
            1,
            &[read("range", "SELECT k, c FROM {t} WHERE k BETWEEN ? AND ?", RANGE, Expect::KRange)],
        )],
        COVERING,
    ),
    Test {
        unit: &THOUSAND_ROWS,
        scans: true,
        ..test(
            "scan",
            &RANGES,
            1,
            &[Part {
                table: Table::OfClient,
                key: Key::None,
                times: 1,
                statements: &[Statement {
                    kind: "scan",
                    sql: "SELECT * FROM {t} WHERE LENGTH(c) < 0",
                    params: &[],
                    protocol: Protocol::Text,
                    expect: Expect::Rows(0),
                }],
            }],
            "A full scan that returns no row; each client has its table. The rate is thousand rows per second over all clients.",
        )
    },
    test(
        "read-only-count",
        &RANGE_AGGREGATES,
        1000,
        &[part(Key::Uniform, 1, &[COUNT])],
        "One count over 1000 rows, without a transaction.",
    ),
    transaction(test(
        "read-only-distinct",
        &RANGE_AGGREGATES,
        1000,
        &[TEN_POINTS, part(Key::Uniform, 1, &[DISTINCT])],
        AGGREGATE,
    )),
    transaction(test(
        "read-only-order",
        &RANGE_AGGREGATES,
        1000,
        &[TEN_POINTS, part(Key::Uniform, 1, &[ORDER])],
        AGGREGATE,
    )),
    transaction(test(
        "read-only-simple",
        &RANGE_AGGREGATES,
        1000,
        &[TEN_POINTS, part(Key::Uniform, 1, &[SIMPLE])],
        AGGREGATE,
    )),
    transaction(test(
        "read-only-sum",
        &RANGE_AGGREGATES,
        1000,
        &[TEN_POINTS, part(Key::Uniform, 1, &[SUM])],
        AGGREGATE,
    )),
    transaction(test("read-only_range=10", &RANGE_AGGREGATES, 10, CLASSIC_READS, CLASSIC)),
    transaction(test("read-only_range=100", &RANGE_AGGREGATES, 100, CLASSIC_READS, CLASSIC)),
    transaction(test("read-only_range=10000", &RANGE_AGGREGATES, 10000, CLASSIC_READS, CLASSIC)),
    Test {
        shrinks: true,
        ..test(
            "delete",
            &WRITES,
            1,
            &[part(Key::Uniform, 1, &[DELETE])],
            "Random ids that never come back: the further it goes, the more statements find nothing.",
        )
    },
    test(
        "insert",
        &WRITES,
        1,
        &[part(
            Key::None,
            1,
            &[Statement {
                kind: "insert",
                sql: "INSERT INTO {t} (k, c, pad) VALUES (?, '?', '?')",
                params: &[Param::K, Param::C, Param::Pad],
                protocol: Protocol::Text,
                expect: Expect::Inserted,
            }],
        )],
        "New rows at the end of the primary key; also pays for what the tests before it left behind.",
    ),
    transaction(test(
        "read-write_range=10",
        &WRITES,
        10,
        CLASSIC_READS_AND_WRITES,
        "The classic transaction; blunt, since it mixes everything.",
    )),
    transaction(test(
        "read-write_range=100",
        &WRITES,
        100,
        CLASSIC_READS_AND_WRITES,
        "The classic transaction; blunt, since it mixes everything.",
    )),
    test(
        "update-index",
        &WRITES,
        1,
        &[part(Key::Uniform, 1, &[UPDATE_INDEX])],
        "Maintains the secondary index: never a heap-only update.",
    ),
    test(
        "update-inlist",
        &WRITES,
        10,
        &[part(
            Key::None,
            1,
            &[read(
                "update-inlist",
                "UPDATE {t} SET c=? WHERE id IN ({list})",
                &[Param::C, Param::Keys],
                Expect::ChangedKeys,
            )],
        )],
        "Ten random rows in one statement.",
    ),
    test(
        "update-nonindex",
        &WRITES,
        1,
        &[part(Key::Uniform, 1, &[UPDATE_NONINDEX])],
        "No index to maintain: heap-only updates where pages have room.",
    ),
    test(
        "update-one",
        &WRITES,
        1,
        &[part(Key::First, 1, &[UPDATE_NONINDEX])],
        "Row 1 of a random table: clients wait for each other, versions of one row pile up.",
    ),
    test(
        "update-zipf",
        &WRITES,
        1,
        &[part(Key::Zipf, 1, &[UPDATE_NONINDEX])],
        "Skewed: few rows take most of the updates.",
    ),
    transaction(test("write-only", &WRITES, 10000, CLASSIC_WRITES, "The writes of the classic transaction.")),
];

/// All tests, in table order.
pub fn tests() -> &'static [Test] {
    &TESTS
}

/// The test with this name.
pub fn test_by_name(name: &str) -> Option<&'static Test> {
    TESTS.iter().find(|test| test.name == name)
}

/// Read tests that run before the first write if a plan has `pre_tests`. Together with the two that always
/// run (`point-query.pre`, `range-notcovered-si.pre`) they are the 15 of the original list.
pub const PRE_TESTS: [&str; 13] = [
    "random-points_range=10",
    "random-points_range=100",
    "random-points_range=1000",
    "read-only_range=10",
    "read-only_range=100",
    "read-only_range=10000",
    "points-covered-pk",
    "points-covered-si",
    "points-notcovered-pk",
    "points-notcovered-si",
    "range-covered-pk",
    "range-covered-si",
    "range-notcovered-pk",
];

/// Maximum seconds of the two scan warm-ups.
pub const SCAN_WARMUP_SECONDS: u32 = 60;

/// Names of the steps after the load, in the published order: reads on the fresh table, writes that build up
/// MVCC debt, a settle that pays it down, reads on the aged table, delete, insert.
pub fn sequence(pre_tests: bool) -> Vec<String> {
    let start = ["point-query.warm", "settle", "scan.warmpre", "point-query.pre"];
    let pre = PRE_TESTS.iter().filter(|_| pre_tests).map(|name| format!("{name}.pre"));
    let rest = [
        "range-notcovered-si.pre",
        "update-inlist",
        "update-index",
        "update-nonindex",
        "update-one",
        "update-zipf",
        "write-only",
        "read-write_range=10",
        "read-write_range=100",
        "settle",
        "scan.warm",
        "scan",
        "read-only_range=10",
        "read-only_range=100",
        "read-only_range=10000",
        "read-only-simple",
        "read-only-sum",
        "read-only-order",
        "read-only-distinct",
        "read-only-count",
        "point-query",
        "random-points_range=10",
        "random-points_range=100",
        "random-points_range=1000",
        "hot-points",
        "points-covered-pk",
        "points-notcovered-pk",
        "range-covered-pk",
        "range-notcovered-pk",
        "points-covered-si.warm",
        "points-covered-si",
        "points-notcovered-si",
        "range-covered-si",
        "range-notcovered-si",
        "delete",
        "insert",
    ];
    start.map(str::to_owned).into_iter().chain(pre).chain(rest.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn groups_and_query_counts_are_the_published_ones() {
        let size = |group: &Group| TESTS.iter().filter(|t| t.group == group).count();
        let groups = [&POINT_QUERIES, &RANGES, &RANGE_AGGREGATES, &WRITES];
        assert_eq!(groups.map(size), [9, 5, 8, 10]);
        let queries = |name| test_by_name(name).unwrap().queries_per_event();
        assert_eq!(queries("point-query"), 1);
        assert_eq!(queries("read-only-sum"), 13);
        assert_eq!(queries("read-only_range=100"), 16);
        assert_eq!(queries("read-write_range=10"), 20);
        assert_eq!(queries("write-only"), 6);
        assert_eq!(queries("read-only-count"), 1);
    }

    #[test]
    fn the_sequence_runs_every_test_once_and_settles_twice() {
        let names = sequence(false);
        assert_eq!(names.len(), 40);
        for test in tests() {
            assert_eq!(names.iter().filter(|n| *n == test.name).count(), 1, "{}", test.name);
        }
        assert_eq!(names.iter().filter(|n| n.starts_with("settle")).count(), 2);
        let with_pre = sequence(true);
        let pre: BTreeSet<_> = with_pre.iter().filter(|name| name.ends_with(".pre")).collect();
        assert_eq!(pre.len(), 15);
    }
}
