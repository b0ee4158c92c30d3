//! Helpers of tests with real servers of any DBMS.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rqps_model::Counter;
use rqps_probe::waits::{StateQuery, WaitSampler, Waits};
use rqps_wire::Session;

use crate::conditions::until;

/// Rows of the table `t`, with the keys 1 to `ROWS`.
pub const ROWS: u64 = 1_000;
/// Minimum number of samples of a lasting state.
const LOOKS: u64 = 20;

/// 600 selects and 400 updates, each of one row by its key.
pub fn run_known_statements<S: Session>(clients: &mut [S]) {
    for n in 0..ROWS {
        let client = &mut clients[n as usize % 2];
        let id = n % ROWS + 1;
        let outcome = if n < 600 {
            client.simple(&format!("SELECT v FROM t WHERE id = {id}")).unwrap()
        } else {
            client.simple(&format!("UPDATE t SET v = v + 1 WHERE id = {id}")).unwrap()
        };
        assert_eq!(outcome.rows + outcome.affected, 1);
    }
}

pub fn change(deltas: &[Counter], view: &str, object: &str, column: &str) -> u64 {
    let found = deltas.iter().find(|delta| {
        (delta.view.as_str(), delta.object.as_str(), delta.column.as_str()) == (view, object, column)
    });
    found.unwrap_or_else(|| panic!("no {view}.{object}.{column}")).change().unwrap() as u64
}

/// Waits until sessions are in these states, one of each kind, in any order; then samples them while they stay there.
#[track_caller]
pub fn sample_states(kinds: &[&str], mut query: impl StateQuery) -> Waits {
    let mut expected: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    expected.sort_unstable();
    until(&format!("sessions in {expected:?}"), || {
        let mut found: Vec<String> = query().unwrap().into_iter().map(|(kind, _)| kind).collect();
        found.sort_unstable();
        (found == expected).then_some(())
    });
    let looks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&looks);
    let sampler = WaitSampler::start(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        query()
    });
    let sampler = sampler.unwrap();
    until("samples", || (looks.load(Ordering::Relaxed) > LOOKS).then_some(()));
    sampler.stop().unwrap()
}

/// Asserts that every sample found one session of each kind.
#[track_caller]
pub fn assert_always_found(kinds: &[&str], waits: &Waits) {
    assert!(waits.looks >= LOOKS, "{waits:?}");
    for wanted in kinds {
        let found: u64 =
            waits.found.iter().filter(|(kind, ..)| kind == wanted).map(|(.., count)| count).sum();
        assert_eq!(found, waits.looks, "{wanted}: {waits:?}");
    }
}
