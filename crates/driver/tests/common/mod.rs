//! Test fixtures: a Postgres server with loaded tables, and the spec of a step on them.

use rqps_driver::{Pace, StepSpec};
use rqps_model::{Limit, Warmup};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::Endpoint;
use rqps_wire::postgres::Connection;
use rqps_workloads::expect::TableState;
use rqps_workloads::microbenchmarks::test_by_name;
use rqps_workloads::{Dialect, dialect};
use std::time::Duration;

/// A server with tables 1 to `tables`, each with `rows` rows, and a connection to it.
pub fn loaded(tables: u32, rows: u64) -> (Scratch, Endpoint, Connection) {
    let server = Scratch::start("18").unwrap();
    let endpoint = by_socket(&server);
    let mut admin = Connection::connect(&endpoint, "test").unwrap();
    for table in 1..=tables {
        let name = dialect::table_name(table);
        let load = format!(
            "INSERT INTO {name} SELECT n, n, repeat('1', 119), repeat('2', 59) FROM generate_series(1, {rows}) n"
        );
        let create = dialect::create_table(Dialect::Postgres, table);
        let finish = dialect::finish_table(Dialect::Postgres, table, rows);
        for sql in create.into_iter().chain([load]).chain(finish) {
            admin.query(&sql).unwrap();
        }
    }
    (server, endpoint, admin)
}

/// A step of two clients without warm-up and without any events.
pub fn spec(test: &str, tables: u32, rows: u64) -> StepSpec {
    StepSpec {
        test: test_by_name(test).unwrap(),
        step: test.to_owned(),
        dialect: Dialect::Postgres,
        tables,
        clients: 2,
        seed: 1,
        draws: 1,
        warmup: Warmup::Time(Duration::ZERO),
        limit: Limit::Events(0),
        removed_rows_max: None,
        pace: Pace::Closed,
        state: TableState { rows, complete: true, concurrent_writes: true },
        users: None,
        flush: None,
        turn: None,
    }
}
