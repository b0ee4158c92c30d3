//! What sessions wait for, by `pg_stat_activity`.

use rqps_wire::postgres::Connection;

use super::ask;
use crate::cells::text;
use crate::waits::{RUNNING, StateQuery};

/// Queries the sessions of these processes through `connection`.
pub fn state_query(mut connection: Connection, pids: &[u32]) -> impl StateQuery {
    let sql = sql(pids);
    move || {
        let table = ask(&mut connection, "what sessions wait for", &sql)?;
        Ok(table.rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
    }
}

/// Since 10 a session that waits for its client says so; before, it just waits for nothing and is idle.
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
