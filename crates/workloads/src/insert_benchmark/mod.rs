//! The Insert Benchmark: a table that is a queue, with rows inserted at its head and deleted at its tail in
//! lockstep. Some steps write as fast as they can, others at a given rate while queries run.
//!
//! Tables are `pi1` to `piN`, one for each client, or `pi1` for all. Rows are determined by the seed and the
//! number of their INSERT statement, counted from 0 over all steps of a client. A row's date is that number
//! in seconds, so the newest row of a table shows which statement was inserted last, and the oldest how far
//! deletes have come.

mod limits;
mod memory;
mod options;
mod plan;
mod plan_steps;
mod positions;
mod rows;
mod statements;
mod tables;

pub use memory::Memory;
pub use options::{EndsBy, InsertOptions};
pub use plan::{InsertBenchmark, InsertPlan};
pub use positions::{Position, Sizes, Stretch, keys_taken, rows_before, stretches};
pub use rows::{CASH_REGISTERS, CUSTOMERS, PRICES, PRODUCTS, date_number, statement_stream, write_insert};
pub use statements::{
    DeleteForm, POINT_KEYS, Query, ROWS_PER_QUERY, example_sql, max_sql, min_sql, write_delete,
};
pub use tables::{
    Partitions, checksum_sql, count_sql, create_indexes, create_table, drop_indexes, existing_indexes_sql,
    last_key_sql, newest_number_of_lane_sql, newest_number_sql, oldest_number_sql, oldest_rows_sql,
    table_name,
};

use std::sync::{Mutex, PoisonError};

use crate::model::{Expect, Key, Part, Protocol, QueryMix, Queue, Statement, Table, Test};
use rqps_model::{Group, Unit};

/// Unit of the query steps.
static QUERIES: Unit = Unit::new("queries", "a query", "query", "queries");
/// Unit of the steps that write as fast as they can.
static ROWS: Unit = Unit::new("rows", "a row", "row", "rows inserted (l.x: indexed)");

/// Steps that write as fast as they can.
static WRITES: Group = Group::consecutive(1, "insert", "inserts");
/// Steps that query beside writes at a given rate.
static QUERIES_BESIDE_WRITES: Group = Group::consecutive(2, "background", "queries beside writes");

/// Default rates of the query steps in rows per second and client, in their order.
pub const RATES: [u32; 3] = [100, 500, 1000];
/// Maximum rate of a query step, in rows per second and client.
pub const RATE_MAX: u32 = 1_000_000;
/// Rows per statement in l.i0 and l.x.
pub const LOAD_BATCH_ROWS: u32 = 100;
/// Rows per statement in l.i1, and in query steps with at least this rate.
pub const WRITE_BATCH_ROWS: u32 = 50;
/// Rows per statement in l.i2.
pub const SMALL_BATCH_ROWS: u32 = 5;
/// Rows that l.x inserts before it builds the indexes.
pub const INDEX_STEP_ROWS: u64 = 100;

const fn listed(kind: &'static str, sql: &'static str, protocol: Protocol) -> Statement {
    Statement { kind, sql, params: &[], protocol, expect: Expect::OfQueue }
}

const INSERT: Statement = listed(
    "insert",
    "INSERT INTO {t} (dateandtime, cashregisterid, customerid, productid, price, data) VALUES …",
    Protocol::Text,
);
const DELETE: Statement = listed(
    "delete",
    "DELETE FROM {t} WHERE transactionid IN (SELECT transactionid FROM {t} WHERE transactionid >= ? \
     ORDER BY transactionid ASC LIMIT ?)",
    Protocol::Text,
);
const MIN: Statement = listed("min", "SELECT min(transactionid) FROM {t}", Protocol::Text);

const fn part(statements: &'static [Statement]) -> Part {
    Part { table: Table::OfClient, key: Key::None, times: 1, statements }
}

const fn query(query: &Query) -> Statement {
    listed(query.kind, query.sql, Protocol::Prepared)
}

const INSERTS: &[Part] = &[part(&[INSERT])];
const INSERTS_AND_DELETES: &[Part] = &[part(&[INSERT, DELETE, MIN])];
const WITH_RANGES: &[Part] = &[
    part(&[INSERT, DELETE, MIN]),
    part(&[query(&statements::BY_PRODUCT), query(&statements::BY_REGISTER), query(&statements::BY_PRICE)]),
];
const WITH_POINTS: &[Part] = &[part(&[INSERT, DELETE, MIN]), part(&[query(&statements::POINTS)])];

const fn write_step(name: &'static str, queue: Queue, parts: &'static [Part], about: &'static str) -> Test {
    Test { queue: Some(queue), ..Test::new(name, &WRITES, &ROWS, 1, parts, about) }
}

const fn unlimited(rows_per_statement: u32, deletes: bool, builds_indexes: bool) -> Queue {
    Queue { rows_per_statement, deletes, rows_per_second: None, queries: None, builds_indexes }
}

const fn query_step(name: &'static str, mix: QueryMix, rate: u32) -> Test {
    let (parts, about) = match mix {
        QueryMix::Range => (
            WITH_RANGES,
            "Ten neighbours in a secondary index, while rows come and go at a rate: dead entries cost the scans.",
        ),
        QueryMix::Point => (
            WITH_POINTS,
            "Ten rows by primary key, while rows come and go at a rate: the cost of the writes alone.",
        ),
    };
    let queue = Queue {
        rows_per_statement: if rate < WRITE_BATCH_ROWS { rate } else { WRITE_BATCH_ROWS },
        deletes: true,
        rows_per_second: Some(rate),
        queries: Some(mix),
        builds_indexes: false,
    };
    let test = Test::new(name, &QUERIES_BESIDE_WRITES, &QUERIES, ROWS_PER_QUERY, parts, about);
    Test { queue: Some(queue), ..test }
}

/// The ten steps, in order.
pub static TESTS: [Test; 10] = [
    write_step(
        "l.i0",
        unlimited(LOAD_BATCH_ROWS, false, false),
        INSERTS,
        "Fills the empty table in the order of its primary key, 100 rows a statement.",
    ),
    write_step(
        "l.x",
        unlimited(LOAD_BATCH_ROWS, false, true),
        INSERTS,
        "Builds the three secondary indexes; the rate counts the rows that are indexed.",
    ),
    write_step(
        "l.i1",
        unlimited(WRITE_BATCH_ROWS, true, false),
        INSERTS_AND_DELETES,
        "Inserts and deletes with all indexes, 50 rows a statement: index maintenance, garbage at the tail.",
    ),
    write_step(
        "l.i2",
        unlimited(SMALL_BATCH_ROWS, true, false),
        INSERTS_AND_DELETES,
        "As l.i1 with 5 rows a statement: what a statement and a commit cost, and planning beside dead rows.",
    ),
    query_step("qr100", QueryMix::Range, 100),
    query_step("qp100", QueryMix::Point, 100),
    query_step("qr500", QueryMix::Range, 500),
    query_step("qp500", QueryMix::Point, 500),
    query_step("qr1000", QueryMix::Range, 1000),
    query_step("qp1000", QueryMix::Point, 1000),
];

/// The ten published steps, in table order.
pub fn tests() -> &'static [Test] {
    &TESTS
}

/// Whether statements of whole rows can keep a rate: 1 to 50 rows per second, or a multiple of 50.
pub fn is_rate(rate: u32) -> bool {
    (1..=RATE_MAX).contains(&rate) && (rate <= WRITE_BATCH_ROWS || rate.is_multiple_of(WRITE_BATCH_ROWS))
}

/// The test with this name. Query steps can have any rate that [`is_rate`] allows.
pub fn test_by_name(name: &str) -> Option<&'static Test> {
    if let Some(test) = TESTS.iter().find(|test| test.name == name) {
        return Some(test);
    }
    let (mix, rate) = match name.split_at_checked(2)? {
        ("qr", rate) => (QueryMix::Range, rate),
        ("qp", rate) => (QueryMix::Point, rate),
        _ => return None,
    };
    let rate: u32 = rate.parse().ok().filter(|rate: &u32| is_rate(*rate))?;
    (query_step_name(mix, rate) == name).then(|| cached_query_step(mix, rate))
}

/// The name of a query step: `qr100`.
pub fn query_step_name(mix: QueryMix, rate: u32) -> String {
    let prefix = match mix {
        QueryMix::Range => "qr",
        QueryMix::Point => "qp",
    };
    format!("{prefix}{rate}")
}

/// The query step with this rate. Tests are static, so it is leaked, but only once.
fn cached_query_step(mix: QueryMix, rate: u32) -> &'static Test {
    static CACHE: Mutex<Vec<&'static Test>> = Mutex::new(Vec::new());
    let name = query_step_name(mix, rate);
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(test) = cache.iter().find(|test| test.name == name) {
        return test;
    }
    let test: &'static Test = Box::leak(Box::new(query_step(name.leak(), mix, rate)));
    cache.push(test);
    test
}

/// Names of the steps in the benchmark's order: load, index, turn the table over, settle, then queries at
/// each rate.
pub fn sequence(rates: &[u32]) -> Vec<String> {
    let queries = |rate: &u32| [QueryMix::Range, QueryMix::Point].map(|mix| query_step_name(mix, *rate));
    let writes = ["l.i0", "l.x", "l.i1", "l.i2", "settle"].map(str::to_owned);
    writes.into_iter().chain(rates.iter().flat_map(queries)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_in_the_published_order_with_the_published_batches() {
        let order =
            ["l.i0", "l.x", "l.i1", "l.i2", "settle", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"];
        assert_eq!(sequence(&RATES), order);
        let queue = |name: &str| test_by_name(name).unwrap().queue.unwrap();
        let rows =
            ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp1000", "qr10"].map(|n| queue(n).rows_per_statement);
        assert_eq!(rows, [100, 100, 50, 5, 50, 50, 10]);
        assert_eq!(queue("l.x"), unlimited(100, false, true));
        assert_eq!(queue("qp500").rows_per_second, Some(500));
        assert!(tests().iter().all(|test| test.writes()));
        let kinds = |name: &str| test_by_name(name).unwrap().statements().map(|s| s.kind).collect::<Vec<_>>();
        assert_eq!(
            kinds("qr100"),
            ["insert", "delete", "min", "range-product", "range-register", "range-price"]
        );
        assert_eq!(kinds("qp250"), ["insert", "delete", "min", "point-10"]);
    }

    #[test]
    fn a_query_step_with_an_unpublished_rate_is_created_once() {
        let (first, second) = (test_by_name("qr250").unwrap(), test_by_name("qr250").unwrap());
        assert!(std::ptr::eq(first, second));
        assert_eq!(first.queue.unwrap().rows_per_second, Some(250));
        assert!(std::ptr::eq(test_by_name("qr100").unwrap(), &TESTS[4]));
    }
}
