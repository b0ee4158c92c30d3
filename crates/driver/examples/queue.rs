//! Runs one step of the Insert Benchmark on the server of `rqps serve`, and nothing else.
//! `tools/insert-client-cost` measures its CPU time and instructions: two runs of different length give the
//! cost of a row or query.
//!
//! ```sh
//! cargo build --release -p rqps-driver --example queue
//! rqps serve postgres-18 -- target/release/examples/queue l.i0 100000
//! ```
//!
//! `l.i0 ROWS` starts with an empty table. Every other step uses the table that earlier steps left: `l.x`
//! with any number of rows, `qr100 SECONDS` and the like for that many seconds. The printed line ends with
//! the numbers of rows inserted, of statements of all kinds, and of queries.

use rqps_driver::Observer;
use rqps_driver::queue::{Positions, QueueSpec, Role, run_queue};
use rqps_model::{Limit, Pacer};
use rqps_wire::{Endpoint, Host, Session, mysql, postgres};
use rqps_workloads::Dialect;
use rqps_workloads::insert_benchmark::{DeleteForm, create_table, newest_number_sql, test_by_name};
use std::env::var;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [step, amount] = arguments.as_slice() else {
        return Err("usage: queue STEP ROWS|SECONDS".into());
    };
    let endpoint = Endpoint {
        host: Host::Unix(var("RQPS_HOST")?.into()),
        port: var("RQPS_PORT")?.parse()?,
        user: var("RQPS_USER")?,
        password: var("RQPS_PASSWORD")?,
        database: var("RQPS_DATABASE")?,
    };
    let amount = amount.parse()?;
    match var("RQPS_DBMS")?.as_str() {
        "postgres" => {
            run(Dialect::Postgres, step, amount, || postgres::Connection::connect(&endpoint, "queue"))
        }
        _ => run(Dialect::Mysql, step, amount, || mysql::Connection::connect(&endpoint, "queue")),
    }
}

fn run<S: Session>(
    dialect: Dialect,
    step: &str,
    amount: u64,
    connect: impl Fn() -> Result<S, rqps_wire::Error> + Sync,
) -> Result<(), Box<dyn Error>> {
    let test = test_by_name(step).ok_or_else(|| format!("no step `{step}`"))?;
    let queue = test.queue.ok_or("no queue")?;
    let mut session = connect()?;
    if step == "l.i0" {
        for sql in create_table(dialect, 1, None) {
            session.simple(&sql)?;
        }
    }
    let insert_from = session.number(&newest_number_sql(dialect, 1))?.map_or(0, |newest| newest as u64 + 1);
    drop(session);
    let rows = queue.rows_per_second.map_or(amount, |rate| u64::from(rate) * amount);
    let spec = QueueSpec {
        test,
        step: step.to_owned(),
        dialect,
        shared_table: false,
        seed: 1,
        draws: 1,
        delete_form: DeleteForm::In,
        pacer: Pacer::Even,
        positions: vec![Positions { insert_from, rows_to_insert: rows, rows_to_delete: rows }],
        limit: Limit::Rows(0),
        flush: None,
    };
    let (result, queue) = run_queue(&spec, |_| connect(), &mut Nobody)?;
    if let Some(why) = result.invalid {
        return Err(format!("invalid: {why}").into());
    }
    let stream = |role| queue.streams.iter().find(|stream| stream.role == role);
    let rows = stream(Role::Insert).map_or(0, |s| s.rows);
    let queries = stream(Role::Query).map_or(0, |s| s.statements);
    let seconds = result.elapsed.as_secs_f64();
    println!("{step} in {seconds:.3} s: rows, statements, queries: {rows} {} {queries}", result.statements);
    Ok(())
}

struct Nobody;

impl Observer for Nobody {
    fn window_opens(&mut self, _sessions: &[u32]) {}
    fn window_closes(&mut self) {}
    fn statistics_complete(&mut self) {}
    fn progress(&mut self, _phase: &'static str, _elapsed_s: f64, _events: u64) {}
    fn cancelled(&mut self) -> bool {
        false
    }
    fn force(&mut self) {}
}
