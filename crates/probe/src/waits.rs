//! Samples wait events of sessions many times per second while a test runs. Each sample is a query to the server, so it
//! is done in a separate pass, never in a measured window. Each DBMS's folder has its query.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::background::Background;
use crate::error::Result;

/// Kind of a session that does not wait: it is running or ready to run.
pub const RUNNING: &str = "running";

/// Interval of samples. A session's statements take tens of microseconds or more, so samples are independent.
const INTERVAL: Duration = Duration::from_millis(10);
/// Maximum number of samples: ten minutes.
const LOOKS_MAX: u64 = 60_000;

/// Sampled states of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Number of samples.
    pub looks: u64,
    /// Sessions found in each state, over all samples: kind (`IO`, `LWLock`, `Lock`, `Client`, … or [`RUNNING`]), event
    /// (`WalSync`, `ClientRead`; empty for [`RUNNING`]), count.
    pub found: Vec<(String, String, u64)>,
}

/// A query for the state of each session, as in [`Waits::found`].
pub trait StateQuery: FnMut() -> Result<Vec<(String, String)>> + Send + 'static {}

impl<F: FnMut() -> Result<Vec<(String, String)>> + Send + 'static> StateQuery for F {}

/// A running sampler of sessions.
#[derive(Debug)]
pub struct WaitSampler(Background<Waits>);

impl WaitSampler {
    /// Starts sampling.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(query: impl StateQuery) -> Result<Self> {
        Ok(Self(Background::start("rqps-waits", "waiting sessions", |stopped| sample(query, stopped))?))
    }

    /// Stops sampling.
    ///
    /// # Errors
    /// If a query failed.
    pub fn stop(self) -> Result<Waits> {
        self.0.stop()
    }
}

fn sample(mut query: impl StateQuery, stopped: &Receiver<()>) -> Result<Waits> {
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut looks = 0;
    let start = Instant::now();
    while looks < LOOKS_MAX {
        let due = INTERVAL * (looks as u32 + 1);
        match stopped.recv_timeout(due.saturating_sub(start.elapsed())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        for state in query()? {
            *found.entry(state).or_default() += 1;
        }
        looks += 1;
    }
    let found = found.into_iter().map(|((kind, event), count)| (kind, event, count)).collect();
    Ok(Waits { looks, found })
}
