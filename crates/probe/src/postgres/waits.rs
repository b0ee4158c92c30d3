//! What sessions wait for: looked up many times a second while a test runs. Each look is a query of its own that the
//! server has to answer, so this belongs into a pass of its own and never into a measured window.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rqps_wire::postgres::Connection;
use serde::{Deserialize, Serialize};

use super::ask;
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
    /// How often was looked.
    pub looks: u64,
    /// Sessions found in each state, over all looks: kind (`IO`, `LWLock`, `Lock`, `Client`, … or [`RUNNING`]), event
    /// (`WalSync`, `ClientRead`; empty for [`RUNNING`]), how often.
    pub found: Vec<(String, String, u64)>,
}

/// Looks at sessions until it is stopped.
#[derive(Debug)]
pub struct WaitSampler {
    stop: Sender<()>,
    thread: JoinHandle<Result<Waits>>,
}

impl WaitSampler {
    /// Looks at the sessions of these processes through `connection`, from now on.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(connection: Connection, pids: &[u32]) -> Result<Self> {
        let sql = sql(pids);
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("rqps-waits".to_string())
            .spawn(move || look(connection, &sql, &stopped))
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

/// Since 10 a session that waits for its client says so; before, it just waits for nothing and is idle.
fn sql(pids: &[u32]) -> String {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    format!(
        "SELECT CASE WHEN wait_event_type IS NOT NULL THEN wait_event_type WHEN state LIKE 'idle%' THEN 'Client' \
         ELSE '{RUNNING}' END, \
         CASE WHEN wait_event_type IS NOT NULL THEN wait_event WHEN state LIKE 'idle%' THEN 'ClientRead' ELSE '' END \
         FROM pg_stat_activity WHERE pid = ANY ('{{{}}}')",
        pids.join(",")
    )
}

fn look(mut connection: Connection, sql: &str, stopped: &Receiver<()>) -> Result<Waits> {
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut looks = 0;
    let start = Instant::now();
    while looks < LOOKS_MAX {
        let due = EVERY * (looks as u32 + 1);
        match stopped.recv_timeout(due.saturating_sub(start.elapsed())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        for row in ask(&mut connection, "what sessions wait for", sql)?.rows {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            let key = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
            *found.entry(key).or_default() += 1;
        }
        looks += 1;
    }
    let found = found.into_iter().map(|((kind, event), count)| (kind, event, count)).collect();
    Ok(Waits { looks, found })
}
