//! What tests wait for: a condition, however long the machine takes to come to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rqps_probe::waits::{StateQuery, WaitSampler, Waits};

/// After so long it never comes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Looks at sessions that a sampler takes of a state that lasts.
const LOOKS: u64 = 20;

/// Waits until there is a value, and gives it.
#[track_caller]
pub fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until sessions are in these states, one of each kind, in any order; then samples them while they stay there.
#[track_caller]
#[allow(dead_code, reason = "not every program of tests has sessions")]
pub fn sampled_in(kinds: &[&str], mut look: impl StateQuery) -> Waits {
    let mut expected: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    expected.sort_unstable();
    until(&format!("sessions in {expected:?}"), || {
        let mut found: Vec<String> = look().unwrap().into_iter().map(|(kind, _)| kind).collect();
        found.sort_unstable();
        (found == expected).then_some(())
    });
    let looks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&looks);
    let sampler = WaitSampler::start(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        look()
    });
    let sampler = sampler.unwrap();
    until("looks", || (looks.load(Ordering::Relaxed) > LOOKS).then_some(()));
    let waits = sampler.stop().unwrap();
    assert!(waits.looks >= LOOKS, "{waits:?}");
    waits
}
