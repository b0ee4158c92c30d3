//! Wait events of sessions: from performance_schema if it instruments waits, otherwise from each session's state. Row
//! lock waits are always known, since InnoDB reports them itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rqps_wire::mysql::Connection;

use super::{has_performance_schema, query};
use crate::cells::{cell, number};
use crate::error::Result;
use crate::waits::{RUNNING, StateQuery};

/// Waiting for a lock on rows or tables.
const LOCK: &str = "Lock";
/// Waiting for the client's next statement.
const CLIENT: &str = "Client";

/// Committing, if waits are not instrumented: writing the logs, possibly waiting for the disk.
const COMMIT: &str = "Commit";
/// States of committing sessions: of MySQL 8.0 and later, of MariaDB, of older MySQL.
const COMMIT_STATES: [&str; 3] = ["waiting for handler commit", "Commit", "query end"];

/// Whether current waits are recorded.
const CONSUMER_SQL: &str = "\
    SELECT enabled FROM performance_schema.setup_consumers WHERE name = 'events_waits_current'";

/// Connections that wait for a row lock.
const LOCKED_SQL: &str =
    "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
/// InnoDB answers from a cached copy, which it refreshes only after 100 ms without a query. Samples between two
/// queries use the last result: shares are unbiased, but based on fewer samples.
const LOCKED_INTERVAL: Duration = Duration::from_millis(120);

/// Prefixes of wait names, and the kind of wait. The rest of the name is the event.
const KINDS: [(&str, &str); 10] = [
    ("wait/io/file/", "IO"),
    ("wait/io/socket/", CLIENT),
    ("wait/io/lock/", LOCK),
    ("wait/lock/", LOCK),
    ("wait/synch/mutex/", "Mutex"),
    ("wait/synch/rwlock/", "RWLock"),
    ("wait/synch/prlock/", "RWLock"),
    ("wait/synch/sxlock/", "RWLock"),
    ("wait/synch/cond/", "Cond"),
    ("idle", CLIENT),
];

/// Returns a query of the sessions of these connections, run on `connection`.
///
/// # Errors
/// If a query fails.
pub fn state_query(mut connection: Connection, connection_ids: &[u32]) -> Result<impl StateQuery + use<>> {
    let records_waits = has_performance_schema(&mut connection)?
        && query(&mut connection, "whether waits are recorded", CONSUMER_SQL)?.value() == Some("YES");
    let sql = sql(connection_ids, records_waits);
    let mut locked: BTreeSet<u64> = BTreeSet::new();
    let mut locked_at: Option<Instant> = None;
    Ok(move || {
        if locked_at.is_none_or(|at| at.elapsed() >= LOCKED_INTERVAL) {
            let table = query(&mut connection, "who waits for a row lock", LOCKED_SQL)?;
            locked = table.rows.iter().filter_map(|row| number(row, 0)).collect();
            locked_at = Some(Instant::now());
        }
        let table = query(&mut connection, "what sessions wait for", &sql)?;
        // Waits nest: the last wait of a session is the innermost, the actual one.
        let mut sessions = BTreeMap::new();
        for row in &table.rows {
            let id = number(row, 0);
            sessions.insert(id, state(row, id.is_some_and(|id| locked.contains(&id))));
        }
        Ok(sessions.into_values().collect())
    })
}

/// Connection id, command, state, the wait in progress.
fn sql(connection_ids: &[u32], records_waits: bool) -> String {
    let ids: Vec<String> = connection_ids.iter().map(u32::to_string).collect();
    let ids = ids.join(",");
    if records_waits {
        format!(
            "SELECT p.id, p.command, p.state, w.event_name FROM \
             (SELECT thread_id, processlist_id AS id, processlist_command AS command, \
             processlist_state AS state FROM performance_schema.threads WHERE processlist_id IN ({ids})) p \
             LEFT JOIN performance_schema.events_waits_current w \
             ON w.thread_id = p.thread_id AND w.end_event_id IS NULL ORDER BY p.id, w.event_id"
        )
    } else {
        format!("SELECT id, command, state, NULL FROM information_schema.processlist WHERE id IN ({ids})")
    }
}

/// Kind and event of one session's state.
fn state(row: &[Option<String>], is_locked: bool) -> (String, String) {
    let pair = |kind: &str, event: &str| (kind.to_owned(), event.to_owned());
    if cell(row, 1) == Some("Sleep") {
        return pair(CLIENT, "Sleep");
    }
    if is_locked {
        return pair(LOCK, "row");
    }
    if let Some(wait) = cell(row, 3) {
        let known = KINDS.iter().find_map(|(start, kind)| Some((*kind, wait.strip_prefix(start)?)));
        // The remaining kind, table handling, is work.
        return known.map_or_else(|| pair(RUNNING, ""), |(kind, event)| pair(kind, event));
    }
    let shown = cell(row, 2).unwrap_or_default();
    if COMMIT_STATES.contains(&shown) {
        return pair(COMMIT, "");
    }
    match shown.strip_prefix("Waiting for ").or_else(|| shown.strip_prefix("waiting for ")) {
        Some(what) if what.contains("lock") => pair(LOCK, what),
        Some(what) => pair("Other", what),
        None => pair(RUNNING, ""),
    }
}
