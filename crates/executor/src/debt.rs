//! A session beside the measured ones that asks once a second how large the server's debt is. What it finds stays in
//! memory until the window is over.

use crate::error::{Error, Result};
use crate::system::Admin;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);
/// Looks at the most: a day.
const LOOKS_MAX: usize = 86_400;

pub(crate) struct DebtSampler {
    stop: Sender<()>,
    looks: JoinHandle<Vec<f64>>,
}

impl DebtSampler {
    /// Begins at once; the first look is a second from now.
    pub fn start(mut admin: Box<dyn Admin>) -> Result<Self> {
        let (stop, stopped) = channel();
        let look = move || {
            let start = Instant::now();
            let mut values = Vec::new();
            while values.len() < LOOKS_MAX {
                let due = start + EVERY * (values.len() as u32 + 1);
                let wait = due.saturating_duration_since(Instant::now());
                if !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                    break;
                }
                // What the server did not say, or said too late, is not known.
                let value = admin.debt().unwrap_or(f64::NAN);
                let seconds = start.elapsed().as_secs() as usize;
                values.resize(seconds.saturating_sub(1).max(values.len()), f64::NAN);
                values.push(value);
            }
            values
        };
        let failed = |source| Error::File {
            action: "start a thread for",
            path: PathBuf::from("looks at the debt"),
            source,
        };
        let looks = std::thread::Builder::new().name("debt".to_owned()).spawn(look).map_err(failed)?;
        Ok(Self { stop, looks })
    }

    /// Ends it. One value a second; NaN where the second was missed.
    pub fn stop(self) -> Vec<f64> {
        drop(self.stop);
        self.looks.join().unwrap_or_default()
    }
}
