//! What sessions wait for: by performance_schema where it watches single waits, else by the state that each session
//! shows. Row locks are always known, since InnoDB tells of them itself, if it is not asked too often.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rqps_wire::mysql::Connection;

use super::{ask, watches_itself};
use crate::cells::{cell, number};
use crate::error::Result;
use crate::waits::{RUNNING, StateQuery};

/// Kind of sessions that wait for a lock on rows or tables.
const LOCK: &str = "Lock";
/// Kind of sessions whose client has nothing for them to do.
const CLIENT: &str = "Client";

/// Kind of sessions that commit, where single waits are not watched: they write the logs, and may wait for the disk.
const COMMIT: &str = "Commit";
/// The states in which they do: of MySQL from 8.0 on, of MariaDB, of MySQL before.
const COMMITS: [&str; 3] = ["waiting for handler commit", "Commit", "query end"];

/// Whether single waits are watched.
const CONSUMER_SQL: &str = "\
    SELECT enabled FROM performance_schema.setup_consumers WHERE name = 'events_waits_current'";

/// Connections that wait for a row lock.
const LOCKED_SQL: &str =
    "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
/// InnoDB answers that from a copy, which it makes anew only when nobody has asked for 100 ms. Looks between two copies
/// go by the older one: shares stay what they are, and rest on fewer looks.
const LOCKED_EVERY: Duration = Duration::from_millis(120);

/// How names of waits start, and the kind of wait that is. The rest of the name is the event.
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

/// Queries the sessions of these connections through `connection`.
///
/// # Errors
/// When the server does not answer.
pub fn state_query(mut connection: Connection, connection_ids: &[u32]) -> Result<impl StateQuery + use<>> {
    let watches_waits = watches_itself(&mut connection)?
        && ask(&mut connection, "whether waits are watched", CONSUMER_SQL)?.value() == Some("YES");
    let sql = sql(connection_ids, watches_waits);
    let mut locked: BTreeSet<u64> = BTreeSet::new();
    let mut asked: Option<Instant> = None;
    Ok(move || {
        if asked.is_none_or(|asked| asked.elapsed() >= LOCKED_EVERY) {
            let table = ask(&mut connection, "who waits for a row lock", LOCKED_SQL)?;
            locked = table.rows.iter().filter_map(|row| number(row, 0)).collect();
            asked = Some(Instant::now());
        }
        let table = ask(&mut connection, "what sessions wait for", &sql)?;
        // Waits nest: the last of a session is the innermost, which is what it waits for.
        let mut sessions = BTreeMap::new();
        for row in &table.rows {
            let id = number(row, 0);
            sessions.insert(id, state(row, id.is_some_and(|id| locked.contains(&id))));
        }
        Ok(sessions.into_values().collect())
    })
}

/// Connection id, command, state, the wait in progress.
fn sql(connection_ids: &[u32], watches_waits: bool) -> String {
    let ids: Vec<String> = connection_ids.iter().map(u32::to_string).collect();
    let ids = ids.join(",");
    if watches_waits {
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
        // What is left, the handling of a table, is work.
        return known.map_or_else(|| pair(RUNNING, ""), |(kind, event)| pair(kind, event));
    }
    let shown = cell(row, 2).unwrap_or_default();
    if COMMITS.contains(&shown) {
        return pair(COMMIT, "");
    }
    match shown.strip_prefix("Waiting for ").or_else(|| shown.strip_prefix("waiting for ")) {
        Some(what) if what.contains("lock") => pair(LOCK, what),
        Some(what) => pair("Other", what),
        None => pair(RUNNING, ""),
    }
}
