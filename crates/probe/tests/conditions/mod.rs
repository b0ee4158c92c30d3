//! Waiting for conditions, however slow the machine is.

use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(120);

/// Waits until `condition` returns a value, and returns it.
#[track_caller]
pub fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "timeout: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
