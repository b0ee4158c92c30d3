//! The parameters of a step, and the interface to its observer.

use crate::users::Users;
use rqps_model::{Limit, Warmup};
use rqps_workloads::expect::TableState;
use rqps_workloads::{Dialect, Test};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct StepSpec {
    /// The test whose events are repeated.
    pub test: &'static Test,
    /// The step's name; part of the seed, so that two steps of one test draw different keys.
    pub step: String,
    pub dialect: Dialect,
    pub tables: u32,
    /// Threads, each with one session.
    pub clients: u32,
    pub seed: u64,
    /// Part of the seed. A step that is repeated on data that a first attempt has changed gets another
    /// number, so that it does not hit the same keys again; steps that must do the same work get the same
    /// number.
    pub draws: u32,
    pub warmup: Warmup,
    pub limit: Limit,
    /// The window ends once one client has removed its share of this many rows (total over all clients).
    pub removed_rows_max: Option<u64>,
    pub pace: Pace,
    /// The tables' expected content.
    pub state: TableState,
    /// For TPROC-C: clients run its transactions instead of the test's statements.
    pub users: Option<Users>,
    /// How sessions flush their statistics before the window, and after it if they stay connected.
    pub flush: Option<Flush>,
    /// The length of a turn, if arms take turns ([`crate::run_in_turns`]).
    pub turn: Option<Turn>,
}

impl StepSpec {
    /// Whether sessions stay after the window: with fixed work, which they may have to finish, and if arms take turns.
    pub fn has_tail(&self) -> bool {
        self.turn.is_some() || !matches!(self.limit, Limit::Time(_))
    }
}

/// How long a turn is; the last of a window may be shorter. A tenth of its events come before its slice, uncounted:
/// caches are cold after another arm's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// This many events of each client.
    Events(u64),
    /// As many events as the first arm does in this time, of which its warm-up and first turns give an estimate.
    Time(Duration),
}

/// Reads the CPU time of a process or thread, in ns.
pub type CpuClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How sessions that stay connected flush their statistics to the server. Sessions that end do so anyway.
#[derive(Debug, Clone)]
pub struct Flush {
    /// Idle time after the last statement.
    pub idle: Duration,
    /// Run by each session after the idle time.
    pub sql: String,
}

/// Closed or open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Each client sends its next event when the last one is answered.
    Closed,
    /// Events are due at even intervals, however long answers take; the rate is the total of all clients.
    EventsPerSecond(f64),
}

/// Callbacks of a step, called from the thread that runs it. Unless stated otherwise, all clients wait
/// meanwhile.
pub trait Observer {
    /// The clients run in another process, which exists from before the window opens until after it has
    /// closed.
    fn client_process(&mut self, _pid: u32) {}
    /// The clients run in these threads of this process (kernel thread ids).
    fn client_threads(&mut self, _threads: &[u32]) {}
    /// The window is open. Returns a clock for the process or thread that serves each session, or nothing if
    /// there are no such clocks. Client threads read them at both ends of each slice.
    fn session_clocks(&mut self) -> Vec<CpuClock> {
        Vec::new()
    }
    /// Only for arms that take turns: what runs until [`Observer::turn_ends`] is this arm's warm-up or slice, or, after
    /// this call to all arms, the flushes and counters of each.
    fn turn_begins(&mut self) {}
    /// Other arms take their turns.
    fn turn_ends(&mut self) {}
    /// This arm's slice begins: its clients run once this returns.
    fn slice_begins(&mut self) {}
    /// This arm's slice is over. Returns the CPU time that other processes of the instance used during it, in
    /// us.
    fn slice_ends(&mut self) -> f64 {
        0.0
    }
    /// The warm-up's sessions have ended; the window will use new ones.
    fn sessions_ended(&mut self, _sessions: &[u32]) {}
    /// All sessions are connected and warm; `sessions` are their ids on the server, in client order. The
    /// window opens when this returns.
    fn window_opens(&mut self, sessions: &[u32]);
    /// The window has just closed.
    fn window_closes(&mut self);
    /// Only for arms that take turns: the sessions of all arms have flushed their statistics; `window_opens`
    /// or `statistics_complete` of each arm follows. An observer can do here what all arms would otherwise
    /// wait for in turn.
    fn sessions_handed_in(&mut self) {}
    /// All sessions have flushed their statistics: by [`Flush`] if events remain to be done, else by ending.
    fn statistics_complete(&mut self);
    /// Called several times a second while clients work, with the phase's name, the seconds since it began
    /// and the events so far.
    fn progress(&mut self, phase: &'static str, elapsed_s: f64, events: u64);
    /// Returns true if the step must stop soon.
    fn cancelled(&mut self) -> bool;
    /// Clients still run statements after the step was cancelled or has failed: ask the server to cancel
    /// them. Must not block.
    fn end_statements(&mut self) {}
    /// Clients still hang: end their statements, if need be by stopping the server.
    fn force(&mut self);
}
