//! Test fixtures: a server with tables, step specs, and an observer.

use rqps_driver::queue::{Positions, QueueResult, QueueSpec, run_queue};
use rqps_driver::{Observer, StepError, StepResult};
use rqps_model::{Dbms, Limit, Pacer};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::{Endpoint, Session, Table, mysql, postgres};
use rqps_workloads::Dialect;
use rqps_workloads::insert_benchmark::{
    DeleteForm, Position, Sizes, Stretch, create_table, stretches, test_by_name,
};
use std::time::{Duration, Instant};

/// The application name of sessions.
const NAME: &str = "rqps client";
/// The seed of all steps.
pub const SEED: u64 = 7;
/// Rows that [`Lab::filled`] loads in the tests of failures and rates.
pub const ROWS: u64 = 2000;
/// The position of a queue filled with [`ROWS`] rows and indexed.
pub const FILLED: Position = Position { statements: 21, inserted: ROWS + 100, deleted: 0 };

/// Either protocol's connection.
pub trait Client: Session + Sized {
    const DIALECT: Dialect;
    /// Counts the sessions that steps have left behind.
    const LEFT: &str;
    fn open(endpoint: &Endpoint, name: &str) -> Result<Self, rqps_wire::Error>;
    fn table(&mut self, sql: &str) -> Table;
}

impl Client for postgres::Connection {
    const DIALECT: Dialect = Dialect::Postgres;
    const LEFT: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rqps client'";
    fn open(endpoint: &Endpoint, name: &str) -> Result<Self, rqps_wire::Error> {
        Self::connect(endpoint, name)
    }
    fn table(&mut self, sql: &str) -> Table {
        self.query(sql).unwrap()
    }
}

impl Client for mysql::Connection {
    const DIALECT: Dialect = Dialect::Mysql;
    const LEFT: &str = "SELECT count(*) - 1 FROM information_schema.processlist \
                        WHERE db = database() AND command <> 'Daemon'";
    fn open(endpoint: &Endpoint, name: &str) -> Result<Self, rqps_wire::Error> {
        Self::connect(endpoint, name)
    }
    fn table(&mut self, sql: &str) -> Table {
        self.query(sql).unwrap()
    }
}

/// A server and an administrative connection to it.
pub struct Lab<C> {
    _server: Scratch,
    pub endpoint: Endpoint,
    pub admin: C,
}

pub fn postgres() -> Lab<postgres::Connection> {
    Lab::start(Dbms::Postgres, "18")
}

impl<C: Client> Lab<C> {
    pub fn start(dbms: Dbms, version: &str) -> Self {
        let server = Scratch::start_of(dbms, version, |_spec| {}).unwrap();
        let endpoint = by_socket(&server);
        let admin = C::open(&endpoint, "admin").unwrap();
        Self { _server: server, endpoint, admin }
    }

    pub fn create(&mut self, tables: std::ops::RangeInclusive<u32>) {
        for sql in tables.flat_map(|table| create_table(C::DIALECT, table, None)) {
            self.admin.simple(&sql).unwrap();
        }
    }

    /// One client's table, filled and indexed.
    pub fn filled(mut self, rows: u64) -> Self {
        self.create(1..=1);
        for stretch in planned(["l.i0", "l.x"], rows, 1) {
            self.run(&spec::<C>(&stretch, 1), &mut Watch::default()).unwrap();
        }
        self
    }

    pub fn run(
        &self,
        spec: &QueueSpec,
        observer: &mut dyn Observer,
    ) -> Result<(StepResult, QueueResult), StepError> {
        let endpoint = &self.endpoint;
        run_queue(spec, |_| C::open(endpoint, NAME), observer)
    }

    pub fn number(&mut self, sql: &str) -> i64 {
        self.admin.number(sql).unwrap().unwrap()
    }

    pub fn text(&mut self, sql: &str) -> String {
        self.admin.table(sql).value().unwrap().to_owned()
    }

    /// Waits until the server has ended all sessions of steps, which takes a moment.
    pub fn no_session_is_left(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while self.number(C::LEFT) > 0 {
            assert!(Instant::now() < deadline, "{:?}", self.admin.table(C::LEFT));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Stretches of these steps, starting with an empty table; query steps last a second.
pub fn planned<const N: usize>(steps: [&str; N], load_rows: u64, clients: u32) -> Vec<Stretch> {
    let sizes = Sizes { load_rows, write_rows: 503, query_seconds: 1, clients, shared_table: false };
    stretches(steps.map(|name| test_by_name(name).unwrap()), &sizes)
}

/// The step that does all of a stretch.
pub fn spec<C: Client>(stretch: &Stretch, clients: usize) -> QueueSpec {
    let Stretch { test, from, to } = *stretch;
    QueueSpec {
        test,
        step: test.name.to_owned(),
        dialect: C::DIALECT,
        shared_table: false,
        seed: SEED,
        draws: 1,
        delete_form: DeleteForm::In,
        pacer: Pacer::Even,
        positions: vec![
            Positions {
                insert_from: from.statements,
                rows_to_insert: to.inserted - from.inserted,
                rows_to_delete: to.deleted - from.deleted,
            };
            clients
        ],
        limit: Limit::Rows(0),
        flush: None,
    }
}

/// A step of one client that takes far longer than any test.
pub fn endless<C: Client>(name: &str, from: Position) -> QueueSpec {
    let test = test_by_name(name).unwrap();
    let to = Position { inserted: from.inserted + 100_000_000, deleted: from.deleted + 100_000_000, ..from };
    spec::<C>(&Stretch { test, from, to }, 1)
}

/// Called while the window is open, with the sessions and the seconds since it opened; returns true to cancel
/// the step.
type WhenOpen<'a> = Box<dyn FnMut(&[u32], f64) -> bool + 'a>;

/// Cancels the statements of these sessions.
type CancelStatements<'a> = Box<dyn FnMut(&[u32]) + 'a>;

/// An observer that records its calls.
#[derive(Default)]
pub struct Watch<'a> {
    pub sessions: Vec<u32>,
    pub calls: Vec<&'static str>,
    pub when_open: Option<WhenOpen<'a>>,
    pub cancel_statements: Option<CancelStatements<'a>>,
    pub cancelled: bool,
}

impl Observer for Watch<'_> {
    fn window_opens(&mut self, sessions: &[u32]) {
        self.sessions = sessions.to_vec();
        self.calls.push("opens");
    }
    fn window_closes(&mut self) {
        self.calls.push("closes");
    }
    fn statistics_complete(&mut self) {
        self.calls.push("complete");
    }
    fn progress(&mut self, phase: &'static str, elapsed_s: f64, _events: u64) {
        if let (Some(act), "measure") = (&mut self.when_open, phase) {
            self.cancelled |= act(&self.sessions, elapsed_s);
        }
    }
    fn cancelled(&mut self) -> bool {
        self.cancelled
    }
    fn end_statements(&mut self) {
        self.calls.push("end");
        if let Some(cancel) = &mut self.cancel_statements {
            cancel(&self.sessions);
        }
    }
    fn force(&mut self) {
        self.calls.push("force");
    }
}
