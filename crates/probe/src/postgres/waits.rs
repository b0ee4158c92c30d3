//! Wait events of sessions, from `pg_stat_activity`.

use rqps_wire::postgres::Connection;

use super::{CONTROL_SINCE, query};
use crate::cells::text;
use crate::waits::{RUNNING, StateQuery};

/// Returns a query of the sessions of these processes, run on `connection`.
pub fn state_query(mut connection: Connection, pids: &[u32]) -> impl StateQuery {
    let sql = sql(pids, connection.server_version_num());
    move || {
        let table = query(&mut connection, "what sessions wait for", &sql)?;
        Ok(table.rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
    }
}

/// Before 10, a session that waits for its client has no wait event and is idle; before 9.6 only locks are known.
fn sql(pids: &[u32], version_num: u32) -> String {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let (kind, event) = match version_num {
        CONTROL_SINCE.. => ("wait_event_type", "wait_event"),
        _ => ("CASE WHEN waiting THEN 'Lock' END", "''"),
    };
    format!(
        "SELECT CASE WHEN {kind} IS NOT NULL THEN {kind} WHEN state LIKE 'idle%' THEN 'Client' ELSE '{RUNNING}' END, \
         CASE WHEN {kind} IS NOT NULL THEN {event} WHEN state LIKE 'idle%' THEN 'ClientRead' ELSE '' END \
         FROM pg_stat_activity WHERE pid = ANY ('{{{}}}')",
        pids.join(",")
    )
}
