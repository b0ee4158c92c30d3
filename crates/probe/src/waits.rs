//! What sessions wait for: looked up many times a second while a test runs. Each look is a query of its own that the
//! server has to answer, so this belongs into a pass of its own and never into a measured window. How a DBMS is asked
//! is in its folder.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Kind of a session that waits for nothing: it works, or would if it had a CPU.
pub const RUNNING: &str = "running";

/// Time between two looks. A session's statements take some tens of microseconds and more, so looks are independent.
const EVERY: Duration = Duration::from_millis(10);
/// Looks kept at most: ten minutes.
const LOOKS_MAX: u64 = 60_000;

/// What the sessions were found waiting for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    pub looks: u64,
    /// Sessions found in each state, over all looks: kind (`IO`, `LWLock`, `Lock`, `Client`, … or [`RUNNING`]), event
    /// (`WalSync`, `ClientRead`; empty for [`RUNNING`]), how often.
    pub found: Vec<(String, String, u64)>,
}

/// One look at the sessions: the state of each, as in [`Waits::found`].
pub trait Look: FnMut() -> Result<Vec<(String, String)>> + Send + 'static {}

impl<F: FnMut() -> Result<Vec<(String, String)>> + Send + 'static> Look for F {}

/// Looks at sessions until it is stopped.
#[derive(Debug)]
pub struct WaitSampler {
    stop: Sender<()>,
    thread: JoinHandle<Result<Waits>>,
}

impl WaitSampler {
    /// Looks from now on.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(look: impl Look) -> Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("rqps-waits".to_string())
            .spawn(move || look_on(look, &stopped))
            .map_err(|source| Error::Sampler { what: "waiting sessions".to_string(), source })?;
        Ok(Self { stop, thread })
    }

    /// Ends looking.
    ///
    /// # Errors
    /// When the server did not answer.
    pub fn stop(self) -> Result<Waits> {
        // An error means that the thread has ended by itself; its result says why.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| {
            let source = std::io::Error::other("the thread that looks at sessions panicked");
            Err(Error::Sampler { what: "waiting sessions".to_string(), source })
        })
    }
}

fn look_on(mut look: impl Look, stopped: &Receiver<()>) -> Result<Waits> {
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut looks = 0;
    let start = Instant::now();
    while looks < LOOKS_MAX {
        let due = EVERY * (looks as u32 + 1);
        match stopped.recv_timeout(due.saturating_sub(start.elapsed())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        for state in look()? {
            *found.entry(state).or_default() += 1;
        }
        looks += 1;
    }
    let found = found.into_iter().map(|((kind, event), count)| (kind, event, count)).collect();
    Ok(Waits { looks, found })
}
