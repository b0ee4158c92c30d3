//! Wait events of sessions, from `pg_stat_activity`.

use rqps_wire::postgres::Connection;

use super::query;
use crate::cells::text;
use crate::waits::{RUNNING, StateQuery};

/// Returns a query of the sessions of these processes, run on `connection`.
pub fn state_query(mut connection: Connection, pids: &[u32]) -> impl StateQuery {
    let sql = sql(pids);
    move || {
        let table = query(&mut connection, "what sessions wait for", &sql)?;
        Ok(table.rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
    }
}

/// Before 10, a session that waits for its client has no wait event and is idle.
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
