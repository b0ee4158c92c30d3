//! Arms that take turns, on a real server: one works at a time, all do the same events, and errors name the
//! arm.

#![allow(clippy::unwrap_used, reason = "a failed unwrap in a helper fails the test")]

mod common;

use nix::time::ClockId;
use nix::unistd::Pid;
use rqps_driver::{
    Clients, CpuClock, Member, Observer, StepError, StepResult, StepSpec, Turn, run_in_turns, run_step,
};
use rqps_model::{EndedBy, FixedWork, Limit, Warmup};
use rqps_wire::Endpoint;
use rqps_wire::postgres::Connection;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const ROWS: u64 = 1_000;
const CLIENTS: u32 = 2;
const TURN: Turn = Turn::Events(10);
/// Events of each client: seven slices and two more.
const EVENTS: u64 = 72;

fn spec(test: &str) -> StepSpec {
    let each = |events: u64| vec![events; CLIENTS as usize];
    StepSpec {
        clients: CLIENTS,
        limit: Limit::Work(FixedWork { warmup: each(5), window: each(EVENTS) }),
        turn: Some(TURN),
        ..common::spec(test, 1, ROWS)
    }
}

fn member<'a>(endpoint: &'a Endpoint, test: &str) -> Member<'a> {
    Member { spec: spec(test), clients: Clients::new(|_| Connection::connect(endpoint, "test")) }
}

/// Records the turns of a member.
struct Watch<'a> {
    member: usize,
    /// The member whose turn it is.
    at_work: &'a Cell<Option<usize>>,
    /// The ends of this member's turns.
    turns: Vec<Instant>,
    sessions: Vec<u32>,
    admin: Connection,
    /// Cancels the step after this many turns.
    cancels_in: usize,
    /// Terminates a session before the turn with this index.
    kills_in: usize,
}

impl<'a> Watch<'a> {
    fn new(member: usize, at_work: &'a Cell<Option<usize>>, endpoint: &Endpoint) -> Self {
        let admin = Connection::connect(endpoint, "admin").unwrap();
        let never = usize::MAX;
        let (turns, sessions) = (Vec::new(), Vec::new());
        Self { member, at_work, turns, sessions, admin, cancels_in: never, kills_in: never }
    }
}

impl Observer for Watch<'_> {
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
            // Longer than the interval at which the coordinator polls `cancelled`.
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

type Outcomes = Vec<Result<StepResult, StepError>>;

/// Runs three members in turns, after `set` has changed them and their observers. Also returns the last member of each
/// round.
fn run_three(
    endpoint: &Endpoint,
    test: &str,
    set: impl FnOnce(&mut [Member<'_>], &mut [Watch<'_>]),
) -> (Outcomes, Vec<usize>) {
    let at_work = Cell::new(None);
    let mut members: Vec<Member<'_>> = (0..3).map(|_| member(endpoint, test)).collect();
    let mut turns: Vec<Watch<'_>> = (0..3).map(|at| Watch::new(at, &at_work, endpoint)).collect();
    set(&mut members, &mut turns);
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(turns.iter_mut().map(|turn| turn as &mut dyn Observer));
    let results = run_in_turns(&members, &mut observers);
    let rounds = turns.iter().map(|turn| turn.turns.len()).min().unwrap();
    let last = (0..rounds).map(|round| (0..3).max_by_key(|at| turns[*at].turns[round]).unwrap());
    (results, last.collect())
}

#[test]
fn every_member_does_the_same_events_in_turns_of_random_order() {
    let (_server, endpoint, _) = common::loaded(1, ROWS);
    let (results, last) = run_three(&endpoint, "point-query", |_, _| ());
    let results: Vec<StepResult> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(last.len(), 8, "the eighth round has the rest");
    assert!((0..3).any(|member| last.iter().filter(|one| **one == member).count() < 8), "{last:?}");
    for result in &results {
        let all = EVENTS * u64::from(CLIENTS);
        assert_eq!((result.events, result.ended_by), (all, EndedBy::Work));
        assert_eq!(result.event_ns.len(), all);
        let counted: Vec<u64> = result.slices.iter().map(|slice| slice.events).collect();
        assert_eq!(counted, [18, 18, 18, 18, 18, 18, 18, 4], "without the guard; four events need none");
        for (round, slice) in (1..).zip(&result.slices) {
            assert!(slice.elapsed_us > 0.0 && slice.client_cpu_us > 0.0, "{slice:?}");
            assert!(slice.sessions_cpu_us.unwrap() > 0.0, "{slice:?}");
            assert_eq!(slice.others_cpu_us, f64::from(round), "returned by the observer");
        }
        let rate = result.events as f64 / result.elapsed.as_secs_f64();
        assert!((rate / result.events_per_s - 1.0).abs() < 1e-6, "pauses between turns are excluded");
    }
    let rows = |result: &StepResult| (result.rows, result.kinds[0].answers.rows);
    assert_eq!(rows(&results[0]), rows(&results[2]), "the same draws");
}

#[test]
fn by_time_all_members_do_the_events_of_the_first() {
    let (_server, endpoint, _) = common::loaded(1, ROWS);
    let time = Duration::from_millis(500);
    let (results, last) = run_three(&endpoint, "update-nonindex", |members, _| {
        for member in members {
            member.spec.limit = Limit::Time(time);
            member.spec.warmup = Warmup::Time(Duration::from_millis(100));
            member.spec.turn = Some(Turn::Time(Duration::from_millis(10)));
        }
    });
    let results: Vec<StepResult> = results.into_iter().map(Result::unwrap).collect();
    assert!((5..500).contains(&last.len()), "{} rounds", last.len());
    for result in &results {
        assert!(result.work.warmup.iter().all(|events| *events > 0), "{:?}", result.work);
        assert_eq!(result.work, results[0].work);
        assert_eq!((result.ended_by, result.slices.len()), (EndedBy::Time, last.len()));
        let seconds: f64 = result.series[0].values.iter().sum::<f64>() / result.events_per_s;
        assert!((seconds / result.elapsed.as_secs_f64() - 1.0).abs() < 0.01, "all events are in the series");
    }
    let spent: Duration = results.iter().map(|result| result.elapsed).sum();
    assert!((time..time * 6).contains(&spent), "{spent:?} on three members");
}

#[test]
fn the_first_member_s_share_of_rows_ends_the_step_after_the_same_events_of_all() {
    let (_server, endpoint, _) = common::loaded(1, ROWS);
    let (results, _) = run_three(&endpoint, "delete", |members, _| {
        for member in &mut *members {
            member.spec.limit = Limit::Time(Duration::from_secs(60));
            member.spec.warmup = Warmup::Time(Duration::ZERO);
            member.spec.turn = Some(Turn::Time(Duration::from_millis(1)));
        }
        members[0].spec.removed_rows_max = Some(ROWS / 4);
    });
    let results: Vec<StepResult> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(results[0].ended_by, EndedBy::Share);
    assert!(results.iter().all(|result| result.work == results[0].work), "{results:?}");
}

#[test]
fn a_member_that_fails_or_is_cancelled_drops_out_and_the_others_go_on_unless_they_are_cancelled_too() {
    let (_server, endpoint, _) = common::loaded(1, ROWS);
    let (lost, _) = run_three(&endpoint, "point-query", |_, turns| turns[1].kills_in = 4);
    let [Ok(first), Err(StepError::Client { client: 0, .. }), Ok(last)] = &lost[..] else {
        panic!("{lost:?}");
    };
    let all = EVENTS * u64::from(CLIENTS);
    assert_eq!([first.events, last.events], [all, all]);
    let (one, rounds) = run_three(&endpoint, "point-query", |_, turns| turns[2].cancels_in = 3);
    assert!(matches!(&one[..], [Ok(_), Ok(_), Err(StepError::Cancelled)]) && rounds.len() < 8, "{one:?}");
    let (ended, rounds) = run_three(&endpoint, "point-query", |_, turns| {
        turns.iter_mut().for_each(|turn| turn.cancels_in = 3);
    });
    assert!(
        ended.iter().all(|one| matches!(one, Err(StepError::Cancelled))) && rounds.len() < 8,
        "{ended:?}"
    );
}

#[test]
fn a_step_that_is_cancelled_while_one_member_connects_leaves_the_others_unconnected() {
    let (_server, endpoint, _) = common::loaded(1, ROWS);
    let connected = AtomicU32::new(0);
    let slowly = |_| {
        std::thread::sleep(Duration::from_millis(200));
        Connection::connect(&endpoint, "test")
    };
    let counted = |_| {
        connected.fetch_add(1, Ordering::Relaxed);
        Connection::connect(&endpoint, "test")
    };
    let members = [Clients::new(slowly), Clients::new(counted)]
        .map(|clients| Member { spec: spec("point-query"), clients });
    let at_work = Cell::new(None);
    let mut turns = [0, 1].map(|at| Watch::new(at, &at_work, &endpoint));
    turns.iter_mut().for_each(|turn| turn.cancels_in = 0);
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(turns.iter_mut().map(|turn| turn as &mut dyn Observer));
    let ended = run_in_turns(&members, &mut observers);
    assert!(ended.iter().all(|one| matches!(one, Err(StepError::Cancelled))), "{ended:?}");
    assert_eq!(connected.load(Ordering::Relaxed), 0);
}

#[test]
fn a_client_that_panics_ends_the_step() {
    let (_server, endpoint, _) = common::loaded(1, ROWS);
    let connect = |number: u32| {
        assert_eq!(number, 0, "a bug");
        Connection::connect(&endpoint, "test")
    };
    let spec = StepSpec { limit: Limit::Time(Duration::from_secs(1)), turn: None, ..spec("point-query") };
    let at_work = Cell::new(None);
    let ended = run_step(&spec, &Clients::new(connect), &mut Watch::new(0, &at_work, &endpoint));
    assert!(matches!(ended, Err(StepError::Panicked(1))), "{ended:?}");
}
