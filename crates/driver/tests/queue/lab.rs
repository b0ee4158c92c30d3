//! A server with empty tables, and steps on it.

use rqps_driver::queue::{Positions, QueueResult, QueueSpec, run_queue};
use rqps_driver::{Observer, StepError, StepResult};
use rqps_model::Pacer;
use rqps_model::{Dbms, Limit};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::{Endpoint, Session, Table, mysql, postgres};
use rqps_workloads::Dialect;
use rqps_workloads::insert_benchmark::{
    DeleteForm, Position, Sizes, Stretch, create_table, stretches, test_by_name,
};
use std::time::{Duration, Instant};

/// What sessions call themselves.
pub const NAME: &str = "rqps client";
/// The seed of all steps.
pub const SEED: u64 = 7;

/// Either protocol's connection.
pub trait Client: Session + Sized {
    const DIALECT: Dialect;
    /// Asks for the number of sessions that steps have left.
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

/// A server, and a connection that looks at it.
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

    /// Sessions say goodbye, and the server takes a moment to see them off.
    pub fn no_session_is_left(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while self.number(C::LEFT) > 0 {
            assert!(Instant::now() < deadline, "{:?}", self.admin.table(C::LEFT));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Stretches of these steps from the empty table on; query steps last a second.
pub fn planned<const N: usize>(steps: [&str; N], load_rows: u64, clients: u32) -> Vec<Stretch> {
    let sizes = Sizes { load_rows, write_rows: 503, query_seconds: 1, clients, shared_table: false };
    stretches(steps.map(|name| test_by_name(name).unwrap()), &sizes)
}

/// The step that goes all of a stretch.
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

/// A step of one client that would take far longer than any test.
pub fn endless<C: Client>(name: &str, from: Position) -> QueueSpec {
    let test = test_by_name(name).unwrap();
    let to = Position { inserted: from.inserted + 100_000_000, deleted: from.deleted + 100_000_000, ..from };
    spec::<C>(&Stretch { test, from, to }, 1)
}

/// Does something while the window is open: it is given the sessions and the window's age; true asks for the end.
type WhenOpen<'a> = Box<dyn FnMut(&[u32], f64) -> bool + 'a>;

/// Ends statements of these sessions.
type WhenStatementsMustEnd<'a> = Box<dyn FnMut(&[u32]) + 'a>;

/// Notes what it is told.
#[derive(Default)]
pub struct Watch<'a> {
    pub sessions: Vec<u32>,
    pub told: Vec<&'static str>,
    pub when_open: Option<WhenOpen<'a>>,
    pub when_statements_must_end: Option<WhenStatementsMustEnd<'a>>,
    pub cancelled: bool,
}

impl Observer for Watch<'_> {
    fn window_opens(&mut self, sessions: &[u32]) {
        self.sessions = sessions.to_vec();
        self.told.push("opens");
    }
    fn window_closes(&mut self) {
        self.told.push("closes");
    }
    fn statistics_complete(&mut self) {
        self.told.push("complete");
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
        self.told.push("end");
        if let Some(end) = &mut self.when_statements_must_end {
            end(&self.sessions);
        }
    }
    fn force(&mut self) {
        self.told.push("force");
    }
}
