//! The real sysbench on real servers: every test runs, windows have exact ends, figures add up, errors
//! contain sysbench's own messages.

#![allow(clippy::unwrap_used, reason = "a failed unwrap in a helper fails the test")]

mod common;

use rqps_driver::sysbench::{Target, run};
use rqps_driver::{Observer, StepError, StepResult, StepSpec};
use rqps_model::{Dbms, EndedBy, FixedWork, Limit, Warmup};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::mysql;
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Host};
use rqps_workloads::microbenchmarks::tests;
use rqps_workloads::{Dialect, dialect};
use std::path::Path;
use std::time::{Duration, Instant};

const ROWS: u64 = 2_000;
const NAME: &str = "rqps client";
const TIMEOUT: Duration = Duration::from_secs(120);
/// A window that takes longer than any test.
const ENDLESS: Duration = Duration::from_secs(3600);

/// A server with two loaded tables.
fn loaded() -> (Scratch, Endpoint, Connection) {
    common::loaded(2, ROWS)
}

fn spec(test: &str, limit: Limit) -> StepSpec {
    StepSpec { limit, ..common::spec(test, 2, ROWS) }
}

/// Checks the sessions at both ends of the window.
struct SessionCheck<'a> {
    admin: &'a mut Connection,
    client: u32,
    sessions: Vec<u32>,
    warm_sessions: Vec<u32>,
    closed: bool,
    /// Cancels the step this many seconds after the window opened.
    cancels_at: f64,
    /// Has the server terminate a session once the window is open.
    terminates_a_session: bool,
    asked_to_end_statements: bool,
}

impl<'a> SessionCheck<'a> {
    fn new(admin: &'a mut Connection) -> Self {
        Self {
            admin,
            client: 0,
            sessions: Vec::new(),
            warm_sessions: Vec::new(),
            closed: false,
            cancels_at: f64::INFINITY,
            terminates_a_session: false,
            asked_to_end_statements: false,
        }
    }

    /// Waits until all sessions are idle, which they report a moment after the client has its answer, and
    /// checks that they stay so.
    fn all_stay_idle(&mut self) {
        let sql = format!(
            "SELECT pid, state, state_change FROM pg_stat_activity WHERE application_name = '{NAME}' ORDER BY pid"
        );
        let mut expected = self.sessions.clone();
        expected.sort_unstable();
        let deadline = Instant::now() + TIMEOUT;
        let idle = loop {
            let seen = self.admin.query(&sql).unwrap().rows;
            let is_idle = |row: &Vec<Option<String>>| row[1].as_deref() == Some("idle");
            let pids = seen.iter().map(|row| row[0].clone().unwrap().parse::<u32>().unwrap());
            // Sessions of the warm-up may not have ended yet.
            if pids.eq(expected.iter().copied()) && seen.iter().all(is_idle) {
                break seen;
            }
            assert!(Instant::now() < deadline, "{seen:?}, not {expected:?}");
            std::thread::sleep(Duration::from_millis(5));
        };
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(self.admin.query(&sql).unwrap().rows, idle);
        let command = std::fs::read_to_string(format!("/proc/{}/cmdline", self.client)).unwrap();
        assert!(command.contains("--config-file=") && !command.contains("-password="), "{command}");
    }
}

impl Observer for SessionCheck<'_> {
    fn client_process(&mut self, pid: u32) {
        self.client = pid;
    }
    fn sessions_ended(&mut self, sessions: &[u32]) {
        self.warm_sessions = sessions.to_vec();
    }
    fn window_opens(&mut self, sessions: &[u32]) {
        self.sessions = sessions.to_vec();
        self.all_stay_idle();
    }
    fn window_closes(&mut self) {
        self.closed = true;
        self.all_stay_idle();
    }
    fn statistics_complete(&mut self) {
        assert!(!Path::new(&format!("/proc/{}", self.client)).exists());
    }
    fn progress(&mut self, phase: &'static str, elapsed_s: f64, _events: u64) {
        if phase == "measure" && elapsed_s >= self.cancels_at {
            self.cancels_at = 0.0;
        }
        if phase == "measure" && std::mem::take(&mut self.terminates_a_session) {
            self.admin.query(&format!("SELECT pg_terminate_backend({})", self.sessions[0])).unwrap();
        }
    }
    fn cancelled(&mut self) -> bool {
        self.cancels_at == 0.0
    }
    fn end_statements(&mut self) {
        self.asked_to_end_statements = true;
    }
    fn force(&mut self) {}
}

/// Queries of each second of the window.
fn each_second(result: &StepResult) -> &[f64] {
    &result.series.iter().find(|series| series.name == "queries").unwrap().values
}

/// A MySQL or MariaDB server with two loaded tables.
fn loaded_mysql(dbms: Dbms, version: &str) -> (Scratch, Endpoint) {
    let server = Scratch::start_of(dbms, version, |_spec| {}).unwrap();
    let endpoint = by_socket(&server);
    let mut admin = mysql::Connection::connect(&endpoint, "test").unwrap();
    let rows: Vec<_> =
        (1..=ROWS).map(|n| format!("({n},{n},'{}','{}')", "1".repeat(119), "2".repeat(59))).collect();
    for table in 1..=2 {
        let filled = format!("INSERT INTO {} VALUES {}", dialect::table_name(table), rows.join(","));
        let sql = dialect::create_table(Dialect::Mysql, table);
        for sql in sql.into_iter().chain([filled]).chain(dialect::finish_table(Dialect::Mysql, table, ROWS)) {
            admin.query(&sql).unwrap();
        }
    }
    (server, endpoint)
}

/// Runs every test, in an order in which only `insert` runs after `delete`.
fn every_test_runs(mut step: impl FnMut(&StepSpec) -> Result<StepResult, StepError>) {
    for test in tests() {
        let result = step(&spec(test.name, Limit::Events(7)));
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", test.name));
        assert_eq!((result.events, result.ended_by), (7, EndedBy::Work), "{}", test.name);
        assert_eq!(result.work.window.iter().sum::<u64>(), 7);
        assert_eq!(result.event_ns.len(), 7, "{}", test.name);
        if result.retries.is_empty() {
            assert_eq!(result.queries, 7 * u64::from(test.queries_per_event()), "{}", test.name);
            assert_eq!(result.statements, 7 * u64::from(test.statements_per_event()), "{}", test.name);
        }
        if test.writes() && test.name != "delete" {
            // A client may delete the row that the other has just deleted.
            assert!(result.noop_statements <= 2 && result.changed_rows > 0, "{}: {result:?}", test.name);
        }
        assert_eq!(each_second(&result).iter().sum::<f64>(), result.queries as f64, "{}", test.name);
    }
}

#[test]
fn every_test_runs_on_postgres_with_idle_sessions_at_both_ends() {
    let (_server, endpoint, mut admin) = loaded();
    let target = Target::postgres(&endpoint, NAME);
    every_test_runs(|spec| run(spec, &target, &mut SessionCheck::new(&mut admin)));
}

#[test]
fn every_test_runs_on_mysql_and_mariadb() {
    for (dbms, version) in [(Dbms::Mysql, "8.0.31"), (Dbms::Mariadb, "10.11")] {
        let (_server, endpoint) = loaded_mysql(dbms, version);
        let target = Target::mysql(&endpoint);
        every_test_runs(|spec| run(spec, &target, &mut Quiet));
        let missing = StepSpec { tables: 3, ..spec("update-inlist", Limit::Events(9)) };
        let error = run(&missing, &target, &mut Quiet).unwrap_err();
        assert!(error.to_string().contains("sbtest3' doesn't exist"), "{error}");
    }
}

/// Checks only the sessions' ids.
struct Quiet;

impl Observer for Quiet {
    fn window_opens(&mut self, sessions: &[u32]) {
        assert!(sessions.len() == 2 && sessions[0] != sessions[1] && !sessions.contains(&0), "{sessions:?}");
    }
    fn window_closes(&mut self) {}
    fn statistics_complete(&mut self) {}
    fn progress(&mut self, _phase: &'static str, _elapsed_s: f64, _events: u64) {}
    fn cancelled(&mut self) -> bool {
        false
    }
    fn force(&mut self) {}
}

#[test]
fn a_window_by_time_has_the_right_length_and_excludes_the_warm_up() {
    let (_server, endpoint, mut admin) = loaded();
    let calls = "SELECT sum(idx_scan)::bigint FROM pg_stat_user_indexes WHERE indexrelname = 'sbtest1_pkey'";
    let mut looks = SessionCheck::new(&mut admin);
    let mut one = spec("point-query", Limit::Time(Duration::from_millis(1300)));
    (one.tables, one.warmup) = (1, Warmup::Time(Duration::from_millis(300)));
    let result = run(&one, &Target::postgres(&endpoint, NAME), &mut looks).unwrap();
    assert_eq!(looks.warm_sessions.len(), 2);
    assert!(looks.warm_sessions.iter().all(|pid| !looks.sessions.contains(pid)));
    let elapsed = result.elapsed.as_secs_f64();
    assert!(elapsed > 1.29, "{elapsed}");
    assert_eq!((result.ended_by, result.queries), (EndedBy::Time, result.events));
    let seconds = each_second(&result).len();
    assert!(seconds >= 2 && seconds <= elapsed.ceil() as usize, "{elapsed} s: {:?}", each_second(&result));
    // The two clients are busy nearly all the time.
    let (mean, all) = (result.event_ns.mean(), elapsed * 2e9 / result.events as f64);
    assert!(mean < all * 1.05 && mean > all * 0.3, "{mean} {all}");
    // The server has counted exactly the events of warm-up and window.
    let warm: u64 = result.work.warmup.iter().sum();
    assert!(warm > 0);
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let scans: u64 = admin.query(calls).unwrap().value().unwrap().parse().unwrap();
        if scans == warm + result.events {
            break;
        }
        assert!(Instant::now() < deadline, "{scans} index scans, {warm} + {} events", result.events);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn fixed_work_is_repeated_and_deletes_end_at_their_share() {
    let (_server, endpoint, mut admin) = loaded();
    let work = FixedWork { warmup: vec![3, 8], window: vec![40, 60] };
    let mut looks = SessionCheck::new(&mut admin);
    let result =
        run(&spec("update-index", Limit::Work(work)), &Target::postgres(&endpoint, NAME), &mut looks);
    let result = result.unwrap();
    assert_eq!((result.events, result.work.warmup.iter().sum::<u64>()), (100, 11));
    let mut deletes = spec("delete", Limit::Time(ENDLESS));
    deletes.removed_rows_max = Some(ROWS);
    deletes.warmup = Warmup::Time(Duration::from_millis(20));
    let mut looks = SessionCheck::new(&mut admin);
    let result = run(&deletes, &Target::postgres(&endpoint, NAME), &mut looks).unwrap();
    assert_eq!(result.ended_by, EndedBy::Share);
    // Half of both tables, within random variation.
    let removed = result.removed_rows as f64 / ROWS as f64;
    assert!((0.93..1.07).contains(&removed), "{removed}");
    let left = admin.query("SELECT (SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2)").unwrap();
    assert_eq!(left.value().unwrap(), (2 * ROWS - result.removed_rows).to_string());
    assert_eq!(result.noop_statements + result.changed_rows, result.events);
}

#[test]
fn errors_contain_sysbenchs_messages_and_a_cancelled_step_leaves_no_client() {
    let (_server, endpoint, mut admin) = loaded();
    let mut looks = SessionCheck::new(&mut admin);
    // Each event draws one of three tables, so some of 1,000 hit the missing one.
    let mut missing = spec("update-inlist", Limit::Events(1_000));
    missing.tables = 3;
    let error = run(&missing, &Target::postgres(&endpoint, NAME), &mut looks).unwrap_err();
    assert!(error.to_string().contains("relation \"sbtest3\" does not exist"), "{error}");
    let nowhere = Endpoint { host: Host::Unix("/nowhere".into()), ..endpoint.clone() };
    let error =
        run(&spec("scan", Limit::Events(10)), &Target::postgres(&nowhere, NAME), &mut looks).unwrap_err();
    assert!(error.to_string().contains("/nowhere"), "{error}");
    assert!(matches!(&error, StepError::Sysbench(error) if error.lost_server()), "{error}");
    looks.cancels_at = 0.3;
    let cancelled = run(&spec("scan", Limit::Time(ENDLESS)), &Target::postgres(&endpoint, NAME), &mut looks);
    assert!(matches!(cancelled, Err(StepError::Cancelled)), "{cancelled:?}");
    assert!(looks.asked_to_end_statements && !looks.closed);
    assert!(!Path::new(&format!("/proc/{}", looks.client)).exists());
    // A session lost in the window fails the step.
    looks.cancels_at = f64::INFINITY;
    looks.terminates_a_session = true;
    let lost =
        run(&spec("point-query", Limit::Time(ENDLESS)), &Target::postgres(&endpoint, NAME), &mut looks);
    assert!(matches!(&lost, Err(StepError::Sysbench(error)) if error.lost_server()), "{lost:?}");
}
