//! Arms that take turns, on a real server: one at work at a time, all with the same events; what one does wrong is
//! told of that one.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use nix::time::ClockId;
use nix::unistd::Pid;
use rqps_driver::{
    Clients, CpuClock, Member, Observer, Pace, SliceSpec, StepError, StepResult, StepSpec, run_in_turns,
};
use rqps_model::{EndedBy, FixedWork, Limit, Warmup};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::Endpoint;
use rqps_wire::postgres::Connection;
use rqps_workloads::expect::TableState;
use rqps_workloads::microbenchmarks::test_by_name;
use rqps_workloads::{Dialect, dialect};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: u64 = 1_000;
const CLIENTS: u32 = 2;
/// Events of each client: two more than seven slices of them.
const SLICE: SliceSpec = SliceSpec { events: 10, guard_events: 1 };
const EVENTS: u64 = 72;

fn loaded() -> (Scratch, Endpoint) {
    let server = Scratch::start("18").unwrap();
    let endpoint = by_socket(&server);
    let mut admin = Connection::connect(&endpoint, "test").unwrap();
    let rows = format!(
        "INSERT INTO {} SELECT n, n, repeat('1', 119), repeat('2', 59) FROM generate_series(1, {ROWS}) n",
        dialect::table_name(1)
    );
    let sql = dialect::create_table(Dialect::Postgres, 1);
    for sql in sql.into_iter().chain([rows]).chain(dialect::finish_table(Dialect::Postgres, 1, ROWS)) {
        admin.query(&sql).unwrap();
    }
    (server, endpoint)
}

fn spec(test: &str) -> StepSpec {
    let each = |events: u64| vec![events; CLIENTS as usize];
    StepSpec {
        test: test_by_name(test).unwrap(),
        step: test.to_owned(),
        dialect: Dialect::Postgres,
        tables: 1,
        clients: CLIENTS,
        seed: 1,
        draws: 1,
        warmup: Warmup::Time(Duration::ZERO),
        limit: Limit::Work(FixedWork { warmup: each(5), window: each(EVENTS) }),
        removed_rows_max: None,
        pace: Pace::Closed,
        state: TableState { rows: ROWS, complete: true, concurrent_writes: true },
        flush: None,
        slice: Some(SLICE),
    }
}

fn member<'a>(endpoint: &'a Endpoint, test: &str) -> Member<'a> {
    Member { spec: spec(test), clients: Clients::new(|_| Connection::connect(endpoint, "test")) }
}

/// Notes whose turn it is.
struct Turn<'a> {
    member: usize,
    /// Who has the turn, and how many there were.
    at_work: &'a Cell<Option<usize>>,
    turns: Vec<Instant>,
    sessions: Vec<u32>,
    admin: Connection,
    /// Asks for the end in this turn.
    cancels_in: usize,
    /// Ends a session before this turn.
    kills_in: usize,
}

impl<'a> Turn<'a> {
    fn new(member: usize, at_work: &'a Cell<Option<usize>>, endpoint: &Endpoint) -> Self {
        let admin = Connection::connect(endpoint, "admin").unwrap();
        let never = usize::MAX;
        let (turns, sessions) = (Vec::new(), Vec::new());
        Self { member, at_work, turns, sessions, admin, cancels_in: never, kills_in: never }
    }
}

impl Observer for Turn<'_> {
    fn window_opens(&mut self, sessions: &[u32]) {
        assert_eq!(sessions.len(), CLIENTS as usize);
        self.sessions = sessions.to_vec();
    }
    fn session_clocks(&mut self) -> Vec<CpuClock> {
        let clock = |pid: &u32| -> CpuClock {
            let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(*pid as i32)).unwrap();
            Arc::new(move || clock.now().unwrap().tv_nsec() as u64)
        };
        self.sessions.iter().map(clock).collect()
    }
    fn slice_begins(&mut self) {
        assert_eq!(self.at_work.replace(Some(self.member)), None, "one at a time");
        if self.turns.len() == self.kills_in {
            self.admin.query(&format!("SELECT pg_terminate_backend({}, 10000)", self.sessions[0])).unwrap();
        }
    }
    fn slice_ends(&mut self) -> f64 {
        assert_eq!(self.at_work.replace(None), Some(self.member));
        self.turns.push(Instant::now());
        if self.turns.len() == 3 {
            // Long enough for the wish to end to be looked at.
            std::thread::sleep(Duration::from_millis(60));
        }
        self.turns.len() as f64
    }
    fn window_closes(&mut self) {
        assert_eq!(self.at_work.get(), None);
    }
    fn statistics_complete(&mut self) {}
    fn progress(&mut self, _phase: &'static str, _elapsed_s: f64, _events: u64) {}
    fn cancelled(&mut self) -> bool {
        self.turns.len() >= self.cancels_in
    }
    fn force(&mut self) {}
}

type Outcome = Result<Vec<StepResult>, (usize, StepError)>;

/// Three members in turns, after `set` has changed what their observers do. With who was last in each round.
fn three(endpoint: &Endpoint, test: &str, set: impl FnOnce(&mut [Turn<'_>])) -> (Outcome, Vec<usize>) {
    let at_work = Cell::new(None);
    let members: Vec<Member<'_>> = (0..3).map(|_| member(endpoint, test)).collect();
    let mut turns: Vec<Turn<'_>> = (0..3).map(|at| Turn::new(at, &at_work, endpoint)).collect();
    set(&mut turns);
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(turns.iter_mut().map(|turn| turn as &mut dyn Observer));
    let results = run_in_turns(&members, &mut observers);
    let rounds = turns.iter().map(|turn| turn.turns.len()).min().unwrap();
    let last = (0..rounds).map(|round| (0..3).max_by_key(|at| turns[*at].turns[round]).unwrap());
    (results, last.collect())
}

#[test]
fn every_member_does_the_same_events_in_turns_of_drawn_order() {
    let (_server, endpoint) = loaded();
    let (results, last) = three(&endpoint, "point-query", |_| ());
    let results = results.unwrap();
    assert_eq!(last.len(), 8, "the eighth has what is left");
    assert!((0..3).any(|member| last.iter().filter(|one| **one == member).count() < 8), "{last:?}");
    for result in &results {
        let all = EVENTS * u64::from(CLIENTS);
        assert_eq!((result.events, result.ended_by), (all, EndedBy::Work));
        assert_eq!(result.event_ns.len(), all);
        let counted: Vec<u64> = result.slices.iter().map(|slice| slice.events).collect();
        assert_eq!(counted, [18, 18, 18, 18, 18, 18, 18, 2], "without the guard");
        for (round, slice) in (1..).zip(&result.slices) {
            assert!(slice.elapsed_us > 0.0 && slice.client_cpu_us > 0.0, "{slice:?}");
            assert!(slice.sessions_cpu_us.unwrap() > 0.0, "{slice:?}");
            assert_eq!(slice.others_cpu_us, f64::from(round), "what the observer said of this turn");
        }
        let rate = result.events as f64 / result.elapsed.as_secs_f64();
        assert!(
            (rate / result.events_per_s - 1.0).abs() < 1e-6,
            "the pauses between turns are no part of it"
        );
    }
    let rows = |result: &StepResult| (result.rows, result.kinds[0].answers.rows);
    assert_eq!(rows(&results[0]), rows(&results[2]), "the same draws");
}

#[test]
fn a_lost_session_is_told_of_its_member_and_a_wish_to_end_ends_all() {
    let (_server, endpoint) = loaded();
    let (lost, _) = three(&endpoint, "point-query", |turns| turns[1].kills_in = 4);
    let (member, error) = lost.unwrap_err();
    assert!(member == 1 && matches!(error, StepError::Client { client: 0, .. }), "{member}: {error}");
    let (ended, last) = three(&endpoint, "point-query", |turns| turns[2].cancels_in = 3);
    let (member, error) = ended.unwrap_err();
    assert!(member == 2 && matches!(error, StepError::Cancelled) && last.len() < 8, "{member}: {error}");
}
