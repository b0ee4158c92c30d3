//! Runs one prepared statement with one integer parameter many times and nothing else, for counting
//! instructions. Two runs with different counts give the cost of one query.
//!
//! ```sh
//! cargo build --release -p rqps-wire --example point_query
//! perf stat -e instructions:u target/release/examples/point_query \
//!     postgres /run/db 5432 bench secret bench 'SELECT c FROM sbtest1 WHERE id = $1' 100000
//! ```
//!
//! For MySQL and MariaDB, the first argument is `mysql`, and the placeholder is a question mark.

use std::error::Error;

use rqps_wire::{Endpoint, Host, ParamType, Params, Session, mysql, postgres};

/// Parameters cycle through the values from 1 to this.
const KEYS: i64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dbms, directory, port, user, password, database, sql, count] = arguments.as_slice() else {
        return Err("usage: point_query DBMS SOCKET_DIR PORT USER PASSWORD DATABASE SQL COUNT".into());
    };
    let endpoint = Endpoint {
        host: Host::Unix(directory.into()),
        port: port.parse()?,
        user: user.clone(),
        password: password.clone(),
        database: database.clone(),
    };
    let count: u64 = count.parse()?;
    let rows = match dbms.as_str() {
        "postgres" => run(postgres::Connection::connect(&endpoint, "point_query")?, sql, count)?,
        "mysql" => run(mysql::Connection::connect(&endpoint, "point_query")?, sql, count)?,
        _ => return Err(format!("unknown DBMS {dbms}: use postgres or mysql").into()),
    };
    println!("{count} queries, {rows} rows");
    Ok(())
}

/// Runs the query `count` times; returns the number of rows.
fn run<S: Session>(mut session: S, sql: &str, count: u64) -> Result<u64, rqps_wire::Error> {
    let statement = session.prepare(sql, &[ParamType::Int8])?;
    let mut params = Params::<S::Encoding>::new();
    let mut rows = 0;
    let mut key = 0;
    for _ in 0..count {
        key = if key == KEYS { 1 } else { key + 1 };
        params.clear();
        params.push_int(key);
        rows += session.execute(&statement, &params)?.rows;
    }
    Ok(rows)
}
