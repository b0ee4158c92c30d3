//! Samples the server's debt once a second, on a session beside the measured ones. Samples stay in memory
//! until the window is over.

use crate::error::{Error, Result};
use crate::system::Admin;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
/// One day of samples.
const SAMPLES_MAX: usize = 86_400;

pub(crate) struct DebtSampler {
    stop: Sender<()>,
    samples: JoinHandle<Vec<f64>>,
}

impl DebtSampler {
    /// Starts the sampling thread; the first sample is taken after one second.
    pub fn start(mut admin: Box<dyn Admin>) -> Result<Self> {
        let (stop, stopped) = channel();
        let sample = move || {
            let start = Instant::now();
            let mut values = Vec::new();
            while values.len() < SAMPLES_MAX {
                let due = start + INTERVAL * (values.len() as u32 + 1);
                let wait = due.saturating_duration_since(Instant::now());
                if !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                    break;
                }
                let value = admin.debt().unwrap_or(f64::NAN);
                // An answer that took seconds leaves their samples missing.
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
        let samples = std::thread::Builder::new().name("debt".to_owned()).spawn(sample).map_err(failed)?;
        Ok(Self { stop, samples })
    }

    /// Stops sampling. Returns one value per second, NaN where a sample is missing.
    pub fn stop(self) -> Vec<f64> {
        drop(self.stop);
        self.samples.join().unwrap_or_default()
    }
}
