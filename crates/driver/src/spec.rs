//! What a step is asked to do, and who watches it.

use rqps_model::{Limit, Warmup};
use rqps_workloads::expect::TableState;
use rqps_workloads::{Dialect, Test};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct StepSpec {
    /// The test whose events are repeated.
    pub test: &'static Test,
    /// The step's name: part of the seed, so that two steps of one test don't repeat the same keys.
    pub step: String,
    pub dialect: Dialect,
    pub tables: u32,
    /// Clients: threads, each with one session.
    pub clients: u32,
    pub seed: u64,
    /// Part of the seed. A step that is repeated on data which a first attempt has already changed takes
    /// another number, so as not to meet its own traces; two steps that are to do the same take the same one.
    pub draws: u32,
    pub warmup: Warmup,
    pub limit: Limit,
    /// End the window when one client has removed its share of this many rows (all clients together).
    pub removed_rows_max: Option<u64>,
    /// Closed or open loop.
    pub pace: Pace,
    /// What is known of the tables.
    pub state: TableState,
    /// How sessions hand in their statistics before the window, and after it when they go on.
    pub flush: Option<Flush>,
    /// What a turn is, where arms take turns ([`crate::run_in_turns`]).
    pub slice: Option<SliceSpec>,
}

/// What each client does in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceSpec {
    /// Events; the last slice of a window has what is left.
    pub events: u64,
    /// Of these, how many come first and are not part of the slice's figures: caches are cold after another arm's turn.
    pub guard_events: u64,
}

/// Reads the CPU time that a process or thread has used, in nanoseconds.
pub type CpuClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How sessions that go on are made to hand their statistics to the server. Sessions that end do so by themselves.
#[derive(Debug, Clone)]
pub struct Flush {
    /// Stand still for this long after the last statement.
    pub idle: Duration,
    /// Then each session runs this.
    pub sql: String,
}

/// Closed or open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Each client sends its next event when the last is answered.
    Closed,
    /// Events are due at even intervals, whatever the answers take; all clients together reach this rate.
    EventsPerSecond(f64),
}

/// Called from the thread that runs the step, while all clients stand still unless said otherwise.
pub trait Observer {
    /// The clients are not this process but another one, which lives from before the window opens until after it has
    /// closed.
    fn client_process(&mut self, _pid: u32) {}
    /// The clients are these threads of this process, by their ids in the kernel.
    fn client_threads(&mut self, _threads: &[u32]) {}
    /// The window is open. Gives the clocks of the processes or threads that serve the sessions, one for each; none
    /// where there are none for them. Clients' threads read them at both ends of each slice.
    fn session_clocks(&mut self) -> Vec<CpuClock> {
        Vec::new()
    }
    /// It is this arm's turn: its clients go on when this returns.
    fn slice_begins(&mut self) {}
    /// Its clients stand again. Gives the CPU time that other processes of the instance used meanwhile, microseconds.
    fn slice_ends(&mut self) -> f64 {
        0.0
    }
    /// The warm-up's sessions have ended, and the window has others.
    fn sessions_ended(&mut self, _sessions: &[u32]) {}
    /// All sessions are connected and warm; `sessions` are their ids on the server, client by client. The window opens
    /// when this returns.
    fn window_opens(&mut self, sessions: &[u32]);
    /// The window has just closed.
    fn window_closes(&mut self);
    /// The sessions of all arms that take turns have handed in their statistics; `window_opens` or
    /// `statistics_complete` of each arm follows. What all arms have to wait for can pass meanwhile.
    fn sessions_handed_in(&mut self) {}
    /// All sessions have handed in their statistics: by [`Flush`] when they still owe events, else by ending.
    fn statistics_complete(&mut self);
    /// Clients are at work: called several times a second with the phase's name, the seconds since it began and the
    /// events so far.
    fn progress(&mut self, phase: &'static str, elapsed_s: f64, events: u64);
    /// True when the step must stop soon.
    fn cancelled(&mut self) -> bool;
    /// Clients don't come back although the step was cancelled or has failed: ask the server to end their statements.
    /// Must not block.
    fn end_statements(&mut self) {}
    /// They still don't: end their statements, if need be by stopping the server.
    fn force(&mut self);
}
