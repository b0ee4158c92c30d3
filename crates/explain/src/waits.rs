//! Wait events of sessions, sampled together with CPU profiles: which kinds of waiting take more or less of
//! an operation's time than on base.
//!
//! An operation of one client takes clients x time / operations. A state that a session was found in `found`
//! times out of `looks` x clients takes that share of it. The standard error of a share p of n samples is
//! sqrt(p (1 - p) / n) (binomial).

use std::collections::BTreeMap;

use rqps_model::Wait;
use rqps_store::{Profile, Recorded};

use crate::context::Context;
use crate::error::Result;
use crate::model::{Cause, Certainty, Evidence, Finding, Shows, Word};

/// Minimum change, in standard errors.
const ERRORS_MIN: f64 = 4.0;
/// Minimum change, as a share of base's time per operation.
const SHARE_MIN: f64 = 0.05;
/// Waiting for the client is not waiting of the server.
const CLIENT: &str = "Client";
/// Kind of a session that is not waiting.
const RUNNING: &str = "running";

/// A kind of waiting: its cause, its name in sentences, and whether a wait of the given kind and event
/// belongs to it.
type Kind = (Cause, &'static str, fn(&str, &str) -> bool);

/// The first match wins.
const KINDS: [Kind; 7] = [
    (Cause::Fsync, "for the write-ahead log to reach the disk", is_log),
    (Cause::Fsync, "for the binary log to reach the disk", |_, event| {
        event == "sql/binlog" || event.starts_with("sql/MYSQL_BIN_LOG::")
    }),
    (Cause::TempFiles, "for temporary files", |kind, event| kind == "IO" && event.starts_with("BufFile")),
    (Cause::Reads, "for data files", |kind, _| kind == "IO"),
    (Cause::Locks, "for locks that other sessions hold", |kind, _| kind == "Lock" || kind == "BufferPin"),
    (Cause::Locks, "for the server's internal locks", is_internal),
    (Cause::Waiting, "for other processes and timeouts", |_, _| true),
];

/// Postgres' lightweight locks, and the mutexes and latches of MySQL.
fn is_internal(kind: &str, _: &str) -> bool {
    kind.starts_with("LWLock") || matches!(kind, "Mutex" | "RWLock")
}

/// A commit of InnoDB writes the redo log. With wait instrumentation, the log's file and its mutexes are
/// reported by name.
fn is_log(kind: &str, event: &str) -> bool {
    let event = event.to_ascii_lowercase();
    if kind == "IO" && (event == "commit" || event.starts_with("innodb/innodb_log"))
        || event.contains("log_sys")
    {
        return true;
    }
    let of_log = event.starts_with("wal") && !event.starts_with("walbufmapping");
    of_log && (kind == "IO" || kind.starts_with("LWLock")) || event == "syncrep"
}

/// Time per operation of one kind of waiting, with its variance.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Waited {
    us_per_op: f64,
    variance: f64,
}

/// Differences in waiting between arm and base; empty without samples.
pub(crate) fn findings(cx: &Context<'_>) -> Result<Vec<Finding>> {
    let (Some(base), Some(arm)) = (cx.profile(cx.base), cx.profile(cx.arm)) else {
        return Ok(Vec::new());
    };
    let waits = |profile: &Recorded<Profile>| cx.run.waits(profile.action.seq);
    let (base_waits, arm_waits) = (waits(base)?, waits(arm)?);
    if base_waits.is_empty() || arm_waits.is_empty() {
        return Ok(Vec::new());
    }
    let base_us = us_per_op(&base.result);
    let (base, arm) = (by_kind(&base.result, &base_waits), by_kind(&arm.result, &arm_waits));
    let finding = |kind: usize| {
        let at = |waited: &BTreeMap<usize, Waited>| waited.get(&kind).copied().unwrap_or_default();
        finding(kind, at(&base), at(&arm), base_us, cx.operation())
    };
    Ok((0..KINDS.len()).filter_map(finding).collect())
}

/// Microseconds of one client per operation during the profile.
fn us_per_op(profile: &Profile) -> f64 {
    f64::from(profile.clients) * profile.elapsed_us as f64 / profile.operations.max(1.0)
}

fn by_kind(profile: &Profile, waits: &[Wait]) -> BTreeMap<usize, Waited> {
    let mut kinds: BTreeMap<usize, Waited> = BTreeMap::new();
    let time_us = us_per_op(profile);
    for wait in waits.iter().filter(|wait| wait.kind != CLIENT && wait.kind != RUNNING) {
        let samples = wait.looks as f64 * f64::from(profile.clients);
        let share = wait.found as f64 / samples.max(1.0);
        let place = KINDS.iter().position(|(_, _, is)| is(&wait.kind, &wait.event));
        let waited = kinds.entry(place.unwrap_or(KINDS.len() - 1)).or_default();
        waited.us_per_op += share * time_us;
        waited.variance += share * (1.0 - share).max(0.0) / samples.max(1.0) * time_us * time_us;
    }
    kinds
}

fn finding(kind: usize, base: Waited, arm: Waited, base_us: f64, operation: &str) -> Option<Finding> {
    let change = arm.us_per_op - base.us_per_op;
    let error = (base.variance + arm.variance).sqrt();
    if change.abs() <= ERRORS_MIN * error || change.abs() < SHARE_MIN * base_us {
        return None;
    }
    let (cause, what, _) = KINDS[kind];
    let sentence = format!(
        "a session waits {:.1} us per {operation} {what} (base: {:.1} us), by samples taken with the profile",
        arm.us_per_op, base.us_per_op
    );
    let evidence = Evidence {
        what: format!("time a session waits {what}"),
        unit: format!("us/{operation}"),
        base: Some(base.us_per_op),
        arm: Some(arm.us_per_op),
        noise: (base.us_per_op > 0.0).then(|| ERRORS_MIN * error / base.us_per_op),
        text: None,
        shows: Shows::SeenWaiting,
    };
    Some(Finding {
        word: Word::waiting(change > 0.0),
        cause,
        sentence,
        weight: (change.abs() / base_us).min(1.0),
        share: None,
        certainty: Certainty::SinglePass,
        evidence: vec![evidence],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(operations: f64) -> Profile {
        Profile {
            clients: 2,
            operations,
            elapsed_us: 5_000_000,
            ..rqps_store::testing::profile("update-one", "write", "")
        }
    }

    fn wait(kind: &str, event: &str, found: u64) -> Wait {
        Wait { kind: kind.into(), event: event.into(), found, looks: 500 }
    }

    #[test]
    fn waits_for_the_log_are_recognized_in_all_versions() {
        for (kind, event, cause) in [
            ("IO", "WALSync", Cause::Fsync),
            ("IO", "WalSync", Cause::Fsync),
            ("LWLock", "WALWrite", Cause::Fsync),
            ("LWLockNamed", "WALWriteLock", Cause::Fsync),
            ("LWLock", "WALBufMapping", Cause::Locks),
            ("IO", "DataFileRead", Cause::Reads),
            ("IO", "BufFileWrite", Cause::TempFiles),
            ("Lock", "transactionid", Cause::Locks),
            ("Timeout", "PgSleep", Cause::Waiting),
            ("IO", "innodb/innodb_log_file", Cause::Fsync),
            ("Mutex", "innodb/log_sys_write_mutex", Cause::Fsync),
            ("IO", "sql/binlog", Cause::Fsync),
            ("Cond", "sql/MYSQL_BIN_LOG::COND_done", Cause::Fsync),
            ("Cond", "sql/Relay_log_info::data_cond", Cause::Waiting),
            ("IO", "innodb/innodb_data_file", Cause::Reads),
            ("RWLock", "innodb/btr_search_latch", Cause::Locks),
            ("Lock", "row", Cause::Locks),
        ] {
            let found = KINDS.iter().find(|(_, _, is)| is(kind, event)).unwrap().0;
            assert_eq!(found, cause, "{kind} {event}");
        }
    }

    #[test]
    fn change_within_sampling_error_is_not_reported() {
        let base = by_kind(&profile(10_000.0), &[wait("running", "", 900), wait("IO", "WalSync", 10)]);
        let more = by_kind(&profile(5_000.0), &[wait("running", "", 400), wait("IO", "WalSync", 500)]);
        let base_us = us_per_op(&profile(10_000.0));
        assert!((base_us - 1000.0).abs() < 1e-9);
        let found = finding(0, base[&0], more[&0], base_us, "query").unwrap();
        assert_eq!((found.word, found.cause), (Word::MoreWaiting, Cause::Fsync));
        assert!(found.sentence.contains("1000.0 us per query"), "half of 2,000 us: {}", found.sentence);
        let slightly = by_kind(&profile(10_000.0), &[wait("IO", "WalSync", 16)]);
        assert_eq!(finding(0, base[&0], slightly[&0], base_us, "query"), None);
        let mirrored = finding(0, more[&0], base[&0], 2000.0, "query").unwrap();
        assert_eq!(mirrored.word, Word::LessWaiting);
    }
}
